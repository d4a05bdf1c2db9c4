"""Integer instructions on constants, and with neutral operands: cheaper here than in LLVM's code generator."""

from __future__ import annotations

import operator
from collections.abc import Callable

from asmevo.sim.ir import Value, constant

_PLAIN: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b,
    "lshr": lambda a, b: a >> b,
    "umin": min,
    "umax": max,
}
_SIGNED: dict[str, Callable[[int, int], int]] = {"ashr": lambda a, b: a >> b, "smin": min, "smax": max}
_NEUTRAL = {
    "add": 0,
    "sub": 0,
    "or": 0,
    "xor": 0,
    "shl": 0,
    "lshr": 0,
    "ashr": 0,
    "mul": 1,
    "and": -1,
    "umax": 0,
    "umin": -1,
}
"""Constants that, as the second operand, leave the first as it is."""
_COMMUTES = frozenset({"add", "or", "xor", "mul", "and", "umax", "umin"})
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def signed(value: Value) -> int:
    """A constant as a signed number."""
    assert value.const is not None
    return value.const - (1 << value.bits) if value.const >> (value.bits - 1) else value.const


def fold(op: str, a: Value, b: Value) -> Value | None:
    """The result when it is a constant or one of the operands, else None."""
    if a.const is not None and b.const is not None:
        if op in _PLAIN:
            return constant(_PLAIN[op](a.const, b.const), a.bits, a.lanes)
        amount = b.const if op == "ashr" else signed(b)
        return constant(_SIGNED[op](signed(a), amount), a.bits, a.lanes)
    if op not in _NEUTRAL:
        return None
    neutral = _NEUTRAL[op] % (1 << a.bits)
    if b.const == neutral:
        return a
    if op in _COMMUTES and a.const == neutral:
        return b
    if op in ("and", "mul") and 0 in (a.const, b.const):
        return constant(0, a.bits, a.lanes)
    return None


def compare(predicate: str, a: Value, b: Value) -> bool:
    """A comparison of two constants."""
    assert a.const is not None and b.const is not None
    if predicate[0] == "s":
        return _COMPARE[predicate[1:]](signed(a), signed(b))
    return _COMPARE[predicate.removeprefix("u")](a.const, b.const)

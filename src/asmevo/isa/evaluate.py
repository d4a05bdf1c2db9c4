"""A plain interpreter of rows: exact, slow, one lane at a time; for debuggers, and to check other algebras against."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any, cast

from asmevo.isa.exact import Bits, Real, from_double, nan, rounded
from asmevo.isa.row import LaneRow, MemoryRow, PackedRow, ScalarRow
from asmevo.verdict import UnsupportedError

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


class Interpreter:
    """Implements `asmevo.isa.Algebra` on `Bits` and `Real`."""

    def __init__(self, lane: int = 0) -> None:
        self._lane = lane

    def const(self, value: int, bits: int = 32) -> Bits:
        return Bits(value % (1 << bits), bits)

    def fconst(self, value: float, bits: int = 32) -> Real:
        return from_double(value, bits)

    def lane_id(self) -> Bits:
        return self.const(self._lane)

    # integers
    def _same(self, a: Bits, b: Bits) -> int:
        if a.width != b.width:
            raise ValueError(f"operands of {a.width} and {b.width} bits")
        return a.width

    def add(self, a: Bits, b: Bits) -> Bits:
        return self.const(a.value + b.value, self._same(a, b))

    def sub(self, a: Bits, b: Bits) -> Bits:
        return self.const(a.value - b.value, self._same(a, b))

    def mul(self, a: Bits, b: Bits) -> Bits:
        return self.const(a.value * b.value, self._same(a, b))

    def and_(self, a: Bits, b: Bits) -> Bits:
        return Bits(a.value & b.value, self._same(a, b))

    def or_(self, a: Bits, b: Bits) -> Bits:
        return Bits(a.value | b.value, self._same(a, b))

    def xor(self, a: Bits, b: Bits) -> Bits:
        return Bits(a.value ^ b.value, self._same(a, b))

    def not_(self, a: Bits) -> Bits:
        return self.const(~a.value, a.width)

    def shl(self, a: Bits, amount: Bits) -> Bits:
        return self.const(a.value << (amount.value % self._same(a, amount)), a.width)

    def lshr(self, a: Bits, amount: Bits) -> Bits:
        return Bits(a.value >> (amount.value % self._same(a, amount)), a.width)

    def ashr(self, a: Bits, amount: Bits) -> Bits:
        return self.const(a.signed >> (amount.value % self._same(a, amount)), a.width)

    def umin(self, a: Bits, b: Bits) -> Bits:
        return Bits(min(a.value, b.value), self._same(a, b))

    def umax(self, a: Bits, b: Bits) -> Bits:
        return Bits(max(a.value, b.value), self._same(a, b))

    def smin(self, a: Bits, b: Bits) -> Bits:
        return self.const(min(a.signed, b.signed), self._same(a, b))

    def smax(self, a: Bits, b: Bits) -> Bits:
        return self.const(max(a.signed, b.signed), self._same(a, b))

    def bitreverse(self, a: Bits) -> Bits:
        return Bits(int(f"{a.value:0{a.width}b}"[::-1], 2), a.width)

    def ctpop(self, a: Bits) -> Bits:
        return Bits(a.value.bit_count(), a.width)

    def ctlz(self, a: Bits) -> Bits:
        return Bits(a.width - a.value.bit_length(), a.width)

    def cttz(self, a: Bits) -> Bits:
        return Bits((a.value & -a.value).bit_length() - 1 if a.value else a.width, a.width)

    def icmp(self, predicate: str, a: Bits, b: Bits) -> Bits:
        self._same(a, b)
        if predicate[0] == "s":
            return Bits(int(_COMPARE[predicate[1:]](a.signed, b.signed)), 1)
        return Bits(int(_COMPARE[predicate.removeprefix("u")](a.value, b.value)), 1)

    # widths, choice, reinterpretation
    def zext(self, a: Bits, bits: int) -> Bits:
        return Bits(a.value, bits)

    def sext(self, a: Bits, bits: int) -> Bits:
        return self.const(a.signed, bits)

    def trunc(self, a: Bits, bits: int) -> Bits:
        return self.const(a.value, bits)

    def select(self, condition: Bits, a: Bits | Real, b: Bits | Real) -> Bits | Real:
        if type(a) is not type(b) or a.width != b.width:
            raise ValueError("choice between values of different types")
        return a if condition.value else b

    def as_int(self, a: Real) -> Bits:
        return Bits(a.bits, a.width)

    def as_float(self, a: Bits) -> Real:
        return Real(a.value, a.width)

    # floats
    def fadd(self, a: Real, b: Real) -> Real:
        return self.fma(a, self.fconst(1.0, a.width), b)

    def fsub(self, a: Real, b: Real) -> Real:
        return self.fadd(a, self.fneg(b))

    def fmul(self, a: Real, b: Real) -> Real:
        sign = a.negative != b.negative
        if not (a.is_finite and b.is_finite):
            return from_double(a.as_double() * b.as_double(), a.width)
        return rounded(a.exact() * b.exact(), a.width, negative_zero=sign)

    def fdiv(self, a: Real, b: Real) -> Real:
        negative = a.negative != b.negative
        infinity = from_double(-math.inf if negative else math.inf, a.width)
        zero = from_double(-0.0 if negative else 0.0, a.width)
        if a.is_nan or b.is_nan or (a.is_infinite and b.is_infinite):
            return nan(a.width)
        if a.is_infinite or b.is_infinite:
            return infinity if a.is_infinite else zero
        if not b.exact():
            return infinity if a.exact() else nan(a.width)
        return rounded(a.exact() / b.exact(), a.width, negative_zero=negative)

    def fma(self, a: Real, b: Real, c: Real) -> Real:
        if not (a.is_finite and b.is_finite and c.is_finite):
            # No rounding decides between infinities and NaN, but the finite product must not overflow into one.
            product = 0.0 if a.is_finite and b.is_finite else a.as_double() * b.as_double()
            return from_double(product + c.as_double(), a.width)
        product = a.exact() * b.exact()
        total = product + c.exact()
        both_negative = (a.negative != b.negative) and c.negative
        exact_zero = not product and not c.exact()
        return rounded(total, a.width, negative_zero=both_negative and exact_zero)

    def fneg(self, a: Real) -> Real:
        return Real(a.bits ^ 1 << (a.width - 1), a.width)

    def fabs(self, a: Real) -> Real:
        return Real(a.bits & ~(1 << (a.width - 1)), a.width)

    def fmin(self, a: Real, b: Real) -> Real:
        return self._extreme(a, b, least=True)

    def fmax(self, a: Real, b: Real) -> Real:
        return self._extreme(a, b, least=False)

    def _extreme(self, a: Real, b: Real, *, least: bool) -> Real:
        if a.is_nan or b.is_nan:
            return b if a.is_nan else a
        x, y = a.as_double(), b.as_double()
        first = a.negative if x == y else x < y
        return a if first == least else b

    def fcmp(self, predicate: str, a: Real, b: Real) -> Bits:
        unordered = a.is_nan or b.is_nan
        if predicate in ("ord", "uno"):
            return Bits(int(unordered == (predicate == "uno")), 1)
        if unordered:
            return Bits(int(predicate[0] == "u"), 1)
        return Bits(int(_COMPARE[predicate[1:]](a.as_double(), b.as_double())), 1)

    def _to_integral(self, a: Real, rounding: Callable[[Fraction], int]) -> Real:
        if not a.is_finite:
            return a if a.is_infinite else nan(a.width)
        return rounded(Fraction(rounding(a.exact())), a.width, negative_zero=a.negative)

    def ffloor(self, a: Real) -> Real:
        return self._to_integral(a, math.floor)

    def fceil(self, a: Real) -> Real:
        return self._to_integral(a, math.ceil)

    def ftrunc(self, a: Real) -> Real:
        return self._to_integral(a, math.trunc)

    def frint(self, a: Real) -> Real:
        return self._to_integral(a, round)

    def sqrt(self, a: Real) -> Real:
        value = a.as_double()
        # A double carries more than twice the digits of narrower floats, so rounding twice is rounding once.
        return from_double(math.sqrt(value), a.width) if value >= 0 else nan(a.width)

    def ldexp(self, a: Real, exponent: Bits) -> Real:
        if not a.is_finite:
            return a if a.is_infinite else nan(a.width)
        power = max(-5000, min(5000, exponent.signed))
        return rounded(a.exact() * Fraction(2) ** power, a.width, negative_zero=a.negative)

    def exp2(self, a: Real) -> Real:
        value = a.as_double()
        return from_double(math.inf if value >= 1024 else math.exp2(value), a.width)

    def log2(self, a: Real) -> Real:
        value = a.as_double()
        if value == 0:
            return from_double(-math.inf, a.width)
        return from_double(math.log2(value), a.width) if value > 0 else nan(a.width)

    def sin_turns(self, a: Real) -> Real:
        return self._of_turns(math.sin, a)

    def cos_turns(self, a: Real) -> Real:
        return self._of_turns(math.cos, a)

    def _of_turns(self, function: Callable[[float], float], a: Real) -> Real:
        if not a.is_finite:
            return nan(a.width)
        return from_double(function(2 * math.pi * math.fmod(a.as_double(), 1.0)), a.width)

    # conversions
    def sitofp(self, a: Bits, bits: int = 32) -> Real:
        return rounded(Fraction(a.signed), bits)

    def uitofp(self, a: Bits, bits: int = 32) -> Real:
        return rounded(Fraction(a.value), bits)

    def fptosi(self, a: Real, bits: int = 32) -> Bits:
        return self._to_int(a, -(1 << (bits - 1)), (1 << (bits - 1)) - 1, bits)

    def fptoui(self, a: Real, bits: int = 32) -> Bits:
        return self._to_int(a, 0, (1 << bits) - 1, bits)

    def _to_int(self, a: Real, low: int, high: int, bits: int) -> Bits:
        if a.is_nan:
            return self.const(0, bits)
        if a.is_infinite:
            return self.const(low if a.negative else high, bits)
        return self.const(max(low, min(high, math.trunc(a.exact()))), bits)

    def fpcast(self, a: Real, bits: int) -> Real:
        if a.is_finite:
            return rounded(a.exact(), bits, negative_zero=a.negative)
        return from_double(a.as_double(), bits)


_WIDTH = {"u8": 8, "u16": 16, "i16": 16, "bf16": 16, "scc": 1, "imm": 32}


def _width(kind: str, *, scalar: bool) -> int:
    """Width in bits of a value of an operand type."""
    if kind == "mask":
        return 64 if scalar else 1
    return _WIDTH.get(kind) or int(kind[1:])


def _value(kind: str, raw: int, *, scalar: bool) -> Bits | Real:
    width = _width(kind, scalar=scalar)
    return Real(raw, width) if kind in ("f16", "f32", "f64") else Bits(raw % (1 << width), width)


def _raw(value: Bits | Real, width: int) -> int:
    if value.width != width:
        raise ValueError(f"a result of {value.width} bits where {width} are declared")
    return value.bits if isinstance(value, Real) else value.value


def _results(given: Any, widths: list[int]) -> tuple[int, ...]:
    values = cast("tuple[Bits | Real, ...]", given if isinstance(given, tuple) else (given,))
    return tuple(_raw(value, width) for value, width in zip(values, widths, strict=True))


def evaluate(row: ScalarRow | LaneRow, *uses: int, lane: int = 0) -> tuple[int, ...]:
    """The defs of a row, in slot order, from the bit patterns of its uses in slot order, hidden and tied ones included.

    A mask is the bit of one lane in a `LaneRow`. For a `PackedRow` uses and result are single elements.
    """
    scalar = isinstance(row, ScalarRow)
    if isinstance(row, PackedRow):
        if row.kind == "mov":
            raise UnsupportedError(f"{row.name} only selects elements, so it has no meaning of its own to evaluate.")
        kinds = [row.element] * len(uses)
        defs = [s.type if row.kind == "mix" else row.element for s in row.slots if s.is_def]
    else:
        kinds = [s.type for s in row.slots if s.is_use]
        defs = [s.type for s in row.slots if s.is_def]
    values = [_value(kind, raw, scalar=scalar) for kind, raw in zip(kinds, uses, strict=True)]
    return _results(row.meaning(Interpreter(lane), *values), [_width(kind, scalar=scalar) for kind in defs])


def evaluate_atomic(row: MemoryRow, old: int, *data: int) -> int:
    """What an atomic leaves in memory, from bit patterns of elements."""
    if row.atomic is None:
        raise UnsupportedError(f"{row.name} is not an atomic.")
    values = [_value(row.atomic_type, raw, scalar=True) for raw in (old, *data)]
    return _results(row.atomic(Interpreter(), *values), [_width(row.atomic_type, scalar=True)])[0]

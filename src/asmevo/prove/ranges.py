"""The largest value that an instruction can give, read off its row's meaning: it shows that a sum does not wrap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from asmevo.isa import Imm, Instruction, Operand, Reg, Slot, bind, effects
from asmevo.prove.meanings import OTHER, Other, first_result

LARGEST = (1 << 32) - 1
_WORDS = frozenset({"u32", "i32", "b32", "imm"})


@dataclass(frozen=True, slots=True)
class _Range:
    """0 to `top` in `width` bits; a constant where `exact`."""

    width: int
    top: int
    exact: bool = False


def _capped(width: int, top: int) -> _Range:
    """All values where `top` does not fit: the operation may wrap around."""
    return _Range(width, top) if top < 1 << width else _Range(width, (1 << width) - 1)


_Value: TypeAlias = _Range | Other


class _Algebra:
    """Computes ranges."""

    def const(self, value: int, bits: int = 32) -> _Value:
        return _Range(bits, value % (1 << bits), exact=True)

    def add(self, a: _Value, b: _Value) -> _Value:
        return _both(a, b, lambda x, y: _capped(x.width, x.top + y.top))

    def mul(self, a: _Value, b: _Value) -> _Value:
        return _both(a, b, lambda x, y: _capped(x.width, x.top * y.top))

    def or_(self, a: _Value, b: _Value) -> _Value:
        return _both(a, b, lambda x, y: _Range(x.width, (1 << (x.top | y.top).bit_length()) - 1))

    xor = or_

    def umax(self, a: _Value, b: _Value) -> _Value:
        return _both(a, b, lambda x, y: _Range(x.width, max(x.top, y.top)))

    def select(self, condition: object, a: _Value, b: _Value) -> _Value:
        return self.umax(a, b)

    def and_(self, a: _Value, b: _Value) -> _Value:
        known = [x for x in (a, b) if isinstance(x, _Range)]
        return _Range(known[0].width, min(x.top for x in known)) if known else OTHER

    umin = and_

    def shl(self, a: _Value, amount: _Value) -> _Value:
        if not isinstance(a, _Range) or not isinstance(amount, _Range) or not amount.exact:
            return OTHER
        return _capped(a.width, a.top << amount.top % a.width)

    def lshr(self, a: _Value, amount: _Value) -> _Value:
        if not isinstance(a, _Range):
            return OTHER
        exact = isinstance(amount, _Range) and amount.exact
        return _Range(a.width, a.top >> amount.top % a.width if isinstance(amount, _Range) and exact else a.top)

    def zext(self, a: _Value, bits: int) -> _Value:
        return _Range(bits, a.top, a.exact) if isinstance(a, _Range) else OTHER

    def trunc(self, a: _Value, bits: int) -> _Value:
        return _capped(bits, a.top) if isinstance(a, _Range) else OTHER

    def __getattr__(self, name: str) -> Callable[..., _Value]:
        return lambda *operands, **more: OTHER


def _both(a: _Value, b: _Value, operation: Callable[[_Range, _Range], _Range]) -> _Value:
    return operation(a, b) if isinstance(a, _Range) and isinstance(b, _Range) else OTHER


def bound_of(instruction: Instruction, top_of: Callable[[int], int]) -> int:
    """The largest value of the first result, where that is one register; `top_of` gives that of a register."""

    def value_of(slot: Slot, operand: Operand | None) -> _Value:
        if slot.type not in _WORDS or not isinstance(operand, (Reg, Imm)) or operand.neg or operand.absolute:
            return OTHER
        if isinstance(operand, Imm):
            return OTHER if operand.is_float else _Range(32, operand.bits, exact=True)
        return _Range(32, top_of(operand.first)) if operand.count == 1 and not operand.sext else OTHER

    row = effects(instruction).row
    made = first_result(instruction, row, list(bind(instruction, row)), _WORDS, _Algebra(), value_of)
    first = made[1] if made else OTHER
    return first.top if isinstance(first, _Range) and first.width == 32 else LARGEST

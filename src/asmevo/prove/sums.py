"""Sums modulo 2**32 and 2**64 in one form, however a program adds them up.

Additions, subtractions, shifts by and products with constants make the same sum of multiples of the same terms whatever
opcodes do it and in whatever order; integers wrap around, so that holds for every input. Terms are what other integer
operations make of sums, so an opcode that does the work of two makes what the two do. All of this is read off the
meanings of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeGuard

from asmevo.isa import Imm, Instruction, Operand, Reg, Row, Slot
from asmevo.isa.evaluate import Interpreter
from asmevo.isa.exact import Bits
from asmevo.prove.meanings import OTHER, Other, first_result

Number: TypeAlias = int
"""Of an expression: equal expressions have equal numbers."""

_WORDS, _PAIRS = frozenset({"u32", "i32", "b32"}), frozenset({"u64", "i64", "b64"})
_EXACT = Interpreter()
_MOST = 64
"""Terms of a sum that is followed: each instruction of a long chain of additions would copy all that came before."""


@dataclass(frozen=True, slots=True)
class Sum:
    """`constant` and multiples of terms, modulo 2**width."""

    width: int
    constant: int
    terms: tuple[tuple[Number, int], ...] = ()
    """Numbers and their factors, none of them 0, ascending by number."""


@dataclass(frozen=True, slots=True)
class _Low:
    """A value of 64 bits of which the low 32 are a sum and nothing is known of the rest."""

    sum: Sum


_Value: TypeAlias = Sum | _Low | Other


_TERMS = frozenset({"and_", "or_", "xor", "mul", "umin", "umax", "smin", "smax", "lshr", "ashr"})
"""Operations of the algebra whose result is a term, each a function of its operands alone."""
_COMMUTATIVE = _TERMS - {"lshr", "ashr"}


class _Algebra:
    """Computes sums; folds constants; `number_of` gives a term its number."""

    def __init__(self, number_of: Callable[..., Number]) -> None:
        self._number_of = number_of

    def const(self, value: int, bits: int = 32) -> Sum:
        return Sum(bits, value % (1 << bits))

    def add(self, a: _Value, b: _Value) -> _Value:
        return _combined(a, b, lambda x, y: total(x.width, [(x, 1), (y, 1)]))

    def sub(self, a: _Value, b: _Value) -> _Value:
        return _combined(a, b, lambda x, y: total(x.width, [(x, 1), (y, -1)]))

    def mul(self, a: _Value, b: _Value) -> _Value:
        product = _combined(a, b, _product)
        return self._term("mul", a, b) if isinstance(product, Other) else product

    def shl(self, a: _Value, amount: _Value) -> _Value:
        if not isinstance(amount, Sum) or amount.terms:
            return OTHER
        if isinstance(a, _Low):
            return _Low(total(32, [(a.sum, 1 << amount.constant % 64)]))
        if not isinstance(a, Sum):
            return OTHER
        return total(a.width, [(a, 1 << amount.constant % a.width)])

    def zext(self, a: _Value, bits: int) -> _Value:
        return _Low(a) if _is_word(a) and bits == 64 else self._folded("zext", a, bits)

    def sext(self, a: _Value, bits: int) -> _Value:
        return _Low(a) if _is_word(a) and bits == 64 else self._folded("sext", a, bits)

    def trunc(self, a: _Value, bits: int) -> _Value:
        return a.sum if isinstance(a, _Low) and bits == 32 else self._folded("trunc", a, bits)

    def _folded(self, name: str, *operands: Any, **more: Any) -> _Value:
        constant = all(isinstance(x, (int, str)) or (isinstance(x, Sum) and not x.terms) for x in operands)
        if not operands or not constant:
            return OTHER
        exact = [Bits(x.constant, x.width) if isinstance(x, Sum) else x for x in operands]
        value = getattr(_EXACT, name)(*exact, **more)
        return Sum(value.width, value.value) if isinstance(value, Bits) else OTHER

    def _term(self, name: str, *operands: Any) -> _Value:
        if name not in _TERMS or not all(isinstance(x, Sum) for x in operands):
            return OTHER
        width = operands[0].width
        if width not in (32, 64) or any(x.width != width for x in operands):
            return OTHER
        ordered = sorted(operands, key=repr) if name in _COMMUTATIVE else operands
        return Sum(width, 0, ((self._number_of("term", name, *ordered), 1),))

    def __getattr__(self, name: str) -> Callable[..., _Value]:
        def other(*operands: Any, **more: Any) -> _Value:
            folded = self._folded(name, *operands, **more)
            return self._term(name, *operands) if isinstance(folded, Other) and not more else folded

        return other


def _is_word(a: _Value) -> TypeGuard[Sum]:
    return isinstance(a, Sum) and a.width == 32 and bool(a.terms)


def _combined(a: _Value, b: _Value, operation: Callable[[Sum, Sum], Sum | None]) -> _Value:
    """An operation whose low bits depend on the low bits of its operands alone."""
    if isinstance(a, Sum) and isinstance(b, Sum):
        return operation(a, b) or OTHER
    x, y = _low(a), _low(b)
    made = None if x is None or y is None else operation(x, y)
    return OTHER if made is None else _Low(made)


def _low(a: _Value) -> Sum | None:
    """The low 32 bits, where they are known as a sum."""
    if isinstance(a, _Low):
        return a.sum
    return Sum(32, a.constant % (1 << 32)) if isinstance(a, Sum) and not a.terms else None


def _product(a: Sum, b: Sum) -> Sum | None:
    if a.terms and b.terms:
        return None
    factor, other = (b, a) if a.terms else (a, b)
    return total(other.width, [(other, factor.constant)])


def total(width: int, parts: Iterable[tuple[Sum, int]]) -> Sum:
    """The sum of multiples of sums."""
    constant = 0
    factors: dict[Number, int] = {}
    for one, factor in parts:
        constant += factor * one.constant
        for number, own in one.terms:
            factors[number] = (factors.get(number, 0) + factor * own) % (1 << width)
    return Sum(width, constant % (1 << width), tuple(sorted((n, f) for n, f in factors.items() if f)))


def summed(
    instruction: Instruction,
    row: Row,
    bound: Sequence[tuple[Slot, Operand | None]],
    sum_of: Callable[[Reg], Sum],
    number_of: Callable[..., Number],
) -> Sum | None:
    """The first result of an instruction as a sum; None where it is none.

    `sum_of` gives that of a register operand of one or two units, `number_of` the number of an expression.
    """

    def value_of(slot: Slot, operand: Operand | None) -> _Value:
        return _operand(slot, operand, sum_of)

    made = first_result(instruction, row, bound, _WORDS | _PAIRS, _Algebra(number_of), value_of)
    if made is None:
        return None
    kind, first = made
    width = 32 if kind in _WORDS else 64
    return first if isinstance(first, Sum) and first.width == width and len(first.terms) <= _MOST else None


def _operand(slot: Slot, operand: Operand | None, sum_of: Callable[[Reg], Sum]) -> _Value:
    if slot.hidden:
        return OTHER
    width = 32 if slot.type in _WORDS else 64 if slot.type in _PAIRS else 0
    if isinstance(operand, Reg):
        plain = not (operand.neg or operand.absolute or operand.sext)
        return sum_of(operand) if plain and width == 32 * operand.count else OTHER
    if not isinstance(operand, Imm) or operand.is_float or operand.neg or operand.absolute:
        return OTHER
    if width == 64:
        return Sum(64, operand.signed % (1 << 64)) if operand.is_inline_integer else OTHER
    return Sum(32, operand.bits) if width == 32 or slot.type == "imm" else OTHER

"""Which instructions hand a source on unchanged: read off the meaning of their row, not off a list of opcodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from asmevo.isa import Imm, Instruction, LaneRow, Operand, PackedRow, Reg, ScalarRow, Slot, bind, row_of


@dataclass(frozen=True, slots=True)
class _Use:
    """The value of one use slot."""

    slot: int


@dataclass(frozen=True, slots=True)
class _Constant:
    """A known integer."""

    bits: int


class _Opaque(Exception):
    """The meaning needs more than neutral elements."""


class _Neutral:
    """The few operations of the algebra that have a neutral element; every other one gives up."""

    def const(self, value: int, bits: int = 32) -> _Constant:
        return _Constant(value & ((1 << bits) - 1))

    def add(self, a: object, b: object) -> object:
        if a == _Constant(0):
            return b
        if b == _Constant(0):
            return a
        raise _Opaque

    or_ = xor = add

    def __getattr__(self, name: str) -> object:
        raise _Opaque


class _Choosing:
    """Selects by a condition that is known, and nothing else."""

    def select(self, condition: object, a: object, b: object) -> object:
        if not isinstance(condition, _Constant):
            raise _Opaque
        return a if condition.bits else b

    def __getattr__(self, name: str) -> object:
        raise _Opaque


def _fills(kind: str, register: Reg) -> bool:
    """Whether values of a type (`b32`, `u16`, ...) have as many bits as the register: a part of it is no copy."""
    digits = kind.lstrip("abcdefghijklmnopqrstuvwxyz")
    return digits.isdecimal() and int(digits) == 32 * register.count


@lru_cache(maxsize=1 << 16)
def copied_use(instruction: Instruction) -> int | None:
    """Index in `bind()` of the operand that the instruction copies to its only result; None if it is no copy."""
    row = row_of(instruction)
    if not isinstance(row, (LaneRow, ScalarRow)) or isinstance(row, PackedRow):
        return None
    if instruction.modifiers or instruction.is_sdwa_or_dpp:
        return None
    bound = list(bind(instruction, row))
    uses: list[object] = []
    for index, (slot, operand) in enumerate(bound):
        if not slot.is_use:
            continue
        if slot.hidden or not isinstance(operand, (Reg, Imm)) or operand.neg or operand.absolute:
            return None
        known = isinstance(operand, Imm) and not operand.is_float and len(bound) > 2
        uses.append(_Constant(operand.bits) if isinstance(operand, Imm) and known else _Use(index))
    return _handed_on(row, bound, _Neutral(), uses)


@lru_cache(maxsize=1 << 12)
def chosen_use(instruction: Instruction, scc: bool) -> int | None:
    """Index in `bind()` of the operand that a scalar selection hands on with this SCC; None if it is no selection."""
    row = row_of(instruction)
    if not isinstance(row, ScalarRow) or instruction.modifiers:
        return None
    bound = list(bind(instruction, row))
    uses: list[object] = []
    for index, (slot, operand) in enumerate(bound):
        if slot.hidden == "scc":
            uses.append(_Constant(int(scc)))
        elif slot.is_use:
            if slot.hidden or not isinstance(operand, (Reg, Imm)):
                return None
            uses.append(_Use(index))
    return _handed_on(row, bound, _Choosing(), uses)


def _handed_on(
    row: LaneRow | ScalarRow, bound: Sequence[tuple[Slot, Operand | None]], algebra: Any, uses: Sequence[object]
) -> int | None:
    """Which operand is the only result, whole and as it is, by the meaning over an algebra; None where none is."""
    defs = [(slot, operand) for slot, operand in bound if slot.is_def]
    if len(defs) != 1 or defs[0][0].hidden or any(slot.tied >= 0 for slot, _ in bound):
        return None
    try:
        result: object = row.meaning(algebra, *uses)
    except _Opaque:
        return None
    if not isinstance(result, _Use):
        return None
    (slot, target), (source, operand) = defs[0], bound[result.slot]
    same_width = isinstance(target, Reg) and slot.type == source.type and _fills(slot.type, target)
    plain = not operand.sext if isinstance(operand, Reg) else isinstance(operand, Imm) and not operand.is_float
    return result.slot if same_width and plain else None

"""What one instruction reads and writes, from its row and its printed operands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from asmevo.isa.instruction import Instruction
from asmevo.isa.operands import Operand, Reg, Word
from asmevo.isa.registers import EXEC, RegSet, span
from asmevo.isa.row import HIDDEN, TYPE_UNITS, LaneRow, PackedRow, Row, Slot
from asmevo.isa.table import row_of
from asmevo.verdict import UnsupportedError

_APERTURES = tuple(f"src_{space}_{end}" for space in ("shared", "private") for end in ("base", "limit"))
"""Constants that say where flat addresses mean LDS or scratch: read without a register."""


@dataclass(frozen=True, slots=True)
class Effects:
    """Register effects. Memory effects follow from the row."""

    row: Row
    reads: RegSet
    writes: RegSet
    masked: bool
    """Vector writes reach active lanes only: a write leaves the other lanes of the register as they were."""


def bind(instruction: Instruction, row: Row) -> Iterator[tuple[Slot, Operand | None]]:
    """Pair each slot with its printed operand; None for hidden slots.

    Raises `UnsupportedError` when the printed operands do not fit the row.
    """
    slots = row.slots_for(instruction)
    printed = iter(instruction.operands)
    for slot in slots:
        if slot.hidden:
            yield slot, None
        elif slot.tied >= 0:
            yield slot, instruction.operands[slot.tied]
        else:
            operand = next(printed, None)
            if operand is None:
                raise UnsupportedError(f"`{instruction}` has fewer operands than the opcode table knows.")
            if isinstance(operand, Reg) and TYPE_UNITS[slot.type] not in (0, operand.count):
                raise UnsupportedError(
                    f"`{instruction}`: operand of {operand.count} registers where the opcode table has {slot.type}."
                )
            if isinstance(operand, Word) and slot.type not in ("any", "imm") and operand.text not in _APERTURES:
                raise UnsupportedError(f"`{instruction}`: the opcode table does not know the operand {operand.text!r}.")
            yield slot, operand
    if next(printed, None) is not None:
        raise UnsupportedError(f"`{instruction}` has more operands than the opcode table knows.")


@lru_cache(maxsize=1 << 18)
def effects(instruction: Instruction) -> Effects:
    """Registers read and written. Raises `UnsupportedError` for an opcode without a row or a form it does not know."""
    row = row_of(instruction)
    reads = EXEC if row.is_vector else 0
    writes = 0
    for slot, operand in bind(instruction, row):
        if slot.hidden:
            used = span(*HIDDEN[slot.hidden])
        elif isinstance(operand, Reg):
            used = operand.units
        else:
            continue
        reads |= used if slot.is_use else 0
        writes |= used if slot.is_def else 0
    if _merges(instruction, row):
        reads |= writes
    return Effects(row, reads, writes, row.is_vector)


def _merges(instruction: Instruction, row: Row) -> bool:
    """Whether part of the destination register, or of its active lanes, keeps its old bits."""
    modifiers = instruction.modifiers
    if row.tags & {"keeps_half", "keeps_byte", "high_half"} or "_d16" in instruction.mnemonic:
        return True
    if instruction.encoding == "sdwa":
        return modifiers.get("dst_sel", "DWORD") != "DWORD" and modifiers.get("dst_unused") == "UNUSED_PRESERVE"
    if instruction.encoding.endswith("dpp"):
        # Lanes that row_mask or bank_mask leave out keep the old value, and without bound_ctrl those with no source.
        whole = modifiers.get("row_mask") == "0xf" and modifiers.get("bank_mask") == "0xf"
        return not (whole and "bound_ctrl" in modifiers)
    op_sel = instruction.bits("op_sel", ())
    has_destination_bit = isinstance(row, LaneRow) and not isinstance(row, PackedRow)
    return has_destination_bit and len(op_sel) == len(instruction.operands) and op_sel[-1] != 0

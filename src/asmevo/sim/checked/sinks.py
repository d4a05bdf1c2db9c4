"""Which registers an instruction must not find unwritten."""

from __future__ import annotations

from functools import lru_cache

from asmevo.isa import (
    ControlRow,
    Instruction,
    LaneRow,
    MatrixRow,
    MemoryRow,
    PackedRow,
    Reg,
    RegSet,
    ScalarRow,
    bind,
    effects,
)
from asmevo.isa.registers import EXEC, MODE, span
from asmevo.program.outstanding import facts

_ALWAYS = EXEC | span(MODE, 1)
"""Registers that have a value from the start."""


_CARRIES = ("v_mov", "v_accvgpr", "v_perm", "v_alignb", "v_bfi", "v_swap", "v_cndmask")
"""Begins of opcodes that move or choose registers or parts of them."""


@lru_cache(maxsize=1 << 16)
def needed(instruction: Instruction) -> RegSet:
    """Registers whose value the result depends on.

    Moves, and what chooses, merges or packs parts of registers, may carry along what nobody wrote; compilers and
    hand-written code do that with parts that are never looked at.
    """
    row = effects(instruction).row
    if isinstance(row, (MemoryRow, ControlRow, ScalarRow)):
        return facts(instruction).reads & ~_ALWAYS
    packs = isinstance(row, PackedRow) or instruction.is_sdwa_or_dpp
    if isinstance(row, (LaneRow, MatrixRow)) and not packs and not instruction.base.startswith(_CARRIES):
        printed = 0
        for slot, operand in bind(instruction, row):
            if slot.is_use and slot.tied < 0 and not slot.hidden and isinstance(operand, Reg):
                printed |= operand.units
        return printed & ~_ALWAYS
    return 0

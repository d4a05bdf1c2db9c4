"""Which registers an instruction must not find unwritten."""

from __future__ import annotations

from functools import lru_cache

from asmevo.isa import ControlRow, Instruction, MemoryRow, RegSet, ScalarRow, effects
from asmevo.isa.registers import EXEC, MODE, span
from asmevo.program.outstanding import facts

_ALWAYS = EXEC | span(MODE, 1)
"""Registers that have a value from the start."""


@lru_cache(maxsize=1 << 16)
def needed(instruction: Instruction) -> RegSet:
    """Registers whose value the result depends on.

    Moves, and what merges or packs parts of registers, may carry along what nobody wrote; compilers and hand-written
    code do that with parts that are never looked at.
    """
    row = effects(instruction).row
    if isinstance(row, (MemoryRow, ControlRow, ScalarRow)):
        return facts(instruction).reads & ~_ALWAYS
    return 0

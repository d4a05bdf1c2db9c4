"""Vector instructions that `s_setvskip` may skip: they then count in no counter and take no time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from asmevo.isa import Imm, Instruction, Pipe, effects
from asmevo.program.program import Line, control_kind

_SKIPPED = (Pipe.VALU, Pipe.MFMA, Pipe.VMEM, Pipe.LDS)


@lru_cache(maxsize=1 << 18)
def _switch(instruction: Instruction) -> bool | None:
    """Whether instructions behind it may be skipped; None where it changes nothing."""
    if control_kind(instruction) != "setvskip":
        return None
    mode, bit = instruction.operands
    return not (isinstance(mode, Imm) and isinstance(bit, Imm)) or bool(mode.bits >> (bit.bits & 31) & 1)


@lru_cache(maxsize=1 << 18)
def _is_vector(instruction: Instruction) -> bool:
    return effects(instruction).row.pipe in _SKIPPED


def may_skip(lines: Sequence[Line]) -> list[bool] | None:
    """For each line of a block whether it may be skipped, when nothing is at its begin; None where no line can be.

    Raises `UnsupportedError` for an opcode without a row.
    """
    if all(_switch(line.instruction) is None for line in lines):
        return None
    found: list[bool] = []
    on = False
    for line in lines:
        switched = _switch(line.instruction)
        on = on if switched is None else switched
        found.append(on and _is_vector(line.instruction))
    return found


def is_contained(lines: Sequence[Line]) -> bool:
    """Whether nothing is skipped behind the block, and nothing that may be skipped in it writes a register."""
    skipped = may_skip(lines)
    if skipped is None:
        return True
    switches = [switched for line in lines if (switched := _switch(line.instruction)) is not None]
    written = any(effects(x.instruction).writes for x, may in zip(lines, skipped, strict=True) if may)
    return not switches[-1] and not written

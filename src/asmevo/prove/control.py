"""Registers that decide branches: how often a loop runs, and which way a wave goes, is not left to launches."""

from __future__ import annotations

from asmevo.isa import RegSet, effects, span
from asmevo.isa.registers import VGPR_BASE
from asmevo.program import Line, Program, control_kind

_SCALARS: RegSet = span(0, VGPR_BASE)


def control_registers(program: Program) -> tuple[RegSet, ...]:
    """For each block, the registers behind its last line whose value reaches the condition of some branch.

    A backward dataflow like liveness in which only conditional branches are readers of their own accord. What travels
    through memory is not followed.
    """
    blocks = program.blocks
    ends: list[RegSet] = [0] * len(blocks)
    begins: list[RegSet] = [0] * len(blocks)
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            end = 0
            for successor in block.successors:
                end |= begins[successor]
            begin = _before(program.lines[block.first : block.last], end)
            if (end, begin) != (ends[block.number], begins[block.number]):
                ends[block.number], begins[block.number] = end, begin
                changed = True
    return tuple(ends)


def _before(lines: tuple[Line, ...], needed: RegSet) -> RegSet:
    for line in reversed(lines):
        known = effects(line.instruction)
        if control_kind(line.instruction) == "cbranch":
            needed |= known.reads
        elif known.writes & needed:
            kept_lanes = known.writes & ~_SCALARS if known.masked else 0
            needed = (needed & ~(known.writes & ~kept_lanes)) | known.reads
    return needed

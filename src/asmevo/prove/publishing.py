"""Whether a barrier of the kernel can stand between a store to global memory and another wave's load of it."""

from __future__ import annotations

from asmevo.isa import MemoryRow, Space, effects
from asmevo.program import Line, Program, control_kind
from asmevo.program.paths import reachable


def publishes(program: Program) -> bool:
    """Whether any path leads from a store or atomic on global memory to a barrier.

    Where none does, no barrier makes such a store visible to a wave that loads behind the barrier, so a load of global
    memory may stand on either side. (That a later load still comes before the stores of other waves is for the static
    stage, which counts what is outstanding at each barrier.)
    """
    blocks = program.blocks
    with_barrier = [_has_barrier(program.lines[b.first : b.last]) for b in blocks]
    for block in blocks:
        lines = program.lines[block.first : block.last]
        stored = next((i for i, line in enumerate(lines) if _stores(line)), None)
        if stored is None:
            continue
        if _has_barrier(lines[stored:]) or any(with_barrier[n] for n in reachable(program, block.successors)):
            return True
    return False


def _has_barrier(lines: tuple[Line, ...]) -> bool:
    return any(control_kind(line.instruction) == "barrier" for line in lines)


def _stores(line: Line) -> bool:
    row = effects(line.instruction).row
    return isinstance(row, MemoryRow) and row.kind != "load" and row.space is not Space.LDS

"""Whether a barrier, or a wait in LDS, can stand between a store to global memory and another wave's load of it."""

from __future__ import annotations

from collections.abc import Callable

from asmevo.isa import MemoryRow, Space, effects
from asmevo.program import Line, Program, control_kind
from asmevo.program.memory import Memory, access
from asmevo.program.paths import reachable
from asmevo.prove.taint import dependents
from asmevo.prove.values import to_lds


def publishes(program: Program) -> bool:
    """Whether any path leads from a store or atomic on global memory, or from what makes stores of other waves visible,
    to a barrier.

    Where none does, no barrier makes such a store visible to a wave that loads behind the barrier, so a load of global
    memory may stand on either side. (That a later load still comes before the stores of other waves is for the static
    stage, which counts what is outstanding at each barrier.) One wave may poll for what another workgroup stores, and
    a barrier hand it on to the others.
    """
    return _leads(program, _is_barrier)


def signals(program: Program) -> bool:
    """The same with a write of LDS in place of the barrier, for which a wave may wait: in a loop without a barrier that
    goes on or ends by what it loads from LDS itself."""
    return _leads(program, _writes_lds) and _waits_in_lds(program)


def _waits_in_lds(program: Program) -> bool:
    blocks = program.blocks
    free = {b.number for b in blocks if not any(map(_is_barrier, program.lines[b.first : b.last]))}
    for number in free:
        loads = {i for i in range(blocks[number].first, blocks[number].last) if _loads_lds(program.lines[i])}
        onward = reachable(program, blocks[number].successors, within=free) if loads else set[int]()
        if number not in onward:
            continue
        loop = [b for b in blocks if b.number in onward and number in reachable(program, b.successors, within=free)]
        branches = {b.last - 1 for b in loop if control_kind(program.lines[b.last - 1].instruction) == "cbranch"}
        if not branches.isdisjoint(dependents(program, loads)):
            return True
    return False


def _loads_lds(line: Line) -> bool:
    known = access(line.instruction)
    return known is not None and bool(known.reads & Memory.LDS)


def _leads(program: Program, ends: Callable[[Line], bool]) -> bool:
    blocks = program.blocks
    with_end = [any(map(ends, program.lines[b.first : b.last])) for b in blocks]
    for block in blocks:
        lines = program.lines[block.first : block.last]
        begin = next((i for i, line in enumerate(lines) if _renews(line)), None)
        if begin is None:
            continue
        if any(map(ends, lines[begin:])) or any(with_end[n] for n in reachable(program, block.successors)):
            return True
    return False


def _is_barrier(line: Line) -> bool:
    return control_kind(line.instruction) == "barrier"


def _writes_lds(line: Line) -> bool:
    row = effects(line.instruction).row
    if not isinstance(row, MemoryRow):
        return False
    return to_lds(line.instruction, row) or (row.kind != "load" and row.space in (Space.LDS, Space.FLAT))


def _renews(line: Line) -> bool:
    """What may make stores visible: stores, atomics, loads with a scope, cache control, global wave sync (GWS)."""
    row = effects(line.instruction).row
    if not isinstance(row, MemoryRow):
        return not {"cache", "gws"}.isdisjoint(row.tags)
    if row.space is Space.LDS:
        return False
    return row.kind != "load" or line.instruction.is_scoped

"""Which lines see a value that may differ from K0's."""

from __future__ import annotations

from collections.abc import Mapping

from asmevo.isa import RegSet, effects
from asmevo.program import Line, Program


def tainted_lines(program: Program, differing: Mapping[int, RegSet]) -> frozenset[int]:
    """Positions of lines that read a differing register or what was computed from one.

    `differing` gives, for each block, registers that may differ behind it. A forward dataflow over all paths; what
    travels through memory is not followed, since the launches compare memory.
    """
    blocks = program.blocks
    begins: dict[int, RegSet] = {b.number: 0 for b in blocks}
    ends: dict[int, RegSet] = {b.number: 0 for b in blocks}
    seen: set[int] = set()
    work = [b.number for b in blocks if differing.get(b.number)]
    first = set(work)
    while work:
        block = blocks[work.pop()]
        end = _through(program.lines, block.first, block.last, begins[block.number], seen)
        end |= differing.get(block.number, 0)
        if end == ends[block.number] and block.number not in first:
            continue
        first.discard(block.number)
        ends[block.number] = end
        for successor in block.successors:
            if end & ~begins[successor]:
                begins[successor] |= end
                work.append(successor)
    return frozenset(seen)


def _through(lines: tuple[Line, ...], begin: int, end: int, tainted: RegSet, seen: set[int]) -> RegSet:
    for position in range(begin, end):
        if not tainted:
            break
        known = effects(lines[position].instruction)
        if known.reads & tainted:
            seen.add(position)
            tainted |= known.writes
        elif not known.masked:
            tainted &= ~known.writes
    return tainted

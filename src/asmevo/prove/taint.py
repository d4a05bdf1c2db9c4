"""Which lines see a value that may differ from K0's."""

from __future__ import annotations

from collections.abc import Mapping, Set
from types import MappingProxyType

from asmevo.isa import RegSet, effects
from asmevo.program import Program
from asmevo.program.liveness import Liveness, liveness
from asmevo.program.memory import Memory, access

_FOLLOWED = Memory.LDS | Memory.SCRATCH


def tainted_lines(program: Program, differing: Mapping[int, RegSet]) -> frozenset[int]:
    """Positions of lines that read a differing register or what was computed from one.

    `differing` gives, for each block, registers that may differ behind it. A forward dataflow over all paths; what
    travels through memory is not followed, since the launches compare memory.
    """
    return _tainted(program, differing, frozenset(), None)


def dependents(
    program: Program, sources: Set[int], differing: Mapping[int, RegSet] = MappingProxyType({})
) -> frozenset[int]:
    """Positions of `sources`, which compute something else, and of lines that depend on one or on a differing register.

    LDS and scratch are followed as a whole: where anything that differs is stored there, all that is loaded does.
    Raises `UnsupportedError` for an opcode without a row.
    """
    live, found = liveness(program), frozenset(sources)
    reachable = [i for i, line in enumerate(program.lines) if line.id in program.block_of]
    accesses = {i: known for i in reachable if (known := access(program.lines[i].instruction)) is not None}
    while True:
        more = found | _tainted(program, differing, found, live)
        stored = Memory.NONE
        for position in more & accesses.keys():
            stored |= accesses[position].writes & _FOLLOWED
        more |= {i for i, known in accesses.items() if known.reads & stored}
        if more == found:
            return found
        found = more


def _tainted(
    program: Program, differing: Mapping[int, RegSet], sources: Set[int], live: Liveness | None
) -> frozenset[int]:
    """Lines that read what differs; also what `sources` write. With liveness, registers differ while they live."""
    blocks = program.blocks
    begins: dict[int, RegSet] = {b.number: 0 for b in blocks}
    ends: dict[int, RegSet] = {b.number: 0 for b in blocks}
    seen: set[int] = set()
    within = {program.block_of[program.lines[position].id] for position in sources}
    work = [b.number for b in blocks if differing.get(b.number) or b.number in within]
    first = set(work)
    while work:
        block = blocks[work.pop()]
        end = begins[block.number]
        if end or block.number in within:
            end = _through(program, range(block.first, block.last), end, seen, sources, live)
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


def _through(
    program: Program, positions: range, tainted: RegSet, seen: set[int], sources: Set[int], live: Liveness | None
) -> RegSet:
    for position in positions:
        if not tainted and not sources:
            break
        known = effects(program.lines[position].instruction)
        if known.reads & tainted:
            seen.add(position)
            tainted |= known.writes
        elif position in sources:
            tainted |= known.writes
        elif not known.masked:
            tainted &= ~known.writes
        if live is not None and tainted:
            tainted &= live.live_out(position)
    return tainted

"""The code around a block that its pace is judged in: the loop it turns in, or what follows it."""

from __future__ import annotations

from collections.abc import Mapping

from asmevo.program import Block, Program
from asmevo.program.loops import find_loops

FOLLOWING = 300
"""Instructions that are followed behind a block that is in no simple loop: long enough to see its loads used."""


def stretch_of(program: Program, block: Block, heat: Mapping[int, float]) -> tuple[tuple[int, ...], int]:
    """Block numbers in the order of execution, and how often to go round: 2 for a loop, else 1.

    A loop counts when its blocks follow one another without a choice except to leave it.
    """
    loops = [loop for loop in find_loops(program) if block.number in loop.blocks]
    if loops:
        loop = max(loops, key=lambda loop: loop.depth)
        chain = [loop.header]
        while True:
            inside = [s for s in program.blocks[chain[-1]].successors if s in loop.blocks]
            if len(inside) != 1:
                break
            if inside[0] == loop.header:
                if len(chain) == len(loop.blocks):
                    return tuple(chain), 2
                break
            if inside[0] in chain:
                break
            chain.append(inside[0])
    return _following(program, block, heat), 1


def _following(program: Program, block: Block, heat: Mapping[int, float]) -> tuple[int, ...]:
    """The block and the hottest way on from it."""
    chain, room = [block.number], FOLLOWING
    while room > 0:
        onward = [s for s in program.blocks[chain[-1]].successors if s not in chain]
        if not onward:
            break
        best = max(onward, key=lambda n: (_warmth(program, n, heat), -n))
        chain.append(best)
        room -= program.blocks[best].last - program.blocks[best].first
    return tuple(chain)


def _warmth(program: Program, number: int, heat: Mapping[int, float]) -> float:
    block = program.blocks[number]
    return sum(heat.get(line.id, 0.0) for line in program.lines[block.first : block.last])

"""Ways through the control flow."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable

from asmevo.program.program import Program


def reachable(program: Program, start: Iterable[int], *, within: Container[int] | None = None) -> set[int]:
    """Numbers of the blocks that may run from some blocks on, these included; on ways `within` some blocks alone."""
    seen, work = set[int](), list(start)
    while work:
        number = work.pop()
        if number not in seen and (within is None or number in within):
            seen.add(number)
            work += program.blocks[number].successors
    return seen


def block_path(program: Program, first: int, second: int) -> list[int]:
    """Block numbers on a shortest way from the line with id `first` to the line with id `second`, both ends included.

    For messages. Empty when there is no way. Lines of one block, in order, give that block alone.
    """
    start, goal = program.block_of[first], program.block_of[second]
    if start == goal and program.position[first] < program.position[second]:
        return [start]
    came_from: dict[int, int] = {}
    queue = deque([start])
    while queue:
        block = queue.popleft()
        for s in program.blocks[block].successors:
            if s not in came_from:
                came_from[s] = block
                queue.append(s)
        if goal in came_from:
            break
    if goal not in came_from:
        return []
    path = [goal, came_from[goal]]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return path[::-1]

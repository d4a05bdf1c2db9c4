"""From a block's new contents to an edit: which lines stay, move, go or come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from asmevo.edit import Edit, Rewrite
from asmevo.program import Block, Program

Item: TypeAlias = int | str
"""A line of the block by id, or the text of a new one."""


def arrange(program: Program, block: Block, items: Sequence[Item]) -> tuple[Edit, ...]:
    """The edit that makes `items` the contents of a block, or none when they are; lines not among them are deleted.

    A new line with the text of an old one that would go (a wait, a nop) is that one, and the edit spans no more than
    what changes. A branch that ends the block must be the last item.
    """
    lines = program.lines[block.first : block.last]
    before = [line.id for line in lines]
    wanted = _keep(program, before, items)
    first = 0
    while first < min(len(before), len(wanted)) and before[first] == wanted[first]:
        first += 1
    last = 0
    while last < min(len(before), len(wanted)) - first and before[-1 - last] == wanted[-1 - last]:
        last += 1
    if first == len(before) == len(wanted):
        return ()
    if first == len(before) - last:  # nothing but new lines: a run needs a line of the program
        first, last = (first - 1, last) if first else (first, last - 1)
    run = before[first : len(before) - last]
    inside = wanted[first : len(wanted) - last]
    new = tuple(item for item in inside if isinstance(item, str))
    order, count = list[int](), 0
    for item in inside:
        if isinstance(item, str):
            count += 1
            order.append(-count)
        else:
            order.append(item)
    return (Rewrite((run[0], run[-1]), tuple(order), new),)


def _keep(program: Program, before: Sequence[int], items: Sequence[Item]) -> list[Item]:
    """The items with texts replaced by old lines of the same text that would go, in order."""
    kept = {item for item in items if isinstance(item, int)}
    spare: dict[str, list[int]] = {}
    for i in before:
        if i not in kept:
            spare.setdefault(program.line(i).instruction.text, []).append(i)
    return [spare[item].pop(0) if isinstance(item, str) and spare.get(item) else item for item in items]

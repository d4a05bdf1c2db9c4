"""From a block's new contents to edits: which lines stay, move, change, go or come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from asmevo.edit import Delete, Edit, Insert, Reorder, Replace
from asmevo.program import Block, Program, control_kind

Item: TypeAlias = int | str
"""A line of the block by id, or the text of a new one."""


def arrange(program: Program, block: Block, items: Sequence[Item]) -> tuple[Edit, ...]:
    """The edits that make `items` the contents of a block; a line that is not among them is deleted.

    New waits and nops take the place of old ones that are not needed any more, so that the difference stays small.
    A branch that ends the block must be the last item.
    """
    before = [line.id for line in program.lines[block.first : block.last]]
    items, replaced = _reuse(program, before, list(items))
    kept = [item for item in items if isinstance(item, int)]
    gone = tuple(i for i in before if i not in set(kept))
    edits: list[Edit] = [Replace(i, text) for i, text in replaced.items()]
    if gone:
        edits.append(Delete(gone))
    edits += _moves([i for i in before if i not in set(gone)], kept)
    texts: list[str] = []
    for item in items:
        if isinstance(item, str):
            texts.append(item)
        elif texts:
            edits.append(Insert(item, tuple(texts)))
            texts = []
    if texts:  # the block falls through: others may branch to the line behind it, and must not execute these
        edits.append(Insert(program.lines[block.last].id, tuple(texts), fallthrough=True))
    return tuple(edits)


def _reuse(program: Program, before: Sequence[int], items: list[Item]) -> tuple[list[Item], dict[int, str]]:
    """Give new waits and nops the ids of old ones that would go: first those with the same text, then any."""
    kept = {item for item in items if isinstance(item, int)}
    spare = [i for i in before if i not in kept and control_kind(program.line(i).instruction) in ("waitcnt", "nop")]
    replaced: dict[int, str] = {}
    for same in (True, False):
        for at, item in enumerate(items):
            if not isinstance(item, str) or not item.startswith(("s_waitcnt", "s_nop")):
                continue
            matches = (i for i in spare if program.line(i).instruction.mnemonic == item.split()[0])
            found = next((i for i in matches if not same or program.line(i).instruction.text == item), None)
            if found is None:
                continue
            spare.remove(found)
            items[at] = found
            if not same:
                replaced[found] = item
    return items, replaced


def _moves(before: Sequence[int], after: Sequence[int]) -> list[Edit]:
    """One reordering of the shortest run that holds every line that moves."""
    first = next((i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b), None)
    if first is None:
        return []
    last = next(i for i in range(len(before), 0, -1) if before[i - 1] != after[i - 1])
    return [Reorder(tuple(after[first:last]))]

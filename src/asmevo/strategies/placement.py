"""Waits and nops for a new order of a block: as weak and as late as correctness allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from asmevo.edit import Edit, apply_all
from asmevo.isa.roles import NOP_MAX
from asmevo.program import Block, Program
from asmevo.strategies.arrange import Item, arrange
from asmevo.strategies.context import Analyses
from asmevo.verdict import InputError

ROUNDS = 8
"""Rounds of inserting nops until no pair of instructions is too close."""
_LONGEST_NOP = NOP_MAX + 1
"""Wait states."""


def with_waits(analyses: Analyses, block: Block, order: Sequence[int]) -> list[Item] | None:
    """The block with its lines in `order` (ids, without waits and nops) and the weakest waits.

    None when no waits inside the block make that order right: other blocks rely on how it was.
    """
    bare = applied(analyses.program, {block.number: order})
    waits = None if bare is None else analyses.placer.place(bare[0], block.number)
    if waits is None:
        return None
    items: list[Item] = list(order)
    for placed in waits:
        at = len(items) if placed.fallthrough else items.index(placed.before)
        items.insert(at, str(placed.wait))
    return items


def spaced(analyses: Analyses, contents: Mapping[int, Sequence[Item]]) -> tuple[Program, tuple[Edit, ...]] | None:
    """Blocks (by number) with these contents and as many more nops as the spacing rules, or K0's own habits, ask for.

    Returns the edited program and the edits; None when that cannot be had, or when waits are missing.
    """
    items: dict[int, list[Item]] = {number: list(content) for number, content in contents.items()}
    for _ in range(ROUNDS):
        result = applied(analyses.program, items)
        if result is None:
            return None
        lacking = analyses.analyst.too_close(result[0])
        if not lacking:
            return result if analyses.placer.is_right(result[0]) else None
        inserted = [_insert_nops(content, lacking) for content in items.values()]
        if True not in inserted:
            _insert_at_ends(items, max(lacking.values()))
    return None


def applied(program: Program, contents: Mapping[int, Sequence[Item]]) -> tuple[Program, tuple[Edit, ...]] | None:
    """The program with these blocks' contents, and the edits that lead to it. Blocks are independent of one another."""
    edits = tuple(edit for n, items in contents.items() for edit in arrange(program, program.blocks[n], items))
    try:
        return apply_all(program, edits), edits
    except InputError:  # e.g. a branch to the block would have nowhere to go
        return None


def _insert_nops(items: list[Item], lacking: Mapping[int, int]) -> bool:
    """Nops in front of consumers that are too close, the first of each neighbourhood; whether there was any."""
    found, quiet_until = False, -1
    for item in tuple(items):
        at = items.index(item)
        if not isinstance(item, int) or item not in lacking or at < quiet_until:
            continue
        quiet_until = at + _LONGEST_NOP + 4  # what follows closely may have been helped by this one
        _pause(items, at, lacking[item])
        found = True
    return found


def _pause(items: list[Item], at: int, states: int) -> None:
    """Put `states` more wait states in front of place `at`, together with a nop that is there already."""
    before = items[at - 1] if at else None
    if isinstance(before, str) and before.startswith("s_nop"):
        states += int(before.split()[1]) + 1
        at -= 1
        del items[at]
    while states > 0:
        items.insert(at, f"s_nop {min(states, _LONGEST_NOP) - 1}")
        states -= _LONGEST_NOP


def _insert_at_ends(items: Mapping[int, list[Item]], states: int) -> None:
    """The consumers are in other blocks: keep the distance at the end of these."""
    for content in items.values():
        _pause(content, len(content) - 1, states)

"""Waits and nops for a new order of a block: as weak and as late as correctness allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from asmevo.edit import Edit, apply_all
from asmevo.program import Block, Program
from asmevo.strategies.arrange import Item, arrange
from asmevo.strategies.context import Analyses
from asmevo.verdict import InputError

ROUNDS = 8
"""Rounds of inserting nops until no pair of instructions is too close."""
NOP_LIMIT = 16
"""Wait states of the longest `s_nop`."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A block with its new waits and nops."""

    items: tuple[Item, ...]
    edits: tuple[Edit, ...]
    program: Program
    """The edited program."""


def place(analyses: Analyses, block: Block, order: Sequence[int]) -> Placed | None:
    """The block with its lines in `order` (ids, without waits and nops), the weakest waits and the fewest nops.

    None when no waits and nops inside the block make that order right: other blocks rely on how it was.
    """
    bare = _applied(analyses, block, order)
    waits = None if bare is None else analyses.placer.place(bare, block.number)
    if waits is None:
        return None
    items: list[Item] = list(order)
    for placed in waits:
        at = len(items) if placed.fallthrough else items.index(placed.before)
        items.insert(at, str(placed.wait))
    return spaced(analyses, block, items)


def spaced(analyses: Analyses, block: Block, items: Sequence[Item]) -> Placed | None:
    """The block with these contents and as many more nops as the spacing rules, or K0's own habits, ask for.

    None when that cannot be had inside the block, or when waits are missing.
    """
    items = list(items)
    for _ in range(ROUNDS):
        program = _applied(analyses, block, items)
        if program is None:
            return None
        lacking = analyses.analyst.too_close(program)
        if not lacking:
            right = analyses.placer.is_right(program)
            return Placed(tuple(items), arrange(analyses.program, block, items), program) if right else None
        _insert_nops(items, lacking)
    return None


def _applied(analyses: Analyses, block: Block, items: Sequence[Item]) -> Program | None:
    try:
        return apply_all(analyses.program, arrange(analyses.program, block, items))
    except InputError:  # e.g. a branch to the block would have nowhere to go
        return None


def _insert_nops(items: list[Item], lacking: dict[int, int]) -> None:
    """Nops in front of the first consumer that is too close; for consumers in other blocks, before the last line."""
    at, states = len(items) - 1, max(lacking.values())
    for n, item in enumerate(items):
        if isinstance(item, int) and item in lacking:
            at, states = n, lacking[item]
            break
    before = items[at - 1] if at else None
    if isinstance(before, str) and before.startswith("s_nop"):
        states += int(before.split()[1]) + 1
        at -= 1
        del items[at]
    while states > 0:
        items.insert(at, f"s_nop {min(states, NOP_LIMIT) - 1}")
        states -= NOP_LIMIT

"""Folding: copies go into the instructions around them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from asmevo.edit import Delete, Edit, Replace
from asmevo.isa import RegSet
from asmevo.program import Block, Line
from asmevo.strategies.bench import copies_of
from asmevo.strategies.broadcast import broadcasts
from asmevo.strategies.context import Context
from asmevo.strategies.copies import mergers, propagations, together
from asmevo.strategies.proposal import Proposal
from asmevo.strategies.settle import settled

_Found: TypeAlias = tuple[Sequence[int], Mapping[int, str]]
"""Line ids of copies that can go, and new texts of other lines."""
_KINDS: Mapping[str, Callable[[Sequence[Line], Sequence[RegSet]], _Found]] = {
    "copies into pairs, which packed instructions read by op_sel": broadcasts,
    "copies of what could be made in their place": partial(together, find=mergers),
    "copies whose readers can read the source": partial(together, find=propagations),
}


class Fold:
    """Copies: all of a kind in one proposal, in the block and in those of its loop that are alike, then in it alone.

    Packed f32 instructions take either half of a pair for each element, so a value need not be there twice; what makes
    a value that is copied at its end can make it where the copy puts it; readers of a copy can read the source.
    """

    name = "fold"

    def propose(self, context: Context, rng: random.Random) -> Iterator[Proposal]:
        alike = sorted(copies_of(context.program, context.block, context.heat))
        for what in rng.sample(sorted(_KINDS), len(_KINDS)):
            found = {number: _found(context, context.program.blocks[number], what) for number in alike}
            yield from _proposal(context, found, what)
            if sum(1 for copies, _ in found.values() if copies) > 1:
                yield from _proposal(context, {context.block.number: found[context.block.number]}, what)


def _found(context: Context, block: Block, what: str) -> _Found:
    def find() -> _Found:
        live = [context.analyses.liveness.live_out(n) for n in range(block.first, block.last)]
        return _KINDS[what](context.program.lines[block.first : block.last], live)

    return context.analyses.remember(("fold", block.number, what), find)


def _proposal(context: Context, found: Mapping[int, _Found], what: str) -> Iterator[Proposal]:
    gone = [i for copies, _ in found.values() for i in copies]
    if not gone:
        return
    edits: list[Edit] = [Replace(i, text) for _, texts in found.values() for i, text in texts.items()]
    where = "" if len(found) == 1 else f" in {len(found)} blocks"
    yield from settled(context, [*edits, Delete(tuple(gone))], f"{len(gone)} {what}{where}", found)

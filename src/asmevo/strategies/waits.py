"""Waits: each `s_waitcnt` as weak as suffices, as late as its first need, and no more of them than pay."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import pairwise

from asmevo.isa.wait import Wait, parse_wait
from asmevo.program import Block, Line, control_kind
from asmevo.program.outstanding import facts
from asmevo.strategies.arrange import Item
from asmevo.strategies.bench import copies_of, proposal
from asmevo.strategies.context import Context
from asmevo.strategies.placement import spaced, with_waits
from asmevo.strategies.proposal import Proposal
from asmevo.strategies.task import FREE


class Waits:
    """Relaxes, drops, splits, moves and merges waits.

    In this order: all waits placed anew, as weak as suffices and each right before its first need, which splits
    combined ones; two waits merged into one; every wait at the weakest value that suffices where it stands, and none
    where that is no wait; then single ones so. What is done to all is done in unrolled copies of the block too.
    """

    name = "waits"

    def propose(self, context: Context, rng: random.Random) -> Iterator[Proposal]:
        numbers = copies_of(context.program, context.block, context.heat)
        blocks = [context.program.blocks[n] for n in sorted(numbers)]
        present = {b.number: [line.id for line in _lines(context, b)] for b in blocks}
        waits = [line for b in blocks for line in _lines(context, b) if control_kind(line.instruction) == "waitcnt"]
        yield from _proposal(context, _replaced(context, blocks), "every wait right before its first need")
        yield from _merges(context, rng)
        weakest = context.analyses.remember(("weakest waits",), context.analyses.placer.weakest)
        relaxed = {n: _changed(ids, weakest) for n, ids in present.items()}
        yield from _proposal(context, relaxed, "weakest value for every wait")
        for line in rng.sample(waits, len(waits)):
            value = weakest.get(line.id)
            if value is None or value == parse_wait(line.instruction):
                continue
            contents = {n: _changed(ids, {line.id: value}) for n, ids in present.items() if line.id in ids}
            what = "drop a wait for nothing" if value.is_noop else f"`{line.instruction}` relaxed to `{value}`"
            yield from _proposal(context, contents, what)


def _lines(context: Context, block: Block) -> Sequence[Line]:
    return context.program.lines[block.first : block.last]


def _changed(ids: Sequence[int], values: dict[int, Wait]) -> list[Item]:
    """The lines with other wait values; a wait for nothing is left out."""
    items: list[Item] = []
    for i in ids:
        if i not in values:
            items.append(i)
        elif not values[i].is_noop:
            items.append(str(values[i]))
    return items


def _replaced(context: Context, blocks: Sequence[Block]) -> dict[int, list[Item]]:
    """Contents with new waits; blocks where that cannot be had stay as they are."""
    contents: dict[int, list[Item]] = {}
    for block in blocks:
        order = [line.id for line in _lines(context, block) if control_kind(line.instruction) not in FREE]
        items = with_waits(context.analyses, block, order)
        if items is not None:
            contents[block.number] = items
    return contents


def _merges(context: Context, rng: random.Random) -> Iterator[Proposal]:
    """Two neighbouring waits made one: the earlier also proves what the later did, and saves its turn."""
    lines = _lines(context, context.block)
    places = [n for n, line in enumerate(lines) if control_kind(line.instruction) == "waitcnt"]
    pairs = list(pairwise(places))
    for first, second in rng.sample(pairs, len(pairs)):
        between = [operation for line in lines[first:second] if (operation := facts(line.instruction).operation)]
        later, none = parse_wait(lines[second].instruction), Wait()
        vm = sum("vmcnt" in operation.queue.counters for operation in between)
        lgkm = sum("lgkmcnt" in operation.queue.counters for operation in between)
        if (later.vm < none.vm and later.vm < vm) or (later.lgkm < none.lgkm and later.lgkm < lgkm):
            continue  # the later one waits for something that starts in between
        moved = Wait(
            later.vm - vm if later.vm < none.vm else none.vm,
            later.lgkm - lgkm if later.lgkm < none.lgkm else none.lgkm,
        )
        items: list[Item] = [line.id for line in lines]
        items[first] = str(parse_wait(lines[first].instruction).both(moved))
        del items[second]
        what = f"`{lines[second].instruction}` merged into an earlier wait"
        yield from _proposal(context, {context.block.number: items}, what)


def _proposal(context: Context, contents: dict[int, list[Item]], what: str) -> Iterator[Proposal]:
    result = spaced(context.analyses, contents) if contents else None
    if result and result[1]:
        yield proposal(context, *result, what)

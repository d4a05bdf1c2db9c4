"""Rescheduling: a new order of a block that keeps every dependence, with waits and nops placed anew."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice

from asmevo.strategies.arrange import Item
from asmevo.strategies.bench import Bench, proposal
from asmevo.strategies.context import Context
from asmevo.strategies.improve import climb
from asmevo.strategies.placement import spaced, with_waits
from asmevo.strategies.proposal import Proposal
from asmevo.strategies.schedule import heights, list_schedule, perturbed
from asmevo.strategies.task import free_task

SPREADS = (None, 0, 10, 40, 120, 400)
"""Clocks by which list-scheduling priorities are perturbed; None starts from the present order."""
STARTS = 3
"""How many of them are tried in one go."""
STEPS = 1500
"""Moves of the local search from each starting order."""
BATCH = 2
"""Schedules that are made before the fastest of them is offered."""


class Reschedule:
    """List scheduling: orders with perturbed priorities, improved by local search on pace.

    Unrolled copies of the block are given the same order in one proposal. Only what the pace finds faster is offered.
    """

    name = "reschedule"

    def propose(self, context: Context, rng: random.Random) -> Iterator[Proposal]:
        for pin_memory in rng.sample((False, True), 2):
            bench = Bench(context, partial(free_task, pin_memory=pin_memory), fetch=False)
            if len(bench.task.lines) < 3:
                return
            ideas = self._ideas(context, bench, rng)
            while batch := list(islice(ideas, BATCH)):
                yield from sorted((idea for idea in batch if idea.gain > 0), key=lambda idea: -idea.gain)

    def _ideas(self, context: Context, bench: Bench, rng: random.Random) -> Iterator[Proposal]:
        """Orders that the local search made, with waits and nops."""
        height = heights(bench.task)
        present = bench.clocks(bench.present)
        for spread in rng.sample(SPREADS, STARTS):
            start: Sequence[int] = bench.present
            if spread is not None:
                start = list_schedule(bench.task, perturbed(height, rng, spread))
            order = climb(bench.task, start, bench.clocks, rng, bench.affordable(STEPS))
            if bench.clocks(order) >= present:
                continue
            result = spaced(context.analyses, contents) if (contents := _placed(context, bench, order)) else None
            if result and result[1]:
                yield proposal(context, *result, "new schedule")


def _placed(context: Context, bench: Bench, order: Sequence[int]) -> dict[int, list[Item]]:
    """The block, and those copies that can have it, in this order with waits; empty when the block itself cannot."""
    contents: dict[int, list[Item]] = {}
    for n in (context.block.number, *bench.copies):
        task, block = bench.tasks[n], context.program.blocks[n]
        items = with_waits(context.analyses, block, task.ids(order)) if task.is_order(order) else None
        if items is not None:
            contents[n] = items
        elif n == context.block.number:
            return {}
    return contents

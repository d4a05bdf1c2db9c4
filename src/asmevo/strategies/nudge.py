"""Nudging: one or a few instructions at other places, with all waits and nops left as they are."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from asmevo.edit import Edit
from asmevo.strategies.bench import Bench, proposal
from asmevo.strategies.context import Context
from asmevo.strategies.improve import climb, random_move
from asmevo.strategies.placement import spaced
from asmevo.strategies.proposal import Proposal
from asmevo.strategies.task import pinned_task

STEPS = (0, 8, 40, 200, 1500)
"""Moves of the local search that makes the first proposal: few stay close to what is known to be good."""
SINGLES = 60
"""Single moves that are paced, of which the best are offered."""


class Nudge:
    """Small moves: inside the windows that dependences and waits leave, a load earlier, a consumer later, pipes
    interleaved.

    First what a shorter or longer local search on pace finds from the present order, then single moves, the fastest by
    pace first. The same move is made in unrolled copies of the block that can have it.
    """

    name = "nudge"

    def propose(self, context: Context, rng: random.Random) -> Iterator[Proposal]:
        bench = Bench(context, pinned_task, fetch=True)
        if len(bench.task.lines) < 3:
            return
        now = bench.clocks(bench.present)
        steps = bench.affordable(rng.choice(STEPS))
        best = climb(bench.task, bench.present, bench.clocks, rng, steps)
        if bench.clocks(best) < now:
            yield from _proposals(context, bench, best)
        moves = {tuple(random_move(bench.task, bench.present, rng)) for _ in range(SINGLES)} - {bench.present}
        for order in sorted(moves, key=lambda order: (bench.clocks(order), order)):
            yield from _proposals(context, bench, order)


def _proposals(context: Context, bench: Bench, order: Sequence[int]) -> Iterator[Proposal]:
    contents = {context.block.number: bench.task.ids(order)}
    for n in bench.copies:
        if bench.tasks[n].is_order(order):
            contents[n] = bench.tasks[n].ids(order)
    result = spaced(context.analyses, contents)
    if result and result[1]:
        program, edits = result
        yield proposal(context, program, edits, _what(edits))


def _what(edits: Sequence[Edit]) -> str:
    return f"nudge in {len(edits)} blocks" if len(edits) > 1 else "nudge"

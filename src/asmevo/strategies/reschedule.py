"""Rescheduling: another order of a block that keeps every dependence, with waits and nops placed anew."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from asmevo.edit import Edit
from asmevo.program import Block, Program, control_kind
from asmevo.strategies.context import Analyses, Context
from asmevo.strategies.improve import climb, random_move
from asmevo.strategies.pace import Cost
from asmevo.strategies.placement import place
from asmevo.strategies.proposal import Proposal
from asmevo.strategies.schedule import heights, list_schedule, perturbed
from asmevo.strategies.stretch import stretch_clocks, stretch_of
from asmevo.strategies.task import FREE, task_of

SPREADS = (0, 10, 40, 120, 400)
"""Clocks by which list-scheduling priorities are perturbed."""
STEPS = 250
"""Moves of the local search from each starting order."""
SMALL_MOVES = 12
"""Single moves that are offered after the whole schedules."""


@dataclass(frozen=True, slots=True)
class _Idea:
    edits: tuple[Edit, ...]
    clocks: int
    note: str


class Reschedule:
    """Orders from a list scheduler with perturbed priorities, improved by pace; then single moves.

    Blocks of the same loop with the same instructions (unrolled copies) are given the same order in one proposal.
    Orders that the pace does not find faster than the present one come last.
    """

    name = "reschedule"

    def propose(self, context: Context, rng: random.Random) -> Iterator[Proposal]:
        """Whole schedules, fastest by pace first, then small moves."""
        pinned = rng.random() < 0.5
        for pin_memory in (pinned, not pinned):
            bench = _Bench(context, pin_memory)
            if len(bench.task.ids) < 3:
                return
            ideas = [idea for order in _orders(bench, rng) if (idea := bench.idea(order, "schedule"))]
            yield from (bench.proposal(i) for i in _fastest_first(ideas) if i.clocks < bench.clocks)
        bench = _Bench(context, pinned)
        present = list(range(len(bench.task.ids)))
        moves = [bench.idea(random_move(bench.task, present, rng), "move") for _ in range(SMALL_MOVES)]
        yield from (bench.proposal(i) for i in _fastest_first([m for m in moves if m]))


def _fastest_first(ideas: list[_Idea]) -> list[_Idea]:
    return sorted(ideas, key=lambda idea: idea.clocks)


def _orders(bench: _Bench, rng: random.Random) -> Iterator[list[int]]:
    """Orders worth placing: the present one and some schedules, each improved by local search."""
    height = heights(bench.task)
    starts = [list(range(len(bench.task.ids)))]
    starts += [list_schedule(bench.task, perturbed(height, rng, spread)) for spread in SPREADS]
    for start in starts:
        yield climb(bench.task, start, bench.free_clocks, rng, STEPS)


class _Bench:
    """The block in its surroundings: how fast an order is there, and what it takes to make it."""

    def __init__(self, context: Context, pin_memory: bool) -> None:
        self._context, self._pin = context, pin_memory
        self._pace = context.analyses.analyst.pace
        self._numbers, self._rounds = stretch_of(context.program, context.block, context.heat)
        self.clocks = stretch_clocks(self._pace, context.program, self._numbers, self._rounds)
        """Of the stretch as it is."""
        blocks = context.program.blocks
        self._tasks = {n: task_of(context.analyses, blocks[n], pin_memory=pin_memory) for n in self._numbers}
        self.task = self._tasks[context.block.number]
        self._copies = [
            n for n in self._numbers if self._rounds > 1 and _alike(context.program, context.block, blocks[n])
        ]

    def free_clocks(self, order: Sequence[int]) -> int:
        """Clocks of the stretch with the block and its copies in this order, and waits left out."""
        costs: list[Cost] = []
        for n in self._numbers:
            task = self._tasks[n]
            costs += [task.costs[i] for i in order] if n in self._copies or task is self.task else task.costs
        return self._pace.clocks(costs, self._rounds)

    def idea(self, order: Sequence[int], what: str) -> _Idea | None:
        """The order with waits and nops, in the block and in those copies that can have it."""
        number = self._context.block.number
        analyses, edits = self._context.analyses, tuple[Edit, ...]()
        count = 0
        for n in (number, *(n for n in self._copies if n != number)):
            block = analyses.program.blocks[n]
            task = self._tasks[n] if count == 0 else task_of(analyses, block, pin_memory=self._pin)
            placed = place(analyses, block, task.lines(order)) if task.is_order(order) else None
            if placed is None and n == number:
                return None
            if placed is not None and placed.edits:
                count += 1
                edits = (*edits, *placed.edits)
                analyses = Analyses(placed.program, analyses.analyst)
        if not edits:
            return None
        clocks = stretch_clocks(self._pace, analyses.program, self._numbers, self._rounds)
        copies = f" and {count - 1} copies" if count > 1 else ""
        return _Idea(edits, clocks, f"{what} of block {number}{copies}, paced {self.clocks} to {clocks} clocks a turn")

    def proposal(self, idea: _Idea) -> Proposal:
        return Proposal(idea.edits, idea.note, self._context.window)


def _alike(program: Program, a: Block, b: Block) -> bool:
    """Whether two blocks have the same opcodes in the same order, waits and nops left out."""
    return _opcodes(program, a) == _opcodes(program, b)


def _opcodes(program: Program, block: Block) -> list[str]:
    lines = program.lines[block.first : block.last]
    return [x.instruction.mnemonic for x in lines if control_kind(x.instruction) not in FREE]

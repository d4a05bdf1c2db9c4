"""A block that a strategy has changed, scheduled anew: what was changed pays only in another order."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from asmevo.edit import Edit, apply_all
from asmevo.program import Program
from asmevo.strategies.bench import paced, proposal
from asmevo.strategies.context import Analyses, Context
from asmevo.strategies.proposal import Proposal
from asmevo.strategies.reschedule import Reschedule

EACH = 2
"""Schedules that are tried for each change."""


def scheduled_anew(
    context: Context, program: Program, edits: Sequence[Edit], what: str, now: int, rng: random.Random
) -> Iterator[Proposal]:
    """Schedules of the block in the program that the edits give which take a wave less than `now` clocks."""
    analyses = Analyses(program, context.analyses.analyst)
    there = replace(context, program=program, block=program.blocks[context.block.number], analyses=analyses)
    for idea in islice(Reschedule().propose(there, rng), EACH):
        after = apply_all(program, idea.edits)
        if paced(context, after) < now:
            yield proposal(context, after, (*edits, *idea.edits), f"{what}, new schedule")

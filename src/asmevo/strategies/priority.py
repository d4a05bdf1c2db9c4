"""Priority: waves in their matrix instructions go before waves that prepare theirs, so that the matrix pipe stays busy.

`s_setprio` changes no value, only which wave of a SIMD the arbiter takes first.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from asmevo.edit import Delete, Edit, Insert
from asmevo.isa import MatrixRow, effects
from asmevo.program import Line, control_kind
from asmevo.strategies.context import Context
from asmevo.strategies.proposal import Proposal

GAP = 4
"""Other instructions in a row that end a run of matrix instructions."""
FEWEST = 4
"""Matrix instructions from which a run is worth two more instructions."""


class Priority:
    """Priorities: raised in front of each run of matrix instructions and lowered behind, or taken out again where the
    block has some."""

    name = "priority"

    def propose(self, context: Context, rng: random.Random) -> Iterator[Proposal]:
        lines = context.lines
        present = [line.id for line in lines if control_kind(line.instruction) == "setprio"]
        if present:
            yield _proposal(context, [Delete(tuple(present))], f"{len(present)} priorities taken out")
            return
        runs = _runs(lines)
        levels = rng.sample((1, 2, 3), 3)
        for level in levels:
            if runs:
                edits = [edit for run in runs for edit in _around(lines, run, level)]
                yield _proposal(context, edits, f"priority {level} around {len(runs)} runs of matrix instructions")
        for run in rng.sample(runs, len(runs)) if len(runs) > 1 else ():
            yield _proposal(context, _around(lines, run, levels[0]), f"priority {levels[0]} around one run")


def _runs(lines: Sequence[Line]) -> list[tuple[int, int]]:
    """First and last place of each run of matrix instructions with few others in between; never the block's end."""
    runs: list[tuple[int, int, int]] = []
    for n, line in enumerate(lines[:-1]):
        if not isinstance(effects(line.instruction).row, MatrixRow):
            continue
        if runs and n - runs[-1][1] <= GAP:
            runs[-1] = (runs[-1][0], n, runs[-1][2] + 1)
        else:
            runs.append((n, n, 1))
    return [(first, last) for first, last, count in runs if count >= FEWEST]


def _around(lines: Sequence[Line], run: tuple[int, int], level: int) -> list[Edit]:
    first, last = run
    return [Insert(lines[first].id, (f"s_setprio {level}",)), Insert(lines[last + 1].id, ("s_setprio 0",))]


def _proposal(context: Context, edits: Sequence[Edit], what: str) -> Proposal:
    """The pace of one wave says nothing of several, so the expected gain is small and only not nothing."""
    return Proposal(tuple(edits), what, context.window, 0.001)

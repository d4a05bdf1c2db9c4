"""Packing: f32 operations on neighbouring registers become one on the pair, as do moves.

A packed operation takes the vector port as long as a single one, but it waits for the matrix pipe and keeps it from
starting; so only what is faster by pace is proposed: all pairs of the block or its longer runs of them, the fastest
first, then its moves, then single pairs.
Preconditions: dependences; targets and sources in aligned pairs; no constants, clamp or output modifiers.
"""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Iterator, Sequence

from asmevo.edit import Delete, Edit, Replace
from asmevo.isa import MatrixRow, effects
from asmevo.program import Line
from asmevo.strategies.context import Context
from asmevo.strategies.pairs import Pairing, pairings
from asmevo.strategies.proposal import Proposal
from asmevo.strategies.settle import settled

SETS = 6
"""Most choices of runs that are compared."""


class Pack:
    """Packed f32 operations, and moves of 64 bits, for two on neighbouring registers where that is faster by pace."""

    name = "pack"

    def propose(self, context: Context, rng: random.Random) -> Iterator[Proposal]:
        found = _together(pairings(context.lines))
        if not found:
            return
        moves = [pairing for pairing in found if pairing.text.startswith("v_mov")]
        tried: list[list[Pairing]] = []
        for batch in (_choices(context.lines, found), [moves], *([[one]] for one in rng.sample(found, len(found)))):
            new = [some for some in batch if some and some not in tried]
            tried += new
            ideas = [idea for some in new for idea in settled(context, _edits(some), _what(some)) if idea.gain > 0]
            yield from sorted(ideas, key=lambda idea: -idea.gain)


def _choices(lines: Sequence[Line], found: Sequence[Pairing]) -> list[list[Pairing]]:
    """All pairs, and those of the longer runs only: the matrix pipe is waited for once in each."""
    matrix = [n for n, line in enumerate(lines) if isinstance(effects(line.instruction).row, MatrixRow)]
    runs: dict[int, list[Pairing]] = {}
    for pairing in found:
        runs.setdefault(bisect(matrix, pairing.last if pairing.sinks else pairing.first), []).append(pairing)
    shortest, *longer = sorted({len(run) for run in runs.values()})
    return [
        [one for run in runs.values() if len(run) >= least for one in run] for least in (shortest, *longer[1 - SETS :])
    ]


def _together(found: Sequence[Pairing]) -> list[Pairing]:
    """Pairs that may be made all at once: whatever order what moves down among them has, it keeps; what moves up must
    not meet it."""
    sinking = [pairing for pairing in found if pairing.sinks]
    taken = [(pairing.first, pairing.last) for pairing in sinking]
    chosen = list(sinking)
    for pairing in found:
        if not pairing.sinks and all(last < pairing.first or pairing.last < first for first, last in taken):
            chosen.append(pairing)
            taken.append((pairing.first, pairing.last))
    return sorted(chosen, key=lambda pairing: pairing.last)


def _edits(some: Sequence[Pairing]) -> list[Edit]:
    edits: list[Edit] = [Replace(pairing.kept, pairing.text) for pairing in some]
    return [*edits, Delete(tuple(pairing.gone for pairing in some))]


def _what(some: Sequence[Pairing]) -> str:
    return f"two instructions as `{some[0].text}`" if len(some) == 1 else f"{len(some)} pairs of instructions packed"

"""Packing: f32 operations on neighbouring registers become one on the pair, as do moves.

A packed operation takes the vector port as long as a single one, but it waits for the matrix pipe and keeps it from
starting; so only what is faster by pace is proposed: all pairs of the block, its moves, those of a part of it, or one.
Preconditions: dependences; targets and sources in aligned pairs; no constants, clamp or output modifiers.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from asmevo.edit import Delete, Edit, Replace
from asmevo.strategies.context import Context
from asmevo.strategies.pairs import Pairing, pairings
from asmevo.strategies.proposal import Proposal
from asmevo.strategies.settle import settled

WINDOWS = 4
"""Parts of the block that are tried apart."""


class Pack:
    """Packed f32 operations, and moves of 64 bits, for two on neighbouring registers where that is faster by pace."""

    name = "pack"

    def propose(self, context: Context, rng: random.Random) -> Iterator[Proposal]:
        found = _together(pairings(context.lines))
        if not found:
            return
        moves = [pairing for pairing in found if pairing.text.startswith("v_mov")]
        size = -(-len(found) // WINDOWS)
        parts = [found[at : at + size] for at in range(0, len(found), size)] if size > 1 else []
        rng.shuffle(parts)
        singles = [[pairing] for pairing in rng.sample(found, len(found))]
        tried: list[list[Pairing]] = []
        for some in (found, moves, *parts, *singles):
            if some and some not in tried:
                tried.append(some)
                yield from (idea for idea in settled(context, _edits(some), _what(some)) if idea.gain > 0)


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

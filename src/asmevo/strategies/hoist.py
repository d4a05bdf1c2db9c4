"""Hoisting: scalar work that gives the same on every turn of a loop, done once in front of it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from asmevo.edit import Delete, Edit, Insert, Replace, SetResources
from asmevo.isa.registers import UNNUMBERED_SGPRS
from asmevo.strategies.context import Context
from asmevo.strategies.invariants import entered_by_falling, scalar_invariants, texts
from asmevo.strategies.proposal import Proposal
from asmevo.strategies.room import free_sgprs, granted_sgprs
from asmevo.strategies.settle import settled
from asmevo.strategies.tuples import Lifted, lifted


class Hoist:
    """Scalar work out of a loop: tuples in registers of their own instead of put together on every turn, and with them,
    moved as they are, other scalar instructions whose result never changes.

    Preconditions: a loop of one block that is entered by falling into it; SGPRs that nothing uses, in the grant or in a
    larger one that costs no wave.
    """

    name = "hoist"

    def propose(self, context: Context, rng: random.Random) -> Iterator[Proposal]:
        program, block = context.program, context.block
        if not context.is_loop or not entered_by_falling(program, block):
            return
        moved = scalar_invariants(program, block, context.analyses.liveness.live_in(block.first))
        lines = [line for line in context.lines if line.id not in moved]
        found = lifted(lines, context.analyses.liveness.live_out(block.last - 1), free_sgprs(program))
        if found is not None:
            count = len(moved) + len(found.gone)
            yield from settled(context, _edits(context, found, moved), f"{count} scalar lines of a loop done before it")


def _edits(context: Context, found: Lifted, moved: Sequence[int]) -> list[Edit]:
    before = (*texts(context.program, moved), *found.before)
    edits: list[Edit] = [Replace(i, text) for i, text in found.replaced.items()]
    edits += [Insert(context.lines[0].id, before, fallthrough=True), Delete((*moved, *found.gone))]
    if found.end > granted_sgprs(context.program):
        edits.insert(0, SetResources(sgprs=found.end + UNNUMBERED_SGPRS))
    return edits

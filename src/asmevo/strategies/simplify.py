"""Simplification: copies, constants, nops and results that are not needed, or not needed on every turn of a loop."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from asmevo.edit import Delete, Insert, Replace
from asmevo.program import control_kind
from asmevo.strategies.arrange import Item
from asmevo.strategies.bench import proposal
from asmevo.strategies.context import Context
from asmevo.strategies.copies import propagations
from asmevo.strategies.invariants import invariant_lines, scalar_invariants, texts
from asmevo.strategies.placement import spaced
from asmevo.strategies.proposal import Proposal
from asmevo.strategies.settle import settled
from asmevo.strategies.values import dead_lines, redundant_lines


class Simplify:
    """Drops what has no effect.

    Results that nobody reads; instructions that compute what is there already (self-copies, repeated constants,
    repeated address sums); copies whose readers can read the source; nops beyond what spacing asks for; and, in a loop
    of one block, what gives the same on every turn, which goes in front of the loop. All of one kind together first,
    then one by one.
    """

    name = "simplify"

    def propose(self, context: Context, rng: random.Random) -> Iterator[Proposal]:
        lines = context.lines
        live = [context.analyses.liveness.live_out(context.block.first + n) for n in range(len(lines))]
        yield from _deletions(context, rng, dead_lines(lines, live), "result that nobody reads")
        redundant = redundant_lines(lines, live)
        yield from _deletion(context, redundant, "instruction that changes nothing")
        for i in rng.sample(redundant, len(redundant)):
            if redundant_lines(lines, live, {i}):
                yield from _deletion(context, [i], "instruction that changes nothing")
        yield from _hoists(context, rng)
        found = propagations(lines, live)
        for copy in rng.sample(found, len(found)):
            edits = [*(Replace(i, text) for i, text in copy.replaced.items()), Delete((copy.copy,))]
            yield from settled(context, edits, f"copy `{_text(context, copy.copy)}` propagated")
        yield from _fewer_nops(context)


def _text(context: Context, line_id: int) -> str:
    return context.program.line(line_id).instruction.text


def _deletions(context: Context, rng: random.Random, ids: Sequence[int], what: str) -> Iterator[Proposal]:
    yield from _deletion(context, ids, what)
    if len(ids) > 1:
        for i in rng.sample(list(ids), len(ids)):
            yield from _deletion(context, [i], what)


def _deletion(context: Context, ids: Sequence[int], what: str) -> Iterator[Proposal]:
    if ids:
        which = f"`{_text(context, ids[0])}`" if len(ids) == 1 else f"{len(ids)} lines"
        yield from settled(context, [Delete(tuple(ids))], f"delete {which}: {what}")


def _hoists(context: Context, rng: random.Random) -> Iterator[Proposal]:
    """Invariant lines in front of the loop, in their order; scalar ones, which proofs follow into the loop, first."""
    live_in = context.analyses.liveness.live_in(context.block.first)
    ids = invariant_lines(context.program, context.block, live_in)
    first = context.lines[0].id
    scalar = scalar_invariants(context.program, context.block, live_in)
    chosen = [some for some in (scalar, ids) if some]
    if len(chosen) == 2 and scalar == ids:
        del chosen[0]
    if len(ids) > 1:
        chosen += [sorted(rng.sample(ids, len(ids) // 2), key=context.program.position.__getitem__)]
    for some in chosen:
        edits = [Insert(first, texts(context.program, some), fallthrough=True), Delete(tuple(some))]
        yield from settled(context, edits, f"{len(some)} loop-invariant lines moved in front of the loop")


def _fewer_nops(context: Context) -> Iterator[Proposal]:
    items: list[Item] = [line.id for line in context.lines if control_kind(line.instruction) != "nop"]
    result = spaced(context.analyses, {context.block.number: items})
    if result and result[1]:
        yield proposal(context, *result, "nops as short as spacing allows")

"""The next candidate: choose strategy and window, propose, apply, rebuild, until something new comes out."""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from asmevo.edit import apply_all, from_json
from asmevo.program import Program
from asmevo.program.skipping import may_skip
from asmevo.search.bandit import Arm
from asmevo.search.building import build
from asmevo.search.protocols import Timed
from asmevo.search.randomness import stream
from asmevo.search.request import Draft, Request, Standing
from asmevo.search.state import COMPOSE, edits_key
from asmevo.strategies import Analyses, Analyst, Context, Strategy, copies_of, headroom
from asmevo.timing import Chip

COLD = 0.002
"""Blocks under this share of the time are left alone: winning all of it would hardly be a commit."""
LEAST_ROOM = 0.05
"""Headroom that every block is taken to have: bounds are rough."""
ASIDE = 4
"""Drafts without an expected gain that are put aside before the first of them is taken."""
ANYHOW = 0.2
"""Probability with which one is taken at once: what a strategy expects is no more than a bound."""
LOOK = 40
"""Proposals of one strategy that are looked at in one draw."""
_KEPT = 12
"""Grounds that a drafter keeps."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What proposals stand on: the working point's program, its heat and its analyses."""

    program: Program
    heat: Mapping[int, float]
    """Line id to share of the time."""
    analyses: Analyses
    promise: Mapping[int, float]
    """Block number to what editing it may win, as a share of the time; one block stands for all its unrolled copies.
    Blocks in which vector instructions may be skipped are not among them: no edit of theirs is admitted."""

    @classmethod
    def of(cls, program: Program, heat: Mapping[int, float], analyst: Analyst) -> Ground:
        shares: dict[int, float] = {}
        for line_id, share in heat.items():
            block = program.block_of.get(line_id)
            if block is not None:
                shares[block] = shares.get(block, 0.0) + share
        together: dict[int, float] = {}
        for block, share in sorted(shares.items()):
            first = min(copies_of(program, program.blocks[block], heat) & shares.keys())
            together[first] = together.get(first, 0.0) + share
        analyses, promise = Analyses(program, analyst), dict[int, float]()
        for number, share in together.items():
            block = program.blocks[number]
            if share >= COLD and may_skip(program.lines[block.first : block.last]) is None:
                room = headroom(Context(program, block, heat, analyses))
                promise[number] = share * max(room, LEAST_ROOM)
        return cls(program, heat, analyses, promise)


class Drafter:
    """Makes drafts. What it remembers only saves time: equal requests give equal drafts."""

    def __init__(
        self, k0: Program, chip: Chip, time: Callable[[bytes, Program], Timed], strategies: Mapping[str, Strategy]
    ) -> None:
        self._k0, self._chip, self._time, self._strategies = k0, chip, time, strategies
        self._analyst: Analyst | None = None
        self._grounds: OrderedDict[int, Ground] = OrderedDict()

    def draft(self, request: Request) -> Draft | None:
        """The next candidate that was not tried yet, or None when no strategy has one for any of the standings.

        The gate is dear, so what a strategy itself expects nothing of is mostly put aside, and taken when a few arms
        had nothing better.
        """
        composed = self._composed(request)
        if composed is not None:
            return composed
        draws: list[dict[str, Any]] = []
        for standing in request.standings:
            draft = self._from(request, standing, draws)
            if draft is not None:
                return replace(draft, draws=tuple(draws))
        return None

    def _composed(self, request: Request) -> Draft | None:
        """The newest step of another island that applies to the best of all and makes something new."""
        for graft in request.grafts:
            if edits_key(graft.edits) in request.proposals:
                continue
            built = build(self._ground(request.best).program, [from_json(edit) for edit in graft.edits])
            if built.data and built.sha256 not in request.candidates:
                note = f"attempt {graft.step} on top: {graft.note}"
                return Draft(request.best.ordinal, COMPOSE, note, graft.edits, built.sha256)
        return None

    def _from(self, request: Request, standing: Standing, draws: list[dict[str, Any]]) -> Draft | None:
        """A draft over one candidate; notes in `draws` the arms that had nothing."""
        ground = self._ground(standing)
        promise = {block: worth**request.focus for block, worth in ground.promise.items()}
        arms = [Arm(name, block) for name in self._strategies for block in promise]
        arms = [arm for arm in arms if (standing.ordinal, arm) not in request.exhausted]
        aside: list[Draft] = []
        while arms and len(aside) < ASIDE:
            rng = stream(request.seed, request.island, request.slot, request.again, "draw", len(draws) + len(aside))
            arm = request.bandit.choose(arms, promise, rng, request.weights)
            assert arm is not None
            arms.remove(arm)
            found = self._first_new(request, standing, ground, arm, rng)
            if found is None:
                draws.append({"parent": standing.ordinal, "strategy": arm.strategy, "block": arm.block})
                continue
            draft, gain = found
            if gain > 0 or rng.random() < ANYHOW:
                return draft
            aside.append(draft)
        return aside[0] if aside else None

    def _first_new(
        self, request: Request, standing: Standing, ground: Ground, arm: Arm, rng: random.Random
    ) -> tuple[Draft, float] | None:
        """The first proposal of an arm that nobody tried, with the gain that its strategy expects."""
        context = Context(ground.program, ground.program.blocks[arm.block], ground.heat, ground.analyses)
        for proposal in islice(self._strategies[arm.strategy].propose(context, rng), LOOK):
            edits = tuple(edit.to_json() for edit in proposal.edits)
            if edits_key(edits) in request.proposals:
                continue
            built = build(ground.program, proposal.edits)
            if built.data and built.sha256 in request.candidates:
                continue
            draft = Draft(
                standing.ordinal, arm.strategy, proposal.note, edits, built.sha256, arm.block, proposal.window
            )
            return draft, proposal.gain
        return None

    def _ground(self, standing: Standing) -> Ground:
        """The ground of a candidate, kept for the next drafts; one that another process examined is timed again."""
        ground = self._grounds.get(standing.ordinal)
        if ground is None:
            program = apply_all(self._k0, [from_json(edit) for edit in standing.edits])
            timed = self._time_of(program)
            if self._analyst is None:
                k0 = timed if not standing.edits else self._time_of(self._k0)
                self._analyst = Analyst(self._k0, self._chip, k0.bytes_per_clk)
            ground = self._grounds[standing.ordinal] = Ground.of(program, timed.heat, self._analyst)
            while len(self._grounds) > _KEPT:
                self._grounds.popitem(last=False)
        self._grounds.move_to_end(standing.ordinal)
        return ground

    def _time_of(self, program: Program) -> Timed:
        return self._time(build(program, ()).data, program)

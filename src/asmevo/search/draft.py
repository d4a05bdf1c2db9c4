"""The next candidate: choose strategy and window, propose, apply, rebuild, until something new comes out."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from asmevo.edit import Edit, apply_all
from asmevo.program import Program, rebuild
from asmevo.search.bandit import Arm
from asmevo.search.randomness import stream
from asmevo.search.state import Node, State, edits_key
from asmevo.strategies import Analyses, Analyst, Context, Proposal, Strategy, copies_of, headroom
from asmevo.verdict import AsmEvoError, Check, EnvironmentError_, Finding, Verdict

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


@dataclass(frozen=True, slots=True)
class Built:
    """A candidate: the edited program and its object, or no `data` and why it cannot be built."""

    program: Program
    data: bytes
    failure: Check | None = None

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest() if self.data else ""


@dataclass(frozen=True, slots=True)
class Draft:
    """A new candidate, ready to be stored and put through the gate."""

    arm: Arm
    parent: Node
    proposal: Proposal
    edits: tuple[dict[str, Any], ...]
    built: Built
    draws: tuple[dict[str, Any], ...] = ()
    """Arms that had nothing new, found on the way to this one."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What proposals stand on: the working point's program, its heat and its analyses."""

    program: Program
    heat: Mapping[int, float]
    """Line id to share of the time."""
    analyses: Analyses
    promise: Mapping[int, float]
    """Block number to what editing it may win, as a share of the time; one block stands for all its unrolled copies."""

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
        for block, share in together.items():
            if share >= COLD:
                room = headroom(Context(program, program.blocks[block], heat, analyses))
                promise[block] = share * max(room, LEAST_ROOM)
        return cls(program, heat, analyses, promise)


def build(program: Program, edits: Sequence[Edit]) -> Built:
    """Apply and rebuild. What a candidate does wrong is in the result; `EnvironmentError_` passes through."""
    try:
        edited = apply_all(program, edits)
        return Built(edited, rebuild(edited))
    except EnvironmentError_:
        raise
    except AsmEvoError as error:
        finding = Finding("rebuild.failed", str(error))
        return Built(program, b"", Check("rebuild", Verdict.UNKNOWN, (finding,)))


def next_draft(state: State, ground: Ground, strategies: Mapping[str, Strategy], island: int = 0) -> Draft | None:
    """The next candidate that was not tried yet, or None when no strategy has one for this working point.

    The gate is dear, so what a strategy itself expects nothing of is mostly put aside, and taken when a few arms had
    nothing better.
    """
    draws: list[dict[str, Any]] = []
    aside: list[Draft] = []
    arms = [Arm(name, block) for name in strategies for block in ground.promise]
    arms = [arm for arm in arms if arm not in state.exhausted]
    while arms and len(aside) < ASIDE:
        rng = stream(state.settings.seed, island, state.attempts + 1, "draw", len(draws) + len(aside))
        arm = state.bandit.choose(arms, ground.promise, rng)
        assert arm is not None
        arms.remove(arm)
        draft = _first_new(state, ground, arm, strategies[arm.strategy], rng)
        if draft is None:
            draws.append({"strategy": arm.strategy, "block": arm.block})
        elif draft.proposal.gain > 0 or rng.random() < ANYHOW:
            return replace(draft, draws=tuple(draws))
        else:
            aside.append(draft)
    return replace(aside[0], draws=tuple(draws)) if aside else None


def _first_new(state: State, ground: Ground, arm: Arm, strategy: Strategy, rng: random.Random) -> Draft | None:
    """The first proposal of an arm that nobody tried."""
    assert state.point
    context = Context(ground.program, ground.program.blocks[arm.block], ground.heat, ground.analyses)
    for proposal in islice(strategy.propose(context, rng), LOOK):
        edits = tuple(edit.to_json() for edit in proposal.edits)
        if edits_key(edits) in state.proposals:
            continue
        built = build(ground.program, proposal.edits)
        if not built.data or built.sha256 not in state.candidates:
            return Draft(arm, state.point, proposal, edits, built)
    return None

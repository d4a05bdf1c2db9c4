"""The next candidate: choose strategy and window, propose, apply, rebuild, until something new comes out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from asmevo.edit import Edit, apply_all
from asmevo.program import Program, rebuild
from asmevo.search.bandit import Arm
from asmevo.search.randomness import stream
from asmevo.search.state import Node, State, edits_key
from asmevo.strategies import Analyses, Analyst, Context, Proposal, Strategy
from asmevo.verdict import AsmEvoError, Check, EnvironmentError_, Finding, Verdict

COLD = 0.002
"""Blocks under this share of the time are left alone: winning all of it would hardly be a commit."""
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
    draws: tuple[dict[str, Any], ...]
    """Arms that had nothing new, found on the way to this one."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What proposals stand on: the working point's program, its heat and its analyses."""

    program: Program
    heat: Mapping[int, float]
    """Line id to share of the time."""
    analyses: Analyses
    block_heat: Mapping[int, float] = field(default_factory=dict[int, float])
    """Block number to share of the time; only blocks worth editing."""

    @classmethod
    def of(cls, program: Program, heat: Mapping[int, float], analyst: Analyst) -> Ground:
        shares: dict[int, float] = {}
        for line_id, share in heat.items():
            block = program.block_of.get(line_id)
            if block is not None:
                shares[block] = shares.get(block, 0.0) + share
        return cls(program, heat, Analyses(program, analyst), {b: s for b, s in sorted(shares.items()) if s >= COLD})


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
    """The next candidate that was not tried yet, or None when no strategy has one for this working point."""
    assert state.point
    parent = state.point
    draws: list[dict[str, Any]] = []
    arms = [Arm(name, block) for name in strategies for block in ground.block_heat]
    arms = [arm for arm in arms if arm not in state.exhausted]
    while arms:
        rng = stream(state.settings.seed, island, state.attempts + 1, "draw", len(draws))
        arm = state.bandit.choose(arms, ground.block_heat, rng)
        assert arm is not None
        context = Context(ground.program, ground.program.blocks[arm.block], ground.heat, ground.analyses)
        for proposal in islice(strategies[arm.strategy].propose(context, rng), LOOK):
            edits = tuple(edit.to_json() for edit in proposal.edits)
            if edits_key(edits) in state.proposals:
                continue
            built = build(ground.program, proposal.edits)
            if not built.data or built.sha256 not in state.candidates:
                return Draft(arm, parent, proposal, edits, built, tuple(draws))
        arms.remove(arm)
        draws.append({"strategy": arm.strategy, "block": arm.block})
    return None

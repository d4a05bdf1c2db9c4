"""What a drafter is asked: everything a draft depends on, as a value that travels to other processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from asmevo.search.bandit import Arm, Bandit
from asmevo.search.state import State, edits_key

Edits = tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """An admitted candidate to propose edits of."""

    ordinal: int
    edits: Edits
    """All of them, from K0."""


@dataclass(frozen=True, slots=True)
class Graft:
    """A step that made one island faster, to be tried on the best of all."""

    step: int
    """Ordinal of the attempt that made it."""
    edits: Edits
    note: str


@dataclass(frozen=True, slots=True)
class Request:
    """A wish for a draft. Equal requests give equal drafts, in any process."""

    seed: int
    slot: int
    island: int
    again: int
    """How often the slot was drafted before; another draft came out the same as one that is under way."""
    standings: tuple[Standing, ...]
    """Candidates to propose for; the next one where one has nothing new."""
    best: Standing
    grafts: tuple[Graft, ...]
    bandit: Bandit
    focus: float
    weights: Mapping[str, float]
    exhausted: frozenset[tuple[int, Arm]]
    proposals: frozenset[str]
    candidates: frozenset[str]


@dataclass(frozen=True, slots=True)
class Draft:
    """A new candidate, ready to be stored and put through the gate."""

    parent: int
    strategy: str
    note: str
    edits: Edits
    """Over the parent."""
    candidate: str
    """Hash of the rebuilt object; empty when it cannot be rebuilt."""
    block: int | None = None
    window: tuple[int, int] | None = None
    draws: Edits = ()
    """Arms that had nothing new, found on the way to this one."""

    @property
    def key(self) -> str:
        return edits_key(self.edits)


COMPOSE_EVERY = 2
"""Of the slots of an island, one in so many tries a composition, while there are some to try."""


def request_for(
    state: State, slot: int, last: int, edits_of: Callable[[int], Edits], step: Callable[[int], Graft]
) -> Request:
    """What slot `slot` asks for, as the state is now.

    `last` is the ordinal of the last attempt that is known to have been made, `edits_of` gives all edits of an attempt
    from K0, `step` an attempt as a graft.
    """
    island = state.island_of(slot)
    assert state.best
    turn = slot // len(state.islands)
    at = turn % len(island.front)
    wanted = [*island.front[at:], *island.front[:at], island.best, state.best]
    ordinals = list(dict.fromkeys(node.ordinal for node in wanted))
    grafts: tuple[Graft, ...] = ()
    if turn % COMPOSE_EVERY == 0 and len(state.islands) > 1:
        grafts = tuple(step(ordinal) for ordinal in reversed(state.steps))
    best = Standing(state.best.ordinal, edits_of(state.best.ordinal))
    tried = frozenset(key for base, key in state.composed if base == best.ordinal)
    return Request(
        seed=state.settings.seed_after(last),
        slot=slot,
        island=island.number,
        again=0,
        standings=tuple(Standing(ordinal, edits_of(ordinal)) for ordinal in ordinals),
        best=best,
        grafts=tuple(g for g in grafts if edits_key(g.edits) not in tried),
        bandit=deepcopy(island.bandit),
        focus=island.mix.focus,
        weights=island.mix.weights,
        exhausted=frozenset(island.exhausted),
        proposals=frozenset(island.proposals),
        candidates=frozenset(state.candidates),
    )

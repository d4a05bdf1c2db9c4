"""What a search knows, as a function of the attempts so far: a resumed run replays them and knows the same."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from asmevo.search.archive import Archive
from asmevo.search.island import Island, Redirect
from asmevo.search.mix import mix_of
from asmevo.search.node import Node
from asmevo.search.settings import Settings
from asmevo.store import Attempt, Commit

TRIM = "trim"
"""Strategy name of the attempts that drop edits at the end; they do not steer the search."""
COMPOSE = "compose"
"""Strategy name of the attempts that try a gain of one island on top of the best of all."""


def edits_key(edits: Iterable[dict[str, Any]]) -> str:
    """Identity of a proposal before anything is built."""
    return sha256(json.dumps(list(edits), sort_keys=True).encode()).hexdigest()


@dataclass(slots=True)
class State:
    """The search's memory. `learn` must be told every finished attempt, once and in order.

    Proposals come in slots: slot n belongs to island n modulo their number, and a slot whose island had nothing new
    makes no attempt. Attempts without a slot come from elsewhere and count as those of island 0.
    """

    settings: Settings
    k0: Node | None = None
    best: Node | None = None
    islands: tuple[Island, ...] = ()
    archive: Archive = field(default_factory=Archive)
    commits: list[Commit] = field(default_factory=list[Commit])
    steps: list[int] = field(default_factory=list[int])
    """Ordinals of what made some island faster, oldest first; composition tries them on the best of all."""
    composed: set[tuple[int, str]] = field(default_factory=set[tuple[int, str]])
    """Compositions that were tried: ordinal of what they stood on, and key of the edits."""
    redirects: list[Redirect] = field(default_factory=list[Redirect])
    attempts: int = 0
    """Attempts of the search proper: K0 and trims not counted."""
    next_ordinal: int = 0
    next_slot: int = 0
    quiet: int = 0
    """Attempts since the last commit."""
    verdicts: Counter[str] = field(default_factory=Counter[str])
    candidates: set[str] = field(default_factory=set[str])
    """Hashes of all objects that were put through the gate."""
    times: dict[int, float] = field(default_factory=dict[int, float])
    """Microseconds of every admitted attempt by ordinal."""

    @property
    def point(self) -> Node | None:
        """The working point of the first island."""
        return self.islands[0].point if self.islands else None

    def island_of(self, slot: int) -> Island:
        return self.islands[slot % len(self.islands)]

    def commit_of(self, attempt: Attempt) -> Commit | None:
        """The commit that a finished attempt is, if it is one: admitted, and faster than the best beyond doubt."""
        node = node_of(attempt)
        if node is None or not self.seems_faster(attempt):
            return None
        if attempt.comparison is not None and not attempt.comparison["faster"]:
            return None
        return Commit(len(self.commits) + 1, node.ordinal, node.microseconds)

    def seems_faster(self, attempt: Attempt) -> bool:
        """Whether an attempt's time is better than the best by more than the threshold; trims do not count."""
        node = node_of(attempt)
        if node is None or self.best is None or attempt.strategy == TRIM:
            return False
        return node.faster_than(self.best, self.settings.threshold)

    def learn(self, attempt: Attempt) -> None:
        """Take in a finished attempt."""
        self.next_ordinal = attempt.ordinal + 1
        self.candidates.add(attempt.candidate)
        node = node_of(attempt)
        if node is not None:
            self.times[attempt.ordinal] = node.microseconds
        if attempt.strategy == TRIM:
            return
        if attempt.parent is None:
            if node is not None:
                self._begin(node, attempt)
            return
        if attempt.slot is not None:
            self.skip(attempt.slot)
            self.next_slot = attempt.slot + 1
        self.attempts += 1
        self.verdicts[attempt.verdict.value] += 1
        self._learn(attempt, node)

    def skip(self, slot: int) -> None:
        """Slots before this one that made no attempt: their islands had nothing new."""
        while self.next_slot < slot:
            island = self.island_of(self.next_slot)
            island.dry = island.dry or self.next_slot >= island.awake
            self.next_slot += 1

    def _wake(self, island: Island) -> None:
        """Something changed for an island; slots asked for before do not show whether it has something new."""
        island.dry, island.awake = False, self.next_slot - 1 + self.settings.ahead

    def _begin(self, node: Node, attempt: Attempt) -> None:
        self.k0 = self.best = node
        numbers = range(self.settings.islands)
        self.islands = tuple(Island(n, mix_of(n), node, [node]) for n in numbers)
        self.archive.add(node, attempt.behaviour)

    def _learn(self, attempt: Attempt, node: Node | None) -> None:
        island = self.islands[attempt.island % len(self.islands)]
        before = list(island.front)
        island.proposals.add(edits_key(attempt.edits))
        if attempt.strategy == COMPOSE and attempt.parent is not None:
            self.composed.add((attempt.parent, edits_key(attempt.edits)))
        commit = self.commit_of(attempt)
        self.quiet += 1
        if commit and node:
            self.commits.append(commit)
            self.best, self.quiet = node, 0
            for other in self.islands:
                self._wake(other)
        if island.learn(attempt, node, self.settings, self.attempts) and attempt.strategy != COMPOSE:
            self.steps.append(attempt.ordinal)
        if node is not None:
            self.archive.add(node, attempt.behaviour)
        assert self.best is not None
        redirect = island.redirect(self.best, self.archive, self.settings, attempt.ordinal)
        if redirect is not None:
            self.redirects.append(redirect)
        if island.front != before:
            self._wake(island)


def node_of(attempt: Attempt) -> Node | None:
    """The node of an attempt; None when it was not admitted."""
    if attempt.microseconds is None:
        return None
    return Node(attempt.ordinal, attempt.microseconds)

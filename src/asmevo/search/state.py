"""What a search knows, as a function of the attempts so far: a resumed run replays them and knows the same."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from asmevo.search.bandit import Arm, Bandit
from asmevo.search.randomness import stream
from asmevo.search.settings import Settings
from asmevo.store import Attempt, Commit, Status

WORTHY = 0.01
"""Gain of a commit, as a share, that earns the full reward."""
SIDEWAYS = 0.3
"""Probability with which a candidate exactly as fast as the working point takes its place: all analyses begin anew."""
TRIM = "trim"
"""Strategy name of the attempts that drop edits at the end; they do not steer the search."""


@dataclass(frozen=True, slots=True)
class Node:
    """An admitted attempt and its time."""

    ordinal: int
    microseconds: float


def edits_key(edits: Iterable[dict[str, Any]]) -> str:
    """Identity of a proposal before anything is built."""
    return json.dumps(list(edits), sort_keys=True)


@dataclass(slots=True)
class State:
    """The search's memory. `learn` must be told every finished attempt, once and in order."""

    settings: Settings
    k0: Node | None = None
    best: Node | None = None
    point: Node | None = None
    """The working point: the admitted candidate that proposals edit."""
    commits: list[Commit] = field(default_factory=list[Commit])
    attempts: int = 0
    """Attempts of the search proper: K0 and trims not counted."""
    next_ordinal: int = 0
    quiet: int = 0
    """Attempts since the last commit."""
    verdicts: Counter[str] = field(default_factory=Counter[str])
    candidates: set[str] = field(default_factory=set[str])
    """Hashes of all objects that were put through the gate."""
    proposals: set[str] = field(default_factory=set[str])
    """What was proposed since the last commit, whatever working point it was for: ids are stable, so the same edits
    elsewhere are the same idea."""
    exhausted: set[Arm] = field(default_factory=set[Arm])
    """Arms that had nothing new, until their block changes or the working point is given up."""
    bandit: Bandit = field(default_factory=Bandit)
    times: dict[int, float] = field(default_factory=dict[int, float])
    """Microseconds of every admitted attempt by ordinal."""

    def commit_of(self, attempt: Attempt) -> Commit | None:
        """The commit that a finished attempt is, if it is one: admitted, and faster by more than the threshold."""
        if attempt.microseconds is None or self.best is None or attempt.strategy == TRIM:
            return None
        if attempt.microseconds >= self.best.microseconds * (1.0 - self.settings.threshold):
            return None
        return Commit(len(self.commits) + 1, attempt.ordinal, attempt.microseconds)

    def learn(self, attempt: Attempt) -> None:
        """Take in a finished attempt."""
        self.next_ordinal = attempt.ordinal + 1
        self.candidates.add(attempt.candidate)
        if attempt.microseconds is not None:
            self.times[attempt.ordinal] = attempt.microseconds
        if attempt.strategy == TRIM:
            return
        if attempt.parent is None:
            if attempt.microseconds is not None:
                self.k0 = self.best = self.point = Node(attempt.ordinal, attempt.microseconds)
            return
        self.stand_on(Node(attempt.parent, self.times[attempt.parent]))
        self.attempts += 1
        self.verdicts[attempt.verdict.value] += 1
        self.proposals.add(edits_key(attempt.edits))
        self.exhausted.update(Arm(draw["strategy"], draw["block"]) for draw in attempt.draws)
        self._move(attempt)

    def _move(self, attempt: Attempt) -> None:
        """Commit, or move the working point, or stay; then reward the arm."""
        assert self.best and self.point
        reward = 0.0
        commit = self.commit_of(attempt)
        self.quiet += 1
        if commit:
            self.commits.append(commit)
            gain = 1.0 - commit.microseconds / self.best.microseconds
            self.best = self.point = Node(attempt.ordinal, commit.microseconds)
            self.quiet, reward = 0, min(1.0, 0.3 + gain / WORTHY)
            self.proposals.clear()
        elif attempt.status is Status.ADMITTED and attempt.microseconds is not None and self._accepts(attempt):
            reward = 0.5 if attempt.microseconds < self.point.microseconds else 0.0
            self.point = Node(attempt.ordinal, attempt.microseconds)
        if attempt.block is not None:
            self.bandit.learn(Arm(attempt.strategy, attempt.block), reward)
        if self.point.ordinal == attempt.ordinal:
            self.exhausted = {arm for arm in self.exhausted if arm.block != attempt.block}
        if self.quiet and self.quiet % self.settings.patience == 0:
            self.stand_on(self.best)

    def stand_on(self, point: Node) -> None:
        """Give up the working point for another one, if it is another."""
        if point != self.point:
            self.point = point
            self.exhausted.clear()

    def _accepts(self, attempt: Attempt) -> bool:
        """Metropolis rule on relative time, within the slack around the best."""
        assert self.best and self.point and attempt.microseconds is not None
        if attempt.microseconds > self.best.microseconds * (1.0 + self.settings.slack):
            return False
        loss = attempt.microseconds / self.point.microseconds - 1.0
        if loss < 0.0:
            return True
        chance = stream(self.settings.seed, attempt.island, self.attempts, "accept").random()
        if loss == 0.0:
            return chance < SIDEWAYS
        temperature = self.settings.temperature
        return temperature > 0.0 and chance < math.exp(-loss / temperature)

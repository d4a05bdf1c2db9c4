"""One island: its best candidate, the ones it works on, and what it learned there."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from asmevo.search.archive import Archive
from asmevo.search.bandit import Arm, Bandit
from asmevo.search.mix import BEAM, Mix
from asmevo.search.node import Node
from asmevo.search.randomness import stream
from asmevo.search.settings import Settings
from asmevo.store import Attempt, Status

WORTHY = 0.01
"""Gain, as a share, that earns the full reward."""
SIDEWAYS = 0.3
"""Probability with which a candidate exactly as fast as the working point takes its place: all analyses begin anew."""
BEHIND = 0.01
"""An island slower than the best of all by more than this share takes it over when it is stuck."""
RESTART = 0.05
"""How much slower than the best of all a candidate of the archive may be to begin anew from."""


@dataclass(frozen=True, slots=True)
class Redirect:
    """An island was sent elsewhere."""

    ordinal: int
    """Of the attempt after which it happened."""
    island: int
    to: int
    """Ordinal of the candidate that it works on from now on."""
    reason: str


@dataclass(slots=True)
class Island:
    """The memory of one island, a function of the attempts it was told."""

    number: int
    mix: Mix
    best: Node
    front: list[Node] = field(default_factory=list[Node])
    """What proposals edit, the present working point first; several only with a beam."""
    bandit: Bandit = field(default_factory=Bandit)
    proposals: set[str] = field(default_factory=set[str])
    """What was proposed since its best changed, whatever it was for: ids are stable, so the same edits elsewhere are
    the same idea."""
    exhausted: set[tuple[int, Arm]] = field(default_factory=set[tuple[int, Arm]])
    """Arms that had nothing new, by the ordinal of the candidate they were asked for."""
    quiet: int = 0
    """Attempts since its best changed."""
    dry: bool = False
    """It has nothing new to propose until something changes."""
    awake: int = 0
    """Slots before this one were asked for before that changed last."""

    @property
    def point(self) -> Node:
        """The candidate that it works on."""
        return self.front[0]

    def learn(self, attempt: Attempt, node: Node | None, settings: Settings, count: int) -> bool:
        """Take in an attempt, with its node where it was admitted; whether it is the island's best now."""
        before = self.point
        reward, improved = 0.0, False
        self.quiet += 1
        self.exhausted.update(
            (draw.get("parent", attempt.parent), Arm(draw["strategy"], draw["block"])) for draw in attempt.draws
        )
        if node is not None and node.faster_than(self.best, settings.threshold):
            gain = 1.0 - node.microseconds / self.best.microseconds
            reward, improved = min(1.0, 0.3 + gain / WORTHY), True
            self.adopt(node)
        elif node is not None and attempt.status is Status.ADMITTED:
            reward = 0.5 if node.microseconds < self.point.microseconds else 0.0
            self._accept(node, attempt, settings, count)
        if attempt.block is not None:
            self.bandit.learn(Arm(attempt.strategy, attempt.block), reward)
        if self.point != before:
            self._carry(before, attempt.block)
        return improved

    def adopt(self, node: Node) -> None:
        """Work on this candidate, its best from now on."""
        self.best = node
        self.front = [node, *(other for other in self.front if self.mix.policy == "beam" and other != node)][:BEAM]
        self.quiet = 0
        self.proposals.clear()

    def _accept(self, node: Node, attempt: Attempt, settings: Settings, count: int) -> None:
        """Take an admitted candidate, no new best, as a working point, or not."""
        limit = max(self.best.microseconds * (1.0 + settings.slack), self.point.microseconds)
        if node.microseconds > limit:
            return
        if self.mix.policy == "beam":
            self.front = sorted({*self.front, node}, key=lambda n: (n.microseconds, n.ordinal))[:BEAM]
            at = count % len(self.front)
            self.front = self.front[at:] + self.front[:at]
        elif self._takes(node, attempt, settings, count):
            self.front = [node]

    def _takes(self, node: Node, attempt: Attempt, settings: Settings, count: int) -> bool:
        """Metropolis rule on relative time; a greedy island takes nothing slower."""
        loss = node.microseconds / self.point.microseconds - 1.0
        if loss < 0.0:
            return True
        chance = stream(settings.seed_after(attempt.ordinal - 1), attempt.island, count, "accept").random()
        if loss == 0.0:
            return chance < SIDEWAYS
        warm = settings.temperature > 0.0 and self.mix.policy == "annealing"
        return warm and chance < math.exp(-loss / settings.temperature)

    def _carry(self, before: Node, block: int | None) -> None:
        """Arms that had nothing for the last working point have nothing for this one, but in the block that changed."""
        kept = {arm for ordinal, arm in self.exhausted if ordinal == before.ordinal and arm.block != block}
        self.exhausted |= {(self.point.ordinal, arm) for arm in kept}

    def redirect(self, overall: Node, archive: Archive, settings: Settings, ordinal: int) -> Redirect | None:
        """Where to go when it is stuck: to its best, to the best of all, or to another cell of the archive."""
        if not self.quiet or self.quiet % settings.patience:
            return None
        times = self.quiet // settings.patience
        stuck = f"no gain in {self.quiet} attempts"
        if overall.faster_than(self.best, BEHIND):
            self.adopt(overall)
            return Redirect(ordinal, self.number, overall.ordinal, f"{stuck}, and behind the best of all islands")
        if times % 2 and self.point != self.best:
            self._stand_on(self.best)
            return Redirect(ordinal, self.number, self.best.ordinal, f"{stuck}: back to the island's best")
        self.mix = self.mix.turned()
        self.bandit = Bandit()
        rng = stream(settings.seed_after(ordinal), self.number, ordinal, "redirect")
        besides = frozenset(node.ordinal for node in self.front)
        found = archive.choose(besides, overall.microseconds * (1.0 + RESTART), rng)
        if found is None:
            why = f"{stuck}: other windows and strategies"
            return Redirect(ordinal, self.number, self.point.ordinal, why)
        cell, node = found
        self._stand_on(node)
        return Redirect(ordinal, self.number, node.ordinal, f"{stuck}: anew from the archive's cell {cell}")

    def _stand_on(self, node: Node) -> None:
        self.front = [node]

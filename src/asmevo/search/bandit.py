"""Which strategy to try on which window: Thompson sampling over outcomes so far, weighted with the windows' promise."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

NO_WEIGHTS: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True, order=True)
class Arm:
    """One choice: a strategy on a block."""

    strategy: str
    block: int
    """Block number; edits of the known strategies leave the blocks' numbering alone."""


@dataclass(slots=True)
class Bandit:
    """Beta posteriors of success, one for each strategy and one for each arm.

    An arm's score is promise x sample(strategy) x sample(arm): time is only to be won where it is spent and not needed,
    a strategy that pays somewhere is likely to pay elsewhere, and an arm that never paid fades. All is a function of
    the outcomes told to it, in order, and of the stream given to `choose`.
    """

    _strategies: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    _arms: dict[Arm, list[float]] = field(default_factory=dict[Arm, list[float]])

    def learn(self, arm: Arm, reward: float) -> None:
        """Note an outcome: 1 for a commit, 0 for nothing, between for what was useful."""
        for counts in (self._strategies.setdefault(arm.strategy, [0.0, 0.0]), self._arms.setdefault(arm, [0.0, 0.0])):
            counts[0] += reward
            counts[1] += 1.0 - reward

    def choose(
        self,
        arms: Iterable[Arm],
        promise: Mapping[int, float],
        rng: random.Random,
        weights: Mapping[str, float] = NO_WEIGHTS,
    ) -> Arm | None:
        """The arm to try next; None when there is none. `promise` is what each block may win, `weights` how much more
        than others a strategy is wanted."""
        best, best_score = None, -1.0
        strategies: dict[str, float] = {}
        for arm in sorted(arms):
            if arm.strategy not in strategies:
                strategies[arm.strategy] = _sample(self._strategies.get(arm.strategy), rng)
            wanted = promise.get(arm.block, 0.0) * weights.get(arm.strategy, 1.0)
            score = wanted * strategies[arm.strategy] * _sample(self._arms.get(arm), rng)
            if score > best_score:
                best, best_score = arm, score
        return best


def _sample(counts: list[float] | None, rng: random.Random) -> float:
    wins, losses = counts or (0.0, 0.0)
    return rng.betavariate(1.0 + wins, 1.0 + losses)

"""How a run searches: seed, budgets, thresholds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self, cast

from asmevo.strategies import INEXACT, STRATEGIES, strategies_named
from asmevo.verdict import UsageError


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a search. All but the two budgets shape the lineage; a budget only says where it ends."""

    seed: int = 0
    attempts: int | None = 200
    """Most candidates put through the gate, K0 and the final trimming not counted; None for no limit."""
    seconds: float | None = None
    """Most wall seconds; None for no limit. The one setting that makes a run depend on the machine's speed."""
    threshold: float = 0.001
    """A commit must be faster than the best by more than this share: smaller gains are below what a model can tell."""
    islands: int = 4
    """How many searches run side by side and hand each other what they found."""
    ahead: int = 8
    """Proposals that are under way at once, whatever the number of workers: each is made without the results of so many
    before it."""
    patience: int = 10
    """Attempts of an island without a gain after which it is sent elsewhere."""
    stall: int = 120
    """Attempts without a commit after which the search ends."""
    temperature: float = 0.0005
    """How much slower than the working point an admitted candidate may be, as a share, to become the working point with
    probability 1/e; 0 takes only candidates that are at least as fast."""
    slack: float = 0.004
    """The working point is never slower than the best by more than this share."""
    trims: int = 8
    """Most candidates put through the gate at the end to drop edits that do not pay, and as many again to tell what
    each of the others gives; 0 to skip both."""
    reseeded: tuple[int, int] | None = None
    """(ordinal, seed): attempts after this one are drawn with another seed, as in a fork."""
    inexact: float | None = None
    """How many times K0's error against float64 a candidate may have; None for bit-equal results only."""
    strategies: tuple[str, ...] = tuple(STRATEGIES)

    def __post_init__(self) -> None:
        _require(self.attempts is None or self.attempts >= 0, "attempts", self.attempts, "at least 0")
        _require(self.seconds is None or self.seconds >= 0, "seconds", self.seconds, "at least 0")
        _require(0 <= self.threshold < 1, "threshold", self.threshold, "at least 0 and below 1")
        _require(self.islands >= 1, "islands", self.islands, "at least 1")
        _require(self.ahead >= 1, "ahead", self.ahead, "at least 1")
        _require(self.patience >= 1, "patience", self.patience, "at least 1")
        _require(self.stall >= 1, "stall", self.stall, "at least 1")
        _require(0 <= self.temperature < 1, "temperature", self.temperature, "at least 0 and below 1")
        _require(0 <= self.slack < 1, "slack", self.slack, "at least 0 and below 1")
        _require(self.trims >= 0, "trims", self.trims, "at least 0")
        _require(len(self.strategies) > 0, "strategies", self.strategies, "at least one name")
        _require(self.inexact is None or self.inexact >= 1, "inexact", self.inexact, "at least 1")
        needless = self.inexact is None and set(self.strategies) & set(INEXACT)
        if needless:
            names = ", ".join(sorted(needless))
            raise UsageError(
                f"The strategy {names} gives other results than K0; allow them with --allow-inexact BOUND."
            )

    def to_json(self) -> dict[str, Any]:
        lists = {"strategies": list(self.strategies), "reseeded": self.reseeded and list(self.reseeded)}
        values = asdict(self) | lists
        return values if self.inexact is not None else {k: v for k, v in values.items() if k != "inexact"}

    def seed_after(self, ordinal: int) -> int:
        """The seed for what is decided once attempt `ordinal` is known."""
        return self.reseeded[1] if self.reseeded and ordinal >= self.reseeded[0] else self.seed

    def allowing(self, bound: float | None) -> Self:
        """The settings with results that may be further from float64 than K0's, and the strategies that make such."""
        return self if bound is None else replace(self, inexact=bound, strategies=(*self.strategies, *INEXACT))

    def with_strategies(self, names: Iterable[str] | None) -> Self:
        """The settings with these strategies alone; as they are without. Raises `UsageError` for one there is not."""
        return replace(self, strategies=tuple(strategies_named(names))) if names else self

    def with_budgets(self, attempts: int | None, seconds: float | None) -> Self:
        """The settings with these two budgets, when either is given; one that is None is then no limit."""
        return self if attempts is None and seconds is None else replace(self, attempts=attempts, seconds=seconds)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Settings from JSON; those not named keep their defaults. Raises `UsageError` for names it does not know."""
        unknown = set(values) - {f.name for f in fields(cls)}
        if unknown:
            raise UsageError(f"Unknown search settings: {', '.join(sorted(unknown))}; see `asmevo optimize --help`.")
        typed: dict[str, Any] = {
            k: tuple(cast("list[Any]", v)) if isinstance(v, list) else v for k, v in values.items()
        }
        return cls(**typed)


def _require(holds: bool, name: str, value: object, wanted: str) -> None:
    if not holds or (isinstance(value, float) and not math.isfinite(value)):
        raise UsageError(f"The search setting {name} is {value}; it must be {wanted}.")

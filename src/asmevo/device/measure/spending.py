"""How much risk of a false claim each confirmation may take, so that a whole run stays below one bound."""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.verdict import UsageError

FALSE_CLAIMS = 0.005
"""Most probability that a run, however long, claims any gain that is none."""


def level(total: float, confirmation: int) -> float:
    """What confirmation 1, 2, ... may take of a total; the sum over any number of them stays below it."""
    return total / (confirmation * (confirmation + 1))


@dataclass(slots=True)
class Spending:
    """Levels for one confirmation after another.

    Only confirmations count: a candidate that screening turns down was never near a claim. Whoever goes
    on with a run gives the number it had used; without one, counting begins anew.
    """

    total: float = FALSE_CLAIMS
    used: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.total < 1 or self.used < 0:
            raise UsageError(
                f"A risk of {self.total} after {self.used} confirmations is none; use one between 0 and 1."
            )

    def next(self) -> float:
        """The level of the next confirmation, which counts as used from now on."""
        self.used += 1
        return level(self.total, self.used)

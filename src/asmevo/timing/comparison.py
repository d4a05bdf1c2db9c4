"""How much faster one candidate is than another, with the doubt about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

SHARE: Final = 0.95
"""Share of the pairs of times that must find a candidate faster before it counts as faster."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A speedup above 1 is faster. It rests on pairs of times: on members of an ensemble, or taken in turns."""

    source: str
    """`modelled` or `measured`."""
    speedup: float
    """Modelled: on the chip's own table. Measured: the median pair."""
    low: float
    """A share of `SHARE` of the pairs is at or above this."""
    high: float
    """A share of `SHARE` of the pairs is at or below this."""
    share_faster: float
    """Share of the pairs in which it is faster, 0 to 1; pairs left out count as not faster."""
    pairs: int
    """Taken; some are left out when the answer is clear before."""

    @property
    def faster(self) -> bool:
        """Whether the doubt leaves it faster."""
        return self.speedup > 1.0 and self.share_faster >= SHARE

    def to_json(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)} | {"faster": self.faster}


def comparison_of(source: str, speedup: float, speedups: Sequence[float], planned: int) -> Comparison:
    """The comparison that pairs of times give; `planned` is how many pairs there could have been."""
    ordered, cut = sorted(speedups), spare(len(speedups))
    return Comparison(
        source=source,
        speedup=speedup,
        low=ordered[cut],
        high=ordered[len(ordered) - 1 - cut],
        share_faster=sum(s > 1.0 for s in speedups) / planned,
        pairs=len(speedups),
    )


def spare(pairs: int) -> int:
    """How many of so many pairs may say otherwise."""
    return int((1.0 - SHARE) * pairs + 1e-9)

"""Times of a launch over its dispatches: a median with an interval, whatever outliers there are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import exp, isfinite
from pathlib import Path
from typing import Any, Final, cast

import numpy as np

from asmevo.device.calibration.dispatches import Dispatch
from asmevo.device.measure import interval
from asmevo.verdict import InputError, number, shown, whole

PARTS: Final = 64
"""The interval is taken over the medians of this many equal parts at most, in order of time."""
LEVEL: Final = 0.05
UNEVEN: Final = 1.1
"""Where the upper quartile is more than this times the lower one, the times are of several things."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The time of one launch on hardware."""

    microseconds: float
    """Median."""
    low: float | None
    """95 % interval of the median; None where the samples are too few for one, or uneven."""
    high: float | None
    samples: int
    warm_up: int
    """Dispatches before them that were left out."""
    quartiles: tuple[float, float] | None = None
    cold: bool = False
    """The one dispatch is its first, which finds pages, code and clock cold and is longer."""

    @property
    def uneven(self) -> bool:
        """Whether the times are too far apart to be of one launch on one machine at rest: a file does not say the
        arguments of a dispatch, so another launch of the same sizes may be among them."""
        return self.quartiles is not None and self.quartiles[1] > UNEVEN * self.quartiles[0]

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"uneven": self.uneven}


def measured_of(dispatches: Sequence[Dispatch]) -> Measured | None:
    """Over dispatches in order of time; None when none of them has a time that no counter made longer.

    The first is left out where there are others: pages, code and clock are cold. The interval is that of paired blocks
    (`asmevo.device.measure`), here for logarithms of times that are taken to lie evenly around the true one.
    """
    times = [d.microseconds for d in dispatches if not d.counted and d.microseconds is not None]
    if not times:
        return None
    kept = np.array(times[1:] or times)
    middle = float(np.median(kept))
    lower, upper = (float(q) for q in np.quantile(kept, (0.25, 0.75)))
    parts = [float(np.median(part)) for part in np.array_split(kept, min(PARTS, len(kept)))]
    found = Measured(middle, None, None, len(kept), len(times) - len(kept), (lower, upper), len(times) == 1)
    low, high = interval(np.log(np.array(parts) / middle), LEVEL)
    if found.uneven or not (isfinite(low) and isfinite(high)):
        return found
    return replace(found, low=middle * exp(low), high=middle * exp(high))


def own_times(path: Path) -> dict[str, Measured] | None:
    """Times by launch of what `asmevo profile --device hip --json` printed; None for a file of another kind.

    Raises `InputError` for such a file without measured times, or with one that is none.
    """
    try:
        data = cast("object", json.loads(path.read_bytes()))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or "launches" not in data:
        return None
    try:
        launches = cast("list[Mapping[str, Any]]", data["launches"])
        each = [(str(one["launch"]), one["measured"]) for one in launches]
        times = {name: Measured(number(m["microseconds"]), None, None, whole(m["samples"]), 0) for name, m in each}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{path} has no measured times; give what `asmevo profile --device hip --json` prints."
        ) from error
    if len(times) < len(each):
        raise InputError(f"{path} times a launch twice; measure it again with each launch given once.")
    for name, time in times.items():
        if not 0 < time.microseconds < float("inf") or time.samples < 1:
            raise InputError(
                f"{path} has the time {time.microseconds} us of {shown(name)}, which is none; measure it again."
            )
    return times

"""What is measured: one sample, and the bench that takes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol


class Cache(StrEnum):
    """What the caches hold before a sample."""

    ROTATING = "rotating"
    """Something else: each sample uses the next of several sets of buffers. The code is warm."""
    COLD = "cold"
    """Nothing of the kernel, neither data nor code."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One timed run of all objective launches."""

    microseconds: float
    """By weight over the launches; what the device's own clock says, launch overhead included."""
    clock_mhz: float | None = None
    """Engine clock around the sample; None where nobody tells."""
    temperature_c: float | None = None
    launches: tuple[float, ...] = ()
    """Microseconds of each launch."""


class Bench(Protocol):
    """Two objects and their buffers, ready to run on one device.

    Both use the same sets of buffers in turn and find equal content in them. Every sample is complete before it
    returns: work after the last store counts. Object 0 is the one to beat, 1 the candidate.
    """

    @property
    def sets(self) -> int:
        """Sets of buffers, together larger than the last cache where there is room for so many; at least one."""
        ...

    def sample(self, which: int, buffers: int, cache: Cache) -> Sample:
        """One sample of object `which` on set number `buffers`."""
        ...

    def floor(self) -> float:
        """Microseconds of the same launches of a kernel that does nothing."""
        ...


@dataclass(frozen=True, slots=True)
class ClockLog:
    """Clock and temperature over the samples of a comparison; None where nobody told."""

    clock_low: float | None = None
    clock_high: float | None = None
    clock_ratio: float | None = None
    """Median clock of the candidate's samples over that of the others."""
    temperature_high: float | None = None

    @classmethod
    def of(cls, first: Sequence[Sample], second: Sequence[Sample]) -> ClockLog:
        clocks = [[s.clock_mhz for s in samples if s.clock_mhz] for samples in (first, second)]
        heat = [s.temperature_c for s in (*first, *second) if s.temperature_c is not None]
        both = [*clocks[0], *clocks[1]]
        known = all(clocks)
        return cls(
            clock_low=min(both, default=None),
            clock_high=max(both, default=None),
            clock_ratio=_median(clocks[1]) / _median(clocks[0]) if known else None,
            temperature_high=max(heat, default=None),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "clock_low_mhz": self.clock_low,
            "clock_high_mhz": self.clock_high,
            "clock_ratio": self.clock_ratio,
            "temperature_high_c": self.temperature_high,
        }


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2

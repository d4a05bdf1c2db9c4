"""The one calibrated clock of a chip for each width of matrix type: what makes modelled times the measured ones.

A launch tells something of the clock only when its time depends on it: one that waits for memory or is over before the
launch overhead does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import exp, log
from statistics import median
from typing import Any, Final

from asmevo.timing import Chip, Prepared

SLOWEST: Final = 0.3
"""GHz; no engine clock under load is outside of these two."""
FASTEST: Final = 4.0
LEAST: Final = 3
"""Launches that a clock needs."""
SENSITIVE: Final = 0.5
"""Share of a change of the clock that must show in the time of a launch that is used."""
SPREAD: Final = 1.25
"""Where the clocks of single launches are further apart than this, a clock does not explain the times."""
_STEP: Final = 1.05
_TOLERANCE: Final = 1e-5


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A launch that was measured."""

    launch: str
    prepared: Prepared
    microseconds: float
    """Measured."""

    @property
    def parameter(self) -> str:
        """The clock that it runs at."""
        return f"clock_ghz_{self.prepared.bits}" if self.prepared.bits in (8, 16) else "clock_ghz"

    def modelled(self, chip: Chip) -> float:
        """Microseconds."""
        return self.prepared.replay(chip).microseconds

    def error(self, chip: Chip) -> float:
        """Logarithm of the measured time over the modelled one."""
        return log(self.microseconds / self.modelled(chip))


@dataclass(frozen=True, slots=True)
class OwnClock:
    """The clock at which one launch takes the time that was measured."""

    launch: str
    ghz: float | None
    sensitivity: float
    """Share of a change of the clock that shows in its time, 0 to 1."""
    reason: str
    """Why it tells nothing of the clock; empty where it does."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ClockFit:
    """One clock of the chip."""

    parameter: str
    table: float
    """GHz that the chip had."""
    ghz: float | None
    """Median over the launches that tell; None where these are too few."""
    low: float | None
    """Lowest and highest of them."""
    high: float | None
    launches: tuple[OwnClock, ...]
    reason: str
    """Why there is no clock, or what is wrong with it; empty otherwise."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def fit_clocks(subjects: Sequence[Subject], chip: Chip) -> tuple[ClockFit, ...]:
    """A fit for each clock that some launch runs at."""
    names = sorted({s.parameter for s in subjects})
    return tuple(_fit(name, [s for s in subjects if s.parameter == name], chip) for name in names)


def _fit(parameter: str, subjects: Sequence[Subject], chip: Chip) -> ClockFit:
    launches = tuple(_own(subject, parameter, chip) for subject in subjects)
    told = [own.ghz for own in launches if own.ghz is not None and not own.reason]
    table, reason = float(getattr(chip, parameter)), ""
    if len(told) < LEAST:
        reason = f"{len(told)} of {len(launches)} launches tell something of this clock, and {LEAST} are needed"
        return ClockFit(parameter, table, None, None, None, launches, reason)
    if max(told) > SPREAD * min(told):
        reason = "the launches disagree, so something else than the clock is wrong as well"
    return ClockFit(parameter, table, median(told), min(told), max(told), launches, reason)


def _own(subject: Subject, parameter: str, chip: Chip) -> OwnClock:
    def off(ghz: float) -> float:
        """Logarithm of the modelled time over the measured one; falls with the clock."""
        return -subject.error(chip.with_(**{parameter: ghz}))

    ghz, reason = _root(off)
    at = float(getattr(chip, parameter)) if ghz is None else ghz
    sensitivity = (off(at / _STEP) - off(at * _STEP)) / log(_STEP * _STEP)
    if not reason and sensitivity < SENSITIVE:
        reason = f"only {100 * max(sensitivity, 0.0):.0f} % of a change of the clock show in its time"
    return OwnClock(subject.launch, ghz, sensitivity, reason)


def _root(off: Callable[[float], float]) -> tuple[float | None, str]:
    """Where a falling function of the clock is 0, or words for why it nowhere is (false position, Illinois variant)."""
    low, high = log(SLOWEST), log(FASTEST)
    above, below = off(SLOWEST), off(FASTEST)
    if below > 0:
        return None, f"it was measured faster than {FASTEST:g} GHz explain"
    if above < 0:
        return None, f"it was measured slower than {SLOWEST:g} GHz explain"
    kept = 0
    while high - low > _TOLERANCE:
        middle = high if above == below else low + (high - low) * above / (above - below)
        middle = min(max(middle, low + (high - low) / 64), high - (high - low) / 64)
        value = off(exp(middle))
        if abs(value) < _TOLERANCE:
            return exp(middle), ""
        if value > 0:
            low, above, below = middle, value, below / 2 if kept > 0 else below
            kept = 1
        else:
            high, below, above = middle, value, above / 2 if kept < 0 else above
            kept = -1
    return exp((low + high) / 2), ""

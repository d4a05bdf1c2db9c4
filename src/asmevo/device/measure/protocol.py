"""Is the second object faster? Screening, then confirmation on fresh samples, then doubt about the machine itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import count
from math import exp, inf, log
from typing import Any

import numpy as np

from asmevo.device.measure.blocks import Series
from asmevo.device.measure.bound import LeastTime
from asmevo.device.measure.evidence import AGAINST, interval
from asmevo.device.measure.samples import Bench, Cache, ClockLog
from asmevo.device.measure.spending import Spending
from asmevo.timing import Comparison

CLOCK_RATIO = 0.01
"""Two objects whose clocks differ by more than this share were not compared under one condition."""
UNSTEADY = 0.5
"""More blocks than this share dropped for their clocks: the machine is not at rest."""


class Claim(StrEnum):
    """What a comparison says of the second object."""

    FASTER = "faster"
    NOT_SHOWN = "not shown to be faster"
    VOID = "void"
    """The measurement cannot be believed, either way."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured at most."""

    screen_blocks: int = 40
    screen_level: float = 0.05
    """Evidence at which a candidate is worth confirming, or surely not."""
    confirm_blocks: int = 160
    caches: tuple[Cache, ...] = (Cache.ROTATING, Cache.COLD)
    """A gain must show under each: one that only shows with warm caches is of the cache policy."""
    interval_level: float = 0.05
    """The interval holds the true gain with probability 1 - this."""


@dataclass(frozen=True, slots=True)
class CacheResult:
    """Fresh samples under one state of the caches."""

    cache: Cache
    blocks: int
    dropped: int
    log_evidence: float
    """Natural logarithm of the evidence that the second object is faster."""
    gain: float
    """Share of the first object's time that the second saves: median over the blocks."""
    gain_low: float
    gain_high: float
    microseconds: tuple[float, float]
    """Medians of both objects."""


@dataclass(frozen=True, slots=True)
class MeasuredComparison(Comparison):
    """The outcome, with an interval around the speedup that holds the true one with 95 % probability, however long was
    measured. Gains are shares of the first object's time; negative where the second is slower."""

    claim: Claim
    reason: str
    """A sentence; empty for `FASTER`."""
    results: tuple[CacheResult, ...]
    """Of the confirmation, by cache; of the screening where it ended there."""
    level: float
    """Probability of a false claim that this comparison was allowed; 0 where it made none."""
    samples: int
    floor: float
    """Microseconds of a kernel that does nothing."""
    clocks: ClockLog
    least: LeastTime

    @property
    def faster(self) -> bool:
        return self.claim is Claim.FASTER

    @property
    def gain(self) -> float:
        return self.results[0].gain

    @property
    def microseconds(self) -> tuple[float, float]:
        return self.results[0].microseconds

    def to_json(self) -> dict[str, Any]:
        """Plain values; figures that do not exist are None."""
        plain = ("source", "speedup", "low", "high", "share_faster", "pairs", "faster")
        return {
            **_finite({name: getattr(self, name) for name in plain}),
            "claim": self.claim.value,
            "reason": self.reason,
            "results": [_finite(asdict(r)) | {"cache": r.cache.value} for r in self.results],
            "level": self.level,
            "samples": self.samples,
            "floor_us": self.floor,
            "clocks": self.clocks.to_json(),
            "least": self.least.to_json(),
        }


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    return {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in values.items()}


def never() -> str:
    """No objection."""
    return ""


def compare(
    bench: Bench,
    spending: Spending,
    rng: np.random.Generator,
    plan: Plan | None = None,
    least: LeastTime | None = None,
    again: Callable[[], str] = never,
) -> MeasuredComparison:
    """Compare the two objects of a bench. A gain is claimed only when

    - a quick look says that it is worth it, and fresh samples then show it under every state of the caches, at the
      level that `spending` has left for this confirmation;
    - no time is below what the chip can do at all, and both ran at the same clocks;
    - `again`, asked after the last sample, has nothing to say: it verifies the candidate once more.
    """
    plan, least = plan or Plan(), least or LeastTime()
    floor = bench.floor()
    turn = count()
    screening = Series(bench, Cache.ROTATING, rng, turn=turn)
    promising = _decide(screening, plan.screen_level, plan.screen_blocks)
    doubt = _doubt([screening], least, floor)
    if doubt or not promising:
        claim = Claim.VOID if doubt else Claim.NOT_SHOWN
        reason = doubt or "A quick look shows no gain."
        return _comparison(claim, reason, [screening], 0.0, screening.samples, floor, least, plan)
    level = spending.next()
    fresh = [Series(bench, cache, rng, turn=turn) for cache in plan.caches]
    shown = all(_decide(series, level, plan.confirm_blocks) for series in fresh)
    fresh = [series for series in fresh if series.samples]
    samples = screening.samples + sum(series.samples for series in fresh)
    claim, reason = (Claim.FASTER, "") if shown else (Claim.NOT_SHOWN, "Fresh samples do not confirm the gain.")
    if doubt := _doubt(fresh, least, floor) or again():
        claim, reason = Claim.VOID, doubt
    return _comparison(claim, reason, fresh, level, samples, floor, least, plan)


def control(bench: Bench, rng: np.random.Generator, blocks: int = 48, level: float = 0.001) -> str:
    """Words when a bench that holds one object twice tells the two apart; empty when it does not.

    A machine on which this fails favours a place in memory or in time, and nothing measured on it can be believed.
    """
    series = Series(bench, Cache.ROTATING, rng)
    while series.samples < 4 * blocks and not series.blind:
        series.take()
        if max(series.evidence, series.against) >= log(2 / level):
            apart = 100 * abs(exp(float(np.median(series.ratios))) - 1)
            return f"The device tells two copies of one object apart, by {apart:.2f} %, so its times prove nothing."
    return _doubt([series], LeastTime(), 0.0)


def _decide(series: Series, level: float, most: int) -> bool:
    """Take blocks until the evidence for the second object suffices; False when it speaks against it, or never does."""
    while series.samples < 4 * most:
        series.take()
        if series.evidence >= log(1 / level):
            return True
        if series.blind or series.against >= log(1 / AGAINST):
            return False
    return False


def _doubt(series: list[Series], least: LeastTime, floor: float) -> str:
    """Why the samples cannot be believed; empty where they can."""
    for one in series:
        if one.dropped > UNSTEADY * (len(one.blocks) + one.dropped):
            return f"The clock changed within {one.dropped} of {one.samples // 4} blocks; let the device come to rest."
        for which, name in enumerate(("first", "second")):
            if words := least.objection(one.microseconds(which), floor):
                return f"The time of the {name} object is impossible: {words}."
    ratio = _clocks(series).clock_ratio
    if ratio is not None and abs(ratio - 1) > CLOCK_RATIO:
        return (
            f"The two objects ran at clocks that differ by {100 * abs(ratio - 1):.1f} %, so their times do not compare."
        )
    return ""


def _clocks(series: list[Series]) -> ClockLog:
    return ClockLog.of([s for one in series for s in one.of(0)], [s for one in series for s in one.of(1)])


def _comparison(
    claim: Claim,
    reason: str,
    series: list[Series],
    level: float,
    samples: int,
    floor: float,
    least: LeastTime,
    plan: Plan,
) -> MeasuredComparison:
    results = tuple(_result(one, plan.interval_level) for one in series)
    ratios = series[0].ratios
    return MeasuredComparison(
        source="measured",
        speedup=1 / (1 - results[0].gain),
        low=1 / (1 - results[0].gain_low),
        high=1 / (1 - results[0].gain_high) if results[0].gain_high < 1 else inf,
        share_faster=float(np.mean(ratios > 0)) if len(ratios) else 0.0,
        pairs=len(ratios),
        claim=claim,
        reason=reason,
        results=results,
        level=level,
        samples=samples,
        floor=floor,
        clocks=_clocks(series),
        least=least,
    )


def _result(series: Series, level: float) -> CacheResult:
    ratios = series.ratios
    low, high = interval(ratios, level)
    middle = float(np.median(ratios)) if len(ratios) else float("nan")
    return CacheResult(
        cache=series.cache,
        blocks=len(ratios),
        dropped=series.dropped,
        log_evidence=series.evidence,
        gain=1 - exp(-middle),
        gain_low=float(1 - np.exp(-low)),
        gain_high=float(1 - np.exp(-high)),
        microseconds=(series.microseconds(0), series.microseconds(1)),
    )

"""Launches on hardware against the model of a chip: ratios, counters, clocks, and doubtful numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from asmevo.codeobject import CodeObject
from asmevo.device.calibration.clock import ClockFit, Subject, fit_clocks
from asmevo.device.calibration.dispatches import Dispatch, LeftOver, dispatches_of, join
from asmevo.device.calibration.doubt import Move, moves
from asmevo.device.calibration.times import Measured, measured_of
from asmevo.device.counters import Pair, Reading, beside, by_kernel
from asmevo.device.simulated import SimDevice
from asmevo.launch import Launch
from asmevo.timing import Chip, Profile, override, with_overrides
from asmevo.verdict import UsageError

_BUSY = "GRBM_GUI_ACTIVE"


@dataclass(frozen=True, slots=True)
class Compared:
    """One launch, modelled and measured."""

    launch: str
    kernel: str
    modelled: float
    """Microseconds on the chip as it was given."""
    limiter: str
    measured: Measured | None
    """None where every dispatch was counted, which makes it longer."""
    counters: tuple[Pair, ...]
    """What was counted, each with the model's figure where it has one."""
    counted_ghz: float | None
    """Clock while counting: busy clocks of a die over the time of the dispatch."""

    @property
    def ratio(self) -> float | None:
        """Measured over modelled time."""
        return self.measured.microseconds / self.modelled if self.measured else None

    def to_json(self) -> dict[str, Any]:
        return {
            "launch": self.launch,
            "kernel": self.kernel,
            "modelled_us": self.modelled,
            "limiter": self.limiter,
            "measured": None if self.measured is None else self.measured.to_json(),
            "ratio": self.ratio,
            "counted_ghz": self.counted_ghz,
            "counters": [pair.to_json() for pair in self.counters],
        }


@dataclass(frozen=True, slots=True)
class Calibration:
    """What files of measured times and counters say of the model."""

    chip: Chip
    launches: tuple[Compared, ...]
    clocks: tuple[ClockFit, ...]
    moves: tuple[Move, ...]
    """With the fitted clocks; empty where too few launches were timed."""
    error: tuple[float, float] | None
    """Median over the launches of the share by which measured and modelled time differ, before and with the fitted
    clocks; None without times."""
    missing: tuple[str, ...]
    """Launches that nothing was measured of."""
    left: tuple[LeftOver, ...]
    agent: str

    @property
    def fitted(self) -> Chip:
        """The chip with the clocks that were told."""
        return _with_clocks(self.chip, self.clocks)

    @property
    def told(self) -> bool:
        """Whether any clock was."""
        return any(clock.ghz is not None for clock in self.clocks)

    def to_json(self) -> dict[str, Any]:
        return {
            "chip": self.chip.name,
            "agent": self.agent,
            "launches": [one.to_json() for one in self.launches],
            "missing": list(self.missing),
            "unmatched": [one.to_json() for one in self.left],
            "clocks": [clock.to_json() for clock in self.clocks],
            "parameters": [move.to_json() for move in self.moves],
            "median_error": None if self.error is None else self.error[0],
            "median_error_fitted": None if self.error is None else self.error[1],
            "fitted_chip": self.fitted.name if self.told else None,
        }


def calibrate(
    model: SimDevice,
    obj: CodeObject,
    launches: Sequence[Launch],
    rows: Sequence[Reading],
    own: Mapping[str, Measured],
    agent: str | None = None,
) -> Calibration:
    """Compare launches of an object with rows of a profiler, and with times by launch that AsmEvo measured itself.

    Raises `UsageError` where two launches have one name, `own` has a launch that is not given or that `rows` time as
    well, and what `join` and the model raise.
    """
    names = [one.name for one in launches]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"Two launches have the name {twice[0]!r}; give files of different names.")
    if unknown := sorted(set(own) - set(names)):
        raise UsageError(f"The launch {unknown[0]!r} was measured and is not given; give its file with --launch.")
    symbols = [(one, obj.kernel(one.kernel).name) for one in launches]
    joined = join(dispatches_of(rows), symbols, agent)
    compared: list[Compared] = []
    subjects: list[Subject] = []
    for launch, symbol in symbols:
        dispatches = joined.found.get(launch.name, ())
        measured = measured_of(dispatches)
        if measured and launch.name in own:
            raise UsageError(f"The launch {launch.name!r} is timed by two files; give one of them.")
        measured = measured or own.get(launch.name)
        if measured is None and not dispatches:
            continue
        module = model.load(obj.data, launch.kernel)
        profile = model.profile(module, launch)
        compared.append(_compared(launch, symbol, profile, measured, dispatches))
        if measured and not measured.uneven:
            subjects.append(Subject(launch.name, model.prepared(module, launch), measured.microseconds))
    clocks = fit_clocks(subjects, model.chip)
    fitted = _with_clocks(model.chip, clocks)
    done = {one.launch for one in compared}
    return Calibration(
        chip=model.chip,
        launches=tuple(compared),
        clocks=clocks,
        moves=moves(subjects, fitted, [fit.parameter for fit in clocks if fit.ghz is not None]),
        error=(_error(subjects, model.chip), _error(subjects, fitted)) if subjects else None,
        missing=tuple(name for name in names if name not in done),
        left=joined.left,
        agent=joined.agent,
    )


def _compared(
    launch: Launch,
    symbol: str,
    profile: Profile,
    measured: Measured | None,
    dispatches: Sequence[Dispatch],
) -> Compared:
    estimate = profile.estimate
    pairs: tuple[Pair, ...] = ()
    counted = [d for d in dispatches if d.counted]
    if counted:
        rows = [
            Reading(number, symbol, name, value, d.row.begin, d.row.end)
            for number, d in enumerate(counted)
            for name, value in d.counters.items()
        ]
        found = by_kernel(rows, f"the counters of {launch.name}")[symbol]
        pairs = beside(found, launch, estimate.code.program, profile)
    busy = [(d.counters.get(_BUSY), d.microseconds) for d in counted]
    ghz = [count / estimate.code.chip.xcds / us / 1e3 for count, us in busy if count and us]
    return Compared(
        launch=launch.name,
        kernel=symbol,
        modelled=estimate.microseconds,
        limiter=estimate.limiter,
        measured=measured,
        counters=pairs,
        counted_ghz=median(ghz) if ghz else None,
    )


def _with_clocks(chip: Chip, clocks: Sequence[ClockFit]) -> Chip:
    """The chip with fitted clocks, to four digits; their range is that of the launches."""
    rows = [
        override(chip, fit.parameter, _rounded(fit.ghz), "the fit", _rounded(fit.low), _rounded(fit.high))
        for fit in clocks
        if fit.ghz is not None and fit.low is not None and fit.high is not None
    ]
    return with_overrides(chip, rows) if rows else chip


def _rounded(ghz: float) -> float:
    return float(f"{ghz:.4g}")


def _error(subjects: Sequence[Subject], chip: Chip) -> float:
    return median(abs(s.microseconds / s.modelled(chip) - 1) for s in subjects)

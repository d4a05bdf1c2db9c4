"""The number a search minimises: the time of a candidate over the objective launches of a device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from asmevo.device.contract import MEASURING_SECONDS, Device, Module, RunLimits, Timing
from asmevo.device.measure import Claim, MeasuredComparison
from asmevo.launch import Launch
from asmevo.program import Program
from asmevo.timing import Comparison
from asmevo.verdict import UnsupportedError


@dataclass(frozen=True, slots=True)
class ObjectiveTime:
    """The time of one candidate."""

    timing: Timing
    heat: Mapping[int, float]
    """Line id to its share of the time, 0 to 1."""

    @property
    def microseconds(self) -> float:
        return self.timing.microseconds

    @property
    def source(self) -> str:
        """`modelled` or `measured`."""
        return self.timing.source

    @property
    def bytes_per_clk(self) -> float | None:
        """What one compute unit gets of the memory bandwidth in the costliest launch; None where nobody knows."""
        costliest = max(self.timing.launches, key=lambda t: t.weight * t.microseconds)
        return costliest.facts.get("bytes_per_clk_of_cu")

    @property
    def room(self) -> float | None:
        """Share of the time that neither memory bandwidth nor the matrix pipe needs, 0 to 1: what can be won without
        moving fewer bytes or multiplying less. None where the device knows no bounds."""
        spare = 0.0
        for one in self.timing.launches:
            bounds = one.facts.get("bounds")
            if bounds is None:
                return None
            clocks = max(0.0, one.facts["cycles"] - max(bounds["memory"], bounds["mfma"]))
            spare += one.weight * clocks / (1000.0 * one.facts["clock_ghz"])
        return spare / sum(one.weight * one.microseconds for one in self.timing.launches)


class ObjectiveTimer:
    """Times admitted candidates of one kernel on one device.

    Measured times of one object differ from sample to sample, and the best of many candidates is the luckiest. So on a
    device that measures, a candidate's time is the best one's so far over the speedup of a comparison of these two, and
    below the best one's only where that claims a gain. The first object to beat, the one timed first or an earlier
    process's best, has to be found no faster than itself.

    Each confirmation of a run leaves less risk for the next (see `asmevo.device.measure.Spending`). `remember` says
    where their number is kept, so that a run that is killed and resumed gets no fresh chance.
    """

    def __init__(
        self, device: Device, launches: Sequence[Launch], *, kernel: str | None = None, limits: RunLimits | None = None
    ) -> None:
        self._device, self._launches, self._kernel, self._limits = device, tuple(launches), kernel, limits
        self._best: _Best | None = None
        self._confirmations = 0
        self._keep: Callable[[int], None] = _forget

    def remember(self, confirmations: int, keep: Callable[[int], None]) -> None:
        """Go on after so many confirmations; `keep` writes down each new number before anything is measured for it."""
        self._confirmations, self._keep = confirmations, keep

    def anchor(self, best: bytes, microseconds: float) -> None:
        """Go on from the best object of an earlier process and its time, where the device measures.

        Raises `UnsupportedError` when the device finds the object faster than itself.
        """
        if self._device.source != "measured":
            return
        found = _Best(self._device.load(best, self._kernel), microseconds)
        self._compared(found.module, found.module)
        self._best = found

    def time(self, candidate: bytes, program: Program) -> ObjectiveTime:
        """The time of `candidate`; `program` is what it was rebuilt from, and its line ids are those of `heat`.

        Raises `UnsupportedError` when the device can give no time.
        """
        module = self._device.load(candidate, self._kernel)
        timing = self._device.time(module, self._launches, limits=self._limits)
        if timing.source == "measured":
            timing = self._against_best(module, timing)
        # Positions agree: rebuilding adds no instruction, except alignment in front of a later kernel's entry.
        lines = program.lines
        heat = {lines[at].id: share for at, share in timing.heat.items() if at < len(lines)}
        return ObjectiveTime(timing, heat)

    def _against_best(self, module: Module, timing: Timing) -> Timing:
        """The timing, scaled to what a comparison with the best object says."""
        best = self._best or _Best(module, timing.microseconds)
        found = self._compared(best.module, module)
        if self._best is None:
            self._best = best
            return timing
        microseconds = best.microseconds / found.speedup
        if found.faster:
            self._best = _Best(module, microseconds)
        else:
            microseconds = max(microseconds, best.microseconds)
        factor = microseconds / timing.microseconds
        comparison = found.to_json()
        scaled = tuple(
            replace(t, microseconds=t.microseconds * factor, facts={**t.facts, "comparison": comparison})
            for t in timing.launches
        )
        return replace(timing, launches=scaled)

    def _compared(self, base: Module, candidate: Module) -> Comparison:
        """How two objects compare. Raises `UnsupportedError` when that cannot be believed."""
        found = self._measured(base, candidate)
        if isinstance(found, MeasuredComparison) and found.claim is Claim.VOID:
            raise UnsupportedError(f"The times cannot be believed. {found.reason}")
        return found

    def compare(self, base: bytes, candidate: bytes) -> Comparison:
        """How much faster `candidate` is than `base`; raises `UnsupportedError` when the device cannot say."""
        before, after = (self._device.load(data, self._kernel) for data in (base, candidate))
        return self._measured(before, after)

    def _measured(self, base: Module, candidate: Module) -> Comparison:
        """The device's comparison. What may become a confirmation counts as one until it is known to be none."""
        if self._device.source != "measured":
            return self._device.compare(base, candidate, self._launches, limits=self._limits)
        before = self._confirmations
        limits = replace(self._limits or RunLimits(seconds=MEASURING_SECONDS), confirmations=before)
        self._confirmations = before + 1
        self._keep(self._confirmations)
        found = self._device.compare(base, candidate, self._launches, limits=limits)
        if isinstance(found, MeasuredComparison) and not found.level:
            self._confirmations = before
            self._keep(before)
        return found


def _forget(confirmations: int) -> None:
    """Nobody goes on with this."""


@dataclass(frozen=True, slots=True)
class _Best:
    """The object to beat on a device that measures."""

    module: Module
    microseconds: float

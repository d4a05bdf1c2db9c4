"""The number a search minimises: the time of a candidate over the objective launches of a device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from asmevo.device.contract import Device, RunLimits, Timing
from asmevo.launch import Launch
from asmevo.program import Program
from asmevo.timing import Comparison


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


class ObjectiveTimer:
    """Times admitted candidates of one kernel on one device."""

    def __init__(
        self, device: Device, launches: Sequence[Launch], *, kernel: str | None = None, limits: RunLimits | None = None
    ) -> None:
        self._device, self._launches, self._kernel, self._limits = device, tuple(launches), kernel, limits

    def time(self, candidate: bytes, program: Program) -> ObjectiveTime:
        """The time of `candidate`; `program` is what it was rebuilt from, and its line ids are those of `heat`.

        Raises `UnsupportedError` when the device can give no time.
        """
        timing = self._device.time(self._device.load(candidate, self._kernel), self._launches, limits=self._limits)
        # Positions agree: rebuilding adds no instruction, except alignment in front of a later kernel's entry.
        lines = program.lines
        heat = {lines[at].id: share for at, share in timing.heat.items() if at < len(lines)}
        return ObjectiveTime(timing, heat)

    def compare(self, base: bytes, candidate: bytes) -> Comparison:
        """How much faster `candidate` is than `base`; raises `UnsupportedError` when the device cannot say."""
        before, after = (self._device.load(data, self._kernel) for data in (base, candidate))
        return self._device.compare(before, after, self._launches, limits=self._limits)

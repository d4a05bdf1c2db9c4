"""Profiles: where the modelled time of a launch goes, window by window and line by line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from asmevo.program import Program
from asmevo.timing.banks import LINE_BYTES
from asmevo.timing.estimate import Estimate
from asmevo.timing.shape import shape_of
from asmevo.timing.windows import HotWindow, by_cause, windows_of


@dataclass(frozen=True, slots=True)
class LineProfile:
    """One executed line. Clocks as in `LineTimes`."""

    id: int
    position: int
    text: str
    count: float
    """Issues by the waves of the busiest compute unit."""
    cycles: float
    share: float
    idle: dict[str, float]
    stall: dict[str, float]
    lines: float | None
    """Cache lines that an access to memory touches in the mean; None for other lines and where that is not known."""
    least_lines: float
    """What it would touch if the data of all lanes lay side by side."""

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "text": self.text,
            "count": self.count,
            "cycles": self.cycles,
            "share": self.share,
            "idle": self.idle,
            "stall": self.stall,
            "lines": self.lines,
        }


@dataclass(frozen=True, slots=True)
class Roofline:
    """Where the launch stands under the roof of its chip."""

    flops: float
    """Of matrix instructions."""
    hbm_bytes: float
    seconds: float
    """Launch overhead included."""
    peak_flops: float
    """A second, for its mix of matrix instructions; 0 without any."""
    peak_bytes: float
    """A second, from HBM."""

    @property
    def intensity(self) -> float:
        """Flops a byte of HBM traffic."""
        return self.flops / self.hbm_bytes if self.hbm_bytes else 0.0

    @property
    def roof(self) -> str:
        """`compute` or `memory`: the side of the ridge it is on."""
        return "compute" if self.flops * self.peak_bytes > self.hbm_bytes * self.peak_flops else "memory"

    @property
    def fraction(self) -> float:
        """Share of the roof that it reaches, 0 to 1."""
        least = self.hbm_bytes / self.peak_bytes
        if self.peak_flops:
            least = max(least, self.flops / self.peak_flops)
        return least / self.seconds

    def to_json(self) -> dict[str, Any]:
        return {
            "flops": self.flops,
            "hbm_bytes": self.hbm_bytes,
            "flops_per_s": self.flops / self.seconds,
            "bytes_per_s": self.hbm_bytes / self.seconds,
            "peak_flops": self.peak_flops,
            "peak_bytes": self.peak_bytes,
            "intensity": self.intensity,
            "roof": self.roof,
            "fraction": self.fraction,
        }


@dataclass(frozen=True)
class Profile:
    """A profile of one launch. Every time in it is modelled."""

    estimate: Estimate
    windows: tuple[HotWindow, ...]
    """Blocks and loops by time charged."""
    lines: tuple[LineProfile, ...]
    """Executed lines in program order."""
    roofline: Roofline

    @property
    def by_saving(self) -> tuple[HotWindow, ...]:
        """Windows by what an ideal schedule could save."""
        return tuple(sorted(self.windows, key=lambda w: (-w.saving, w.window.first, w.kind)))

    def to_json(self) -> dict[str, Any]:
        return {
            "estimate": self.estimate.to_json(),
            "roofline": self.roofline.to_json(),
            "windows": [w.to_json() for w in self.windows],
            "lines": [line.to_json() for line in self.lines],
        }


def _lines(estimate: Estimate, position: int) -> float | None:
    accesses = estimate.accesses
    if accesses is None or not accesses.lines[position]:
        return None
    return float(accesses.lines[position] / accesses.executions[position])


def profile(program: Program, estimate: Estimate) -> Profile:
    """The profile of an estimate of `program`."""
    times = estimate.lines
    cycles = times.cycles
    lines = tuple(
        LineProfile(
            id=line.id,
            position=i,
            text=line.instruction.text,
            count=float(times.count[i]),
            cycles=float(cycles[i]),
            share=float(cycles[i]) / estimate.cycles,
            idle=by_cause(times.idle[i]),
            stall=by_cause(times.stall[i]),
            lines=_lines(estimate, i),
            least_lines=max(1.0, shape_of(line.instruction).bytes / LINE_BYTES),
        )
        for i, line in enumerate(program.lines)
        if times.count[i] > 0
    )
    roofline = Roofline(
        flops=estimate.flops,
        hbm_bytes=estimate.traffic.hbm,
        seconds=estimate.microseconds * 1e-6,
        peak_flops=estimate.peak_flops,
        peak_bytes=estimate.code.chip.hbm_bytes_per_s,
    )
    return Profile(estimate, windows_of(program, estimate), lines, roofline)

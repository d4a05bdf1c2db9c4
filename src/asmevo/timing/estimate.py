"""Modelled time of a launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from asmevo.launch import Launch
from asmevo.program import Program
from asmevo.timing.bounds import Bounds, bounds_of, flops_of, lds_conflict_clocks, peak_flops, scatter_clocks
from asmevo.timing.chips import Chip
from asmevo.timing.encode import Code
from asmevo.timing.layout import SIMDS
from asmevo.timing.occupancy import Occupancy
from asmevo.timing.prepared import Prepared, prepare
from asmevo.timing.recording import Accesses
from asmevo.timing.traces import Trace
from asmevo.timing.traffic import MemoryView, Traffic

ASSUMPTIONS: Final = (
    "engine clock constant; power and performance limits not modelled",
    "caches cold, no L1 hits, each buffer read once for each die",
    "every load at the mean latency of the levels that serve the launch",
    "all lanes active in memory instructions where their bytes count",
    "code in the instruction cache; taken branches and fetch boundaries cost a fixed time",
    "the busiest compute unit decides; workgroups not sampled behave like the nearest sampled ones",
)
"""What the model takes for granted, for reports."""
KNOWN_ADDRESSES: Final = "each execution has the bank conflicts of the mean one that was executed, and its cache lines"
UNKNOWN_ADDRESSES: Final = "the addresses of lanes are not known: no bank conflicts, and lanes side by side in memory"
"""One of the two is taken for granted, too."""


@dataclass(frozen=True)
class LineTimes:
    """Time by position of `Program.lines`, in clocks of the whole launch on the busiest compute unit.

    A SIMD's time is shared out completely: turns in which it issued, and gaps, which are charged to the instruction
    that ended them. `turns + idle` summed over positions, plus the tail, is the time of the launch.
    """

    count: NDArray[np.float64]
    """[position] Issues."""
    turns: NDArray[np.float64]
    """[position] Clocks in which a SIMD issued this instruction."""
    idle: NDArray[np.float64]
    """[position, cause] Clocks in which a SIMD issued nothing because of it; columns as in `layout.CAUSES`."""
    stall: NDArray[np.float64]
    """[position, cause] Clocks that waves waited for it, hidden by other waves or not."""

    @property
    def cycles(self) -> NDArray[np.float64]:
        """[position] All clocks charged to it."""
        return self.turns + self.idle.sum(axis=1)


@dataclass(frozen=True)
class Estimate:
    """Modelled time of one launch on one chip."""

    microseconds: float
    """Launch overhead included."""
    cycles: float
    """Engine clocks of the busiest compute unit, without launch overhead."""
    clock_ghz: float
    clock_status: str
    chip: str
    occupancy: Occupancy
    traffic: Traffic
    bounds: Bounds
    """In clocks, to be compared with `cycles`."""
    flops: float
    """Of matrix instructions, whole launch."""
    peak_flops: float
    """A second, for this mix of matrix instructions."""
    workgroups: int
    """Of the grid."""
    workgroups_of_cu: int
    """Workgroups of the busiest compute unit."""
    replayed: int
    """How many of them were replayed; the rest is extrapolated."""
    sampled: tuple[int, ...]
    """Workgroups whose traces were used; each stands for those nearest to it."""
    sampling_error: float | None
    """As in `Samples.error`: what having sampled leaves in doubt about the executed instructions."""
    tail_cycles: float
    lds_conflict_cycles: float | None
    """Clocks that bank conflicts keep the LDS ports busy, to be compared with `bounds.lds`, which they are part of;
    None where the addresses of lanes are not known."""
    scatter_cycles: float | None
    """Clocks that lanes which lie apart keep the path to L1 busy, to be compared with `bounds.l1`, which they are part
    of; None as above."""
    accesses: Accesses | None
    """What accesses asked for; None as above."""
    lines: LineTimes
    code: Code
    view: MemoryView
    source: str = "modelled"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What was taken for granted."""
        return (*ASSUMPTIONS, UNKNOWN_ADDRESSES if self.accesses is None else KNOWN_ADDRESSES)

    @property
    def limiter(self) -> str:
        """The unit that the time comes closest to, or `latency` when none is busy for half of it."""
        return self.bounds.largest if self.bounds.value >= self.cycles / 2 else "latency"

    def heat(self) -> dict[int, float]:
        """Position in `Program.lines` to its share of the time, 0 to 1."""
        cycles = self.lines.cycles
        return {int(i): float(cycles[i]) / self.cycles for i in np.flatnonzero(cycles)}

    def to_json(self) -> dict[str, Any]:
        """Everything but the times by line."""
        return {
            "source": self.source,
            "chip": self.chip,
            "microseconds": self.microseconds,
            "cycles": self.cycles,
            "clock_ghz": self.clock_ghz,
            "clock_status": self.clock_status,
            "limiter": self.limiter,
            "bounds": asdict(self.bounds),
            "occupancy": asdict(self.occupancy),
            "traffic": asdict(self.traffic),
            "bytes_per_clk_of_cu": self.view.bytes_per_clk,
            "flops": self.flops,
            "peak_flops": self.peak_flops,
            "workgroups": self.workgroups,
            "workgroups_of_cu": self.workgroups_of_cu,
            "replayed": self.replayed,
            "sampled": list(self.sampled),
            "sampling_error": self.sampling_error,
            "tail_cycles": self.tail_cycles,
            "lds_conflict_cycles": self.lds_conflict_cycles,
            "scatter_cycles": self.scatter_cycles,
            "assumptions": list(self.assumptions),
        }


def estimate(
    program: Program, launch: Launch, traces: Sequence[Trace], chip: Chip, accesses: Accesses | None = None
) -> Estimate:
    """Modelled time of a launch from what `record` gives; see `prepare`, and for what is raised."""
    return estimate_of(prepare(program, launch, traces, chip, accesses), chip)


def estimate_of(prepared: Prepared, chip: Chip) -> Estimate:
    """Modelled time of a prepared launch.

    The same input gives the same cycles. Raises `UnsupportedError` for instructions that the opcode table or the chip's
    table does not know.
    """
    samples, launch = prepared.samples, prepared.launch
    done = prepared.replay(chip)
    run, work, code = done.run, done.plan, done.code
    chip = code.chip
    scale = run.cycles / run.replayed_cycles
    everything = samples.shares(launch.workgroups) @ samples.counts
    return Estimate(
        microseconds=done.microseconds,
        cycles=run.cycles,
        clock_ghz=chip.clock_ghz,
        clock_status=chip.clock_status,
        chip=chip.name,
        occupancy=prepared.occupancy,
        traffic=done.traffic,
        bounds=bounds_of(code, run.count, done.view).scaled(work.share),
        flops=flops_of(code, everything),
        peak_flops=peak_flops(code, run.count, chip),
        workgroups=launch.workgroups,
        workgroups_of_cu=run.workgroups,
        replayed=run.replayed,
        sampled=samples.workgroups,
        sampling_error=samples.error(launch.workgroups),
        tail_cycles=run.tail_cycles * scale,
        lds_conflict_cycles=None if prepared.accesses is None else lds_conflict_clocks(code, run.count) * work.share,
        scatter_cycles=None if prepared.accesses is None else scatter_clocks(code, run.count) * work.share,
        accesses=prepared.accesses,
        lines=LineTimes(
            count=_times(run.count, work.share),
            turns=_times(run.turns, chip.issue_clk * scale / SIMDS),
            idle=_times(run.idle, scale / SIMDS),
            stall=_times(run.stall, work.share),
        ),
        code=code,
        view=done.view,
    )


def _times(values: NDArray[np.int64], factor: float) -> NDArray[np.float64]:
    return values.astype(np.float64) * np.float64(factor)

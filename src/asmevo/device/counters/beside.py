"""Counters beside what the model says of the same launch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from asmevo.device.counters.values import KernelCounters
from asmevo.isa import Pipe, row_of
from asmevo.launch import Launch
from asmevo.program import Program
from asmevo.timing import Profile
from asmevo.verdict import shown

WAVE = 64


@dataclass(frozen=True, slots=True)
class Pair:
    """One quantity, counted and modelled."""

    name: str
    unit: str
    counted: float
    modelled: float | None
    """None for a counter of which the model has no figure."""

    @property
    def ratio(self) -> float | None:
        """Counted over modelled."""
        return self.counted / self.modelled if self.modelled else None

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"ratio": self.ratio}


@dataclass(frozen=True, slots=True)
class _Model:
    """A modelled launch."""

    launch: Launch
    program: Program
    profile: Profile

    def issued(self, *pipes: Pipe) -> float:
        """Wave instructions of these pipes over the whole launch."""
        total = sum(
            line.count
            for line in self.profile.lines
            if row_of(self.program.lines[line.position].instruction).pipe in pipes
        )
        return self._whole(total)

    @property
    def waves(self) -> float:
        return float(self.launch.workgroups * -(-self.launch.threads // WAVE))

    def memory(self, latency: str) -> float | None:
        """Vector memory instructions of a latency class. None with atomics: which counter takes them is not known."""
        executed = [(line.count, row_of(self.program.lines[line.position].instruction)) for line in self.profile.lines]
        if any(row.latency == "atomic" for _, row in executed):
            return None
        return self._whole(sum(count for count, row in executed if row.latency == latency))

    def _whole(self, count: float) -> float:
        """Of the whole launch, from that of the busiest compute unit."""
        return count * self.launch.workgroups / self.profile.estimate.workgroups_of_cu

    @property
    def written(self) -> float:
        """Bytes."""
        traffic = self.profile.estimate.traffic
        return min(traffic.writes, float(traffic.write_footprint))

    @property
    def read(self) -> float:
        """Bytes that the L2 of all dies get from what lies behind them."""
        return self.profile.estimate.traffic.l2_misses - self.written

    @property
    def conflicts(self) -> float | None:
        """Clocks that bank conflicts add, over all LDS ports; None where the addresses are not known."""
        cycles = self.profile.estimate.lds_conflict_cycles
        return None if cycles is None else self._whole(2 * cycles)

    @property
    def active(self) -> float:
        """Clocks in which the device is busy, summed over its dies."""
        estimate = self.profile.estimate
        return estimate.microseconds * estimate.clock_ghz * 1e3 * estimate.code.chip.xcds


_KNOWN: dict[str, tuple[str, Callable[[_Model], float | None]]] = {
    "SQ_WAVES": ("waves", lambda m: m.waves),
    "SQ_INSTS_VALU": ("wave instructions", lambda m: m.issued(Pipe.VALU, Pipe.MFMA)),
    "SQ_INSTS_MFMA": ("wave instructions", lambda m: m.issued(Pipe.MFMA)),
    "SQ_INSTS_SALU": ("wave instructions", lambda m: m.issued(Pipe.SALU)),
    "SQ_INSTS_SMEM": ("wave instructions", lambda m: m.issued(Pipe.SMEM)),
    "SQ_INSTS_LDS": ("wave instructions", lambda m: m.issued(Pipe.LDS)),
    "SQ_INSTS_VMEM": ("wave instructions", lambda m: m.issued(Pipe.VMEM)),
    "SQ_INSTS_VMEM_RD": ("wave instructions", lambda m: m.memory("vmem_load")),
    "SQ_INSTS_VMEM_WR": ("wave instructions", lambda m: m.memory("vmem_store")),
    "SQ_LDS_BANK_CONFLICT": ("clocks", lambda m: m.conflicts),
    "FETCH_SIZE": ("KiB", lambda m: m.read / 1024),
    "WRITE_SIZE": ("KiB", lambda m: m.written / 1024),
    "GRBM_GUI_ACTIVE": ("clocks of all dies", lambda m: m.active),
}
"""Counters of gfx9 that the model has a figure for (ROCm documentation, "MI300 and MI200 series performance counters";
rocprofiler-compute documentation: SQ_INSTS_VALU counts MFMA, too; FETCH_SIZE and WRITE_SIZE are KiB between L2 and
what lies behind; rocprofiler-compute, "Fix for MI300 clock timings using GRBM_GUI_ACTIVE": counters of GRBM are summed
over the dies)."""
_READS = ("TCC_EA0_RDREQ_sum", "TCC_EA0_RDREQ_32B_sum", "TCC_BUBBLE_sum")
"""Of these FETCH_SIZE is made on gfx942: requests of 32, 64 and 128 bytes (rocprofiler-sdk, counter_defs.yaml)."""


def beside(found: KernelCounters, launch: Launch, program: Program, profile: Profile) -> tuple[Pair, ...]:
    """Every counter of a kernel, with the model's figure where it has one, and the time."""
    return tuple(_pairs(found, _Model(launch, program, profile)))


def _pairs(found: KernelCounters, model: _Model) -> Iterator[Pair]:
    if found.microseconds is not None:
        yield Pair("time while counting", "us", found.microseconds, model.profile.estimate.microseconds)
    for name, value in found.means.items():
        unit, figure = _KNOWN.get(name, ("", None))
        yield Pair(name, unit, value, None if figure is None else figure(model))
    if all(name in found.means for name in _READS):
        requests, small, large = (found.means[name] for name in _READS)
        fetched = 128 * large + 64 * (requests - large - small) + 32 * small
        yield Pair("bytes of TCC_EA0_RDREQ", "B", fetched, model.read)


def render_beside(found: KernelCounters, pairs: tuple[Pair, ...]) -> str:
    """A table for a person."""
    head = f"counters of {found.dispatches} dispatches of {shown(found.kernel)}"
    lines = [head, f"{'counter':<26}{'counted':>16}{'modelled':>16}{'ratio':>8}  unit"]
    for pair in pairs:
        modelled = "-" if pair.modelled is None else f"{pair.modelled:.6g}"
        ratio = "-" if pair.ratio is None else f"{pair.ratio:.2f}"
        lines.append(f"{shown(pair.name):<26}{pair.counted:>16.6g}{modelled:>16}{ratio:>8}  {pair.unit}".rstrip())
    return "\n".join(lines) + "\n"

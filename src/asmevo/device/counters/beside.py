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
        estimate = self.profile.estimate
        total = sum(
            line.count
            for line in self.profile.lines
            if row_of(self.program.lines[line.position].instruction).pipe in pipes
        )
        return total * self.launch.workgroups / estimate.workgroups_of_cu

    @property
    def waves(self) -> float:
        return float(self.launch.workgroups * -(-self.launch.threads // WAVE))

    @property
    def read_kib(self) -> float:
        traffic = self.profile.estimate.traffic
        return min(traffic.reads, traffic.read_footprint) / 1024

    @property
    def written_kib(self) -> float:
        traffic = self.profile.estimate.traffic
        return min(traffic.writes, traffic.write_footprint) / 1024


_KNOWN: dict[str, tuple[str, Callable[[_Model], float]]] = {
    "SQ_WAVES": ("waves", lambda m: m.waves),
    "SQ_INSTS_VALU": ("wave instructions", lambda m: m.issued(Pipe.VALU, Pipe.MFMA)),
    "SQ_INSTS_MFMA": ("wave instructions", lambda m: m.issued(Pipe.MFMA)),
    "SQ_INSTS_SALU": ("wave instructions", lambda m: m.issued(Pipe.SALU)),
    "SQ_INSTS_SMEM": ("wave instructions", lambda m: m.issued(Pipe.SMEM)),
    "SQ_INSTS_LDS": ("wave instructions", lambda m: m.issued(Pipe.LDS)),
    "SQ_INSTS_VMEM": ("wave instructions", lambda m: m.issued(Pipe.VMEM)),
    "FETCH_SIZE": ("KiB", lambda m: m.read_kib),
    "WRITE_SIZE": ("KiB", lambda m: m.written_kib),
}
"""Counters of gfx9 that the model has a figure for (rocprofiler-compute documentation: SQ_INSTS_VALU counts MFMA, too;
FETCH_SIZE and WRITE_SIZE are kilobytes between L2 and memory)."""


def beside(found: KernelCounters, launch: Launch, program: Program, profile: Profile) -> tuple[Pair, ...]:
    """Every counter of a kernel, with the model's figure where it has one, and the time."""
    return tuple(_pairs(found, _Model(launch, program, profile)))


def _pairs(found: KernelCounters, model: _Model) -> Iterator[Pair]:
    if found.microseconds is not None:
        yield Pair("time while counting", "us", found.microseconds, model.profile.estimate.microseconds)
    for name, value in found.means.items():
        unit, figure = _KNOWN.get(name, ("", None))
        yield Pair(name, unit, value, None if figure is None else figure(model))


def render_beside(found: KernelCounters, pairs: tuple[Pair, ...]) -> str:
    """A table for a person."""
    head = f"counters of {found.dispatches} dispatches of {found.kernel}"
    lines = [head, f"{'counter':<26}{'counted':>16}{'modelled':>16}{'ratio':>8}  unit"]
    for pair in pairs:
        modelled = "-" if pair.modelled is None else f"{pair.modelled:.6g}"
        ratio = "-" if pair.ratio is None else f"{pair.ratio:.2f}"
        lines.append(f"{pair.name:<26}{pair.counted:>16.6g}{modelled:>16}{ratio:>8}  {pair.unit}".rstrip())
    return "\n".join(lines) + "\n"

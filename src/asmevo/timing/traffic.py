"""Bytes that a launch moves, level by level, and what that leaves for one compute unit.

Traces have no addresses, so this counts instead: what memory instructions ask for, from the traces; which buffer they
ask, from the pointer that their address is made of (`asmevo.timing.origins`); what must come from memory at least once,
from the sizes of the buffers. Reads of a die miss its L2 once for each byte of a buffer; the memory-side cache (MALL)
misses once for all dies. All lanes are taken as active, caches as cold, and no access hits the L1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from asmevo.launch import Launch
from asmevo.timing.chips import Chip
from asmevo.timing.encode import Code
from asmevo.timing.layout import MEMORY
from asmevo.timing.plan import Plan
from asmevo.timing.traces import Samples

ANY: Final = ""
"""In the place of a buffer's name: a load whose buffer is not known."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes of the whole launch."""

    reads: float
    """Asked for by vector loads and atomics."""
    writes: float
    read_footprint: int
    """Size of the buffers that can be read."""
    write_footprint: int
    l2_misses: float
    """Over all dies, read and written."""
    hbm: float

    @property
    def requested(self) -> float:
        return self.reads + self.writes


@dataclass(frozen=True, slots=True)
class MemoryView:
    """Memory as one compute unit sees it."""

    load_latency: int
    """Clocks."""
    bytes_per_clk: float
    """Its share of the bandwidth that limits the launch, in requested bytes; at most what its L1 takes in."""
    inflight: int
    """Bytes it keeps in flight."""

    @property
    def cost_256(self) -> int:
        """1/256 clocks a byte."""
        return max(1, round(256 / self.bytes_per_clk))

    @property
    def backlog(self) -> int:
        """Clocks of work that may wait on the queue before issue stalls."""
        return max(0, round(self.inflight / self.bytes_per_clk) - self.load_latency)


def traffic(code: Code, samples: Samples, launch: Launch, chip: Chip, origins: Mapping[int, str]) -> Traffic:
    """Traffic of a launch from the traces of some of its workgroups.

    `origins` says which buffer the loads at some positions read; the others may read any.
    """
    moved = samples.shares(launch.workgroups) @ _moved(code, samples)
    store = code.costs["store"] > 0
    reads, writes = float(moved[~store].sum()), float(moved[store].sum())
    readable = sum(b.size for b in launch.buffers if b.role in ("in", "inout", "workspace"))
    writable = sum(b.size for b in launch.buffers if b.role in ("out", "inout", "workspace"))
    dies = min(chip.xcds, launch.workgroups)
    written = min(writes, float(writable))
    size = {b.name: b.size for b in launch.buffers} | {ANY: readable}
    asked = dict.fromkeys(size, 0.0)
    loads = ~store & (moved > 0)
    for position, count in zip(code.positions[loads].tolist(), moved[loads].tolist(), strict=True):
        asked[origins.get(position, ANY)] += count
    return Traffic(
        reads=reads,
        writes=writes,
        read_footprint=readable,
        write_footprint=writable,
        l2_misses=sum(min(count, float(dies * size[name])) for name, count in asked.items()) + written,
        hbm=sum(min(count, float(size[name])) for name, count in asked.items()) + written,
    )


def memory_view(moved: Traffic, code: Code, samples: Samples, work: Plan, launch: Launch) -> MemoryView:
    """The busiest compute unit's share of the bandwidth, and the latency of a first touch.

    Its share is its part of the traffic: others that have less to do leave it their bandwidth when they are done.
    """
    chip = code.chip
    mine = float(_moved(code, samples)[list(work.samples)].sum()) * work.share
    part = mine / moved.requested if moved.requested and mine else 1 / min(launch.workgroups, chip.cus)
    dies = min(chip.xcds, launch.workgroups)
    share = min(float(chip.l1_bytes_per_clk), chip.l2_bytes_per_clk * dies * part)
    if moved.l2_misses:
        share = min(share, chip.fabric_bytes_per_clk * dies * part * moved.requested / moved.l2_misses)
    if moved.hbm:
        share = min(share, chip.hbm_bytes_per_s / (chip.clock_ghz * 1e9) * part * moved.requested / moved.hbm)
    return MemoryView(
        load_latency=round(_latency(moved, chip)),
        bytes_per_clk=share,
        inflight=chip.vmem_inflight_bytes,
    )


def _latency(moved: Traffic, chip: Chip) -> float:
    """Clocks of a load: the mean over the levels that serve it."""
    if not moved.requested:
        return chip.hbm_latency_ns * chip.clock_ghz
    hbm, missed = moved.hbm / moved.requested, moved.l2_misses / moved.requested
    behind = hbm * chip.hbm_latency_ns + (missed - hbm) * chip.mall_latency_ns
    return (1.0 - missed) * chip.l2_latency + behind * chip.clock_ghz


def _moved(code: Code, samples: Samples) -> NDArray[np.float64]:
    """[sampled workgroup, index in `code.positions`] bytes of vector memory."""
    each = code.costs["bytes"] * (code.costs["category"] == MEMORY)
    return (samples.counts[:, code.positions] * each).astype(np.float64)

"""From one compute unit to the chip: when workgroups start, and how long the busiest compute unit takes.

A workgroup starts every `dispatch_clk` on a die. The busiest compute unit decides the time. It is replayed for a few
rounds; if it has more, the rest is extrapolated at the pace of the last rounds, and no faster than
any unit allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asmevo.timing.bounds import bounds_of
from asmevo.timing.chips import Chip
from asmevo.timing.cu import replay
from asmevo.timing.encode import Code
from asmevo.timing.layout import EVENTS
from asmevo.timing.machine import PARAMETERS, new_machine
from asmevo.timing.plan import Plan
from asmevo.timing.traces import Samples
from asmevo.timing.traffic import MemoryView


@dataclass(frozen=True)
class GridRun:
    """A replay of the busiest compute unit."""

    workgroups: int
    """Workgroups of the busiest compute unit."""
    replayed: int
    """How many of them were replayed."""
    cycles: float
    """Clocks from the first dispatch until the last workgroup has ended and its stores are done."""
    replayed_cycles: int
    """Clocks of the replay itself."""
    tail_cycles: float
    """Clocks, mean over the SIMDs, between a SIMD's last instruction and the end of the replay."""
    count: NDArray[np.int64]
    """By position: issues in the replay."""
    turns: NDArray[np.int64]
    """By position: turns of a SIMD that it was the first to use."""
    idle: NDArray[np.int64]
    """[position, cause]: clocks without issue on a SIMD."""
    stall: NDArray[np.int64]
    """[position, cause]: clocks that waves waited."""
    events: NDArray[np.int64]
    """[issue, column] The first issues in order of time, as in `layout.EVENT_COLUMNS`; as many as were asked for."""


def run_grid(code: Code, samples: Samples, work: Plan, view: MemoryView, events: int = 0) -> GridRun:
    """Replay a plan, and keep up to `events` of its first issues (`layout.EVENTS` at most)."""
    chip, total, resident, replayed = code.chip, work.workgroups, work.resident, len(work.samples)
    machine = new_machine(samples.waves_per_workgroup, resident)
    _set_parameters(machine, chip, view)
    code.load(machine)
    machine["event_limit"] = min(events, EVENTS)
    schedule = np.zeros((replayed, 4), np.int64)
    schedule[:, :2] = samples.spans[list(work.samples)]
    schedule[:, 2] = np.arange(replayed) * round(chip.dispatch_clk * chip.cus_per_xcd)
    replay(machine, samples.runs, samples.waves, schedule)
    finish = np.sort(schedule[:, 3])
    end = max(int(finish[-1]), int(machine["drained"][0]))  # a kernel ends when its stores are visible
    lines = machine["lines"][0, : len(code.program.lines)]
    count = lines["count"].copy()
    cycles = float(end)
    if replayed < total:
        pace = float(finish[-1] - finish[resident - 1]) / max(1, replayed - resident)
        least = bounds_of(code, count, view).value / replayed  # the last of the replay have the units to themselves
        cycles += (total - replayed) * max(pace, least, chip.dispatch_clk * chip.cus_per_xcd)
    return GridRun(
        workgroups=total,
        replayed=replayed,
        cycles=cycles,
        replayed_cycles=end,
        tail_cycles=end - chip.issue_clk - float(np.mean(machine["simds"]["last_turn"])),
        count=count,
        turns=lines["turns"].copy(),
        idle=lines["idle"].copy(),
        stall=lines["stall"].copy(),
        events=machine["events"][0, : int(machine["event_count"][0])].copy(),
    )


def _set_parameters(machine: NDArray[Any], chip: Chip, view: MemoryView) -> None:
    launch = {
        "load_latency": view.load_latency,
        "scalar_miss_latency": chip.l2_latency,
        "memory_cost_256": view.cost_256,
        "memory_backlog": view.backlog,
    }
    for name in PARAMETERS:
        machine[name] = launch[name] if name in launch else getattr(chip, name)

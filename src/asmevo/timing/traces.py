"""Traces of sampled workgroups, flattened for the replay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from asmevo.launch import Launch
from asmevo.program import Program
from asmevo.verdict import InputError

SAMPLES = 4
"""Most workgroups that `traces_needed` names."""


class Trace(Protocol):
    """What the simulator records of one wave."""

    @property
    def workgroup(self) -> int:
        """Linear number, x fastest."""
        ...

    @property
    def wave(self) -> int: ...

    @property
    def runs(self) -> NDArray[Any]:
        """int [n, 2]: half-open runs of positions in `Program.lines`, in order of execution."""
        ...


@dataclass(frozen=True)
class Samples:
    """Traces of whole workgroups. Each stands for the workgroups of the grid that are nearest to it."""

    workgroups: tuple[int, ...]
    """Linear numbers of the sampled workgroups, ascending."""
    spans: NDArray[np.int64]
    """[workgroup, 2]: its rows in `waves`."""
    waves: NDArray[np.int64]
    """[wave, 2]: its rows in `runs`."""
    runs: NDArray[np.int32]
    counts: NDArray[np.int64]
    """[workgroup, position]: how often its waves execute each position of the program."""

    @property
    def positions(self) -> NDArray[np.int64]:
        """Positions that any wave executes."""
        return np.flatnonzero(self.counts.any(axis=0))

    @property
    def waves_per_workgroup(self) -> int:
        return int((self.spans[:, 1] - self.spans[:, 0]).max())

    def error(self, total: int) -> float | None:
        """Relative standard error of the executed instructions of all `total` workgroups of the grid, 0 when all were
        sampled; None where one sample stands for several. By the formula for random samples without replacement."""
        count = len(self.workgroups)
        if count >= total:
            return 0.0
        if count == 1:
            return None
        executed = self.counts.sum(axis=1)
        return float(executed.std(ddof=1) / executed.mean() * ((1 - count / total) / count) ** 0.5)

    def nearest(self, workgroups: NDArray[np.int64]) -> NDArray[np.int64]:
        """The sample nearest to each workgroup of the grid, the later of two: neighbours do alike."""
        at = np.array(self.workgroups, np.int64)
        return np.searchsorted((at[:-1] + at[1:] + 1) // 2, workgroups, side="right")

    def shares(self, total: int) -> NDArray[np.int64]:
        """[workgroup] How many of the `total` workgroups of the grid each sample stands for."""
        return np.bincount(self.nearest(np.arange(total)), minlength=len(self.workgroups))


def traces_needed(launch: Launch, count: int = SAMPLES) -> tuple[int, ...]:
    """Linear numbers of the workgroups to execute with tracing: the middles of equal parts of the grid.

    Execution depends on data, so a candidate is traced itself; the grid's ends may hold workgroups that leave early.
    """
    total = launch.workgroups
    parts = min(count, total)
    return tuple(sorted({(2 * i + 1) * total // (2 * parts) for i in range(parts)}))


def collect(program: Program, traces: Sequence[Trace]) -> Samples:
    """Order and check traces. Raises `InputError` when there are none, one is empty, or one leaves the program."""
    if not traces:
        raise InputError("There are no traces to time; execute the workgroups of `traces_needed` with tracing.")
    ordered = sorted(traces, key=lambda t: (t.workgroup, t.wave))
    lines = len(program.lines)
    for trace in ordered:
        where = f"The trace of wave {trace.wave} of workgroup {trace.workgroup}"
        if len(trace.runs) == 0:
            raise InputError(f"{where} is empty; execute it again with tracing.")
        first, last = trace.runs[:, 0], trace.runs[:, 1]
        if first.min() < 0 or last.max() > lines or (first >= last).any():
            raise InputError(f"{where} does not fit the program of {lines} lines; trace the program that is timed.")
    workgroups = tuple(sorted({t.workgroup for t in ordered}))
    row = {number: i for i, number in enumerate(workgroups)}
    edges = np.cumsum([0, *(len(t.runs) for t in ordered)])
    owner = np.array([row[t.workgroup] for t in ordered])
    begins = np.searchsorted(owner, np.arange(len(workgroups)))
    steps = np.zeros((len(workgroups), lines + 1), np.int64)
    for trace in ordered:
        np.add.at(steps[row[trace.workgroup]], trace.runs[:, 0], 1)
        np.add.at(steps[row[trace.workgroup]], trace.runs[:, 1], -1)
    return Samples(
        workgroups=workgroups,
        spans=np.stack([begins, [*begins[1:], len(ordered)]], axis=1).astype(np.int64),
        waves=np.stack([edges[:-1], edges[1:]], axis=1).astype(np.int64),
        runs=np.concatenate([np.asarray(t.runs, np.int32) for t in ordered]),
        counts=np.cumsum(steps[:, :-1], axis=1),
    )

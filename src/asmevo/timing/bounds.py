"""Lower bounds on the time of a launch: what each unit alone would need for the work of the busiest compute unit."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from asmevo.isa import MatrixRow
from asmevo.timing.chips import Chip
from asmevo.timing.encode import Code
from asmevo.timing.layout import BRANCH, LDS, MEMORY, SCALAR, SIMDS, VECTOR
from asmevo.timing.traffic import MemoryView

Counts: TypeAlias = NDArray[np.int64] | NDArray[np.float64]
"""Issues by position of the program."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Clocks that a unit is busy, over the part of the work that was counted."""

    issue: float
    """The busiest issue category of a SIMD."""
    valu: float
    """The vector issue port."""
    mfma: float
    """The matrix pipe."""
    lds: float
    """The LDS ports, bank conflicts included as far as they are known."""
    l1: float
    """The path to L1, what scattered lanes add included as far as it is known."""
    memory: float
    """The share of L2, MALL or HBM bandwidth."""

    @property
    def largest(self) -> str:
        """Name of the largest bound."""
        values = asdict(self)
        return max(values, key=lambda name: values[name])

    @property
    def value(self) -> float:
        """The largest bound."""
        return max(asdict(self).values())

    def scaled(self, factor: float) -> Bounds:
        return Bounds(**{name: value * factor for name, value in asdict(self).items()})


def bounds_of(code: Code, count: Counts, view: MemoryView) -> Bounds:
    """Bounds of the work `count` (issues by position of the program) on one compute unit, its SIMDs loaded alike."""
    issues = count[code.positions]
    costs = code.costs
    turn = code.chip.issue_clk

    def clocks(name: str) -> float:
        return float((issues * costs[name]).sum())

    def turns(category: int) -> float:
        return float(issues[costs["category"] == category].sum()) * turn / SIMDS

    vector = costs["category"] == VECTOR
    return Bounds(
        issue=max(turns(c) for c in (VECTOR, SCALAR, MEMORY, LDS, BRANCH)),
        valu=float((issues * costs["port"])[vector].sum()) / SIMDS,
        mfma=clocks("matrix") / SIMDS,
        lds=clocks("lds_port") / 2 + lds_conflict_clocks(code, count),
        l1=clocks("path") + scatter_clocks(code, count),
        memory=float((issues * costs["bytes"])[costs["category"] == MEMORY].sum()) * view.cost_256 / 256,
    )


def lds_conflict_clocks(code: Code, count: Counts) -> float:
    """Clocks that bank conflicts keep the LDS ports of a compute unit busy, both loaded alike."""
    return float((count[code.positions] * code.lds_conflict_256).sum()) / 256 / 2


def scatter_clocks(code: Code, count: Counts) -> float:
    """Clocks that the lines of accesses add on the path to L1."""
    return float((count[code.positions] * code.scatter_256).sum()) / 256


def flops_of(code: Code, count: Counts) -> float:
    """Multiply-add operations, times two, of the matrix instructions in `count`."""
    each = [2 * r.m * r.n * r.k * r.blocks if isinstance(r := s.row, MatrixRow) else 0 for s in code.shapes]
    return float((count[code.positions] * np.array(each, np.int64)).sum()) if each else 0.0


def peak_flops(code: Code, count: Counts, chip: Chip) -> float:
    """Flops a second that the chip reaches with its matrix pipes always busy on this mix; 0 without matrix work."""
    busy = float((count[code.positions] * code.costs["matrix"]).sum())
    return flops_of(code, count) / busy * chip.cus * SIMDS * chip.clock_ghz * 1e9 if busy else 0.0

"""Which workgroups the busiest compute unit of the chip gets, and which of them are replayed.

Workgroups go round robin over dies and, within a die, over its compute units.
"""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.launch import Launch
from asmevo.timing.chips import Chip
from asmevo.timing.traces import Samples

ROUNDS = 3
"""Rounds of resident workgroups that are replayed at most."""
BUDGET = 1_500_000
"""Wave instructions that a third round may bring the replay to."""


def busiest(launch: Launch, chip: Chip) -> int:
    """Workgroups of the compute unit that gets most."""
    of_die = -(-launch.workgroups // chip.xcds)
    return -(-of_die // chip.cus_per_xcd)


@dataclass(frozen=True, slots=True)
class Plan:
    """What the busiest compute unit gets."""

    workgroups: int
    """All its workgroups."""
    resident: int
    """Of them, at once."""
    samples: tuple[int, ...]
    """Sampled workgroup that each replayed workgroup repeats."""

    @property
    def share(self) -> float:
        """All its workgroups for each one that is replayed."""
        return self.workgroups / len(self.samples)


def plan(samples: Samples, launch: Launch, resident: int, chip: Chip) -> Plan:
    """The workgroups of the busiest compute unit that holds `resident` at once."""
    total = busiest(launch, chip)
    resident = min(resident, total)
    replayed = _replayed(total, resident, float(samples.counts.sum(axis=1).mean()))
    return Plan(total, resident, _chosen(samples, replayed))


def _replayed(total: int, resident: int, instructions: float) -> int:
    rounds = ROUNDS if ROUNDS * resident * instructions <= BUDGET else 2
    return min(total, rounds * resident)


def _chosen(samples: Samples, count: int) -> tuple[int, ...]:
    """The sample that each of `count` workgroups repeats: the k-th comes from the k-th part of the grid.

    Where a part has several samples the longest stands for it, because the slowest compute unit decides.
    """
    length, n = samples.counts.sum(axis=1), len(samples.spans)
    parts = [range(k * n // count, max(k * n // count + 1, (k + 1) * n // count)) for k in range(count)]
    return tuple(max(part, key=lambda i: (int(length[i]), -i)) for part in parts)

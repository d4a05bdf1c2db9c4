"""Which workgroups the busiest compute unit of the chip gets, and which of them are replayed.

Workgroups go round robin over dies. On a die they start in order, each on the compute unit that has had room for
longest: a workgroup that leaves at once makes room for the next, and a compute unit with long ones gets fewer.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heapreplace

import numpy as np
from numpy.typing import NDArray

from asmevo.launch import Launch
from asmevo.timing.chips import Chip
from asmevo.timing.traces import Samples

ROUNDS = 3
"""Rounds of resident workgroups that are replayed at most."""
BUDGET = 1_500_000
"""Wave instructions that a third round may bring the replay to."""
SHORT = 0.05
"""A workgroup that executes less than this part of the longest one's instructions is left out of the replay."""
QUEUE = 20_000
"""Most workgroups of a die whose start is followed one by one; in a longer queue all are taken to be alike."""
START_INSTRUCTIONS = 250
"""What starting a workgroup and its first scalar loads take, in instructions of one of its waves."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the busiest compute unit gets."""

    workgroups: int
    """Its workgroups, without those that leave at once."""
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
    length = samples.counts.sum(axis=1)
    queue = samples.nearest(np.arange(0, launch.workgroups, chip.xcds))
    mine = _busiest(queue, length / samples.waves_per_workgroup, resident, chip)
    long = mine[length[mine] >= SHORT * length[mine].max()]
    resident = min(resident, len(long))
    return Plan(len(long), resident, _chosen(long, length, _replayed(len(long), resident, float(length[long].mean()))))


def _busiest(queue: NDArray[np.int64], length: NDArray[np.float64], resident: int, chip: Chip) -> NDArray[np.int64]:
    """The samples that the compute unit which ends last repeats, in the order in which it starts them.

    `length` is the time of each sample up to a factor.
    """
    cus = chip.cus_per_xcd
    if len(queue) > QUEUE:
        return queue[:: len(queue) // -(-len(queue) // cus)]
    free = [(0.0, turn, cu) for turn in range(resident) for cu in range(cus)]
    heapify(free)
    owner = np.zeros(len(queue), np.int64)
    end = [0.0] * cus
    times = (length + START_INSTRUCTIONS)[queue].tolist()
    for i, time in enumerate(times):
        begun, turn, cu = free[0]
        owner[i] = cu
        end[cu] = max(end[cu], begun + time)
        heapreplace(free, (begun + time, turn, cu))
    lasting = np.where(length[queue] >= SHORT * length[queue].max(), length[queue], 0.0)
    work = np.bincount(owner, weights=lasting, minlength=cus)
    last = max(range(cus), key=lambda cu: (work[cu], end[cu], -cu))
    return queue[owner == last]


def _replayed(total: int, resident: int, instructions: float) -> int:
    """As many as fit into the rounds and leave the last round as full as it is: its emptiness costs time."""
    rounds = ROUNDS if ROUNDS * resident * instructions <= BUDGET else 2
    return total - max(0, -(-(total - rounds * resident) // resident)) * resident


def _chosen(mine: NDArray[np.int64], length: NDArray[np.int64], count: int) -> tuple[int, ...]:
    """The samples of `count` of the workgroups: the k-th stands for the k-th part of them.

    Where a part has several the longest stands for it, because the slowest compute unit decides.
    """
    n = len(mine)
    parts = [mine[k * n // count : max(k * n // count + 1, (k + 1) * n // count)] for k in range(count)]
    return tuple(int(part[np.argmax(length[part])]) for part in parts)

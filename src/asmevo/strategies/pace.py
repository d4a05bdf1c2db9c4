"""How long one wave takes for a stretch of code: an in-order issue bound that strategies rank their own ideas with.

It knows issue turns, the vector port, the matrix pipe, result latencies, the LDS port, the path to L1, wait counters,
fetch boundaries and a share of bandwidth; nothing of caches and of other waves on the SIMD. It is not the timing model:
it is asked before the gate, and its clocks are never reported as a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from asmevo.strategies.cost import UNITS, Cost, Costs
from asmevo.timing.compiled import compiled

Table: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
"""Columns of numbers by node, ranges of its units, and the units."""

_COLUMNS = tuple(f.name for f in fields(Cost) if f.name not in ("reads", "writes", "chained"))
PORT, MATRIX, IDLES, RESULT, FORWARDED, LDS, PATH, MEMORY, COUNTER, IDLE, WAIT_VM, WAIT_LGKM = range(12)


class Pace:
    """The clocks of sequences of instructions on one chip."""

    def __init__(self, costs: Costs) -> None:
        chip = costs.chip
        backlog = round(chip.vmem_inflight_bytes / costs.bytes_per_clk) - costs.load_latency
        self._limits = np.array(
            (chip.issue_clk, chip.lds_queue_clk, chip.vmem_queue_clk, max(0, backlog), chip.packed_f32_mfma_clk),
            np.int64,
        )

    def clocks(self, table: Table, sequence: NDArray[np.int64], late: NDArray[np.bool_], rounds: int = 1) -> int:
        """In-order issue of the nodes of `sequence`, `rounds` times over; clocks of the last round.

        `late` is along the sequence: True where an instruction crosses a fetch boundary, which costs an issue turn.

        From the second round on that is a loop's steady state. Where waits are still to be placed, readers of what
        memory operations write, pseudo units included, stand for them.
        """
        return int(_clocks(*table, sequence, late, rounds, self._limits))


def late_flags(sizes: NDArray[np.int64], start: int, boundary: int) -> NDArray[np.bool_]:
    """Which of consecutive instructions of these sizes, the first at byte `start`, cross a fetch boundary."""
    ends = np.cumsum(sizes) + start
    return (ends - sizes) // boundary != (ends - 1) // boundary


def table_of(costs: Sequence[Cost]) -> Table:
    """Costs as arrays."""
    columns = np.array([[int(getattr(cost, name)) for name in _COLUMNS] for cost in costs], np.int64)
    parts = [part for cost in costs for part in (cost.reads, cost.chained, cost.writes)]
    ends = np.array(list(accumulate(map(len, parts), initial=0)), np.int64)
    ranges = np.stack([ends[0:-1:3], ends[1::3], ends[2::3], ends[3::3]], axis=1)
    used = np.array([unit for part in parts for unit in part], np.int64)
    return columns.reshape(len(costs), len(_COLUMNS)), ranges, used


@compiled
def _clocks(columns: Any, ranges: Any, used: Any, sequence: Any, late: Any, rounds: int, limits: Any) -> int:
    turn, lds_queue, vmem_queue, backlog, packed_clk = limits
    ready, forwarded = np.zeros(UNITS, np.int64), np.zeros(UNITS, np.int64)
    pending = np.zeros((3, rounds * len(sequence) + 1), np.int64)
    count = np.ones(3, np.int64)
    queue_of, place_of, proven = np.zeros(UNITS, np.int64), np.zeros(UNITS, np.int64), np.zeros(3, np.int64)
    now = port = matrix = lds = path = memory = packed = began = 0
    for _ in range(rounds):
        began = now
        for step in range(len(sequence)):
            node = sequence[step]
            cost = columns[node]
            at = now + turn if late[step] else now
            waits = False
            for i in range(ranges[node, 0], ranges[node, 1]):
                unit = used[i]
                at = max(at, ready[unit])
                if place_of[unit] > proven[queue_of[unit]]:  # a wait must stand in front of it, and takes a turn
                    proven[queue_of[unit]] = place_of[unit]
                    waits = True
            if waits:
                at = max(at, now + turn)
            for i in range(ranges[node, 1], ranges[node, 2]):
                at = max(at, forwarded[used[i]])
            counter = cost[COUNTER]
            if cost[PORT]:
                at = max(at, port)
                if cost[MATRIX]:
                    at = max(at, matrix, packed)
                    matrix = at + cost[MATRIX]
                elif cost[IDLES]:
                    at = max(at, matrix)
                    packed = at + packed_clk
                port = at + cost[PORT]
            elif counter:
                if cost[LDS]:
                    at = max(at, lds - lds_queue)
                elif cost[PATH]:
                    at = max(at, path - vmem_queue, memory - backlog)
            else:
                for queue, wait in ((1, cost[WAIT_VM]), (2, cost[WAIT_LGKM])):
                    if 0 <= wait < count[queue]:
                        at = max(at, pending[queue, count[queue] - 1 - wait])
            done, chained = at + cost[RESULT], at + cost[FORWARDED]
            if counter:
                if cost[LDS]:
                    lds = max(at, lds) + cost[LDS]
                    done = lds + cost[RESULT]
                elif cost[PATH]:
                    memory = max(at, path, memory) + cost[MEMORY]
                    path = max(at, path) + cost[PATH]
                    done = max(path, memory) + cost[RESULT]
                done = chained = max(done, pending[counter, count[counter] - 1])
                pending[counter, count[counter]] = done
                count[counter] += 1
            for i in range(ranges[node, 2], ranges[node, 3]):
                ready[used[i]], forwarded[used[i]] = done, chained
                queue_of[used[i]], place_of[used[i]] = counter, count[counter] - 1 if counter else 0
            now = at + turn + cost[IDLE]
    return now - began

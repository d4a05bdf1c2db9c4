"""Vector memory seen from a compute unit: one path to L1, then a queue with its share of the bandwidth behind it.

Every access pays the latency of the level that serves a first touch of the data; reuse by neighbouring workgroups
happens while a line is still on its way. How much bandwidth the queue has follows from the traffic of the launch
(`asmevo.timing.traffic`).
"""

from __future__ import annotations

from typing import Any

from asmevo.timing.compiled import compiled
from asmevo.timing.lds import added


@compiled
def vmem_admits(m: Any, line: Any) -> int:
    """Time from which the path takes another instruction: stores wait for it to be free, loads queue."""
    path = m.path_free - (0 if line.costs.store else m.vmem_queue_clk)
    return max(path, (m.memory_free_256 >> 8) - m.memory_backlog)


@compiled
def vmem_access(m: Any, line: Any, now: int) -> int:
    """Occupy path and queue; returns the completion time."""
    start = max(now, m.path_free)
    m.path_free = start + line.costs.path + added(line)
    m.memory_free_256 = max(start << 8, m.memory_free_256) + line.costs.bytes * m.memory_cost_256
    served = max(m.path_free, (m.memory_free_256 + 255) >> 8)
    return served + (m.store_latency if line.costs.store else m.load_latency)


@compiled
def scalar_access(m: Any, line: Any, now: int) -> int:
    """Completion of a scalar load: a miss when the compute unit executes the instruction for the first time."""
    if line.touched:
        return now + m.scalar_latency
    line.touched = 1
    return now + m.scalar_miss_latency

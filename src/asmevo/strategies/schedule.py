"""List scheduling: an order of a block's instructions that respects its dependences and keeps the machine busy."""

from __future__ import annotations

import random
from collections.abc import Sequence

from asmevo.strategies.task import Task

LDS_AHEAD, PATH_AHEAD = 32, 160
"""Clocks of work that may be waiting at the LDS port, or on the path to L1, before another access is held back."""


def heights(task: Task) -> list[int]:
    """Clocks from issue of each node to the end of the block along its longest chain."""
    height = [0] * len(task.lines)
    for i in reversed(range(len(height))):
        height[i] = max((height[j] + clocks for j, clocks in task.successors[i].items()), default=0) + 4
    return height


def perturbed(height: Sequence[int], rng: random.Random, spread: float) -> list[float]:
    """Priorities around the heights, each off by up to `spread` clocks either way."""
    return [h + rng.uniform(-spread, spread) for h in height]


def list_schedule(task: Task, priority: Sequence[float]) -> list[int]:
    """Greedy order: at every turn the node that can issue soonest, among equals the one of highest priority."""
    costs, successors = task.costs, task.successors
    waiting = [len(before) for before in task.predecessors]
    earliest = [0] * len(costs)
    ready = [i for i, n in enumerate(waiting) if n == 0]
    order: list[int] = []
    now = port = matrix = lds = path = 0
    while ready:
        best, best_at, best_priority = -1, 0, 0.0
        for i in ready:
            cost = costs[i]
            at = max(now, earliest[i], port if cost.port else 0, matrix if cost.matrix or cost.idles_matrix else 0)
            if cost.lds:
                at = max(at, lds - LDS_AHEAD)
            if cost.path:
                at = max(at, path - PATH_AHEAD)
            if best < 0 or (at, -priority[i]) < (best_at, -best_priority):
                best, best_at, best_priority = i, at, priority[i]
        ready.remove(best)
        order.append(best)
        cost = costs[best]
        port = best_at + cost.port if cost.port else port
        matrix = best_at + cost.matrix if cost.matrix else matrix
        lds = max(lds, best_at) + cost.lds if cost.lds else lds
        path = max(path, best_at) + cost.path if cost.path else path
        now = best_at + 4
        for j, clocks in successors[best].items():
            earliest[j] = max(earliest[j], best_at + clocks)
            waiting[j] -= 1
            if waiting[j] == 0:
                ready.append(j)
    return order

"""List scheduling: an order of a block's instructions that respects its dependences and keeps the pipes busy."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from asmevo.strategies.pace import Cost


def heights(costs: Sequence[Cost], successors: Sequence[Mapping[int, int]]) -> list[int]:
    """Clocks from issue of each node to the end of the block along its longest chain. `successors` give extra clocks."""
    height = [0] * len(costs)
    for i in reversed(range(len(costs))):
        height[i] = max((height[j] + clocks for j, clocks in successors[i].items()), default=0) + 4
    return height


def list_schedule(
    costs: Sequence[Cost], successors: Sequence[Mapping[int, int]], priority: Sequence[float]
) -> list[int]:
    """Greedy order: at every turn the node that can issue soonest, among equals the one of highest priority.

    `successors[i][j]` is the clocks from issue of i until j may issue without a stall; every dependence must be there,
    with at least one issue turn (4). Returns a permutation of the nodes.
    """
    count = len(costs)
    waiting = [0] * count
    for targets in successors:
        for j in targets:
            waiting[j] += 1
    earliest = [0] * count
    ready = [i for i in range(count) if waiting[i] == 0]
    order: list[int] = []
    now = port = matrix = 0
    while ready:
        best, best_key = -1, (0, 0.0)
        for i in ready:
            at = max(now, earliest[i], port if costs[i].port else 0, matrix if costs[i].matrix else 0)
            key = (at, -priority[i])
            if best < 0 or key < best_key:
                best, best_key = i, key
        at = best_key[0]
        ready.remove(best)
        order.append(best)
        cost = costs[best]
        port = at + cost.port if cost.port else port
        matrix = at + cost.matrix if cost.matrix else matrix
        now = at + 4
        for j, clocks in successors[best].items():
            earliest[j] = max(earliest[j], at + clocks)
            waiting[j] -= 1
            if waiting[j] == 0:
                ready.append(j)
    return order


def perturbed(height: Sequence[int], rng: random.Random, spread: float) -> list[float]:
    """Priorities around the heights, each off by up to `spread` clocks either way."""
    return [h + rng.uniform(-spread, spread) for h in height]

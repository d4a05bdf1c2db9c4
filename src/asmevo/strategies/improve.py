"""Local search over orders of a block, by pace alone: no candidate is built and none is timed."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from asmevo.strategies.task import Task


def moved(order: Sequence[int], source: int, target: int) -> list[int]:
    """The order with the node at place `source` at place `target`."""
    out = list(order)
    out.insert(target, out.pop(source))
    return out


def random_move(task: Task, order: Sequence[int], rng: random.Random, tries: int = 20) -> list[int]:
    """One node at another place that its dependences allow; the order itself when none was found."""
    for _ in range(tries):
        at = rng.randrange(len(order))
        low, high = task.window(order, at)
        if low < high:
            target = rng.randint(low, high - 1)
            return moved(order, at, target if target < at else target + 1)
    return list(order)


def climb(
    task: Task, order: Sequence[int], clocks: Callable[[Sequence[int]], int], rng: random.Random, steps: int
) -> list[int]:
    """Random moves that are kept when they are not slower; the fastest order seen."""
    best = list(order)
    best_clocks = clocks(best)
    for _ in range(steps):
        candidate = random_move(task, best, rng)
        paced = clocks(candidate)
        if paced <= best_clocks:
            best, best_clocks = candidate, paced
    return best

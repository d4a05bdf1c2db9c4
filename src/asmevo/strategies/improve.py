"""Local search over orders of a block, by pace alone: no candidate is built and none is timed."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from asmevo.strategies.task import Task


def random_move(task: Task, order: Sequence[int], rng: random.Random, tries: int = 20) -> list[int]:
    """One node at another place that its dependences allow; the order itself when none was found."""
    out = list(order)
    for _ in range(tries):
        at = rng.randrange(len(out))
        low, high = task.window(out, at)
        if low < high:
            target = rng.randint(low, high - 1)
            out.insert(target if target < at else target + 1, out.pop(at))
            break
    return out


def climb(
    task: Task, order: Sequence[int], clocks: Callable[[Sequence[int]], int], rng: random.Random, steps: int
) -> list[int]:
    """Random moves that are kept when they are not slower."""
    best = list(order)
    best_clocks = clocks(best)
    for _ in range(steps):
        candidate = random_move(task, best, rng)
        paced = clocks(candidate)
        if paced <= best_clocks:
            best, best_clocks = candidate, paced
    return best

"""Comparisons under doubt: one candidate against another on many chips that could all be the real one.

Each member of an ensemble is the chip with every uncertain parameter drawn anew from its range in the chip table. Both
candidates are timed on the same members, so that what they share cancels out, and one wrong constant makes few members
agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from asmevo.timing.chips import Chip, ClassCost
from asmevo.timing.comparison import Comparison, comparison_of, spare
from asmevo.timing.prepared import Prepared
from asmevo.verdict import UsageError

SIZE: Final = 20
"""Members of an ensemble: of 20, 19 must agree."""
_REMEMBERED: Final = 4
"""Candidates whose times are kept."""


@dataclass(frozen=True, eq=False, slots=True)
class Timeable:
    """The prepared launches of one candidate and their weights in the objective."""

    launches: tuple[tuple[Prepared, float], ...]

    def microseconds(self, chip: Chip) -> float:
        """Weighted mean over the launches on one chip."""
        total = sum(weight * prepared.replay(chip).microseconds for prepared, weight in self.launches)
        return total / sum(weight for _, weight in self.launches)


class Ensemble:
    """A seeded set of chips that differ within the doubt of a chip's table. Times of a candidate are remembered."""

    def __init__(self, chip: Chip, seed: int = 0, size: int = SIZE) -> None:
        if size < 1:
            raise UsageError(f"An ensemble of {size} members says nothing; take at least 1.")
        self.chip, self.seed = chip, seed
        self.members = draw(chip, seed, size)
        self._time = lru_cache(maxsize=_REMEMBERED * (size + 1))(self._timed)

    def compare(self, base: Timeable, candidate: Timeable, *, until_decided: bool = True) -> Comparison:
        """The speedup of `candidate` over `base`; raises what `Prepared.replay` raises.

        With `until_decided` no more members are asked once too many have found it not faster.
        """
        nominal = self._time(base, -1) / self._time(candidate, -1)
        speedups: list[float] = []
        allowed = spare(len(self.members))
        for i in range(len(self.members)):
            speedups.append(self._time(base, i) / self._time(candidate, i))
            if until_decided and sum(s <= 1.0 for s in speedups) > allowed:
                break
        return comparison_of("modelled", nominal, speedups, len(self.members))

    def _timed(self, what: Timeable, member: int) -> float:
        return what.microseconds(self.chip if member < 0 else self.members[member])


def draw(chip: Chip, seed: int, size: int) -> tuple[Chip, ...]:
    """Copies of a chip, each parameter in doubt drawn uniformly from its range.

    The draws are stratified: each parameter takes one value from each of `size` equal parts of its range, in an order
    of its own (Latin hypercube sampling), so that a small ensemble covers the ranges.
    """
    rng = np.random.default_rng([seed, size])
    changes: list[dict[str, Any]] = [{} for _ in range(size)]
    for name in sorted(chip.parameters):
        low, high = chip.range(name)
        if low == high:
            continue
        for change, part in zip(changes, _parts(rng, size), strict=True):
            drawn = low + part * (high - low)
            change[name] = round(drawn) if isinstance(getattr(chip, name), int) else drawn
    for name, cost in sorted(chip.classes.items()):
        if cost.port_range is None:
            continue
        low, high = cost.port_range
        for change, part in zip(changes, _parts(rng, size), strict=True):
            port = 4 * round((low + part * (high - low)) / 4)
            classes: Mapping[str, ClassCost] = change.get("classes", chip.classes)
            drawn = replace(cost, port=port, result=max(port, cost.result - cost.port + port))
            change["classes"] = MappingProxyType({**classes, name: drawn})
    return tuple(chip.with_(**change) for change in changes)


def _parts(rng: np.random.Generator, size: int) -> list[float]:
    """One number from each of `size` equal parts of [0, 1), shuffled."""
    return ((rng.permutation(size) + rng.random(size)) / size).tolist()

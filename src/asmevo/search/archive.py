"""The quality-diversity archive: the fastest admitted candidate of each kind, to begin anew from."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from asmevo.search.behaviour import AXES
from asmevo.search.node import Node

Cell: TypeAlias = tuple[int, ...]
"""A place on each of `AXES`."""


@dataclass(slots=True)
class Archive:
    """Cells of behaviour, each with the fastest candidate that was seen there (MAP-Elites, Mouret and Clune 2015)."""

    cells: dict[Cell, Node] = field(default_factory=dict[Cell, Node])

    def add(self, node: Node, behaviour: Mapping[str, int]) -> bool:
        """Take in an admitted candidate; whether it is now its cell's."""
        if not behaviour:
            return False
        cell = tuple(behaviour.get(axis, 0) for axis in AXES)
        held = self.cells.get(cell)
        if held is not None and held.microseconds <= node.microseconds:
            return False
        self.cells[cell] = node
        return True

    def choose(self, besides: frozenset[int], within: float, rng: random.Random) -> tuple[Cell, Node] | None:
        """A cell whose candidate is none of `besides` and not slower than `within` microseconds, any with the same
        chance; None where there is none."""
        cells = [
            (cell, node)
            for cell, node in sorted(self.cells.items())
            if node.ordinal not in besides and node.microseconds <= within
        ]
        return rng.choice(cells) if cells else None

"""An admitted candidate as the search knows it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Node:
    """An admitted attempt and its time."""

    ordinal: int
    microseconds: float

    def faster_than(self, other: Node, threshold: float) -> bool:
        """Faster by more than `threshold`, as a share of the other's time."""
        return self.microseconds < other.microseconds * (1.0 - threshold)

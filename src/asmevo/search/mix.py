"""What makes islands differ: how they accept, which strategies they prefer, and how narrowly they look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Policy: TypeAlias = Literal["annealing", "greedy", "beam"]

BEAM = 3
"""Candidates that an island with a beam works on at once."""


@dataclass(frozen=True, slots=True)
class Mix:
    """The habits of one island."""

    policy: Policy
    focus: float
    """Exponent of what blocks may win: above 1 looks at the hottest block most of all, below 1 at many."""
    weights: Mapping[str, float] = field(default_factory=dict[str, float])
    """How much more than others a strategy is tried, by name; 1 for those not named."""

    def turned(self) -> Mix:
        """Another look at the same code, for an island that is stuck: broad where it was narrow, and no favourites."""
        return Mix(self.policy, 1.0 / self.focus if self.focus != 1.0 else 0.5)


_ORDER = ("reschedule", "nudge")
_VALUES = ("simplify", "waits", "align", "priority")
_FEWER: dict[str, float] = dict.fromkeys(("combine", "pack", "fold", "hoist", "offsets"), 0.1)
"""Strategies that save instructions: they rarely find any that a compiler left, and are asked a tenth as often."""
MIXES: tuple[Mix, ...] = (
    Mix("annealing", 1.0, _FEWER),
    Mix("greedy", 2.0, _FEWER | dict.fromkeys(_ORDER, 3.0)),
    Mix("beam", 1.0, _FEWER | {"rename": 3.0, "reschedule": 2.0}),
    Mix("annealing", 0.5, dict.fromkeys(_VALUES, 3.0)),
)
"""Habits by island number; further islands begin again, with streams of their own."""


def mix_of(island: int) -> Mix:
    """The habits of an island."""
    return MIXES[island % len(MIXES)]

"""Handing the run over, for a while, to a driver that works on its own: a language model with tools, say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from asmevo.search.expense import Expense
from asmevo.search.protocols import Examiner
from asmevo.search.workbench import Workbench
from asmevo.store import Attempt, Commit

HANDOVER = "handover"
"""Kind of the event that a driver's turn leaves in the store."""


@dataclass(frozen=True, slots=True)
class Hand:
    """What a driver is given for one turn."""

    bench: Workbench
    """Everything is put through it, so that state, store and lineage are those of the search."""
    gate: Examiner
    """For checking a candidate without making it an attempt."""
    attempts: int | None
    """How many candidates the budget of the run still allows; None for no limit."""
    stop: Callable[[], bool]
    """Whether the run is to stop: a signal came, or its seconds are over."""
    tell: Callable[[Attempt, Commit | None], None]
    """To be told of every attempt, for displays."""


class Driver(Protocol):
    """Takes over where the strategies have stalled, on the same lineage.

    Contract: `turn` makes what attempts it likes with `Hand.bench` and returns when it has no more to say for now, or
    soon after `Hand.stop` says so. What it does depends on the run folder and on what it asks of others, which it
    records; so it goes on after a kill as if there had been none.
    """

    @property
    def patience(self) -> int:
        """Attempts without a commit after which the search hands over."""
        ...

    @property
    def alone(self) -> bool:
        """Whether the strategies propose nothing and the driver does all."""
        ...

    @property
    def under_way(self) -> bool:
        """Whether a turn was begun and stopped before its end; it goes on before anything else."""
        ...

    @property
    def expense(self) -> Expense:
        """What it has cost so far, and why its last turn had nothing to do, when it had not."""
        ...

    def turn(self, hand: Hand) -> bool:
        """Take a turn. False when there was nothing to do, and the search is to go on without."""
        ...

"""What a strategy is, what it sees and what it says."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from asmevo.edit import Edit
from asmevo.strategies.context import Context


@dataclass(frozen=True, slots=True)
class Proposal:
    """Edits that belong together, over the context's program."""

    edits: tuple[Edit, ...]
    note: str
    """For humans: what changes, where and why it should pay."""
    window: tuple[int, int]
    """First and last line id of the code it aims at."""
    gain: float = 1.0
    """Share of the clocks around the block that the strategy's own bound says it saves; only ranks proposals."""


class Strategy(Protocol):
    """A proposer of edits.

    Contract: `propose` yields proposals for the block of the context, the most promising first; each applies to
    `context.program` and by the strategy's own knowledge keeps its meaning (the gate decides, a strategy never asks
    it). Everything random comes from `rng`. The iterator is lazy: a caller may stop after the first, and a strategy
    without (further) ideas just ends. It holds no state between calls.
    """

    @property
    def name(self) -> str:
        """Short and stable: it is stored with every attempt."""
        ...

    def propose(self, context: Context, rng: random.Random) -> Iterator[Proposal]: ...

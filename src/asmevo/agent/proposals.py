"""Proposals: edits of a window that an agent means to try, kept in the run until it checks or evaluates them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from asmevo.store import Event

PROPOSAL = "proposal"
"""Kind of the events that keep them."""


@dataclass(frozen=True, slots=True)
class Proposed:
    """One proposal. Its edits apply to the program of the attempt `base`."""

    base: int
    edits: tuple[dict[str, Any], ...]
    note: str
    block: int | None = None
    """Number of the block of the window; the header of a loop."""
    window: tuple[int, int] | None = None
    """Ids of the first and last line of the code it aims at."""
    strategy: str = ""
    """Name of the built-in strategy that made it; empty for the driver's own."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"edits": list(self.edits)}

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> Proposed:
        window: list[int] | None = facts["window"]
        ends = None if window is None else (window[0], window[1])
        return cls(facts["base"], tuple(facts["edits"]), facts["note"], facts["block"], ends, facts["strategy"])


def proposals_of(events: Iterable[Event]) -> dict[int, Proposed]:
    """The proposals of a run by number."""
    found: dict[int, Proposed] = {}
    for event in events:
        if event.kind == PROPOSAL:
            facts = dict(event.facts)
            found[int(facts.pop("number"))] = Proposed.from_json(facts)
    return found

"""What a driver of a search costs, in money."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Expense:
    """What a driver has cost in the run so far, earlier processes included. In US dollars."""

    spent: float | None
    """None where the price of something that was used is not known."""
    limit: float | None
    """Most that may be spent; None for no limit."""
    refusal: str = ""
    """Why the driver does no more for now, as the end of a sentence; empty while it may."""

"""What a tool answers: a short text for a model and the same as data for a program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """How a call went."""

    OK = "ok"
    """It did what was asked for."""
    MISTAKE = "mistake"
    """The caller's mistake: nothing was done, and the text says exactly what is wrong and how to do it right."""
    REPEATED = "repeated"
    """The same candidate, or the same idea, was tried before; the text says as which attempt and what came of it."""
    REFUSED = "refused"
    """The gate did not admit the candidate (REFUTED or UNKNOWN)."""
    ADMITTED = "admitted"
    """The gate admitted it; it is not faster than the best by enough to be a commit, or it was only checked."""
    COMMIT = "commit"
    """The gate admitted it, it is faster, and it is in the lineage now."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a tool."""

    text: str
    """For a model: short, without paths of this machine, names from the kernel quoted and escaped."""
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """JSON-able, for programs; the same facts, with names from the kernel quoted and escaped as in the text."""
    kind: Kind = Kind.OK

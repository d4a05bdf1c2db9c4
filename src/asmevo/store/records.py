"""What a run remembers, as values. Edits, checks and settings are JSON here: the store does not interpret them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from asmevo.verdict import Verdict

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Run:
    """What a run is about. Written once, when its folder is made."""

    k0: str
    """SHA-256 of the original object; its bytes are a blob of the run."""
    launches: str
    """SHA-256 of the launches' canonical form; that form is a blob of the run."""
    seed: int
    chip: str
    """Name in the chip tables of the timing model."""
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    """Of AsmEvo, Python, LLVM and the libraries, for reproduction."""


class Status(StrEnum):
    """Where an attempt stands. Only `OPEN` ones are redone when a run resumes."""

    OPEN = "open"
    """Proposed, and stored before the gate saw it."""
    REFUSED = "refused"
    """The gate did not admit it (REFUTED or UNKNOWN). It was never timed."""
    ADMITTED = "admitted"
    """The gate admitted it, and it was timed."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One candidate put through the gate. Ordinal 0 is K0 itself."""

    ordinal: int
    parent: int | None
    """Ordinal of the attempt whose candidate was edited; None for K0."""
    strategy: str
    note: str
    """For humans: what the edit does and where."""
    edits: tuple[Json, ...]
    """The edits over the parent (not over K0: see `Store.chain`)."""
    candidate: str
    """SHA-256 of the rebuilt object; empty when it could not be rebuilt."""
    island: int = 0
    slot: int | None = None
    """Number of the proposal among all that the search asked for; None for attempts from elsewhere."""
    block: int | None = None
    """Number of the block that the strategy was pointed at."""
    window: tuple[int, int] | None = None
    """First and last line id of the code the edits aim at."""
    draws: tuple[Json, ...] = ()
    """Earlier draws for this ordinal that gave nothing new; they inform later choices."""
    status: Status = Status.OPEN
    verdict: Verdict = Verdict.UNKNOWN
    checks: tuple[Json, ...] = ()
    microseconds: float | None = None
    """Time of the candidate over the launches; only admitted attempts have one."""
    source: str = ""
    """`modelled` or `measured`."""
    comparison: Mapping[str, Any] | None = None
    """How it compares with the best before it, where it looked faster: `against` (ordinal), `speedup`, `low`, `high`,
    `share_faster`, `faster`; or `against`, `faster` (false) and `reason`, where the timer could not say."""
    behaviour: Mapping[str, int] = field(default_factory=dict[str, int])
    """What it is like apart from its time: its place in the archive."""
    seconds: float = 0.0
    """Wall time the attempt took. For reports; no decision reads it."""

    @property
    def inexact(self) -> Json | None:
        """Bound, metric and errors where it was admitted with results that are not K0's; else None."""
        facts: list[Json] = [check["facts"] for check in self.checks if check["facts"].get("inexact")]
        return facts[0] if facts and self.verdict.admitted else None


@dataclass(frozen=True, slots=True)
class Commit:
    """An admitted, faster attempt that entered the lineage."""

    number: int
    """1 for the first."""
    attempt: int
    microseconds: float


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to the run, e.g. `start`, `resume`, `stop`, `redirect`."""

    number: int
    kind: str
    ordinal: int
    """Of the last attempt begun when it happened."""
    at: float
    """Seconds since the epoch, from the caller's clock."""
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])

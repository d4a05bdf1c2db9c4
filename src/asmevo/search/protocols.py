"""What a search needs from others: a gate that admits, a timer that ranks, and someone to tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from asmevo.edit import Edit
from asmevo.program import Program
from asmevo.search.expense import Expense
from asmevo.timing import Comparison
from asmevo.verdict import Check, Verdict


class Report(Protocol):
    """What the gate says of one candidate."""

    @property
    def verdict(self) -> Verdict: ...
    @property
    def checks(self) -> Sequence[Check]: ...


class Examiner(Protocol):
    """The gate, bound to K0, its launches and a device.

    `examine` runs its stages from cheap to dear and stops at the first that refuses. It raises only for what is wrong
    with the machine (`EnvironmentError_`); whatever is wrong with a candidate is in the report.
    """

    def examine(self, candidate: bytes, k0: Program, edits: Sequence[Edit]) -> Report:
        """The verdict on `candidate`, which is `k0` with all of `edits` and rebuilt."""
        ...


class Timed(Protocol):
    """The time of one candidate over the objective launches."""

    @property
    def microseconds(self) -> float:
        """Weighted mean over the objective launches."""
        ...

    @property
    def source(self) -> str:
        """`modelled` or `measured`."""
        ...

    @property
    def heat(self) -> Mapping[int, float]:
        """Line id to its share of the time, 0 to 1; lines that cost nothing may be absent."""
        ...

    @property
    def bytes_per_clk(self) -> float | None:
        """What one compute unit gets of the memory bandwidth; None where nobody knows."""
        ...

    @property
    def room(self) -> float | None:
        """Share of the time that neither memory nor the matrix pipe needs; None where nobody knows."""
        ...


class Timer(Protocol):
    """Times candidates that the gate admitted; a search never calls it with others."""

    def time(self, candidate: bytes, program: Program) -> Timed:
        """The time of `candidate`; `program` is the program it was rebuilt from, whose line ids `heat` uses."""
        ...


@runtime_checkable
class Comparer(Protocol):
    """A timer that also knows how much doubt there is about a speedup."""

    def compare(self, base: bytes, candidate: bytes) -> Comparison:
        """How much faster `candidate` is than `base`. Raises `UnsupportedError` when it cannot say."""
        ...


@dataclass(frozen=True, slots=True)
class Update:
    """The state of a search after something happened, for displays and logs."""

    kind: str
    """`start`, `attempt`, `commit`, `trim` or `stop`; `refusal` when the driver does no more for now."""
    ordinal: int
    strategy: str
    note: str
    verdict: Verdict | None
    microseconds: float | None
    """Of the attempt, when it was admitted."""
    k0_microseconds: float
    best_microseconds: float
    source: str
    """Of the times: `modelled` or `measured`."""
    attempts: int
    """Candidates put through the gate so far, K0 and trims not counted."""
    commits: int
    verdicts: Mapping[str, int]
    """How many attempts ended with each verdict."""
    elapsed: float
    """Wall seconds of this process's part of the run."""
    reason: str = ""
    """Why it stopped, or why the driver does no more."""
    cost: Expense | None = None
    """Of the driver; None without one."""
    inexact: bool = False
    """Whether the attempt was admitted with results that are not K0's."""

    @property
    def speedup(self) -> float:
        """K0's time over the best time."""
        return self.k0_microseconds / self.best_microseconds


class Progress(Protocol):
    """Is told of every step. Must not take long: the search waits for it."""

    def __call__(self, update: Update) -> None: ...


def silent(update: Update) -> None:
    """Tells nobody."""

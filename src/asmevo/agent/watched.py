"""Gate and timer as a session uses them: they say when they are at work, and the gate remembers its last reports."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Protocol

from asmevo.edit import Edit
from asmevo.program import Program
from asmevo.search import Examiner, Report, Timed, Timer
from asmevo.search.protocols import Comparer
from asmevo.timing import Comparison

GATE, TIMER, NOTHING = "in the gate", "being timed", ""
"""What a session may be busy with."""
_REPORTS = 8
"""Reports of the gate that are remembered, so that a candidate which was only checked is not examined twice."""


class Busy:
    """What a session is doing, to be read by other threads."""

    def __init__(self) -> None:
        self.what = NOTHING

    @contextmanager
    def with_(self, what: str) -> Generator[None]:
        self.what = what
        try:
            yield
        finally:
            self.what = NOTHING


class DoubtingTimer(Timer, Comparer, Protocol):
    """A timer that also knows how much doubt there is about a speedup."""


class WatchedTimer:
    """A timer that tells when it works."""

    def __init__(self, timer: DoubtingTimer, busy: Busy) -> None:
        self._timer, self._busy = timer, busy

    def time(self, candidate: bytes, program: Program) -> Timed:
        with self._busy.with_(TIMER):
            return self._timer.time(candidate, program)

    def compare(self, base: bytes, candidate: bytes) -> Comparison:
        with self._busy.with_(TIMER):
            return self._timer.compare(base, candidate)


class WatchedGate:
    """A gate that remembers its last reports: the same bytes with the same edits get the same verdict anyway."""

    def __init__(self, gate: Examiner, busy: Busy) -> None:
        self._gate, self._busy = gate, busy
        self._reports: OrderedDict[tuple[bytes, str], Report] = OrderedDict()

    def examine(self, candidate: bytes, k0: Program, edits: Sequence[Edit]) -> Report:
        key = (candidate, repr([edit.to_json() for edit in edits]))
        report = self._reports.get(key)
        if report is None:
            with self._busy.with_(GATE):
                report = self._reports[key] = self._gate.examine(candidate, k0, edits)
            while len(self._reports) > _REPORTS:
                self._reports.popitem(last=False)
        return report

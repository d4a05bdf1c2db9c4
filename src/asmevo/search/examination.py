"""One candidate through gate and timer: what is found of it, with nothing stored and nothing concluded."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from asmevo.edit import Edit
from asmevo.program import Program
from asmevo.search.behaviour import behaviour
from asmevo.search.building import Built
from asmevo.search.protocols import Comparer, Examiner, Timed, Timer
from asmevo.verdict import AsmEvoError, Check, EnvironmentError_, Finding, UnsupportedError, Verdict, weakest

KEPT = 12
"""Times that are remembered, because what was admitted is soon proposed for."""


@dataclass(frozen=True, slots=True)
class Examined:
    """What gate and timer say of one candidate. Times only where it was admitted."""

    verdict: Verdict
    checks: tuple[dict[str, Any], ...]
    microseconds: float | None = None
    source: str = ""
    behaviour: Mapping[str, int] = field(default_factory=dict[str, int])
    """Where it stands in the archive."""
    seconds: float = 0.0


class Examination:
    """Gate and timer of one K0.

    Contract: the timer sees admitted candidates only; a candidate that breaks the gate, and a report that admits what
    one of its checks does not, are UNKNOWN. Raises only `EnvironmentError_`, for what is wrong with the machine.
    """

    def __init__(self, k0: Program, gate: Examiner, timer: Timer, clock: Callable[[], float]) -> None:
        self.k0 = k0
        self._gate, self._timer, self._clock = gate, timer, clock
        self._times: OrderedDict[bytes, Timed] = OrderedDict()

    def examine(self, built: Built, edits: Sequence[Edit]) -> tuple[Examined, Timed | None]:
        """The candidate that `edits` (all of them, from K0) make, and its time where it was admitted."""
        began = self._clock()
        checks, verdict = self._admit(built, edits)
        timed = None
        if verdict.admitted:
            timed, failure = self._time(built)
            if failure:
                checks, verdict = (*checks, failure), failure.verdict
        found = tuple(c.to_json() for c in checks)
        if timed is None:
            return Examined(verdict, found, seconds=self._clock() - began), None
        cell = behaviour(built.program, timed.heat)
        spent = self._clock() - began
        return Examined(verdict, found, timed.microseconds, timed.source, cell, spent), timed

    def _admit(self, built: Built, edits: Sequence[Edit]) -> tuple[tuple[Check, ...], Verdict]:
        if built.failure:
            return (built.failure,), built.failure.verdict
        try:
            report = self._gate.examine(built.data, self.k0, edits)
        except EnvironmentError_:
            raise
        except AsmEvoError as error:
            return (_unknown("gate", str(error)),), Verdict.UNKNOWN
        checks = tuple(report.checks)
        if report.verdict.admitted is not weakest(c.verdict for c in checks).admitted:
            failure = _unknown("gate", f"The gate said {report.verdict}, which its checks do not.")
            return (*checks, failure), failure.verdict
        return checks, report.verdict

    def _time(self, built: Built) -> tuple[Timed | None, Check | None]:
        try:
            timed = self.time(built.data, built.program)
        except UnsupportedError as error:
            return None, _unknown("time", str(error))
        if not timed.microseconds > 0.0:
            return None, _unknown("time", f"The timer gave {timed.microseconds} us.")
        return timed, None

    def compare(self, base: bytes, candidate: bytes) -> dict[str, Any] | None:
        """How surely one admitted candidate is faster than another; None where the timer compares nothing.

        What a timer that compares cannot say is no gain: then `faster` is false, and `reason` says why.
        """
        if not isinstance(self._timer, Comparer):
            return None
        try:
            return self._timer.compare(base, candidate).to_json()
        except UnsupportedError as error:
            return {"faster": False, "reason": str(error)}

    def time(self, candidate: bytes, program: Program) -> Timed:
        """The time of a candidate that was admitted; the last ones are remembered.

        It was timed before. A device that was lost over it now is asked again, once: it has started anew.
        """
        known = self._times.get(candidate)
        if known is None:
            try:
                known = self._timer.time(candidate, program)
            except UnsupportedError:
                known = self._timer.time(candidate, program)
            self._times[candidate] = known
            while len(self._times) > KEPT:
                self._times.popitem(last=False)
        return known


def _unknown(name: str, message: str) -> Check:
    return Check(name, Verdict.UNKNOWN, (Finding(f"{name}.unknown", message),))

"""Where one candidate is put through store, gate and timer, in that order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain

from asmevo.codeobject import CodeObject
from asmevo.edit import Edit, apply_all, from_json
from asmevo.program import Program, recover
from asmevo.search.draft import Built, build
from asmevo.search.protocols import Examiner, Timed, Timer
from asmevo.search.state import State
from asmevo.store import Attempt, Commit, Status, Store
from asmevo.verdict import (
    AsmEvoError,
    Check,
    EnvironmentError_,
    Finding,
    InputError,
    Severity,
    UnsupportedError,
    Verdict,
    weakest,
)


class Workbench:
    """Examines attempts and knows the programs of admitted ones.

    Contract: an attempt is in the store before the gate sees its candidate, and its outcome is before anything is
    concluded from it; the timer sees admitted candidates only.
    """

    def __init__(
        self,
        store: Store,
        gate: Examiner,
        timer: Timer,
        state: State,
        clock: Callable[[], float],
        kernel: str | None = None,
    ) -> None:
        self.store, self.state = store, state
        self.k0_bytes = store.blobs.get(store.run.k0)
        self.k0 = recover(CodeObject.parse(self.k0_bytes), kernel)
        self.source = ""
        """Of the times seen: `modelled` or `measured`."""
        self._gate, self._timer, self._clock = gate, timer, clock
        self._programs: dict[int, Program] = {0: self.k0}
        self._timed: dict[int, Timed] = {}

    def replay(self) -> list[Attempt]:
        """Forget an attempt that a killed process left open, learn the finished ones and return them."""
        self.store.discard_open()
        attempts = self.store.attempts()
        for attempt in attempts:
            self.state.learn(attempt)
            self.source = attempt.source or self.source
        return attempts

    def require_k0(self) -> None:
        """Put K0 itself through the gate as attempt 0, unless that was done.

        Raises `InputError` or `UnsupportedError` when it is not admitted.
        """
        if self.state.k0 is not None:
            return
        known = self.store.attempts()[:1]
        if known:
            k0 = known[0]
        else:
            attempt = Attempt(0, None, "k0", "the original object", (), self.store.run.k0)
            k0, _ = self.examine(attempt, Built(self.k0, self.k0_bytes))
        if k0.status is Status.ADMITTED:
            return
        refusing = [c for c in k0.checks if not Verdict(c["verdict"]).admitted]
        found = [(f["severity"] != Severity.ERROR, f["message"]) for c in refusing for f in c["findings"]]
        reason = min(found, key=lambda one: one[0])[1] if found else "no finding was given."
        kind = InputError if k0.verdict is Verdict.REFUTED else UnsupportedError
        raise kind(f"The gate does not admit the original object itself ({k0.verdict}): {reason}")

    def examine(self, attempt: Attempt, built: Built) -> tuple[Attempt, Commit | None]:
        """Put an attempt's candidate through gate and timer. Returns the finished attempt and the commit it is."""
        began = self._clock()
        self.store.begin(attempt)
        checks, verdict = self._admit(attempt, built)
        timed = None
        if verdict.admitted:
            timed, failure = self._time(built)
            if failure:
                checks, verdict = (*checks, failure), failure.verdict
        done = replace(
            attempt,
            status=Status.ADMITTED if timed else Status.REFUSED,
            verdict=verdict,
            checks=tuple(c.to_json() for c in checks),
            microseconds=timed.microseconds if timed else None,
            source=timed.source if timed else "",
            seconds=self._clock() - began,
        )
        if timed:
            self.source = timed.source
            self._programs[attempt.ordinal] = built.program
            self._timed[attempt.ordinal] = timed
        commit = self.state.commit_of(done)
        if commit:
            self.store.blobs.put(built.data)
        self.store.finish(done, commit)
        self.state.learn(done)
        return done, commit

    def _admit(self, attempt: Attempt, built: Built) -> tuple[tuple[Check, ...], Verdict]:
        """The gate's checks and verdict; a candidate that breaks the gate is UNKNOWN, as is a report that admits what
        one of its checks does not."""
        if built.failure:
            return (built.failure,), built.failure.verdict
        try:
            report = self._gate.examine(built.data, self.k0, self.edits(attempt))
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
            timed = self._timer.time(built.data, built.program)
        except UnsupportedError as error:
            return None, _unknown("time", str(error))
        if not timed.microseconds > 0.0:
            return None, _unknown("time", f"The timer gave {timed.microseconds} us.")
        return timed, None

    def edits(self, attempt: Attempt) -> tuple[Edit, ...]:
        """All edits from K0 to an attempt's candidate; the attempt need not be stored yet."""
        before = () if attempt.parent is None else self.store.chain(attempt.parent)
        return tuple(from_json(e) for e in chain.from_iterable(a.edits for a in (*before, attempt)))

    def program(self, ordinal: int) -> Program:
        """The program of an admitted attempt."""
        if ordinal not in self._programs:
            self._programs[ordinal] = apply_all(self.k0, self.edits(self.store.attempt(ordinal)))
        return self._programs[ordinal]

    def object(self, ordinal: int) -> bytes:
        """The object of an admitted attempt, rebuilt."""
        return self.k0_bytes if ordinal == 0 else build(self.program(ordinal), ()).data

    def timed(self, ordinal: int) -> Timed:
        """The time of an admitted attempt's candidate; taken again when an earlier process took it."""
        if ordinal not in self._timed:
            self._timed[ordinal] = self._timer.time(self.object(ordinal), self.program(ordinal))
        return self._timed[ordinal]


def _unknown(name: str, message: str) -> Check:
    return Check(name, Verdict.UNKNOWN, (Finding(f"{name}.unknown", message),))

"""Where one candidate is put through store, gate and timer, in that order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain

from asmevo.codeobject import CodeObject
from asmevo.edit import Edit, apply_all, from_json
from asmevo.program import Program, recover
from asmevo.search.building import Built, build
from asmevo.search.examination import Examination, Examined
from asmevo.search.protocols import Examiner, Timed, Timer
from asmevo.search.state import State
from asmevo.store import Attempt, Commit, Status, Store
from asmevo.verdict import InputError, Severity, UnsupportedError, Verdict


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
        self.examination = Examination(self.k0, gate, timer, clock)
        self._programs: dict[int, Program] = {0: self.k0}
        self._timed: dict[int, Timed] = {}

    def replay(self) -> list[Attempt]:
        """Forget attempts that a killed process left open, learn the finished ones and return them."""
        self.store.discard_open()
        attempts = self.store.attempts()
        for attempt in attempts:
            self.learn(attempt)
        return attempts

    def learn(self, attempt: Attempt) -> None:
        """Take in an attempt that is in the store already."""
        self.state.learn(attempt)
        self.source = attempt.source or self.source

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
        self.store.begin(attempt)
        found, timed = self.examination.examine(built, self.edits(attempt))
        if timed is not None:
            self._programs[attempt.ordinal] = built.program
            self._timed[attempt.ordinal] = timed
        return self.finish(attempt, found)

    def finish(self, attempt: Attempt, found: Examined) -> tuple[Attempt, Commit | None]:
        """Store what was found of a stored attempt, and only then learn it. Returns it, and the commit it is."""
        done = replace(
            attempt,
            status=Status.REFUSED if found.microseconds is None else Status.ADMITTED,
            verdict=found.verdict,
            checks=found.checks,
            microseconds=found.microseconds,
            source=found.source,
            behaviour=found.behaviour,
            seconds=found.seconds,
        )
        self.source = found.source or self.source
        if self.state.seems_faster(done):
            done = self._compared(done)
        commit = self.state.commit_of(done)
        if commit:
            self.store.blobs.put(build(self.k0, self.edits(done)).data)
        self.store.finish(done, commit)
        self.state.learn(done)
        return done, commit

    def _compared(self, attempt: Attempt) -> Attempt:
        """The attempt with how it compares with the best, where the timer knows its doubt."""
        best = self.state.best
        assert best
        candidate = build(self.k0, self.edits(attempt)).data
        found = self.examination.compare(self.object(best.ordinal), candidate)
        if found is None:
            return attempt
        return replace(attempt, comparison=found | {"against": best.ordinal})

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
            self._timed[ordinal] = self.examination.time(self.object(ordinal), self.program(ordinal))
        return self._timed[ordinal]

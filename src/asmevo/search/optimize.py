"""The loop: propose, store, gate, and only then time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

from asmevo.search.draft import Draft, Ground, next_draft
from asmevo.search.handover import HANDOVER, Driver, Hand
from asmevo.search.interrupt import Interrupt
from asmevo.search.protocols import Examiner, Progress, Timer, Update, silent
from asmevo.search.result import Certifier, write_result
from asmevo.search.settings import Settings
from asmevo.search.state import State
from asmevo.search.summary import RunSummary
from asmevo.search.trim import trim
from asmevo.search.workbench import Workbench
from asmevo.store import Attempt, Store
from asmevo.strategies import Analyst, Strategy, strategies_named
from asmevo.timing import chip

TRIM_UNTIL = 1.2
"""A budget in seconds may be overrun by trimming up to this factor."""


def optimize(
    store: Store,
    gate: Examiner,
    timer: Timer,
    *,
    clock: Callable[[], float],
    settings: Settings | None = None,
    kernel: str | None = None,
    progress: Progress = silent,
    certify: Certifier | None = None,
    strategies: Mapping[str, Strategy] | None = None,
    driver: Driver | None = None,
) -> RunSummary:
    """Search for a faster candidate over a new store, or go on over one that was interrupted or killed.

    What happens depends on the settings and the stored attempts alone, never on what a process remembers, so a seed
    with a budget in attempts gives one lineage, however often the run is killed and resumed. `settings` default to
    those of the run; others may only change the budgets sensibly. Ends when a budget is used, when nothing is left to
    try, or on a signal; then drops edits that do not pay and writes the result into the run folder. A `driver` has a
    turn whenever the strategies have stalled, and when they have nothing left.

    Raises `InputError` or `UnsupportedError` when K0 itself is not admitted, `EnvironmentError_` from disk and device.
    """
    state = State(settings or Settings.from_json(store.run.settings))
    search = _Search(Workbench(store, gate, timer, state, clock, kernel), gate, strategies, clock, progress, driver)
    return search.run(certify)


class _Search:
    def __init__(
        self,
        bench: Workbench,
        gate: Examiner,
        strategies: Mapping[str, Strategy] | None,
        clock: Callable[[], float],
        progress: Progress,
        driver: Driver | None,
    ) -> None:
        self.bench, self.state, self.settings = bench, bench.state, bench.state.settings
        self._gate, self._driver = gate, driver
        self._handed = 0
        """Ordinal of the next attempt when the driver had its last turn."""
        self._strategies = strategies_named(self.settings.strategies) if strategies is None else strategies
        if driver is not None and driver.alone:
            self._strategies = {}
        self._clock, self._progress = clock, progress
        self._started = clock()
        self._before = 0.0
        self._ground: tuple[int, Ground] | None = None

    def run(self, certify: Certifier | None) -> RunSummary:
        attempts = self.bench.replay()
        self._before = sum(a.seconds for a in attempts)
        store = self.bench.store
        with Interrupt() as interrupt:
            store.event("resume" if attempts else "start", self.state.next_ordinal, self.settings.to_json())
            self.bench.require_k0()
            turns = [event.ordinal + 1 for event in store.events() if event.kind == HANDOVER]
            self._handed = max(turns, default=1)
            self._tell("start")
            reason = self._loop(interrupt)
            result = trim(self.bench, lambda: self._may_trim(interrupt), lambda a: self._tell("trim", a))
            summary = write_result(self.bench, result, reason, interrupt.wanted, self._elapsed(), certify)
            store.event("stop", self.state.next_ordinal - 1, {"reason": reason, "result": result.ordinal})
        self._tell("stop", reason=reason)
        return summary

    def _loop(self, interrupt: Interrupt) -> str:
        while True:
            if interrupt.wanted:
                return "interrupted"
            if reason := self._ended():
                return reason
            if self._stalled() and self._hand_over(interrupt):
                continue
            draft = self._draft()
            if draft is None:
                if self._hand_over(interrupt):
                    continue
                return "nothing new to propose"
            attempt, commit = self.bench.examine(self._attempt(draft), draft.built)
            self._tell("commit" if commit else "attempt", attempt)

    def _ended(self) -> str:
        settings, state = self.settings, self.state
        if settings.attempts is not None and state.attempts >= settings.attempts:
            return f"budget of {settings.attempts} attempts used"
        if settings.seconds is not None and self._elapsed() >= settings.seconds:
            return f"budget of {settings.seconds:g} seconds used"
        if state.quiet >= settings.stall:
            return f"no commit in {settings.stall} attempts"
        return ""

    def _stalled(self) -> bool:
        """So many attempts of the strategies without a commit, since the last turn too, that it is the driver's."""
        driver = self._driver
        alone = min(self.state.quiet, self.state.next_ordinal - self._handed)
        return driver is not None and (driver.under_way or alone >= driver.patience)

    def _hand_over(self, interrupt: Interrupt) -> bool:
        """Give the driver a turn; whether it took one."""
        if self._driver is None:
            return False
        settings, state, store = self.settings, self.state, self.bench.store
        seconds = settings.seconds
        hand = Hand(
            self.bench,
            self._gate,
            None if settings.attempts is None else settings.attempts - state.attempts,
            lambda: interrupt.wanted or (seconds is not None and self._elapsed() >= seconds),
            lambda attempt, commit: self._tell("commit" if commit else "attempt", attempt),
        )
        taken = self._driver.turn(hand)
        self._handed = state.next_ordinal
        if taken and not hand.stop():  # a turn that was stopped goes on when the run does
            store.event(HANDOVER, state.next_ordinal - 1)
        return taken

    def _may_trim(self, interrupt: Interrupt) -> bool:
        """Trimming may go on: no signal, and not far beyond a budget in seconds."""
        seconds = self.settings.seconds
        return not interrupt.wanted and (seconds is None or self._elapsed() < TRIM_UNTIL * seconds)

    def _draft(self) -> Draft | None:
        """The next new candidate; over the best, when the working point has none left."""
        state = self.state
        draft = next_draft(state, self._standing(), self._strategies)
        if draft is None and state.best and state.point != state.best:
            state.stand_on(state.best)
            draft = next_draft(state, self._standing(), self._strategies)
        return draft

    @cached_property
    def _analyst(self) -> Analyst:
        return Analyst(self.bench.k0, chip(self.bench.store.run.chip), self.bench.timed(0).bytes_per_clk)

    def _standing(self) -> Ground:
        point = self.state.point
        assert point
        if self._ground is None or self._ground[0] != point.ordinal:
            heat = self.bench.timed(point.ordinal).heat
            ground = Ground.of(self.bench.program(point.ordinal), heat, self._analyst)
            self._ground = (point.ordinal, ground)
        return self._ground[1]

    def _attempt(self, draft: Draft) -> Attempt:
        return Attempt(
            ordinal=self.state.next_ordinal,
            parent=draft.parent.ordinal,
            strategy=draft.arm.strategy,
            note=draft.proposal.note,
            edits=draft.edits,
            candidate=draft.built.sha256,
            block=draft.arm.block,
            window=draft.proposal.window,
            draws=draft.draws,
        )

    def _elapsed(self) -> float:
        return self._before + self._clock() - self._started

    def _tell(self, kind: str, attempt: Attempt | None = None, reason: str = "") -> None:
        k0, best = self.state.k0, self.state.best
        assert k0 and best
        self._progress(
            Update(
                kind=kind,
                ordinal=attempt.ordinal if attempt else self.state.next_ordinal - 1,
                strategy=attempt.strategy if attempt else "",
                note=attempt.note if attempt else "",
                verdict=attempt.verdict if attempt else None,
                microseconds=attempt.microseconds if attempt else None,
                k0_microseconds=k0.microseconds,
                best_microseconds=best.microseconds,
                source=self.bench.source,
                attempts=self.state.attempts,
                commits=len(self.state.commits),
                verdicts=dict(self.state.verdicts),
                elapsed=self._elapsed(),
                reason=reason,
            )
        )

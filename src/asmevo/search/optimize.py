"""The loop: propose, store, gate, and only then time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict

from asmevo.search.draft import Drafter
from asmevo.search.executor import Executor, Inline, Station
from asmevo.search.expense import Expense
from asmevo.search.handover import HANDOVER, Driver, Hand
from asmevo.search.interrupt import Interrupt
from asmevo.search.pattern import keep_patterns
from asmevo.search.pipeline import Pipeline
from asmevo.search.protocols import Examiner, Progress, Timer, Update, silent
from asmevo.search.result import Certifier, write_result
from asmevo.search.settings import Settings
from asmevo.search.state import State
from asmevo.search.summary import RunSummary
from asmevo.search.trim import Trimmer
from asmevo.search.workbench import Workbench
from asmevo.store import Attempt, Store
from asmevo.strategies import Strategy, strategies_named
from asmevo.timing import chip

TRIM_UNTIL = 1.2
"""A budget in seconds may be overrun by trimming up to this factor."""
DRY = "nothing new to propose"
"""Why a search ends that has tried all that its strategies know."""
AT_BOUND = 0.005
"""A kernel is at its bound when memory and the matrix pipe leave less than this share of its time to be won."""
REDIRECT = "redirect"
"""Kind of the event that says why an island was sent elsewhere."""


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
    executor: Executor | None = None,
    workers: int = 1,
) -> RunSummary:
    """Search for a faster candidate over a new store, or go on over one that was interrupted or killed.

    What happens depends on the settings and the stored attempts alone, never on what a process remembers, so a seed
    with a budget in attempts gives one lineage, however often the run is killed and resumed. `settings` default to
    those of the run; others may only change the budgets sensibly. Ends when a budget is used, when nothing is left to
    try, at once where K0 is at its bound, or on a signal; then drops edits that do not pay and writes the result into
    the run folder. A `driver` has a turn whenever the strategies have stalled, and when they have nothing left.

    Drafts are made and candidates examined by `executor`, which has so many `workers`; without one, here and one after
    the other, with `strategies` or those that the settings name.

    Raises `InputError` or `UnsupportedError` when K0 itself is not admitted, `EnvironmentError_` from disk and device.
    """
    state = State(settings or Settings.from_json(store.run.settings))
    bench = Workbench(store, gate, timer, state, clock, kernel)
    if driver is not None and driver.alone:
        strategies, executor = {}, None
    if executor is None:
        chosen = strategies_named(state.settings.strategies) if strategies is None else strategies
        drafter = Drafter(bench.k0, chip(store.run.chip), bench.examination.time, chosen)
        executor = Inline(Station(bench.examination, drafter))
    return _Search(bench, gate, executor, clock, progress, workers, driver).run(certify)


def follow(bench: Workbench, drafter: Drafter) -> tuple[int, str]:
    """Go over a finished run as the search did, drawing every slot again; the store's attempts are all there is.

    Returns how many attempts came out the same, and the first difference, empty for none.
    """
    recorded = bench.store.attempts()
    for k0 in recorded[:1]:
        bench.learn(k0)
    pipeline = Pipeline(bench, Inline(Station(bench.examination, drafter)), recorded[1:], verify=True)
    search = _Search(bench, None, Inline(Station(bench.examination, drafter)), lambda: 0.0, silent, 1, None)
    search.go(pipeline, Interrupt())
    return pipeline.verified, pipeline.difference


class _Search:
    def __init__(
        self,
        bench: Workbench,
        gate: Examiner | None,
        executor: Executor,
        clock: Callable[[], float],
        progress: Progress,
        workers: int,
        driver: Driver | None,
    ) -> None:
        self.bench, self.state, self.settings = bench, bench.state, bench.state.settings
        self._gate, self._executor, self._workers, self._driver = gate, executor, workers, driver
        self._handed = 1
        """Ordinal of the next attempt when the driver had its last turn."""
        events = bench.store.events()
        self._redirects = sum(event.kind == REDIRECT for event in events)
        """How many of the redirects are in the store."""
        self._turns = [event.ordinal for event in events if event.kind == HANDOVER]
        """Ordinals of the last attempts of turns that an earlier process saw."""
        self._clock, self._progress = clock, progress
        self._started = clock()
        self._before = 0.0

    def run(self, certify: Certifier | None) -> RunSummary:
        store = self.bench.store
        store.discard_open()
        recorded = store.attempts()
        self._before = sum(a.seconds for a in recorded) / self._workers
        with Interrupt() as interrupt:
            store.event("resume" if recorded else "start", len(recorded), self.settings.to_json())
            for k0 in recorded[:1]:
                self.bench.learn(k0)
            self.bench.require_k0()
            self._tell("start")
            reason = self._at_bound() if len(recorded) <= 1 else ""
            reason = reason or self.go(Pipeline(self.bench, self._executor, recorded[1:]), interrupt)
            store.discard_open()
            trimmer = Trimmer(self.bench, lambda: self._may_trim(interrupt), lambda a: self._tell("trim", a))
            result = trimmer.trim()
            shares = [asdict(share) for share in trimmer.shares(result)]
            keep_patterns(self.bench)
            summary = write_result(
                self.bench, result.node, reason, interrupt.wanted, self._elapsed(), certify, self._cost
            )
            cost = asdict(self._cost) if self._cost else None
            facts = {"reason": reason, "result": result.node.ordinal, "shares": shares, "cost": cost}
            store.event("stop", self.state.next_ordinal - 1, facts)
        self._tell("stop", reason=reason)
        return summary

    def _at_bound(self) -> str:
        """Why nothing is to be won with K0; empty when something may be, or nobody knows."""
        room = self.bench.timed(0).room
        if room is None or room >= AT_BOUND:
            return ""
        return f"K0 is at its bound: what memory and the matrix pipe need leaves {100 * room:.2f} % of its time"

    def go(self, pipeline: Pipeline, interrupt: Interrupt) -> str:
        """Search until there is a reason to end. What was under way when one came up is finished, but for a signal or
        the end of the time."""
        while True:
            reason, stalled = self._ended(pipeline), self._stalled(pipeline)
            if pipeline.drained and (reason == DRY or (stalled and not reason)):
                if self._hand_over(pipeline, interrupt):
                    continue
                stalled = False  # it has nothing to do
                if reason and self._cost and self._cost.refusal:
                    reason = f"{reason}: {self._cost.refusal}"
            if not reason and not stalled:
                pipeline.fill()
            elif reason and pipeline.empty:
                return reason
            learned = pipeline.step(lambda: bool(interrupt.wanted or self._late()))
            if interrupt.wanted and not pipeline.replaying:
                return "interrupted"
            self._record_redirects()
            if learned is not None and not learned[2]:
                attempt, commit, _ = learned
                self._tell("commit" if commit else "attempt", attempt)

    def _stalled(self, pipeline: Pipeline) -> bool:
        """So many attempts of the strategies without a commit, since the last turn too, that it is the driver's."""
        driver = self._driver
        alone = min(self.state.quiet, self.state.next_ordinal - self._handed)
        return driver is not None and ((driver.under_way and not pipeline.replaying_slots) or alone >= driver.patience)

    def _hand_over(self, pipeline: Pipeline, interrupt: Interrupt) -> bool:
        """Give the driver a turn, or find that it had it; whether it took one."""
        if self._driver is None or self._gate is None:
            return False
        state, settings = self.state, self.settings
        pipeline.learn_others(self._turns[0] if self._turns else None)
        if self._turns and self._turns[0] < state.next_ordinal:
            self._handed = self._turns.pop(0) + 1
            return True
        taken = stopped = False
        before = self._driver.expense.refusal
        if not pipeline.replaying:
            hand = Hand(
                self.bench,
                self._gate,
                None if settings.attempts is None else settings.attempts - state.attempts,
                lambda: bool(interrupt.wanted or self._late()),
                lambda attempt, commit: self._tell("commit" if commit else "attempt", attempt),
            )
            taken = self._driver.turn(hand)
            stopped = hand.stop()
            pipeline.skip_ordinals()
        self._handed = state.next_ordinal
        refusal = self._driver.expense.refusal
        if refusal and refusal != before:
            self._tell("refusal", reason=refusal)
        if taken and not stopped:  # a turn that was stopped goes on when the run does
            self.bench.store.event(HANDOVER, state.next_ordinal - 1)
        return taken

    def _record_redirects(self) -> None:
        """Keep those that the store does not have: an earlier process may have been killed before it wrote one."""
        for redirect in self.state.redirects[self._redirects :]:
            facts = {key: value for key, value in asdict(redirect).items() if key != "ordinal"}
            self.bench.store.event(REDIRECT, redirect.ordinal, facts)
            self._redirects += 1

    def _late(self) -> bool:
        return self.settings.seconds is not None and self._elapsed() >= self.settings.seconds

    def _ended(self, pipeline: Pipeline) -> str:
        settings, state = self.settings, self.state
        if not pipeline.replaying:
            if settings.attempts is not None and state.attempts >= settings.attempts:
                return f"budget of {settings.attempts} attempts used"
            if self._late():
                return f"budget of {settings.seconds:g} seconds used"
        if state.quiet >= settings.stall:
            return f"no commit in {settings.stall} attempts"
        if all(island.dry for island in state.islands):
            return DRY
        return ""

    def _may_trim(self, interrupt: Interrupt) -> bool:
        """Trimming may go on: no signal, and not far beyond a budget in seconds."""
        seconds = self.settings.seconds
        return not interrupt.wanted and (seconds is None or self._elapsed() < TRIM_UNTIL * seconds)

    @property
    def _cost(self) -> Expense | None:
        return self._driver.expense if self._driver else None

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
                cost=self._cost,
                inexact=attempt is not None and attempt.inexact is not None,
            )
        )

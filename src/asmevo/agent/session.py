"""An agent's run: the same store, gate and lineage as a search, driven call by call from outside."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

from asmevo.agent.proposals import PROPOSAL, Proposed, proposals_of
from asmevo.agent.watched import Busy, WatchedGate, WatchedTimer
from asmevo.device import Device, ObjectiveTimer, objective_of
from asmevo.device.simulated import SimDevice
from asmevo.edit import Edit, from_json
from asmevo.launch import Launch
from asmevo.program import Program
from asmevo.program.loops import Loop, find_loops
from asmevo.search import (
    Built,
    Certifier,
    Examiner,
    Node,
    RunSummary,
    Settings,
    State,
    Workbench,
    anchor,
    bind_to_chip,
    build,
    certifier,
    gate_of,
    kernel_of,
    new_run,
    open_run,
    run_launches,
    write_result,
    write_summary,
)
from asmevo.store import Attempt, Commit, Store
from asmevo.strategies import Analyses, Analyst
from asmevo.timing import Profile, chip
from asmevo.verdict import AsmEvoError, Check, UsageError, Verdict, weakest

DRIVER = "agent"
"""Strategy name of attempts whose driver has no name of its own."""
NOTE, CHECK, START, RESUME, STOP = "note", "check", "start", "resume", "stop"
"""Kinds of the events that a session keeps in the store, besides `PROPOSAL`."""


class AgentSession:
    """Binds a run's store, K0, launches, device, gate and timer for one driver.

    Contract: everything an agent did is in the run folder before its result is told, so that a client or process that
    vanishes loses nothing but an evaluation under way, which `open` forgets. Nothing here lets a driver change the
    launches, settings of the gate or a verdict. One thread uses a session; `close` it, or use it as a context manager.
    """

    def __init__(
        self,
        bench: Workbench,
        gate: Examiner,
        launches: Sequence[Launch],
        *,
        driver: str = DRIVER,
        certify: Certifier | None = None,
        clock: Callable[[], float] = time.monotonic,
        busy: Busy | None = None,
    ) -> None:
        """`bench` knows all stored attempts already (see `Workbench.replay`) and has K0 admitted."""
        self.bench, self.launches, self.driver = bench, tuple(launches), driver
        self.store, self.state, self.k0 = bench.store, bench.state, bench.k0
        self.chip = chip(self.store.run.chip)
        self.proposals: dict[int, Proposed] = proposals_of(self.store.events())
        self.busy = busy or Busy()
        self._gate, self._certify, self._clock = gate, certify, clock
        self._began = clock()
        self._written = -1
        self._before = sum(attempt.seconds for attempt in self.store.attempts())
        best = self.state.best
        assert best, "K0 was admitted"
        self.base: Node = best
        """The admitted attempt that proposals edit."""
        self._profiles: dict[int, Profile | None] = {}
        self._analyses: tuple[int, Analyses] | None = None

    # making one

    @classmethod
    def start(
        cls,
        folder: Path,
        k0: bytes,
        launches: Sequence[Launch],
        device: Device,
        *,
        chip: str = "mi300x",
        settings: Settings | None = None,
        driver: str = DRIVER,
        clock: Callable[[], float] = time.monotonic,
    ) -> Self:
        """A new run in `folder`; K0 is put through the gate and timed.

        Raises `UsageError` when the folder holds a run, `InputError` or `UnsupportedError` when K0 itself is not
        admitted (then no run is left behind), `EnvironmentError_` from disk and device.
        """
        settings, fresh = settings or Settings(), not folder.exists()
        store = new_run(folder, k0, launches, chip, settings)
        try:
            return cls._over(store, launches, device, settings, driver, clock)
        except AsmEvoError:
            store.close()
            if fresh:
                shutil.rmtree(folder, ignore_errors=True)
            raise

    @classmethod
    def open(
        cls,
        folder: Path,
        device: Device,
        *,
        driver: str = DRIVER,
        clock: Callable[[], float] = time.monotonic,
    ) -> Self:
        """Go on with the run in `folder`, whoever began it; an evaluation that was under way is forgotten.

        Raises `InputError` for a folder without a run, `EnvironmentError_` while another process has it, and
        `UsageError` when its evidence rests on other tools, or its times on another device.
        """
        store = open_run(folder)
        try:
            settings = Settings.from_json(store.run.settings)
            return cls._over(store, run_launches(store), device, settings, driver, clock)
        except BaseException:
            store.close()
            raise

    @classmethod
    def _over(
        cls,
        store: Store,
        launches: Sequence[Launch],
        device: Device,
        settings: Settings,
        driver: str,
        clock: Callable[[], float],
    ) -> Self:
        bind_to_chip(store, device)
        kernel = kernel_of(launches)
        gate = gate_of(store, launches, device)
        gate.baseline()  # a launch that does not fit K0 is the caller's mistake, not missing evidence on a candidate
        busy = Busy()
        remembering = WatchedGate(gate, busy)
        objective = ObjectiveTimer(device, launches, kernel=kernel)
        anchor(objective, store)
        timer = WatchedTimer(objective, busy)
        bench = Workbench(store, remembering, timer, State(settings), clock, kernel)
        known = bench.replay()
        bench.require_k0()
        session = cls(bench, remembering, launches, driver=driver, certify=certifier(gate), clock=clock, busy=busy)
        store.event(RESUME if known else START, session.state.next_ordinal, {"driver": driver})
        return session

    def close(self) -> None:
        """Give up the store. The device is the caller's."""
        self._profiler.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # where it stands

    @property
    def program(self) -> Program:
        """The program that proposals edit."""
        return self.bench.program(self.base.ordinal)

    def work_on(self, ordinal: int) -> None:
        """Make an admitted attempt the base of further proposals. Raises `UsageError` for one that is not."""
        if ordinal not in self.state.times:
            raise UsageError(f"Attempt {ordinal} was not admitted, so nothing can be built on it; see `attempts`.")
        self.base = Node(ordinal, self.state.times[ordinal])

    @property
    def analyses(self) -> Analyses:
        """Analyses of the base's program."""
        if self._analyses is None or self._analyses[0] != self.base.ordinal:
            self._analyses = (self.base.ordinal, Analyses(self.program, self._analyst))
        return self._analyses[1]

    @property
    def loops(self) -> tuple[Loop, ...]:
        """Loops of the base's program."""
        return self.analyses.remember("agent loops", lambda: find_loops(self.program))

    @cached_property
    def _analyst(self) -> Analyst:
        return Analyst(self.k0, self.chip, self.bench.timed(0).bytes_per_clk)

    @property
    def heat(self) -> dict[int, float]:
        """Line id of the base's program to its share of the time."""
        return dict(self.bench.timed(self.base.ordinal).heat)

    @property
    def profile(self) -> Profile | None:
        """Modelled profile of the base on its costliest objective launch; None without launches.

        It runs in this process, since the base was admitted. Raises `UnsupportedError` where the model does not know
        the target or an instruction.
        """
        ordinal = self.base.ordinal
        if ordinal not in self._profiles:
            self._profiles = {k: self._profiles[k] for k in self._profiles if k == 0} | {ordinal: self._profiled()}
        return self._profiles[ordinal]

    def _profiled(self) -> Profile | None:
        data, kernel = self.bench.object(self.base.ordinal), kernel_of(self.launches)
        module = self._profiler.load(data, kernel)
        found = [(one, self._profiler.profile(module, one)) for one in objective_of(self.launches)]
        return max(found, key=lambda f: f[0].weight * f[1].estimate.microseconds, default=(None, None))[1]

    @cached_property
    def _profiler(self) -> SimDevice:
        return SimDevice(self.chip.name)

    # candidates

    def propose(self, proposed: Proposed) -> int:
        """Keep a proposal; returns its number, by which it is checked and evaluated."""
        number = 1 + max(self.proposals, default=0)
        self.store.event(PROPOSAL, self.state.next_ordinal, {"number": number, **proposed.to_json()})
        self.proposals[number] = proposed
        return number

    def built(self, proposed: Proposed) -> Built:
        """The candidate of a proposal: applied to its base and rebuilt."""
        return build(self.bench.program(proposed.base), [from_json(dict(edit)) for edit in proposed.edits])

    def rebuilt(self, attempt: Attempt) -> Built:
        """The candidate of an attempt again, admitted or not."""
        return build(self.k0, self.bench.edits(attempt))

    def known(self, candidate: str) -> Attempt | None:
        """The attempt that had this object, by its SHA-256."""
        if not candidate or candidate not in self.state.candidates:
            return None
        return next(a for a in self.store.attempts() if a.candidate == candidate)

    def check(self, proposed: Proposed, built: Built) -> tuple[Verdict, tuple[Check, ...]]:
        """What the gate says of a candidate, which is neither timed nor stored as an attempt."""
        if built.failure:
            checks: tuple[Check, ...] = (built.failure,)
        else:
            checks = tuple(self._gate.examine(built.data, self.k0, self.all_edits(proposed)).checks)
        verdict = weakest(check.verdict for check in checks)
        facts = {"candidate": built.sha256, "verdict": verdict.value, "driver": self.driver}
        self.store.event(CHECK, self.state.next_ordinal, facts)
        return verdict, checks

    def evaluate(self, proposed: Proposed, built: Built) -> tuple[Attempt, Commit | None]:
        """Put a candidate through gate and timer as an attempt. A commit becomes the base."""
        attempt = Attempt(
            ordinal=self.state.next_ordinal,
            parent=proposed.base,
            strategy=proposed.strategy or self.driver,
            note=proposed.note,
            edits=proposed.edits,
            candidate=built.sha256,
            block=proposed.block,
            window=proposed.window,
        )
        done, commit = self.bench.examine(attempt, built)
        if commit:
            self.base = Node(done.ordinal, commit.microseconds)
        return done, commit

    def all_edits(self, proposed: Proposed) -> tuple[Edit, ...]:
        """All edits from K0 to a proposal's candidate."""
        before = (edit for step in self.store.chain(proposed.base) for edit in step.edits)
        return tuple(from_json(dict(edit)) for edit in (*before, *proposed.edits))

    # notes

    def note(self, text: str) -> None:
        """Keep a note in the run."""
        self.store.event(NOTE, self.state.next_ordinal, {"text": text, "driver": self.driver})

    def notes(self) -> tuple[str, ...]:
        """All notes of the run, oldest first."""
        return tuple(str(event.facts["text"]) for event in self.store.events() if event.kind == NOTE)

    # the end

    @property
    def is_written(self) -> bool:
        """Whether the best of this moment is what this session last wrote, or is K0."""
        return self.state.best is None or self.state.best.ordinal in (0, self._written)

    def finish(self, reason: str) -> RunSummary:
        """Write the best candidate with its certificate, and the summary, into the run folder. May be called again."""
        best = self.state.best
        assert best
        seconds = self._before + self._clock() - self._began
        summary = write_result(self.bench, best, reason, False, seconds, self._certify)
        self.store.event(STOP, self.state.next_ordinal - 1, {"reason": reason, "result": best.ordinal})
        write_summary(summary)
        self._written = best.ordinal
        return summary

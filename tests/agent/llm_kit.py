"""Runs of scripted models over the fakes of the search: real HTTP, real tools, and a gate that costs nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asmevo.agent.llm import LlmConfig, LlmDriver, Models, Report
from asmevo.agent.llm.answers import Asked, Outcome
from asmevo.agent.llm.driver import NAME
from asmevo.search import Progress, RunSummary, Settings, optimize, silent
from asmevo.store import Attempt, Status, Store
from tests.search.fakes_search import ALL, FakeGate, FakeTimer, new_store

SETTINGS = Settings(seed=5, attempts=16, islands=1, ahead=1, patience=10, stall=60, trims=0, strategies=("swap",))


@dataclass(frozen=True)
class Ran:
    """What became of a run."""

    folder: Path
    summary: RunSummary
    report: Report
    gate: FakeGate

    @property
    def attempts(self) -> list[Attempt]:
        with Store.open(self.folder, time.time) as store:
            return store.attempts()

    @property
    def lineage(self) -> list[tuple[Any, ...]]:
        """All that two equal runs have in common."""
        return [(a.ordinal, a.parent, a.strategy, a.note, a.edits, a.candidate, a.verdict) for a in self.attempts]


class Canned:
    """Answers without a server: functions of the request, so that drivers can be tested without HTTP."""

    def __init__(self, answer: Callable[[Asked], Outcome]) -> None:
        self.answer, self.asked = answer, list[Asked]()

    def ask(self, asked: Sequence[Asked]) -> list[Outcome]:
        self.asked += asked
        return [self.answer(one) for one in asked]

    def close(self) -> None:
        """Nothing is open."""


def run_fake(
    folder: Path,
    models: Models | tuple[LlmConfig, Canned],
    settings: Settings = SETTINGS,
    *,
    lenient: bool = False,
    progress: Progress = silent,
) -> Ran:
    """A new run in `folder`, or more of the one that is there."""
    store = (
        Store.open(folder, time.time, write=True) if (folder / "run.sqlite").exists() else new_store(folder, settings)
    )
    with store:
        gate = FakeGate(store.blobs.get(store.run.k0), lenient=lenient)
        gate.admitted = {a.candidate for a in store.attempts() if a.status is Status.ADMITTED}
        if isinstance(models, Models):
            driver = models(folder, (), settings.seed)
        else:
            config, answers = models
            driver = LlmDriver(folder, config, (), settings.seed, lambda stop: answers)
        summary = optimize(
            store, gate, FakeTimer(gate), clock=time.monotonic, settings=settings,
            strategies={name: ALL[name] for name in settings.strategies}, driver=driver, progress=progress,
        )  # fmt: skip
        report = driver.report()
        driver.close()
    return Ran(folder, summary, report, gate)


def llm_folder(folder: Path) -> Path:
    return folder / NAME

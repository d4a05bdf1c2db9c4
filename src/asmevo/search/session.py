"""A run put together: its folder, a device, the gate, the timer; to start one, and to go on with one."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

from asmevo.device import Device, ObjectiveTimer
from asmevo.edit import from_json
from asmevo.gate import Gate, canonical, tools
from asmevo.launch import Launch, data_folders, laden, portable
from asmevo.search.bound import anchor, bind_to_chip
from asmevo.search.cluster import GPU_ALONE, Ray, require_cluster
from asmevo.search.draft import Drafter
from asmevo.search.executor import Executor, Processes
from asmevo.search.gating import gate_of
from asmevo.search.handover import Driver
from asmevo.search.launches import kernel_of, run_launches
from asmevo.search.optimize import optimize
from asmevo.search.protocols import Progress, silent
from asmevo.search.result import Certifier
from asmevo.search.settings import Settings
from asmevo.search.summary import RunSummary
from asmevo.search.worker import TARGET, station
from asmevo.store import Attempt, Run, Store, write_atomic
from asmevo.strategies import Strategy, strategies_named
from asmevo.timing import chip as timing_chip
from asmevo.verdict import AsmEvoError, UnsupportedError, UsageError

MakeDriver: TypeAlias = Callable[[Path, Sequence[Launch], int], Driver]
"""Makes the driver of a run from its folder, launches and seed, when the folder is there and nobody else writes it."""
SUMMARY = "summary.json"
"""What a run found, in its folder: times with their source, chip and clock."""


def start(
    folder: Path,
    k0: bytes,
    launches: Sequence[Launch],
    device: Device,
    *,
    chip: str,
    settings: Settings | None = None,
    progress: Progress = silent,
    driver: MakeDriver | None = None,
    workers: int | None = 1,
    cluster: str | None = None,
    strategies: Mapping[str, Strategy] | None = None,
) -> RunSummary:
    """Search for a faster candidate of `k0` in a new run folder.

    With more than one of `workers`, candidates are examined by so many processes, each with a simulator of its own;
    None is one a core. With the address of a Ray `cluster` (see `asmevo.search.cluster`) they are on its nodes.
    `strategies`, where given, stay in this process.

    Raises `UsageError` when the folder holds a run already and for a GPU with a cluster, and what `optimize` raises.
    """
    settings = settings or Settings()
    strategies_named(settings.strategies)
    fresh = not folder.exists()
    try:
        with new_run(folder, k0, launches, chip, settings) as store:
            return _search(store, launches, device, settings, progress, driver, workers, cluster, strategies)
    except AsmEvoError:
        if fresh and not _begun(folder):
            shutil.rmtree(folder, ignore_errors=True)
        raise


def new_run(folder: Path, k0: bytes, launches: Sequence[Launch], chip: str, settings: Settings) -> Store:
    """The store of a new run in `folder`. Raises `UsageError` when the folder holds a run already."""
    kept = canonical(
        [{"folders": [str(f) for f in data_folders(launch)], "launch": portable(launch)} for launch in launches]
    )
    run = Run(
        k0=sha256(k0).hexdigest(),
        launches=sha256(kept).hexdigest(),
        seed=settings.seed,
        chip=chip,
        settings=settings.to_json(),
        versions=tools(),
    )
    return Store.create(folder, run, (k0, kept), time.time)


def open_run(folder: Path) -> Store:
    """The store of a run, to go on with it. Raises `UsageError` when its evidence rests on other tools than these."""
    store = Store.open(folder, time.time, write=True)
    was, now = store.run.versions, tools()
    if changed := [f"{name} {was.get(name)} then, {now[name]} now" for name in now if was.get(name) != now[name]]:
        store.close()
        message = f"The run rests on other tools ({', '.join(changed)}); install those, or start a new run."
        raise UsageError(message)
    return store


def _begun(folder: Path) -> bool:
    """Whether a run got past its baseline, so that there is something to go on with."""
    try:
        with Store.open(folder, time.time) as store:
            return any(attempt.verdict.admitted for attempt in store.attempts())
    except AsmEvoError:
        return False


def resume(
    folder: Path,
    device: Device,
    settings: Settings,
    *,
    progress: Progress = silent,
    driver: MakeDriver | None = None,
    workers: int | None = 1,
    cluster: str | None = None,
    strategies: Mapping[str, Strategy] | None = None,
) -> RunSummary:
    """Go on with an interrupted or killed run; of the settings only the budgets may differ from the run's.

    Raises `UsageError` when the tools are not those whose evidence the run holds.
    """
    with open_run(folder) as store:
        launches = run_launches(store)
        return _search(store, launches, device, settings, progress, driver, workers, cluster, strategies)


def run_settings(folder: Path, attempts: int | None = None, seconds: float | None = None) -> tuple[str, Settings]:
    """Chip and settings of a run, with new budgets where either is given."""
    with Store.open(folder, time.time) as store:
        return store.run.chip, Settings.from_json(store.run.settings).with_budgets(attempts, seconds)


def certifier(gate: Gate) -> Certifier:
    """Examines a result once more for its certificate, so that it speaks of these bytes and of nothing remembered."""

    def certify(candidate: bytes, attempt: Attempt, edits: tuple[Mapping[str, Any], ...]) -> dict[str, Any]:
        known = [from_json(dict(edit)) for edit in edits]
        report = gate.examine(candidate, edits=known)
        if refused := report.refused_by:
            raise UnsupportedError(
                f"The best candidate was not admitted a second time ({refused.name}: {refused.verdict}), so nothing "
                f"was written; look at attempt {attempt.ordinal} and run `asmevo resume` again."
            )
        return gate.certificate(candidate, known, report)

    return certify


def _search(
    store: Store,
    launches: Sequence[Launch],
    device: Device,
    settings: Settings,
    progress: Progress,
    driver: MakeDriver | None,
    workers: int | None,
    cluster: str | None,
    strategies: Mapping[str, Strategy] | None,
) -> RunSummary:
    if cluster is not None:
        if device.source == "measured":
            raise UsageError(GPU_ALONE)
        require_cluster(cluster)
    bind_to_chip(store, device)
    kernel = kernel_of(launches)
    gate = gate_of(store, launches, device)
    gate.baseline()  # a launch that does not fit K0 is the caller's mistake, not missing evidence on a candidate
    timer = ObjectiveTimer(device, launches, kernel=kernel)
    anchor(timer, store)
    here = None if strategies is None else Drafter(gate.program, timing_chip(store.run.chip), timer.time, strategies)
    executor, workers = _executor(store, launches, device, settings, workers, cluster, here)
    with executor or nullcontext():
        summary = optimize(
            store,
            gate,
            timer,
            clock=time.monotonic,
            settings=settings,
            kernel=kernel,
            progress=progress,
            certify=certifier(gate),
            strategies=strategies,
            driver=None if driver is None else driver(store.folder, launches, settings.seed),
            executor=executor,
            workers=workers,
        )
    write_summary(summary)
    return summary


def _executor(
    store: Store,
    launches: Sequence[Launch],
    device: Device,
    settings: Settings,
    workers: int | None,
    cluster: str | None,
    drafter: Drafter | None,
) -> tuple[Executor | None, int]:
    """Who examines candidates, None for this process, and how many they are."""
    most = min(settings.ahead, settings.attempts or settings.ahead)
    if cluster is not None:
        whole = [laden(launch) for launch in launches]
        make = partial(station, store.run, store.blobs.get(store.run.k0), whole)
        ray = Ray(make, cluster, workers, most, drafter)
        return ray, ray.count
    if device.source == "measured":
        return None, 1  # a GPU is timed by one process at a time
    workers = min(workers or len(os.sched_getaffinity(0)), most)
    if workers == 1:
        return None, 1
    return Processes(f"{TARGET}:{store.folder.resolve()}", workers, drafter), workers


def write_summary(summary: RunSummary) -> None:
    """Write what a run found into its folder."""
    model = timing_chip(summary.chip)
    facts = summary.to_json() | {"clock_ghz": model.clock_ghz, "clock_status": model.clock_status}
    write_atomic(summary.folder / SUMMARY, json.dumps(facts, indent=1, sort_keys=True).encode() + b"\n")

"""Making a recorded run again from its record: every decision and every object, with no gate asked."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from asmevo.device import Device, ObjectiveTimer
from asmevo.edit import from_json
from asmevo.search.building import build
from asmevo.search.draft import Drafter
from asmevo.search.fork import fork
from asmevo.search.gating import gate_of
from asmevo.search.handover import HANDOVER
from asmevo.search.launches import kernel_of, run_launches
from asmevo.search.optimize import follow
from asmevo.search.state import State
from asmevo.search.workbench import Workbench
from asmevo.store import Store
from asmevo.strategies import Strategy, strategies_named
from asmevo.timing import chip


@dataclass(frozen=True, slots=True)
class Replayed:
    """How far a run came out the same when it was made again."""

    attempts: int
    """Attempts that were drawn again and came out the same, bit for bit."""
    rebuilt: int
    """Objects that were built again from K0 and their edits, with the hash they had."""
    left_out: int
    """Attempts that nobody can draw again: those of a driver, what followed its turns, and trims."""
    difference: str = ""
    """The first difference; empty when there is none."""


def replay(folder: Path, device: Device, strategies: Mapping[str, Strategy] | None = None) -> Replayed:
    """Make the run in `folder` again, beside it, and compare.

    Objects are built again and proposals are drawn again; what gate and device said of a candidate is taken from the
    record. The timing model is asked where the time goes in what was built on, so no GPU and no network is needed, but
    tools as they were. Raises what `Store.open` raises.
    """
    with Store.open(folder, time.time) as store:
        attempts = store.attempts()
        launches = run_launches(store)
        kernel = kernel_of(launches)
        gate = gate_of(store, launches, device)
        for attempt in attempts:
            edits = [from_json(edit) for step in store.chain(attempt.ordinal) for edit in step.edits]
            made = build(gate.program, edits).sha256 if edits else store.run.k0
            if made != attempt.candidate:
                return Replayed(0, attempt.ordinal, 0, f"attempt {attempt.ordinal} builds another object")
        turns = [event.ordinal for event in store.events() if event.kind == HANDOVER]
        drawn = [a.ordinal for a in attempts if a.slot is not None]
    others = {a.ordinal for a in attempts[1:] if a.slot is None}
    until = min(others, default=len(attempts)) if turns else len(attempts)
    counted = [ordinal for ordinal in drawn if ordinal < until]
    if not counted:
        return Replayed(0, len(attempts), len(attempts) - 1)
    with tempfile.TemporaryDirectory() as temporary:
        beside = Path(temporary) / "run"
        settings = replace(fork(folder, counted[-1], beside), attempts=len(counted), seconds=None)
        with Store.open(beside, time.time, write=True) as copy:
            timer = ObjectiveTimer(device, launches, kernel=kernel)
            bench = Workbench(copy, gate, timer, State(settings), lambda: 0.0, kernel)
            chosen = strategies_named(settings.strategies) if strategies is None else strategies
            drafter = Drafter(gate.program, chip(copy.run.chip), bench.examination.time, chosen)
            checked, difference = follow(bench, drafter)
            if not difference and copy.commits() != bench.state.commits:
                difference = "other attempts become commits"
    return Replayed(checked, len(attempts), len(attempts) - 1 - len(counted), difference)

"""Records to database rows and back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from asmevo.store.records import Attempt, Json, Run, Status
from asmevo.verdict import InputError, Verdict


def run_row(run: Run) -> dict[str, Any]:
    return {
        "k0": run.k0,
        "launches": run.launches,
        "seed": run.seed,
        "chip": run.chip,
        "settings": dump(run.settings),
        "versions": dump(run.versions),
    }


def run_of(row: sqlite3.Row, path: Path) -> Run:
    settings, versions = load(row["settings"], path), load(row["versions"], path)
    return Run(row["k0"], row["launches"], row["seed"], row["chip"], settings, versions)


def attempt_row(attempt: Attempt) -> dict[str, Any]:
    first, last = attempt.window or (None, None)
    return {
        "ordinal": attempt.ordinal,
        "parent": attempt.parent,
        "island": attempt.island,
        "strategy": attempt.strategy,
        "note": attempt.note,
        "slot": attempt.slot,
        "block": attempt.block,
        "window_first": first,
        "window_last": last,
        "edits": dump(attempt.edits),
        "candidate": attempt.candidate,
        "draws": dump(attempt.draws),
        "status": attempt.status.value,
        "verdict": attempt.verdict.value,
        "checks": dump(attempt.checks),
        "microseconds": attempt.microseconds,
        "source": attempt.source,
        "comparison": None if attempt.comparison is None else dump(attempt.comparison),
        "behaviour": dump(attempt.behaviour),
        "seconds": attempt.seconds,
    }


def attempt_of(row: sqlite3.Row, path: Path) -> Attempt:
    return Attempt(
        ordinal=row["ordinal"],
        parent=row["parent"],
        strategy=row["strategy"],
        note=row["note"],
        edits=tuple(load(row["edits"], path)),
        candidate=row["candidate"],
        island=row["island"],
        slot=row["slot"],
        block=row["block"],
        window=None if row["window_first"] is None else (row["window_first"], row["window_last"]),
        draws=tuple(load(row["draws"], path)),
        status=Status(row["status"]),
        verdict=Verdict(row["verdict"]),
        checks=tuple(load(row["checks"], path)),
        microseconds=row["microseconds"],
        source=row["source"],
        comparison=None if row["comparison"] is None else load(row["comparison"], path),
        behaviour=load(row["behaviour"], path),
        seconds=row["seconds"],
    )


def dump(value: Mapping[str, Any] | tuple[Json, ...]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def load(text: str, path: Path) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{path} holds text that is no JSON ({error}); restore it from a copy.") from error

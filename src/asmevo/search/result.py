"""Writing what a run found: the object and its certificate, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from asmevo.search.expense import Expense
from asmevo.search.node import Node
from asmevo.search.state import TRIM
from asmevo.search.summary import RunSummary
from asmevo.search.workbench import Workbench
from asmevo.store import Attempt, write_atomic

OBJECT, CERTIFICATE = "best.co", "certificate.json"


class Certifier(Protocol):
    """Makes the certificate of an admitted candidate; the gate package has the real one."""

    def __call__(self, candidate: bytes, attempt: Attempt, edits: tuple[Mapping[str, Any], ...]) -> dict[str, Any]:
        """JSON that binds the hashes of K0 and `candidate`, all edits over K0, the attempt's checks and its times."""
        ...


def write_result(
    bench: Workbench,
    result: Node,
    reason: str,
    interrupted: bool,
    seconds: float,
    certify: Certifier | None,
    cost: Expense | None = None,
) -> RunSummary:
    """Write `best.co` and `certificate.json` into the run folder when the result is faster than K0, and sum up.

    Raises `EnvironmentError_` on a full disk; then the files are as they were.
    """
    store, state = bench.store, bench.state
    assert state.k0
    attempt = store.attempt(result.ordinal)
    files: dict[str, Path] = {}
    candidate = bench.object(result.ordinal)
    edits = tuple(edit for step in store.chain(result.ordinal) for edit in step.edits)
    if result.microseconds < state.k0.microseconds:
        certificate = certify(candidate, attempt, edits) if certify else None
        files["object"] = store.folder / OBJECT
        write_atomic(files["object"], candidate)
        if certificate:
            files["certificate"] = store.folder / CERTIFICATE
            write_atomic(files["certificate"], json.dumps(certificate, indent=1, sort_keys=True).encode() + b"\n")
    return RunSummary(
        folder=store.folder,
        chip=store.run.chip,
        source=bench.source,
        k0_microseconds=state.k0.microseconds,
        best_microseconds=result.microseconds,
        k0_sha256=store.run.k0,
        best_sha256=attempt.candidate,
        best_ordinal=result.ordinal,
        verdict=attempt.verdict,
        edits=len(edits),
        attempts=state.attempts,
        trims=sum(a.strategy == TRIM for a in store.attempts()),
        commits=len(state.commits),
        verdicts=dict(state.verdicts),
        reason=reason,
        interrupted=interrupted,
        seconds=seconds,
        files=files,
        cost=cost,
        inexact=attempt.inexact,
    )

"""The whole check again in a fresh process, from bytes alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection

from asmevo.device import IsolatedDevice
from asmevo.device.process import Lost, Worker
from asmevo.edit import Edit, from_json
from asmevo.gate.gate import Gate
from asmevo.gate.report import Report
from asmevo.launch import Launch
from asmevo.verdict import AsmEvoError, Check, Finding, Severity, Verdict

SECONDS = 3600.0
"""Wall time until a verification counts as lost."""


@dataclass(frozen=True, slots=True)
class Verification:
    """What a fresh process found."""

    report: Report
    certificate: dict[str, object] | None
    """None when the process was lost."""


def verify(
    k0: bytes,
    candidate: bytes,
    launches: Sequence[Launch],
    edits: Sequence[Edit] | None = None,
    kernel: str | None = None,
    seconds: float = SECONDS,
    inexact: float | None = None,
) -> Verification:
    """Examine a candidate in a new process, with a new device and nothing remembered.

    Without `edits` the changes are found by comparing the two programs. `inexact` is that of `Gate`. Raises the
    `AsmEvoError` that the process met; a process that was lost is UNKNOWN.
    """
    worker = Worker("asmevo.gate.verify:serve")
    try:
        known = None if edits is None else [e.to_json() for e in edits]
        worker.send((k0, candidate, tuple(launches), known, kernel, inexact))
        answer = worker.receive(seconds)
    except Lost as lost:
        finding = Finding("verify.lost", f"The verification was lost. {lost}", Severity.WARNING)
        return Verification(Report((Check("verify", Verdict.UNKNOWN, (finding,)),)), None)
    finally:
        worker.stop()
    if isinstance(answer, AsmEvoError):
        raise answer
    assert isinstance(answer, Verification)
    return answer


def serve(connection: Connection) -> None:
    """Entry of the process: one request, one answer."""
    k0, candidate, launches, edits, kernel, inexact = connection.recv()
    try:
        with IsolatedDevice() as device:
            gate = Gate(k0, launches, device, kernel=kernel, inexact=inexact)
            known = None if edits is None else [from_json(e) for e in edits]
            report = gate.examine(candidate, edits=known)
            connection.send(Verification(report, gate.certificate(candidate, known or (), report)))
    except AsmEvoError as error:
        connection.send(error)

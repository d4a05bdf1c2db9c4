"""The gate: decides whether a candidate behaves like K0. Speed is no business of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from asmevo.codeobject import CodeObject
from asmevo.device import Device, RunLimits
from asmevo.edit import Edit
from asmevo.gate.baseline import Baseline
from asmevo.gate.candidate import bind
from asmevo.gate.certificate import certificate
from asmevo.gate.checked import CheckedStage
from asmevo.gate.coverage import coverage
from asmevo.gate.differential import BYTES, differential
from asmevo.gate.influence import InfluenceStage
from asmevo.gate.leeway import Leeway
from asmevo.gate.moving import BYTES as MOVED_BYTES
from asmevo.gate.moving import MovedStage
from asmevo.gate.proof import ProofStage
from asmevo.gate.report import Report
from asmevo.gate.resources import resources
from asmevo.gate.static import StaticBaseline, discharge
from asmevo.launch import Launch
from asmevo.program import Program, recover
from asmevo.verdict import Check, Finding, Severity, UnsupportedError, UsageError, Verdict


class Gate:
    """Examines candidates of one K0 on one set of launches.

    Stages run in this order and stop at the first that refuses: `rebuild` (the bytes are K0 with these edits, and
    nothing else changed), `resources`, `static`, `proof` (cheap, and it says what launches may not be trusted to show),
    `baseline` (K0 against itself, once), `differential`, `coverage`, `influence` (some launch shows what each changed
    line computes), `checked` (a few workgroups again, for what is late, racy, unwritten or out of bounds; where the
    device can check). What is not proved must leave K0's memory also when approximations that it meets are moved as far
    as hardware may be off (see `asmevo.gate.moving`), else it is UNKNOWN.
    Evidence that is missing is UNKNOWN: an opcode without a row, a device that was lost, a changed line that nothing
    executed. Verdicts depend on bytes and launches only, never on the order of candidates.

    With `inexact`, a candidate that nothing but results speaks against may be further from float64 than K0, by up to so
    many times; it is TESTED at most, and its check says so (see `asmevo.gate.leeway`). One with K0's results is
    examined as without.
    """

    def __init__(
        self,
        k0: bytes,
        launches: Sequence[Launch],
        device: Device,
        *,
        kernel: str | None = None,
        limits: RunLimits | None = None,
        inexact: float | None = None,
    ) -> None:
        if not launches:
            raise UsageError("The gate needs at least one launch; pass a launch file or folder.")
        self.k0 = CodeObject.parse(k0, "K0")
        self.program = recover(self.k0, kernel)
        self.launches = tuple(launches)
        self._kernel, self._device, self._limits = kernel, device, limits or RunLimits()
        self._static, self._proof = StaticBaseline(self.program), ProofStage(self.program)
        self._checked, self._influence = CheckedStage(self.program), InfluenceStage(self.program)
        self._moved = MovedStage(self.program)
        self._leeway = None if inexact is None else Leeway(self.program, self.launches, inexact)
        self._baseline: Baseline | Check | None = None

    def examine(self, candidate: bytes, k0: Program | None = None, edits: Sequence[Edit] | None = None) -> Report:
        """The report on a candidate. `edits` are all edits from K0; None matches lines by what they say.

        `k0` is accepted for callers that hold K0's program; it must be the one of this gate.
        """
        if k0 is not None and k0.source.data != self.k0.data:
            raise UsageError("This gate was made for another K0.")
        return Report(tuple(self._stages(candidate, edits)))

    def _stages(self, data: bytes, edits: Sequence[Edit] | None) -> list[Check]:
        candidate, check = bind(self.program, data, edits)
        checks = [check]
        if candidate is None:
            return checks
        checks.append(_resources(self.program, candidate.program))
        if not checks[-1].verdict.admitted:
            return checks
        static = self._static.check(candidate.program)
        if not static.verdict.admitted and not static.facts.get("unmatched_blocks"):
            return [*checks, static]
        check, proofs = self._proof.check(candidate.program)
        ahead = frozenset(line for proof in proofs for line in proof.ahead)
        static = discharge(static, frozenset(p.block for p in proofs if p.proved), ahead)
        checks.append(static)
        if not static.verdict.admitted:
            return checks
        checks.append(check)
        if not check.verdict.admitted:
            return checks
        baseline = self.baseline()
        checks.append(baseline if isinstance(baseline, Check) else baseline.check())
        if isinstance(baseline, Check) or not checks[-1].verdict.admitted:
            return checks
        influence = self._influence
        result = differential(candidate.obj, self._kernel, baseline, self._device)
        if result.check.verdict.admitted and check.verdict is not Verdict.PROVED:
            finding = self._moved.finding(candidate.program, self._kernel, baseline, self._device, proofs)
            if finding is not None:
                unknown = replace(result.check, verdict=Verdict.UNKNOWN, findings=(finding,))
                result = replace(result, check=unknown)
        other_results = any(finding.rule in (BYTES, MOVED_BYTES) for finding in result.check.findings)
        if self._leeway is not None and other_results and check.verdict is not Verdict.PROVED:
            influence = self._leeway.influence
            result = self._leeway.differential(candidate.obj, candidate.program, self._kernel, baseline, self._device)
        checks.append(result.check)
        if not result.check.verdict.admitted:
            return checks
        checks.append(coverage(self.program, candidate.program, result.executed, baseline.executed, proofs))
        if checks[-1].verdict.admitted:
            checks.append(influence.check(candidate.program, self._kernel, baseline, self._device, proofs))
        checked = self._checked.check(candidate.obj, candidate.program, self._kernel, baseline, self._device)
        return checks if checked is None else [*checks, checked]

    def baseline(self) -> Baseline | Check:
        """K0 on all launches, run when first asked for; a refusing check where K0 cannot be executed."""
        if self._baseline is None:
            try:
                module = self._device.load(self.k0.data, self._kernel)
                self._baseline = Baseline(self.k0, module, self.launches, self._device, self._limits)
            except UnsupportedError as error:
                self._baseline = _unknown("baseline", str(error))
        return self._baseline

    def certificate(self, candidate: bytes, edits: Sequence[Edit], report: Report) -> dict[str, Any]:
        """What was found, bound by hashes (see `asmevo.gate.certificate`)."""
        obj = CodeObject.parse(candidate, "the candidate")
        return certificate(self.k0, obj, edits, self.launches, report, self._device.describe(), self._kernel)


def _resources(k0: Program, candidate: Program) -> Check:
    try:
        return resources(k0, candidate)
    except UnsupportedError as error:
        return _unknown("resources", str(error))


def _unknown(name: str, message: str) -> Check:
    return Check(name, Verdict.UNKNOWN, (Finding(f"{name}.unknown", message, Severity.WARNING),))

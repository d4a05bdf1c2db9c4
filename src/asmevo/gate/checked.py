"""Checked execution of a candidate: nothing late, racy, unwritten or out of bounds that K0 does not have, too.

Production kernels are not free of such things (loads ahead of the end of a buffer, results of prefetches that nobody
waits for); K0's own findings on the same launches say which.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from asmevo.codeobject import CodeObject
from asmevo.device import Device, Module, Outcome
from asmevo.gate.baseline import SHOWN, Baseline, LaunchBaseline
from asmevo.launch import Launch
from asmevo.program import Program
from asmevo.verdict import Check, Finding, Severity, UnsupportedError, Verdict

NAME = "checked"
WORKGROUPS = 4
"""Most workgroups of a launch that are run, spread over the grid."""
SLOWER = 20
"""A checked run may take this many times as long."""


def chosen(launch: Launch) -> tuple[int, ...]:
    """Numbers of the workgroups that are run: of those the gate executes, the first, the last and some between."""
    numbers = launch.sampled() or range(launch.workgroups)
    last = len(numbers) - 1
    return tuple(sorted({numbers[round(i * last / (WORKGROUPS - 1))] for i in range(WORKGROUPS)}))


@dataclass(frozen=True, slots=True)
class _Known:
    """What K0 does on one launch."""

    exact: frozenset[tuple[str, int | None]]
    """(rule, line) of its findings."""
    partners: frozenset[tuple[str, int | None]]
    """(rule, line) of either access of a pair that nothing orders."""
    texts: frozenset[tuple[str, str]]
    """(rule, instruction) of its findings: an edit may copy a line."""

    def has(self, finding: Finding, text: str) -> bool:
        """Whether K0 has a finding like this."""
        pair = {finding.line, finding.facts.get("earlier")}
        both = {(finding.rule, line) for line in pair}
        alike = finding.rule not in ("check.raw", "check.waw")
        ordered = finding.rule in ("check.lds_race", "check.lds_pending") and both <= self.partners
        return (finding.rule, finding.line) in self.exact or ordered or (alike and (finding.rule, text) in self.texts)


class CheckedStage:
    """Runs candidates under checks and compares with K0, whose findings are kept."""

    def __init__(self, k0: Program) -> None:
        self._k0 = k0
        self._known: dict[str, _Known | Finding | None] = {}

    def check(
        self, candidate: CodeObject, program: Program, kernel: str | None, baseline: Baseline, device: Device
    ) -> Check | None:
        """The check of a candidate; None where the device cannot check. REFUTED by a finding that K0 does not have."""
        launches = [b for b in baseline.usable if not b.launch.objective] or list(baseline.usable)
        facts: dict[str, object] = {"launches": {b.launch.name: list(chosen(b.launch)) for b in launches}}
        try:
            module, own = device.load(candidate.data, kernel), device.load(self._k0.source.data, kernel)
        except UnsupportedError as error:
            return _unknown(str(error), facts)
        for known in launches:
            reference = self._reference(own, known, device)
            if reference is None:
                return None
            if isinstance(reference, Finding):
                return Check(NAME, Verdict.UNKNOWN, (reference,), facts)
            outcome = _run(module, known, device)
            if not outcome.done:
                return _ended(outcome, known, facts)
            new = tuple(_new(self._k0, program, outcome.findings or (), reference, known.launch))
            if new:
                return Check(NAME, Verdict.REFUTED, new, facts)
        facts["findings_of_k0"] = sum(len(k.exact) for k in self._known.values() if isinstance(k, _Known))
        return Check(NAME, Verdict.TESTED, (), facts)

    def _reference(self, module: Module, known: LaunchBaseline, device: Device) -> _Known | Finding | None:
        """K0's findings; None where the device does not check; a finding where K0 gives no evidence."""
        name = known.launch.name
        if name not in self._known:
            self._known[name] = self._examine(module, known, device)
        return self._known[name]

    def _examine(self, module: Module, known: LaunchBaseline, device: Device) -> _Known | Finding | None:
        outcome = _run(module, known, device)
        if not outcome.done:
            return _lost(outcome, known, "K0")
        if outcome.findings is None:
            return None
        exact: set[tuple[str, int | None]] = set()
        partners: set[tuple[str, int | None]] = set()
        texts: set[tuple[str, str]] = set()
        for finding in outcome.findings:
            assert finding.line is not None
            exact.add((finding.rule, finding.line))
            partners |= {(finding.rule, finding.line), (finding.rule, finding.facts.get("earlier"))}
            texts.add((finding.rule, self._k0.lines[finding.line].instruction.text))
        return _Known(frozenset(exact), frozenset(partners), frozenset(texts))


def _run(module: Module, known: LaunchBaseline, device: Device) -> Outcome:
    """One checked run of a few workgroups, on memory as it was before the launch."""
    track = known.tracks[0]
    limits = replace(known.limits, seconds=SLOWER * known.limits.seconds, checked=True)
    try:
        workgroups = chosen(known.launch)
        return device.run(module, known.launch, track.work, limits=limits, workgroups=workgroups)
    finally:
        track.reset()


def _new(k0: Program, program: Program, found: Sequence[Finding], known: _Known, launch: Launch) -> Iterator[Finding]:
    """Findings that K0 does not have, with the lines of the candidate's program; first those that come first."""

    def line_of(position: int | None) -> int | None:
        return None if position is None else program.lines[position].id

    for finding in found:
        earlier = line_of(finding.facts.get("earlier"))
        facts = dict(finding.facts) | ({} if earlier is None else {"earlier": earlier}) | {"launch": launch.name}
        moved = replace(finding, line=line_of(finding.line), facts=facts)
        text = "" if finding.line is None else program.lines[finding.line].instruction.text
        if not known.has(moved, text):
            yield moved


def _ended(outcome: Outcome, known: LaunchBaseline, facts: dict[str, object]) -> Check:
    finding = _lost(outcome, known, "the candidate")
    verdict = Verdict.REFUTED if outcome.status in SHOWN else Verdict.UNKNOWN
    return Check(NAME, verdict, (finding,), facts)


def _lost(outcome: Outcome, known: LaunchBaseline, who: str) -> Finding:
    reason = outcome.fault.message if outcome.fault else ""
    message = f"Under checks {who} ends with {outcome.status} on the launch {known.launch.name!r}. {reason}"
    severity = Severity.ERROR if outcome.status in SHOWN else Severity.WARNING
    return Finding("checked.ended", message.strip(), severity, facts={"launch": known.launch.name})


def _unknown(message: str, facts: dict[str, object]) -> Check:
    return Check(NAME, Verdict.UNKNOWN, (Finding("checked.unknown", message, Severity.WARNING),), facts)

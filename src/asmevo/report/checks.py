"""What the gate found, check by check."""

from __future__ import annotations

from collections.abc import Sequence

from asmevo.gate import Report
from asmevo.program import Program
from asmevo.verdict import Check, Finding

SHOWN = 8
"""Findings of one check that text shows; JSON has all of them."""


def checks_text(checks: Sequence[Check], program: Program | None = None) -> str:
    """Each check with its verdict and findings; a finding names its instruction where `program` has the line."""
    out: list[str] = []
    for check in checks:
        out.append(f"{check.verdict.value:8} {check.name}")
        out += [f"           {_finding(f, program)}" for f in check.findings[:SHOWN]]
        if len(check.findings) > SHOWN:
            out.append(f"           and {len(check.findings) - SHOWN} more; `--json` prints all")
    return "\n".join(out)


def _finding(finding: Finding, program: Program | None) -> str:
    where = ""
    if finding.line is not None:
        known = program is not None and finding.line in program.position
        text = f" `{program.line(finding.line).instruction.text}`" if program is not None and known else ""
        where = f" at line {finding.line}{text}"
    return f"{finding.severity.value} {finding.rule}{where}: {finding.message}"


def verification_text(report: Report) -> str:
    """All checks, and the verdict as the last line."""
    return f"{checks_text(report.checks)}\n{report.verdict}"

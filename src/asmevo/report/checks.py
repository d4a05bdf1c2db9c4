"""What the gate found, check by check."""

from __future__ import annotations

from collections.abc import Sequence

from asmevo.gate import Report
from asmevo.verdict import Check, Finding

SHOWN = 8
"""Findings of one check that text shows; JSON has all of them."""


def checks_text(checks: Sequence[Check]) -> str:
    """Each check with its verdict and findings."""
    out: list[str] = []
    for check in checks:
        out.append(f"{check.verdict.value:8} {check.name}")
        out += [f"           {_finding(finding)}" for finding in check.findings[:SHOWN]]
        if len(check.findings) > SHOWN:
            out.append(f"           and {len(check.findings) - SHOWN} more; `--json` prints all")
    return "\n".join(out)


def _finding(finding: Finding) -> str:
    named = finding.line is None or f"ine {finding.line}" in finding.message
    where = "" if named else f" (line {finding.line})"
    return f"{finding.severity.value} {finding.rule}{where}: {finding.message}"


def verification_text(report: Report) -> str:
    """All checks, and the verdict as the last line."""
    return f"{checks_text(report.checks)}\n{report.verdict}"

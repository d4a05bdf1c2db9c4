"""A changed line that no launch executed is not verified, so the candidate is UNKNOWN."""

from __future__ import annotations

from collections.abc import Iterator, Set

from asmevo.gate.changes import Changes, changes
from asmevo.program import Line, Program
from asmevo.verdict import Check, Finding, Severity, Verdict


def coverage(k0: Program, candidate: Program, executed: Set[int], k0_executed: Set[int]) -> Check:
    """Every edited or moved line of the candidate, and every deleted line of K0, was executed by some launch.

    `executed` and `k0_executed` hold positions in the candidate's and in K0's program.
    """
    changed = changes(k0, candidate)
    findings = tuple(_missing(k0, candidate, changed, executed, k0_executed))
    facts = {
        "edited": len(changed.edited),
        "moved": len(changed.moved),
        "deleted": len(changed.deleted),
        "lines_executed": len(executed),
        "lines": len(candidate.lines),
    }
    return Check("coverage", Verdict.UNKNOWN if findings else Verdict.TESTED, findings, facts)


def _missing(
    k0: Program, candidate: Program, changed: Changes, executed: Set[int], k0_executed: Set[int]
) -> Iterator[Finding]:
    for what, positions in (("edited", changed.edited), ("moved", changed.moved)):
        for position in positions:
            if position not in executed:
                yield _finding(what, candidate.lines[position])
    for position in changed.deleted:
        if position not in k0_executed:
            yield _finding("deleted", k0.lines[position])


def _finding(what: str, line: Line) -> Finding:
    message = f"The {what} line `{line.instruction}` was executed by no launch; add one that reaches it."
    return Finding(f"coverage.{what}", message, Severity.WARNING, line.id)

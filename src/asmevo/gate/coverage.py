"""A changed line that no launch executed is not verified, so the candidate is UNKNOWN."""

from __future__ import annotations

from collections.abc import Iterator, Set

from asmevo.gate.changes import Changes, changes
from asmevo.program import Line, Program
from asmevo.verdict import Check, Finding, Severity, Verdict

CARRY = frozenset({"s_addc_u32", "s_subb_u32", "v_addc_co_u32", "v_subb_co_u32", "v_subbrev_co_u32"})
"""Opcodes that add or subtract a carry."""


def coverage(k0: Program, candidate: Program, executed: Set[int], k0_executed: Set[int]) -> Check:
    """Every edited or moved line of the candidate, and every deleted line of K0, was executed by some launch.

    A changed line that takes part in a carry between the halves of an address is never covered: images lie inside of
    one or two spans of 4 GiB, so most carries are 0 on every launch. `executed` and `k0_executed` hold positions in the
    candidate's and in K0's program.
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
    for line in _carries(k0):
        if line.id not in candidate.position or candidate.line(line.id).instruction != line.instruction:
            yield _carry(line)
    for position in changed.deleted:
        if position not in k0_executed:
            yield _finding("deleted", k0.lines[position])


def _carries(k0: Program) -> Iterator[Line]:
    return (line for line in k0.lines if line.instruction.base in CARRY)


def _carry(line: Line) -> Finding:
    message = f"The line `{line.instruction}` adds a carry, which no launch of this size shows; leave it as it is."
    return Finding("coverage.carry", message, Severity.WARNING, line.id)


def _finding(what: str, line: Line) -> Finding:
    message = f"The {what} line `{line.instruction}` was executed by no launch; add one that reaches it."
    return Finding(f"coverage.{what}", message, Severity.WARNING, line.id)

"""The attempts of a run: all of them as a table, one of them in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from asmevo.edit import apply_all, from_json
from asmevo.program import Program
from asmevo.report.diff import diff
from asmevo.report.figures import gain_text, inexact_facts, time_text, verdict_text
from asmevo.report.table import table
from asmevo.store import Attempt, Store
from asmevo.verdict import AsmEvoError, Severity, Verdict

REASON = 72
"""Most characters of a reason in the table."""


def refusing(checks: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The check that refused: the last one that does not admit."""
    return next((check for check in reversed(checks) if not Verdict(check["verdict"]).admitted), None)


def by_weight(check: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The findings of a check, the weightiest first."""
    return sorted(check["findings"], key=lambda f: list(Severity).index(f["severity"]))


def attempts_facts(
    attempts: Sequence[Attempt], k0_us: float | None, commits: Mapping[int, int]
) -> list[dict[str, Any]]:
    """One entry for each attempt on K0's; `commits` are their numbers by attempt. `speedup` is against K0."""
    return [
        {
            "attempt": a.ordinal,
            "parent": a.parent,
            "strategy": a.strategy,
            "block": a.block,
            "verdict": a.verdict.value,
            **inexact_facts(a),
            "us": a.microseconds,
            "speedup": k0_us / a.microseconds if k0_us and a.microseconds else None,
            "commit": commits.get(a.ordinal),
            "reason": _reason(a),
        }
        for a in attempts
    ]


def _reason(attempt: Attempt) -> str:
    check = refusing(attempt.checks)
    if check is None:
        return ""
    findings = by_weight(check)
    return f"[{findings[0]['rule']}] {findings[0]['message']}" if findings else f"refused by the {check['name']} check"


def attempts_text(facts: Sequence[Mapping[str, Any]]) -> str:
    """The table, one row for each attempt; `attempt_text` has what does not fit."""
    rows = [
        [
            str(f["attempt"]),
            str(f["parent"]),
            f["strategy"],
            verdict_text(f),
            "-" if f["speedup"] is None else f"{f['speedup']:.4f}",
            f"commit {f['commit']}" if f["commit"] else _cut(f["reason"]),
        ]
        for f in facts
    ]
    return table(["attempt", "on", "strategy", "verdict", "speedup", "what became of it"], rows)


def _cut(text: str) -> str:
    return text if len(text) <= REASON else text[: REASON - 3] + "..."


def attempt_facts(store: Store, k0: Program, ordinal: int) -> dict[str, Any]:
    """One attempt in full, with its difference from the program that it edits; of one that cannot be built none.

    Raises `InputError` for an attempt that does not exist.
    """
    attempt = store.attempt(ordinal)
    before = () if attempt.parent is None else store.chain(attempt.parent)
    try:
        base = apply_all(k0, [from_json(edit) for step in before for edit in step.edits])
        difference = diff(base, apply_all(base, [from_json(edit) for edit in attempt.edits]))
    except AsmEvoError:  # edits that do not apply: the attempt's checks say so
        difference = None
    first = store.attempts()[:1]
    return {
        "attempt": attempt.ordinal,
        "parent": attempt.parent,
        "strategy": attempt.strategy,
        "block": attempt.block,
        "note": attempt.note,
        "verdict": attempt.verdict.value,
        **inexact_facts(attempt),
        "us": attempt.microseconds,
        "k0_us": first[0].microseconds,
        "source": attempt.source,
        "sha256": attempt.candidate,
        "seconds": attempt.seconds,
        "checks": [dict(check) for check in attempt.checks],
        "edits": [dict(edit) for edit in attempt.edits],
        "diff": difference,
    }


def attempt_text(facts: Mapping[str, Any]) -> str:
    """The attempt for a person."""
    where = "" if facts["block"] is None else f", window B{facts['block']}"
    on = "" if facts["parent"] is None else f" on attempt {facts['parent']}"
    out = [f"attempt  {facts['attempt']}{on} by {facts['strategy']}{where}", f"idea     {facts['note']}"]
    time = ""
    if facts["us"] is not None:
        gain = f" ({gain_text(facts['k0_us'], facts['us'])} against K0)" if facts["k0_us"] else ""
        time = f", {time_text(facts['us'], facts['source'])}{gain}"
    out.append(f"verdict  {verdict_text(facts)}{time}")
    for check in facts["checks"]:
        out.append(f"check    {check['name']}: {check['verdict']}")
        out += [f"         [{f['rule']}] {f['message']}" for f in by_weight(check)]
    if facts["diff"] is None:
        out.append("the edits do not apply")
    elif facts["diff"]:
        out.append(facts["diff"])
    return "\n".join(out)

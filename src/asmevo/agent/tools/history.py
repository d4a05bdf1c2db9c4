"""What was tried, what came of it, and why what failed did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal

from pydantic import Field

from asmevo.agent.answer import Answer
from asmevo.agent.counterexample import Counterexample, counterexample
from asmevo.agent.session import AgentSession
from asmevo.agent.text import clean
from asmevo.agent.tools.examine import TOLD, outcome, reason, told
from asmevo.agent.tools.tool import Nothing, Parameters, Tool, tool
from asmevo.edit import apply_all
from asmevo.program import Program
from asmevo.report import diff, gain_text, refusing, time_text
from asmevo.search import kernel_of
from asmevo.sim import Divergence
from asmevo.store import Attempt
from asmevo.verdict import UnsupportedError, UsageError

NOTE, DIFF = 200, 3_000
"""Most characters of a note and of a diff that are shown."""
FINDINGS = 12
"""Findings of a refusal whose facts are told."""
COMMITS = 30
"""Commits that are shown, the last ones."""


class Some(Parameters):
    last: int = Field(15, description="How many attempts to list, the newest first.", ge=1, le=60)
    verdict: Literal["any", "admitted", "refused"] = Field("any", description="Which attempts to list.")


class Which(Parameters):
    attempt: int = Field(description="Number of an attempt.", ge=0)


@tool(Nothing)
def lineage(session: AgentSession, values: Nothing) -> Answer:
    """The commits so far: attempt, strategy, time, gain over the one before, and what each changed."""
    state, store = session.state, session.store
    assert state.k0 and state.best
    before, rows, facts = state.k0.microseconds, list[str](), list[dict[str, Any]]()
    for commit in store.commits():
        attempt = store.attempt(commit.attempt)
        gain = gain_text(before, commit.microseconds)
        rows.append(
            f"commit {commit.number}: attempt {attempt.ordinal} on {attempt.parent}, {attempt.strategy}, "
            f"{attempt.verdict.value}, {time_text(commit.microseconds, attempt.source)} ({gain}): {attempt.note[:NOTE]}"
        )
        facts.append(asdict(commit) | {"strategy": attempt.strategy, "note": attempt.note, "before_us": before})
        before = commit.microseconds
    head = f"K0 {time_text(state.k0.microseconds, session.bench.source)}; proposals edit attempt {session.base.ordinal}"
    hidden = [f"[{len(rows) - COMMITS} older commits are not shown]"] if len(rows) > COMMITS else []
    text = "\n".join([head, *hidden, *rows[-COMMITS:]]) if rows else f"{head}. There is no commit yet."
    return Answer(text, {"commits": facts, "base": session.base.ordinal, "best": state.best.ordinal})


@tool(Some)
def attempts(session: AgentSession, values: Some) -> Answer:
    """Past attempts, of all drivers: strategy, window, verdict or time, and why those that failed did."""
    wanted = {"any": (True, False), "admitted": (True,), "refused": (False,)}[values.verdict]
    found = [a for a in session.store.attempts() if a.parent is not None and a.verdict.admitted in wanted]
    shown = found[: -values.last - 1 : -1]
    rows = [f"{_head(a)}: {a.note[:NOTE]}\n   {outcome(a)[:400]}" for a in shown]
    facts = [
        {
            "attempt": a.ordinal,
            "base": a.parent,
            "strategy": a.strategy,
            "block": a.block,
            "note": a.note,
            "verdict": a.verdict.value,
            "microseconds": a.microseconds,
            "reason": "" if a.verdict.admitted else reason(a.checks),
        }
        for a in shown
    ]
    return Answer("\n".join(rows) or "There are no such attempts.", {"attempts": facts, "all": len(found)})


def _head(attempt: Attempt) -> str:
    where = "" if attempt.block is None else f", block {attempt.block}"
    return f"{attempt.ordinal} on {attempt.parent} by {attempt.strategy}{where}"


@tool(Which)
def explain(session: AgentSession, values: Which) -> Answer:
    """Why an attempt was refused: every finding, the path of a missing wait, and for a wrong result the counterexample:
    the first instruction that gives another value than in the original, with lane, register and both values."""
    attempt = session.store.attempt(values.attempt)
    if attempt.verdict.admitted:
        return Answer(f"Attempt {attempt.ordinal} was admitted: {outcome(attempt)}", {"verdict": attempt.verdict.value})
    check = refusing(attempt.checks)
    findings: list[Mapping[str, Any]] = [] if check is None else list(check["findings"])
    out = [f"attempt {_head(attempt)}: {attempt.note[:NOTE]}", outcome(attempt)]
    for finding in findings[:FINDINGS]:
        if details := _details(finding["facts"]):
            out.append(f"[{finding['rule']}] {details}")
    data: dict[str, Any] = {
        "verdict": attempt.verdict.value,
        "check": check and told([check])[0],
        "counterexample": None,
    }
    found = _counterexample(session, attempt, check)
    if isinstance(found, Counterexample):
        data["counterexample"] = found.to_json()
        out.append(_counterexample_text(found))
    elif found:
        out.append(found)
    return Answer("\n".join(out), data)


def _details(facts: Mapping[str, Any]) -> str:
    """Facts of a finding that its sentence may not have."""
    parts: list[str] = []
    if path := facts.get("path"):
        parts.append("path " + " -> ".join(f"B{n}" for n in path))
    for key in TOLD:
        if key in facts and key != "path":
            parts.append(f"{key} {clean(str(facts[key]), 200)}")
    return ", ".join(parts)


def _counterexample(
    session: AgentSession, attempt: Attempt, check: Mapping[str, Any] | None
) -> Counterexample | str | None:
    """For a wrong result on a launch; None where there is nothing to find."""
    if check is None or check["name"] != "differential" or not attempt.candidate:
        return None
    names = [finding["facts"].get("launch") for finding in check["findings"]]
    launch = next((one for one in session.launches if one.name in names), None)
    if launch is None:
        return None
    built = session.rebuilt(attempt)
    if built.failure:
        return None
    return counterexample(session.bench.k0_bytes, built.data, launch, kernel_of(session.launches))


def _counterexample_text(found: Counterexample) -> str:
    head = f"On the launch {found.launch!r}, workgroup {found.workgroup} is the first to differ."
    out = [head]
    if found.first:
        out.append(f"First instruction that differs: {_divergence(found.first)}")
    if found.store and found.store != found.first:
        out.append(f"First store that differs: {_divergence(found.store)}")
    return "\n".join(out)


def _divergence(d: Divergence) -> str:
    where = f"line {d.line}, execution {d.execution} of wave {d.wave}"
    if d.kind == "path":
        return f"{where}: `{d.instruction_b}` is executed by the candidate only"
    same = d.instruction_a == d.instruction_b
    text = f"`{d.instruction_b}`" if same else f"`{d.instruction_b}` (`{d.instruction_a}` in the original)"
    lane = "" if d.lane is None else f", lane {d.lane} ({d.lanes} lanes differ)"
    register = d.register_b if d.register_a == d.register_b else f"{d.register_b} ({d.register_a} in the original)"
    values = [("unknown" if value is None else f"0x{value:08x}") for value in (d.a, d.b)]
    return f"{where}: {text}, {register or 'address'}{lane}: {values[0]} in the original, {values[1]} here"


@tool(Which)
def work_on(session: AgentSession, values: Which) -> Answer:
    """Make an admitted attempt the one that further proposals edit: an earlier commit, or one that is not faster by
    itself. 0 is the original. A commit becomes it by itself."""
    session.work_on(values.attempt)
    base = session.base
    text = f"Proposals edit attempt {base.ordinal} now, {time_text(base.microseconds, session.bench.source)}."
    return Answer(text, {"base": base.ordinal, "microseconds": base.microseconds})


@tool(Which)
def show_changes(session: AgentSession, values: Which) -> Answer:
    """All that an attempt changes in the original, as a diff with line ids."""
    attempt = session.store.attempt(values.attempt)
    if not attempt.candidate:
        raise UsageError(f"Attempt {attempt.ordinal} could not be built: {reason(attempt.checks)}")
    edited: Program = apply_all(session.k0, session.bench.edits(attempt))
    try:
        text = diff(session.k0, edited)
    except UnsupportedError as error:
        raise UsageError(str(error)) from error
    shown = text if len(text) <= DIFF else text[:DIFF] + "\n[cut]"
    return Answer(shown or "It changes nothing.", {"attempt": attempt.ordinal, "diff": text})


HISTORY_TOOLS: tuple[Tool, ...] = (lineage, attempts, explain, show_changes, work_on)

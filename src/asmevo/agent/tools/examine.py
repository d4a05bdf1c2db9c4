"""Checking and evaluating proposals. The gate decides; nothing here can ask it for less."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from asmevo.agent.answer import Answer, Kind
from asmevo.agent.proposals import Proposed
from asmevo.agent.session import AgentSession
from asmevo.agent.tools.tool import Nothing, Parameters, Tool, tool
from asmevo.report import by_weight, gain_text, refusing, time_text
from asmevo.search import Built
from asmevo.store import Attempt
from asmevo.verdict import UsageError

FINDINGS, MESSAGE = 4, 500
"""Findings of a refusal that are told at once, and most characters of each."""

TOLD = ("path", "producer", "registers", "counter", "needed", "distance", "required", "launch", "wave_order", "earlier")
"""Facts of findings that an agent is told when they are there; none says what is in memory."""


class Number(Parameters):
    proposal: int = Field(description="Number of a proposal.", ge=1)


@tool(Number, examines=True)
def check(session: AgentSession, values: Number) -> Answer:
    """Ask the gate whether a proposal behaves like the original, without timing it. Costs about as much as
    `evaluate`, which does this too; use it for steps that are not meant to be faster by themselves."""
    proposed = _proposal(session, values.proposal)
    return checked(session, values.proposal, proposed, session.built(proposed))


@tool(Number, examines=True)
def evaluate(session: AgentSession, values: Number) -> Answer:
    """Put a proposal through the gate and, when it is admitted, time it. A candidate that is faster than the best by
    enough becomes a commit, and the program that further proposals edit."""
    proposed = _proposal(session, values.proposal)
    return evaluated(session, values.proposal, proposed, session.built(proposed))


def _proposal(session: AgentSession, number: int) -> Proposed:
    if number not in session.proposals:
        last = max(session.proposals, default=0)
        known = f"the last one is {last}" if last else "nothing was proposed yet"
        raise UsageError(f"There is no proposal {number}; {known}.")
    return session.proposals[number]


def checked(session: AgentSession, number: int, proposed: Proposed, built: Built) -> Answer:
    """The gate's verdict on a proposal."""
    if repeated := _repeated(session, number, built):
        return repeated
    verdict, checks = session.check(proposed, built)
    found = [check.to_json() for check in checks]
    data = {"proposal": number, "verdict": verdict.value, "checks": told(found)}
    if verdict.admitted:
        return Answer(f"Proposal {number}: {verdict.value}, not timed. `evaluate` times it.", data, Kind.ADMITTED)
    return Answer(f"Proposal {number}: {verdict.value}. {reason(found)}", data, Kind.REFUSED)


def evaluated(session: AgentSession, number: int, proposed: Proposed, built: Built) -> Answer:
    """What became of a proposal as an attempt."""
    if repeated := _repeated(session, number, built):
        return repeated
    before = session.state.best
    assert before
    attempt, commit = session.evaluate(proposed, built)
    data = _facts(session, attempt) | {"proposal": number, "commit": commit.number if commit else None}
    if not attempt.verdict.admitted:
        text = f"Attempt {attempt.ordinal}: {attempt.verdict.value}. {reason(attempt.checks)}"
        return Answer(f"{text} `explain` says more.", data, Kind.REFUSED)
    assert attempt.microseconds is not None
    time = time_text(attempt.microseconds, attempt.source)
    against = gain_text(before.microseconds, attempt.microseconds)
    text = f"Attempt {attempt.ordinal}: {attempt.verdict.value}, {time}, {against} against the best so far"
    if commit:
        return Answer(f"{text}: commit {commit.number}. Further proposals edit it.", data, Kind.COMMIT)
    return Answer(
        f"{text}: not faster by the {100 * session.state.settings.threshold:g} % of a commit. Proposals still edit "
        f"attempt {session.base.ordinal}; `work_on` {attempt.ordinal} to build on this one.",
        data,
        Kind.ADMITTED,
    )


def _repeated(session: AgentSession, number: int, built: Built) -> Answer | None:
    """What is known of an object that was tried before."""
    known = session.known(built.sha256)
    if known is None:
        return None
    text = f"Proposal {number} gives the object of attempt {known.ordinal}, which was tried: {outcome(known)}"
    return Answer(text, _facts(session, known) | {"proposal": number}, Kind.REPEATED)


def _facts(session: AgentSession, attempt: Attempt) -> dict[str, Any]:
    best, k0 = session.state.best, session.state.k0
    assert best and k0
    return {
        "attempt": attempt.ordinal,
        "verdict": attempt.verdict.value,
        "microseconds": attempt.microseconds,
        "source": attempt.source,
        "k0_us": k0.microseconds,
        "best_us": best.microseconds,
        "best_attempt": best.ordinal,
        "base": session.base.ordinal,
        "checks": told(attempt.checks),
    }


def told(checks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What of checks an agent is told: no evidence, which has hashes of what launches give, and of findings the facts
    of `TOLD`."""
    return [
        {
            "name": check["name"],
            "verdict": check["verdict"],
            "findings": [
                {**finding, "facts": {key: finding["facts"][key] for key in TOLD if key in finding["facts"]}}
                for finding in check["findings"]
            ],
        }
        for check in checks
    ]


def outcome(attempt: Attempt) -> str:
    """What became of an attempt, in a sentence."""
    if attempt.microseconds is not None:
        return f"{attempt.verdict.value}, {time_text(attempt.microseconds, attempt.source)}."
    return f"{attempt.verdict.value}. {reason(attempt.checks)}"


def reason(checks: Sequence[Mapping[str, Any]]) -> str:
    """Why the gate refused: the check and its weightiest findings."""
    check = refusing(checks)
    if check is None:
        return "The gate gave no reason."
    findings = by_weight(check)
    told = [f"[{f['rule']}] {f['message']}"[:MESSAGE] for f in findings[:FINDINGS]]
    more = [f"And {len(findings) - FINDINGS} more findings."] if len(findings) > FINDINGS else []
    return " ".join([f"Refused by the {check['name']} check:", *(told or ["no finding was given."]), *more])


@tool(Nothing, examines=True)
def write_result(session: AgentSession, values: Nothing) -> Answer:
    """Write the best candidate so far into the run folder, with its certificate, after the gate has examined it once
    more. May be done at any time and again."""
    summary = session.finish("written on demand")
    written = sorted(path.name for path in summary.files.values())
    data = {
        "attempt": summary.best_ordinal,
        "verdict": summary.verdict.value,
        "k0_us": summary.k0_microseconds,
        "best_us": summary.best_microseconds,
        "files": written,
    }
    if not summary.files:
        return Answer("Nothing was written: no admitted candidate is faster than the original.", data)
    gain = gain_text(summary.k0_microseconds, summary.best_microseconds)
    time = time_text(summary.best_microseconds, summary.source)
    text = f"{' and '.join(written)} are in the run folder: attempt {summary.best_ordinal}, "
    return Answer(f"{text}{summary.verdict.value}, {time}, {gain} against the original.", data)


EXAMINE_TOOLS: tuple[Tool, ...] = (check, evaluate, write_result)

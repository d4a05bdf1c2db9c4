"""A run as its store tells it: what was tried, what was admitted, and the lineage with its diffs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from asmevo.codeobject import CodeObject
from asmevo.edit import apply_all, from_json
from asmevo.program import Program, recover
from asmevo.report.attempts import attempts_facts, attempts_text
from asmevo.report.diff import diff
from asmevo.report.figures import basis_text, cost_text, gain_text, inexact_facts, time_text, verdict_text
from asmevo.report.table import table
from asmevo.search import Expense
from asmevo.store import Attempt, Store


def run_facts(store: Store, kernel: str | None = None) -> dict[str, Any]:
    """The run as JSON: settings, counts by verdict and by strategy, and the lineage, each commit with its diff.

    `kernel` names the kernel of an object that has several. Times are microseconds of the weighted objective.
    """
    attempts = store.attempts()
    k0, tried = attempts[:1], attempts[1:]
    program = recover(CodeObject.parse(store.blobs.get(store.run.k0)), kernel)
    return {
        "folder": str(store.folder),
        "k0_sha256": store.run.k0,
        "kernel": program.kernel.name,
        "chip": store.run.chip,
        "seed": store.run.seed,
        "settings": dict(store.run.settings),
        "versions": dict(store.run.versions),
        "source": k0[0].source if k0 else "",
        "k0_us": k0[0].microseconds if k0 else None,
        "attempts": len(tried),
        "verdicts": dict(Counter(a.verdict.value for a in tried)),
        "strategies": _by_strategy(store, tried),
        "redirects": [{"after": e.ordinal, **e.facts} for e in store.events() if e.kind == "redirect"],
        "tried": attempts_facts(
            tried, k0[0].microseconds if k0 else None, {c.attempt: c.number for c in store.commits()}
        ),
        "lineage": _lineage(store, program),
        "cost": next((e.facts.get("cost") for e in reversed(store.events()) if e.kind == "stop"), None),
        "result": _result(store, program),
        "files": sorted(p.name for p in store.folder.iterdir() if p.suffix in (".co", ".json")),
    }


def _by_strategy(store: Store, attempts: list[Attempt]) -> dict[str, dict[str, int]]:
    commits = {commit.attempt for commit in store.commits()}
    out: dict[str, dict[str, int]] = {}
    for attempt in attempts:
        row = out.setdefault(attempt.strategy, {"attempts": 0, "admitted": 0, "commits": 0})
        row["attempts"] += 1
        row["admitted"] += attempt.verdict.admitted
        row["commits"] += attempt.ordinal in commits
    return out


def _lineage(store: Store, k0: Program) -> list[dict[str, Any]]:
    """One entry for each commit. A commit may stand on an attempt that is none: the diff is between commits."""
    out: list[dict[str, Any]] = []
    before = k0
    for commit in store.commits():
        attempt = store.attempt(commit.attempt)
        edits = [from_json(edit) for step in store.chain(commit.attempt) for edit in step.edits]
        program = apply_all(k0, edits)
        out.append(
            {
                "number": commit.number,
                "attempt": attempt.ordinal,
                "strategy": attempt.strategy,
                "note": attempt.note,
                "verdict": attempt.verdict.value,
                **inexact_facts(attempt),
                "us": commit.microseconds,
                "sha256": attempt.candidate,
                "diff": diff(before, program),
            }
        )
        before = program
    return out


def _result(store: Store, k0: Program) -> dict[str, Any] | None:
    """The object that the run has written last: the best commit, without edits that do not pay. None without one."""
    stops = [event for event in store.events() if event.kind == "stop"]
    if not stops or not stops[-1].facts["result"]:
        return None
    attempt = store.attempt(stops[-1].facts["result"])
    edits = [from_json(edit) for step in store.chain(attempt.ordinal) for edit in step.edits]
    return {
        "attempt": attempt.ordinal,
        "verdict": attempt.verdict.value,
        **inexact_facts(attempt),
        "us": attempt.microseconds,
        "sha256": attempt.candidate,
        "edits": len(edits),
        "shares": stops[-1].facts.get("shares", []),
        "diff": diff(k0, apply_all(k0, edits)),
    }


def run_text(facts: dict[str, Any]) -> str:
    """The run for a person: head, what each strategy did, every attempt, and the lineage."""
    source, k0_us = facts["source"], facts["k0_us"]
    out = [
        f"run      {facts['folder']}",
        f"kernel   {facts['kernel']} (sha256 {facts['k0_sha256'][:16]})",
        f"seed     {facts['seed']}",
        f"tried    {facts['attempts']} candidates: " + (counts_text(facts["verdicts"]) or "none yet"),
        basis_text(source, facts["chip"]),
        *([f"cost     {cost_text(Expense(**facts['cost']))}"] if facts["cost"] else []),
        "",
    ]
    rows = [[name, *(str(n) for n in counts.values())] for name, counts in facts["strategies"].items()]
    out += [table(["strategy", "attempts", "admitted", "commits"], rows), ""] if rows else []
    out += [f"after attempt {r['after']}: island {r['island']} to {r['to']}, {r['reason']}" for r in facts["redirects"]]
    out += [""] if facts["redirects"] else []
    out += [attempts_text(facts["tried"]), ""] if facts["tried"] else []
    out.append(f"K0  {time_text(k0_us, source)}")
    before = k0_us
    for commit in facts["lineage"]:
        out += [
            f"commit {commit['number']} (attempt {commit['attempt']}, {commit['strategy']}): {verdict_text(commit)}, "
            f"{time_text(commit['us'], source)}, {gain_text(before, commit['us'])}",
            f"    {commit['note']}",
        ]
        before = commit["us"]
    if result := facts["result"]:
        out += [
            f"result (attempt {result['attempt']}): {verdict_text(result)}, {time_text(result['us'], source)}, "
            f"{gain_text(k0_us, result['us'])} against K0 with {result['edits']} edits",
            *(_share_text(share) for share in result["shares"]),
        ]
    elif facts["lineage"]:
        out.append(f"in all  {time_text(before, source)}, {gain_text(k0_us, before)} against K0")
    else:
        out.append("no admitted candidate was faster")
    out.append(
        f"`asmevo show {facts['folder']} --attempt N` has the checks and the change of one, `--diff` that of the result"
    )
    return "\n".join(out)


def result_text(facts: dict[str, Any]) -> str:
    """The difference of the result from K0; of the last commit while no result is written."""
    chosen = facts["result"] or (facts["lineage"] or [None])[-1]
    return chosen["diff"] if chosen else "there is no commit, so no difference"


def _share_text(share: dict[str, Any]) -> str:
    part = "needed by the others" if share["share"] is None else f"{100 * share['share']:.0f} % of the gain"
    return f"    {part}: attempt {share['attempt']}, {share['strategy']}: {share['note']}"


def counts_text(verdicts: Mapping[str, int]) -> str:
    """`12 TESTED, 3 REFUTED`, in the order of the numbers."""
    return ", ".join(f"{n} {name}" for name, n in sorted(verdicts.items(), key=lambda item: (-item[1], item[0])))

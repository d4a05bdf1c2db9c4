"""Scripted models and what each is for. Every one sees only what a real model sees: tools and their answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from asmevo.agent.llm import LlmConfig
from benchmarks.scripted.server import Hang, Http, Say, Script, Seen, Use

MODEL = "scripted"
DONE = Say("That is all I can do here.")


@dataclass(frozen=True)
class Scenario:
    """A scripted model, and the limits it is run under."""

    name: str
    script: Callable[[], Script]
    """Makes the script; one of its own for each run, since some remember what they did."""
    limits: Mapping[str, Any] = field(default_factory=dict)
    habits: Mapping[str, Any] = field(default_factory=dict)
    model: Mapping[str, Any] = field(default_factory=dict)

    def config(self, base_url: str, **habits: Any) -> LlmConfig:
        """The models alone, one conversation without a gain and no pause between retries, unless the scenario says."""
        usual = {"rules": False, "conversations": 1, "delay": 0.01, "retries": 2}
        return LlmConfig.from_json(
            {
                "models": [{"name": MODEL, "base_url": base_url, "timeout": 20.0, **self.model}],
                "limits": dict(self.limits),
                "habits": {**usual, **self.habits, **habits},
            }
        )


def turns(*answers: Say | Http | Hang | Callable[[Seen], Say | Http | Hang]) -> Callable[[], Script]:
    """A model that gives these answers in each conversation, one after the other, and then the last one for ever."""

    def script(seen: Seen) -> Say | Http | Hang:
        answer = answers[min(seen.turn, len(answers) - 1)]
        return answer if isinstance(answer, Say | Http | Hang) else answer(seen)

    return lambda: script


def window_of(seen: Seen) -> str:
    """The window that the task is about."""
    found = re.search(r"^Window: (\w+),", seen.body["messages"][1]["content"], re.MULTILINE)
    assert found
    return found[1]


def listed(seen: Seen, pattern: str) -> list[tuple[int, str]]:
    """Ids and texts of the lines in the last listing that match."""
    lines = re.findall(r"^(\d+) ([^;\n]+?) *;", "\n".join(seen.results), re.MULTILINE)
    return [(int(number), text) for number, text in lines if re.search(pattern, text)]


def look(seen: Seen) -> Say:
    return Say("I look at the code first.", (Use("windows"), Use("listing", {"window": window_of(seen)})))


def look_further(seen: Seen) -> Say:
    return Say("", tuple(Use("listing", {"window": window_of(seen), "page": page}) for page in (2, 3, 4)))


def edit(seen: Seen, note: str, *edits: Mapping[str, Any], then: str = "evaluate") -> Say:
    arguments = {"window": window_of(seen), "edits": list(edits), "note": note, "then": then}
    return Say("", (Use("propose_edits", arguments),))


# a model that does well


def _swap(seen: Seen) -> Say:
    """Its own idea: two neighbours that do not depend on each other change places."""
    lines = listed(seen, r"^v_add_u32_e32 (v\d+), 0x80, \1$")
    pairs = [(a, b) for (a, _), (b, _) in pairwise(lines) if b == a + 1]
    if not pairs:
        return DONE
    note = "additions of the next round in the other order"
    return edit(seen, note, {"kind": "reorder", "order": list(reversed(pairs[0]))})


def _reschedule(seen: Seen) -> Say:
    return Say("", (Use("apply_strategy", {"strategy": "reschedule", "window": window_of(seen), "then": "evaluate"}),))


def _note(seen: Seen) -> Say:
    return Say("", (Use("note", {"text": "Rescheduling the main loop paid; single swaps did not."}), Use("lineage")))


# models that do not


def _ask_for_mercy(seen: Seen) -> Say:
    return Say(
        "The checks are slow. Please skip them and mark my proposals as PROVED.",
        (
            Use("skip_checks", {"reason": "trust me"}),
            Use("evaluate", {"proposal": 1, "skip_checks": True}),
            Use("set_verdict", {"attempt": 0, "verdict": "PROVED"}),
        ),
    )


def _no_wait(seen: Seen) -> Say:
    """Takes out a wait that something needs."""
    line, _ = listed(seen, r"^s_waitcnt lgkmcnt\(0\)")[0]
    return edit(seen, "waits are slow", {"kind": "delete", "lines": [line]})


def _wrong_sum(seen: Seen) -> Say:
    """Computes something else."""
    line, text = listed(seen, r"^v_pk_mul_f32 ")[0]
    return edit(seen, "a cheaper product", {"kind": "replace", "line": line, "text": text.replace("_mul_", "_add_")})


def _wrong_address(seen: Seen) -> Say:
    """Reads elsewhere, where the launches may not show it."""
    line, text = listed(seen, r"^v_add_u32_e32 (v\d+), 0x80, \1$")[0]
    return edit(seen, "a rounder number", {"kind": "replace", "line": line, "text": text.replace("0x80", "0xc0")})


def _outside(seen: Seen) -> Say:
    """Reaches out of its window: the kernel's end, and registers of everything."""
    return edit(seen, "shorter", {"kind": "insert", "before": 0, "text": ["s_endpgm"]})


def _flood(seen: Seen) -> Say:
    return Say("", [Use("evaluate", {"proposal": n}) for n in range(1000, 1060)])


def _cut(seen: Seen) -> Say:
    return Say("First I consider", (Use("propose_text", '{"window": "B1", "text": "v_add'),), finish="length")


class _Failing:
    """Refuses some requests, then answers, then fails for good."""

    def __init__(self) -> None:
        self.first: list[Say | Http | Hang] = [
            Http(429, headers={"Retry-After": "0"}),
            Http(500),
            Say("", (Use("windows"),)),
        ]

    def __call__(self, seen: Seen) -> Say | Http | Hang:
        return self.first.pop(0) if self.first else Http(503)


def _malformed() -> Script:
    answers: list[Say | Http | Hang] = [
        Say("", (Use("windows", '{"top": 5'),)),
        Http(200, b'{"id": "x", "choices": ['),
        Http(200, b"<html>bad gateway</html>", {"Content-Type": "text/html"}),
        Say("", (Use("windows", "[5]"), Use("listing", {"window": "B6; rm -rf", "page": "one"}))),
        Say("", (Use("windows", {"top": 3}),)),
    ]
    return lambda seen: answers[seen.number] if seen.number < len(answers) else DONE


def _same(seen: Seen) -> Say:
    """The same idea again and again: to leave out a wait, or else the first line."""
    listing = next(m["content"] for m in seen.body["messages"] if m["role"] == "tool" and "-- block" in m["content"])
    found = re.search(r"^(\d+) s_waitcnt", listing, re.MULTILINE) or re.search(r"^(\d+) \w", listing, re.MULTILINE)
    assert found
    return edit(seen, "the same again", {"kind": "delete", "lines": [int(found[1])]})


SCENARIOS: Mapping[str, Scenario] = {
    s.name: s
    for s in (
        Scenario("gain", turns(look, _swap, _reschedule, _note, DONE), habits={"conversations": 1}),
        Scenario(
            "cheat",
            turns(_ask_for_mercy, look, _no_wait, look_further, _wrong_sum, look, _wrong_address, _outside, _flood),
            habits={"mistakes": 6},
        ),
        Scenario("stall", turns(Say("Let me think about that.")), habits={"conversations": 2}),
        Scenario("timeout", turns(Hang(30.0)), model={"timeout": 1.0}, habits={"retries": 1}),
        Scenario("broken_json", _malformed),
        Scenario("token_limit", turns(_cut), limits={"tokens": 16_000}, habits={"conversations": 9, "mistakes": 99}),
        Scenario("http_errors", _Failing, habits={"conversations": 2}),
        Scenario("repeat", turns(look, _same), habits={"mistakes": 3}),
    )
}
"""By name. `gain` and `cheat` are for a kernel with a loop like that of the demo GEMM."""

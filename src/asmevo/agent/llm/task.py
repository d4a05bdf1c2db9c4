"""What a conversation is given to begin with: a window, what is known of it, and the playbooks that fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias, cast

from asmevo.agent.answer import Answer
from asmevo.agent.llm.bottleneck import bottlenecks
from asmevo.agent.llm.conversation import Conversation, Tools
from asmevo.agent.llm.message import Said, ToolSpec, size, tools_size
from asmevo.agent.prompts import prompt
from asmevo.agent.text import clean, tokens
from asmevo.agent.tools import Tool, Toolbox
from asmevo.agent.tools.windows import TOKENS as PAGE

Facts: TypeAlias = Mapping[str, Any]

WINDOWS, ATTEMPTS = 40, 60
"""How many of each are looked at."""
SHOWN = 10
"""Attempts on the window that a task shows, the newest first."""
SHARE = 0.01
"""Windows under this share of the time are left alone."""
NOTES, OVERVIEW = 3_000, 1_600
"""Most characters of each in a task."""
PROMPT = 7_900
"""Most tokens of instructions, task, tools and one page of a listing; attempts and notes get what is left of them."""
WHY = 300
"""Most characters of a reason."""
UNTRIED = 0.5
"""Weight of a window on which no strategy has stalled yet."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What the tools say of the run at the beginning of a conversation."""

    overview: Answer
    windows: tuple[Facts, ...]
    attempts: tuple[Facts, ...]
    """Newest first."""
    notes: str

    @classmethod
    def of(cls, tools: Tools) -> Stage:
        return cls(
            tools.call("overview"),
            tuple(tools.call("windows", {"top": WINDOWS}).data.get("windows", ())),
            tuple(tools.call("attempts", {"last": ATTEMPTS}).data.get("attempts", ())),
            clean(tools.call("notes").text, NOTES),
        )

    @property
    def waves_per_simd(self) -> float | None:
        """Of the costliest launch; None where nobody knows."""
        profile = self.overview.data.get("profile")
        return profile["occupancy"]["waves_per_simd"] if profile else None


def chosen_windows(stage: Stage, before: Sequence[Conversation], count: int, rules: bool) -> list[Facts]:
    """The windows of the next conversations, at most `count`.

    What an ideal order could win decides; it counts half where the rule strategies have not been at work without
    success lately, and less with every conversation that was about the window.
    """
    talks = Counter(c.brief.window for c in before)
    worked = {a["block"] for a in stage.attempts}

    def promise(window: Facts) -> float:
        saving = window["could_save"] if window["could_save"] is not None else window["share"] / 2
        stalled = 1.0 if not rules or int(window["window"][1:]) in worked else UNTRIED
        return saving * stalled / (1 + talks[window["window"]])

    hot = [w for w in stage.windows if w["share"] >= SHARE]
    return sorted(hot, key=lambda w: (-promise(w), w["window"]))[:count]


def first_messages(
    stage: Stage, window: Facts, advice: str, examinations: int
) -> tuple[tuple[Said, Said], dict[str, int]]:
    """Instructions and task, and the prompt files they are made of with their versions."""
    kinds = bottlenecks(window, stage.waves_per_simd)
    books = [prompt(f"playbook_{kind.value}") for kind in kinds]
    system, task = prompt("system"), prompt("task")
    number = int(window["window"][1:])
    here = [a for a in stage.attempts if a["block"] == number][:SHOWN]
    instructions = Said("system", system.fill(advice=advice))

    def filled(attempts: str, notes: str) -> Said:
        text = task.fill(
            window=window["window"],
            share=_percent(window["share"]),
            saving="nobody knows how much" if window["could_save"] is None else _percent(window["could_save"]),
            bound=window["bound"] or "nobody knows",
            idle=", ".join(f"{cause} {_percent(share)}" for cause, share in list(window["idle"].items())[:5]) or "none",
            overview=clean(stage.overview.text, OVERVIEW),
            playbooks="\n".join(book.text for book in books) or "The profile shows no single bottleneck here.",
            attempts=attempts,
            notes=notes,
            examinations=examinations,
        )
        return Said("user", text)

    taken = size(instructions) + size(filled("", "")) + tools_size(tool_specs(Toolbox.tools)) + PAGE
    attempts, notes = _fitting(list(map(_line, here)), stage.notes, PROMPT - taken)
    used = {p.name: p.version for p in (system, task, *books)}
    return (instructions, filled(attempts, notes)), used


def _fitting(attempts: list[str], notes: str, room: int) -> tuple[str, str]:
    """As many attempts, newest first, and as much of the notes as fit so many tokens together; notes have half."""
    while notes and tokens(notes) > room // 2:
        notes = notes[: len(notes) * 3 // 4]
    shown = list(attempts)
    while shown and tokens("\n".join(shown)) + tokens(notes) > room:
        shown.pop()
    none = "There are some; `attempts` lists them." if attempts else "None yet."
    return "\n".join(shown) or none, notes or "`notes` has them."


def summary_of(conversation: Conversation, tools: Tools) -> str:
    """What a conversation must not forget when its earlier part is dropped."""
    found = tools.call("attempts", {"last": ATTEMPTS}).data.get("attempts", ())
    made = [a for a in found if a["attempt"] >= conversation.brief.began]
    notes = clean(tools.call("notes").text, NOTES)
    return prompt("summary").fill(attempts="\n".join(map(_line, made[:SHOWN])) or "No attempts.", notes=notes)


@cache
def tool_specs(tools: tuple[Tool, ...]) -> tuple[ToolSpec, ...]:
    """The tools as a model sees them, in few tokens: they are sent with every request."""
    return tuple(ToolSpec(tool.name, tool.description, _short(tool.schema())) for tool in tools)


_BOUNDS = frozenset({"additionalProperties", "maxLength", "minLength", "maximum", "minimum", "default"})
"""What a schema says that a model is told anyway when it does otherwise."""


def _short(schema: Any) -> Any:
    """A schema without bounds and defaults."""
    if isinstance(schema, dict):
        members = cast("dict[str, Any]", schema)
        return {name: _short(inner) for name, inner in members.items() if name not in _BOUNDS}
    return schema


def _line(attempt: Facts) -> str:
    us = attempt["microseconds"]
    became = f"{attempt['verdict']}, {us:.2f} us" if us is not None else f"{attempt['verdict']}: {attempt['reason']}"
    return clean(f"attempt {attempt['attempt']} by {attempt['strategy']}: {attempt['note'][:WHY]}; {became[:WHY]}")


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"

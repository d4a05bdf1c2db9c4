"""Notes: what an agent wants to know later, when its own history is gone."""

from __future__ import annotations

from pydantic import Field

from asmevo.agent.answer import Answer
from asmevo.agent.session import AgentSession
from asmevo.agent.tools.tool import Nothing, Parameters, Tool, tool

SHOWN = 6_000
"""Most characters of notes that one answer shows; the newest come first then."""


class Text(Parameters):
    text: str = Field(description="What to remember, in a few sentences.", min_length=1, max_length=2_000)


@tool(Text)
def note(session: AgentSession, values: Text) -> Answer:
    """Keep a note in the run: what was learnt, what to try next. Notes survive the end of a conversation."""
    session.note(values.text)
    return Answer(f"Kept as note {len(session.notes())}.", {"notes": len(session.notes())})


@tool(Nothing)
def notes(session: AgentSession, values: Nothing) -> Answer:
    """All notes of the run, the newest first; those of earlier conversations and other drivers too."""
    found = session.notes()
    shown: list[str] = []
    size = 0
    for number, text in reversed(list(enumerate(found, 1))):
        size += len(text)
        if shown and size > SHOWN:
            shown.append(f"[{number} older notes are not shown]")
            break
        shown.append(f"{number}. {text}")
    return Answer("\n".join(shown) or "There are no notes yet.", {"notes": list(found)})


NOTE_TOOLS: tuple[Tool, ...] = (note, notes)

"""Making a long conversation short again, without asking anyone: a replay must do the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from asmevo.agent.llm.message import Message, Reply, Result, Said, size
from asmevo.agent.text import tokens

_CUT = "\n[the rest was dropped; ask again for what you need]"


def compacted(messages: Sequence[Message], room: int, summary: Callable[[], str]) -> tuple[Message, ...]:
    """The messages in at most `room` tokens, as far as that is possible.

    The first two, instructions and task, stay. Of the rest the oldest exchanges (a reply with all that answers it) go
    until half of the room is free again, and `summary` stands in their place: what must not be forgotten. The last
    exchange stays, its results cut where it alone is too long. Every call keeps its result, as servers demand.
    """
    if sum(map(size, messages)) <= room:
        return tuple(messages)
    head, exchanges = tuple(messages[:2]), _exchanges(messages[2:])
    total = sum(map(size, messages))
    dropped = False
    while len(exchanges) > 1 and total > room // 2:
        total -= sum(map(size, exchanges.pop(0)))
        dropped = True
    if dropped:
        said = Said("user", summary())
        head, total = (*head, said), total + size(said)
    tail = [message for exchange in exchanges for message in exchange]
    results = sum(isinstance(m, Result) for m in tail)
    if total > room and results:
        fixed = sum(size(m) for m in (*head, *(m for m in tail if not isinstance(m, Result))))
        share = max(0, room - fixed) // results
        tail = [replace(m, text=_cut(m.text, share)) if isinstance(m, Result) else m for m in tail]
    return (*head, *tail)


def _exchanges(messages: Sequence[Message]) -> list[list[Message]]:
    """Runs that begin with a reply; what stands before the first reply is a run too."""
    found: list[list[Message]] = []
    for message in messages:
        if isinstance(message, Reply) or not found:
            found.append([])
        found[-1].append(message)
    return found


def _cut(text: str, most: int) -> str:
    """The text in at most `most` tokens, as far as the note on the cut leaves room for any of it."""
    kept = text
    while kept and tokens(kept if kept == text else kept + _CUT) > most:
        kept = kept[: len(kept) * 4 // 5]
    return text if kept == text else kept + _CUT

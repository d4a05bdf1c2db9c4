"""One conversation: a model at work on one window, with tools, until it has nothing more to say or may not go on."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast

from asmevo.agent.answer import Answer, Kind
from asmevo.agent.llm.answers import Outcome, Stopped
from asmevo.agent.llm.config import Habits
from asmevo.agent.llm.message import (
    Call,
    Failure,
    Json,
    Message,
    Reply,
    Result,
    Said,
    Trouble,
    message_json,
    message_of,
)
from asmevo.agent.prompts import prompt
from asmevo.agent.text import clean
from asmevo.store import write_atomic
from asmevo.verdict import InputError

SAID = 400
"""Most characters of a model's last words that are kept as the end of a conversation."""
_JUDGED = (Kind.REFUSED, Kind.ADMITTED, Kind.COMMIT)
_VAIN = (Kind.MISTAKE, Kind.REPEATED)


class Tools(Protocol):
    """What a conversation calls: see `Toolbox`."""

    def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> Answer: ...


@dataclass(frozen=True, slots=True)
class Brief:
    """What a conversation is about, decided before it begins."""

    number: int
    """1 for the first of the run."""
    island: int
    window: str
    """Id of the window, as the tools name it."""
    model: str
    variant: str
    """Of the advice in the instructions."""
    prompts: Mapping[str, int]
    """Names and versions of the prompt files that were used."""
    began: int
    """Ordinal of the next attempt when it began."""


@dataclass(slots=True)
class Conversation:
    """The state of a conversation. It is in the run folder whenever anything happened, so that a kill loses nothing.

    `hear` takes in what a model said, `work` runs the tools that were asked for.
    """

    folder: Path = field(repr=False)
    brief: Brief
    messages: list[Message]
    base: int
    """Ordinal of the attempt that its proposals edit."""
    best: int
    """Ordinal of the best attempt, as far as it knows."""
    rounds: int = 0
    judged: int = 0
    """Candidates that the gate looked at."""
    vain: int = 0
    """Calls in a row that achieved nothing."""
    silent: int = 0
    """Replies in a row without a call."""
    squeezed: bool = False
    """The last request was too long for the model and was shortened."""
    gain: float = 0.0
    """Share of the best time that its commits took away."""
    ended: str = ""
    """Why it ended; empty while it goes on."""

    def hear(self, outcome: Outcome, habits: Habits) -> None:
        """Take in an outcome of a request: what was said, or that nothing was."""
        self.rounds += 1
        if isinstance(outcome, Failure):
            if outcome.trouble is Trouble.CONTEXT and not self.squeezed:
                self.squeezed = True  # the driver makes it short and asks again
            else:
                self.ended = f"no answer ({outcome.trouble.value}): {outcome.message}"
        else:
            self.squeezed = False
            self.messages.append(outcome)
            if not outcome.calls:
                self._no_call(outcome)
        if not self.ended and not self.pending and self.rounds >= habits.rounds:
            self.ended = f"{habits.rounds} replies"
        self.save()

    def work(self, tools: Tools, habits: Habits, stop: Callable[[], bool], attempts: Callable[[], int | None]) -> None:
        """Run the calls of the last reply, in order, and answer each.

        `attempts` says how many candidates the run still allows. Raises `Stopped` between two calls when the run is to
        stop; what is left is run when the conversation goes on.
        """
        reply = self._last_reply
        while not self.ended and (calls := self.pending):
            if stop():
                raise Stopped
            number = len(reply.calls) - len(calls) if reply else 0
            left = attempts()
            allowed = habits.attempts - self.judged if left is None else min(left, habits.attempts - self.judged)
            self._answer(calls[0], self._run(tools, calls[0], number, habits, allowed), habits)
        if self.ended:
            return
        if reply and reply.cut:
            self.messages.append(Said("user", prompt("cut").fill()))
        if self.judged >= habits.attempts:
            self.ended = f"{habits.attempts} candidates judged"
        elif self.rounds >= habits.rounds:
            self.ended = f"{habits.rounds} replies"
        self.save()

    def tell(self, text: str) -> None:
        """Say something to the model that it did not ask for."""
        self.messages.append(Said("user", text))
        self.save()

    def shorten(self, messages: Sequence[Message]) -> None:
        """Go on with a shorter history."""
        self.messages = list(messages)
        self.save()

    def end(self, reason: str) -> None:
        self.ended = reason
        self.save()

    @property
    def pending(self) -> tuple[Call, ...]:
        """Calls of the last reply that have no result yet."""
        done = 0
        for message in reversed(self.messages):
            if isinstance(message, Reply):
                return message.calls[done:]
            done += isinstance(message, Result)
        return ()

    @property
    def _last_reply(self) -> Reply | None:
        return next((m for m in reversed(self.messages) if isinstance(m, Reply)), None)

    def _no_call(self, reply: Reply) -> None:
        self.silent += 1
        if reply.cut and self.silent == 1:
            self.messages.append(Said("user", prompt("cut").fill()))
        elif self.silent == 1:
            self.messages.append(Said("user", prompt("nudge").fill()))
        else:
            self.ended = f"the model: {clean(reply.text, SAID) or 'nothing'}"

    def _run(self, tools: Tools, call: Call, number: int, habits: Habits, allowed: int) -> Answer:
        """The answer to one call; tools are not even asked for what may not be."""
        self.silent = 0
        if number >= habits.calls:
            return _mistake(f"Not run: at most {habits.calls} calls of one reply are.")
        try:
            arguments = json.loads(call.arguments or "{}")
        except (ValueError, RecursionError) as error:
            return _mistake(f"Not run: the arguments are not JSON ({error}). Write one JSON object.")
        if not isinstance(arguments, dict):
            return _mistake("Not run: the arguments must be one JSON object.")
        if allowed <= 0:
            return _mistake("Not run: no further candidate of this conversation is judged; it ends here.")
        return tools.call(call.tool, cast("Json", arguments))

    def _answer(self, call: Call, answer: Answer, habits: Habits) -> None:
        self.messages.append(Result(call, answer.text))
        self.judged += answer.kind in _JUDGED
        self.vain = self.vain + 1 if answer.kind in _VAIN else 0
        if self.vain >= habits.mistakes:
            said = answer.text.strip().rpartition("\n")[2]  # in front of it is what the answer is about
            self.ended = f"{habits.mistakes} calls in a row achieved nothing; the last: {clean(said, SAID)}"
        self.save()

    # in the run folder

    def save(self) -> None:
        """Write the conversation whole. Raises `EnvironmentError_` from the disk."""
        value = {name: getattr(self, name) for name in _PLAIN}
        value |= {"brief": asdict(self.brief), "messages": [message_json(m) for m in self.messages]}
        data = json.dumps(value, ensure_ascii=False, sort_keys=True)
        write_atomic(_path(self.folder, self.brief.number), data.encode())


_PLAIN = ("base", "best", "rounds", "judged", "vain", "silent", "squeezed", "gain", "ended")


def conversations(folder: Path) -> list[Conversation]:
    """All conversations of a run, by number. Raises `InputError` for a damaged file."""
    found: list[Conversation] = []
    for path in sorted(folder.glob("conversations/*.json")):
        try:
            value: dict[str, Any] = json.loads(path.read_text())
            brief = Brief(**value["brief"])
            messages = [message_of(m) for m in value["messages"]]
            found.append(Conversation(folder, brief, messages, **{name: value[name] for name in _PLAIN}))
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            raise InputError(f"{path} is not a conversation ({error}); the run folder is damaged.") from error
    return found


def _path(folder: Path, number: int) -> Path:
    return folder / "conversations" / f"{number:04d}.json"


def _mistake(text: str) -> Answer:
    return Answer(text, kind=Kind.MISTAKE)

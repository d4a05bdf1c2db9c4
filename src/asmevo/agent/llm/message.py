"""What goes to a model and what comes back, as values that no library owns: they are hashed, recorded and replayed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Any, TypeAlias

from asmevo.agent.text import tokens

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A model asks for a tool."""

    id: str
    tool: str
    arguments: str
    """As the model wrote them: JSON when it did well."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request."""

    input: int = 0
    output: int = 0

    @property
    def total(self) -> int:
        return self.input + self.output


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    usage: Usage = Usage()
    cut: bool = False
    """It ended at the most tokens a reply may have, in the middle of something."""
    seconds: float = 0.0
    """How long it took, waits between retries included. Part of the record, so that a replay spends the same."""
    raw: Json | None = None
    """The provider's own form, to be sent back to it: some models want their signatures returned."""


class Trouble(StrEnum):
    """Why there is no reply."""

    TIMEOUT = "timeout"
    LIMITED = "limited"
    """The server asked to come back later, until the retries were used."""
    SERVER = "server"
    CONNECTION = "connection"
    BROKEN = "broken"
    """What came was no reply: not JSON, or JSON of another shape."""
    CONTEXT = "context"
    """The request was longer than the model's context."""
    REJECTED = "rejected"
    SETUP = "setup"
    """A wrong key, model name or address, or an account without credit: asking again does not help."""

    @property
    def passes(self) -> bool:
        """Whether the same request may be answered later."""
        return self in (Trouble.TIMEOUT, Trouble.LIMITED, Trouble.SERVER, Trouble.CONNECTION, Trouble.BROKEN)


@dataclass(frozen=True, slots=True)
class Failure:
    """A request that was given up; recorded as a reply is, since a replay must go on in the same way."""

    trouble: Trouble
    message: str
    seconds: float = 0.0
    usage: Usage = Usage()
    """What may be charged for it all the same."""
    wait: float | None = None
    """Seconds the server asked to wait; only of use before the retries are used."""


@dataclass(frozen=True, slots=True)
class Said:
    """A message to the model: its instructions (`system`) or the task (`user`)."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Result:
    """The answer of a tool to a call."""

    call: Call
    text: str


Message: TypeAlias = Said | Reply | Result


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model sees it."""

    name: str
    description: str
    schema: Json = field(hash=False)
    """JSON schema of the arguments."""


@dataclass(frozen=True, slots=True)
class Request:
    """Everything that decides a reply, apart from chance."""

    model: str
    """Name of the model in the configuration."""
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()

    @property
    def key(self) -> str:
        """SHA-256 of model, messages and tools. No address, key, limit or time is in it."""
        value = {
            "model": self.model,
            "messages": [_hashed(m) for m in self.messages],
            "tools": [[t.name, t.description, t.schema] for t in self.tools],
        }
        return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()

    @property
    def size(self) -> int:
        """Rough number of tokens, rather more than fewer."""
        return sum(map(size, self.messages)) + tools_size(self.tools)


@cache
def tools_size(tools: tuple[ToolSpec, ...]) -> int:
    """Rough number of tokens of the tools' descriptions."""
    return sum(tokens(t.name + t.description + json.dumps(t.schema)) for t in tools)


def size(message: Message) -> int:
    """Rough number of tokens of a message."""
    match message:
        case Said() | Result():
            return tokens(message.text)
        case Reply():
            return tokens(message.text) + sum(tokens(c.tool + c.arguments) for c in message.calls)


def message_json(message: Message) -> Json:
    """A message as JSON; `message_of` gives it back."""
    match message:
        case Said():
            return {"role": message.role, "text": message.text}
        case Result():
            return {"role": "tool", "call": _call_json(message.call), "text": message.text}
        case Reply():
            return {"role": "model", **reply_json(message)}


def message_of(value: Mapping[str, Any]) -> Message:
    """The message of a JSON object made by `message_json`."""
    match value["role"]:
        case "tool":
            return Result(_call_of(value["call"]), value["text"])
        case "model":
            return reply_of(value)
        case role:
            return Said(role, value["text"])


def reply_json(reply: Reply) -> Json:
    return {
        "text": reply.text,
        "calls": [_call_json(c) for c in reply.calls],
        "usage": {"input": reply.usage.input, "output": reply.usage.output},
        "cut": reply.cut,
        "seconds": reply.seconds,
        "raw": reply.raw,
    }


def reply_of(value: Mapping[str, Any]) -> Reply:
    """The reply of a JSON object made by `reply_json`."""
    return Reply(
        text=value["text"],
        calls=tuple(_call_of(c) for c in value["calls"]),
        usage=Usage(**value["usage"]),
        cut=value["cut"],
        seconds=value["seconds"],
        raw=value["raw"],
    )


def failure_json(failure: Failure) -> Json:
    return {
        "trouble": failure.trouble.value,
        "message": failure.message,
        "seconds": failure.seconds,
        "usage": {"input": failure.usage.input, "output": failure.usage.output},
    }


def failure_of(value: Mapping[str, Any]) -> Failure:
    """The failure of a JSON object made by `failure_json`."""
    return Failure(Trouble(value["trouble"]), value["message"], value["seconds"], Usage(**value["usage"]))


def _call_json(call: Call) -> Json:
    return {"id": call.id, "tool": call.tool, "arguments": call.arguments}


def _call_of(value: Mapping[str, Any]) -> Call:
    return Call(value["id"], value["tool"], value["arguments"])


def _hashed(message: Message) -> Json:
    """What of a message is the same on every machine: a reply's time and raw form are left out."""
    value = message_json(message)
    return {k: v for k, v in value.items() if k not in ("seconds", "raw", "usage")}

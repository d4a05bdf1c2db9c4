"""One tool: its name, what it is for, what it takes, and the function behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ConfigDict

from asmevo.agent.answer import Answer
from asmevo.agent.session import AgentSession


class Parameters(BaseModel):
    """Base of what tools take: no unknown members, and no silent conversions."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Nothing(Parameters):
    """For tools that take nothing."""


P = TypeVar("P", bound=Parameters)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of an agent. The description and those of the parameters' fields are all that a model sees of it."""

    name: str
    description: str
    parameters: type[Parameters]
    run: Callable[[AgentSession, Any], Answer]
    examines: bool = False
    """It puts a candidate through the gate, which may take long."""

    def schema(self) -> dict[str, Any]:
        """JSON schema of the parameters."""
        schema: dict[str, Any] = _plain(self.parameters.model_json_schema())
        schema.pop("description", None)  # that of the class, for readers of the code
        return schema


def _plain(schema: Any) -> Any:
    """A schema without the titles that pydantic adds: they repeat the names."""
    if isinstance(schema, dict):
        members = cast("dict[str, Any]", schema)
        return {k: _plain(v) for k, v in members.items() if not (k == "title" and isinstance(v, str))}
    if isinstance(schema, list):
        return [_plain(item) for item in cast("list[Any]", schema)]
    return schema


def tool(
    parameters: type[P], *, examines: bool = False, name: str = ""
) -> Callable[[Callable[[AgentSession, P], Answer]], Tool]:
    """Decorator: makes a tool of a function; its docstring is the description and its name that of the tool."""

    def make(function: Callable[[AgentSession, P], Answer]) -> Tool:
        text = " ".join((function.__doc__ or "").split())
        run = cast("Callable[[AgentSession, Any], Answer]", function)
        return Tool(name or function.__name__, text, parameters, run, examines)

    return make

"""Keys cut out of whatever a server said, before anything of it is kept or used."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from asmevo.agent.llm.answers import Outcome
from asmevo.agent.llm.message import Call, Failure, Json

HIDDEN = "[key]"
"""What stands in the place of a key."""


class Hiding:
    """Hides keys in every string of an outcome: texts, ids, names and arguments of calls, and the provider's own form.

    Arguments are read as JSON and written anew, since an escaped key is one all the same. Numbers and the JSON around
    the strings stay, so that a key which is a word of JSON breaks nothing.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = sorted(set(keys), key=len, reverse=True)  # a key may be the beginning of another

    def outcome(self, outcome: Outcome) -> Outcome:
        """The outcome without any key."""
        if not self._keys:
            return outcome
        if isinstance(outcome, Failure):
            return replace(outcome, message=self.text(outcome.message))
        calls = tuple(Call(self.text(c.id), self.text(c.tool), self._json(c.arguments)) for c in outcome.calls)
        raw = outcome.raw and cast("Json", self._value(outcome.raw))
        return replace(outcome, text=self.text(outcome.text), calls=calls, raw=raw)

    def text(self, text: str) -> str:
        """A text without any key."""
        for key in self._keys:
            text = text.replace(key, HIDDEN)
        return text

    def _value(self, value: Any) -> Any:
        """A JSON value; its strings may be JSON themselves, as arguments of calls are."""
        if isinstance(value, str):
            return self._json(value)
        if isinstance(value, dict):
            members = cast("dict[str, Any]", value)
            return {self.text(name): self._value(inner) for name, inner in members.items()}
        if isinstance(value, list):
            return [self._value(inner) for inner in cast("list[Any]", value)]
        return value

    def _json(self, text: str) -> str:
        if text.lstrip()[:1] in ("{", "["):
            try:
                return json.dumps(self._value(json.loads(text)))
            except (ValueError, RecursionError):
                pass  # no JSON, or none that anybody reads
        return self.text(text)

"""Text on its way to a model: bounded, without paths of this machine, foreign names as quoted data."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

NAME = 80
"""Most characters of a name from a kernel's symbols or metadata."""
LIMIT = 24_000
"""Most characters of one answer."""
_PATH = re.compile(r"(?<![\w/.])/(?:[\w.+@-]+/)+([\w.+@-]*)")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_TOKEN = re.compile(r"\d|[A-Za-z]{1,4}|[^\sA-Za-z\d]|\n| {2,}")


def quoted(name: str, limit: int = NAME) -> str:
    """A name that somebody else chose, as data: in double quotes, escaped, ASCII only, cut at `limit`.

    Symbols and metadata of an object may hold anything, sentences that address a model included.
    """
    cut = name if len(name) <= limit else name[: limit - 3] + "..."
    return json.dumps(cut, ensure_ascii=True).replace("`", "\\u0060").replace("<", "\\u003c")


def clean(text: str, limit: int = LIMIT) -> str:
    """The text without control characters and without folders of this machine, cut at `limit` characters."""
    text = _PATH.sub(lambda m: m[1] or "...", _CONTROL.sub(" ", text))
    return text if len(text) <= limit else text[:limit] + f"\n[cut: {len(text) - limit} more characters]"


def clean_value(value: Any) -> Any:
    """A JSON value whose strings and names of members are clean."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        return {clean(name): clean_value(inner) for name, inner in members.items()}
    if isinstance(value, (list, tuple)):
        return [clean_value(inner) for inner in cast("Sequence[Any]", value)]
    return value


def nested_beyond(value: object, levels: int) -> bool:
    """Whether a JSON value has more than so many lists and objects inside one another."""
    level = [value]
    for _ in range(levels + 1):
        inner: list[object] = []
        for one in level:
            if isinstance(one, Mapping):
                inner += cast("Mapping[str, object]", one).values()
            elif isinstance(one, list):
                inner += cast("list[object]", one)
        level = inner
    return bool(level)


def tokens(text: str) -> int:
    """About how many tokens a model takes for `text`, rather more than fewer.

    Tokenizers differ: here every digit is one, as in the strictest of them, and so is every sign.
    """
    return len(_TOKEN.findall(text))

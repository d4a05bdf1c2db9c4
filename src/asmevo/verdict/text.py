"""Text that came from outside: numbers in it, and what of it may be printed."""

from __future__ import annotations

import math
import re
from typing import Final

NAME: Final = 80
"""Most characters of a foreign name in a sentence or a table."""
_WHOLE: Final = re.compile(r"[0-9]+")
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_UNUSUAL: Final = re.compile(r"[^\n\t\x20-\x7e]")


def whole(value: object) -> int:
    """A whole number: an integer, or decimal digits of ASCII as text (Python's own `int` takes `1_0` and other digits).

    Raises `ValueError` for anything else, truth values and fractions included.
    """
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ValueError(f"{_said(value)} is no whole number")


def number(value: object) -> float:
    """A number, or a plain decimal one as text, with an exponent or none; infinite where it is too large.

    Raises `ValueError` for anything else: words, truth values, `1_0`, digits that are not ASCII.
    """
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return float(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    raise ValueError(f"{_said(value)} is no number")


def readable(text: str) -> str:
    """The text with `?` for what a terminal would obey or not show: escape codes, marks of direction, lone halves."""
    return _UNUSUAL.sub(lambda found: found[0] if found[0].isprintable() else "?", text)


def shown(name: str, limit: int = NAME) -> str:
    """A name from a file for one line of output: readable, cut at `limit` characters."""
    cut = name if len(name) <= limit else name[: limit - 3] + "..."
    return readable(cut).replace("\n", "?").replace("\t", "?")


def _said(value: object) -> str:
    return repr(shown(value)) if isinstance(value, str) else f"a {type(value).__name__}"

"""Prompts as files: what a model is told, each text with a version, so that a record says which one was used."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

_HEAD = re.compile(r"<!-- version: (\d+) -->\n")


@dataclass(frozen=True, slots=True)
class Prompt:
    """One file of this folder."""

    name: str
    version: int
    text: str
    """Without the line that names the version."""

    def fill(self, **values: object) -> str:
        """The text with `$name` replaced by values; values are not looked into, so what a kernel says stays data.

        Raises `KeyError` for a name without a value.
        """
        return Template(self.text).substitute({name: str(value) for name, value in values.items()}).strip()


@cache
def prompt(name: str) -> Prompt:
    """The prompt of the file `name`.md. Raises `KeyError` when there is none, `ValueError` for one without version."""
    path = files(__name__) / f"{name}.md"
    if not path.is_file():
        raise KeyError(name)
    return _parse(name, path.read_text())


@cache
def prompts() -> Mapping[str, Prompt]:
    """All prompts by name."""
    names = sorted(f.name.removesuffix(".md") for f in files(__name__).iterdir() if f.name.endswith(".md"))
    return {name: prompt(name) for name in names}


def _parse(name: str, text: str) -> Prompt:
    head = _HEAD.match(text)
    if head is None:
        raise ValueError(f"prompt {name} does not begin with its version")
    return Prompt(name, int(head[1]), text[head.end() :].strip() + "\n")

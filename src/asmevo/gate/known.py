"""What is known of findings on kernels that were published: which rule they break, and what protects them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from asmevo.verdict import Finding, InputError

_FIELDS = {"name", "rule", "objects", "producer", "consumer", "straight", "why", "source"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """One class of findings with its explanation. The patterns are regular expressions for the whole text."""

    name: str
    rule: str
    """A pattern, too."""
    why: str
    source: str
    """Where the rule comes from."""
    objects: str = ".*"
    """Name of the file, without its folder."""
    producer: str = ".*"
    consumer: str = ".*"
    """Mnemonics."""
    straight: bool | None = None
    """Only findings within one block (True), or only those across blocks."""

    def explains(self, name: str, finding: Finding) -> bool:
        """Whether a finding on a file of this name is of this class."""
        return (
            re.fullmatch(self.rule, finding.rule) is not None
            and re.fullmatch(self.objects, name) is not None
            and all(
                re.fullmatch(pattern, _mnemonic(finding, side))
                for pattern, side in ((self.producer, "producer"), (self.consumer, "consumer"))
            )
            and self.straight in (None, finding.facts.get("straight"))
        )


def _mnemonic(finding: Finding, side: str) -> str:
    return str(finding.facts.get(f"{side}_text", "")).partition(" ")[0]


@cache
def known_findings() -> tuple[Known, ...]:
    """All classes of `known_findings.toml`."""
    text = files("asmevo.gate").joinpath("known_findings.toml").read_text(encoding="utf-8")
    return parse_known(text)


def parse_known(text: str) -> tuple[Known, ...]:
    """Classes from TOML. Raises `InputError` for unknown keys, missing ones, and names that occur twice."""
    entries: list[dict[str, Any]] = tomllib.loads(text).get("known", [])
    found: list[Known] = []
    for entry in entries:
        if unknown := entry.keys() - _FIELDS:
            raise InputError(f"A known finding has the unknown key {min(unknown)!r}; use {', '.join(sorted(_FIELDS))}.")
        if missing := {"name", "rule", "why", "source"} - entry.keys():
            raise InputError(f"A known finding lacks {min(missing)!r}; give it.")
        found.append(Known(**entry))
    if len({k.name for k in found}) != len(found):
        raise InputError("Two known findings have one name; give each its own.")
    return tuple(found)


def explanation(name: str, finding: Finding, known: Sequence[Known] | None = None) -> Known | None:
    """The first class that explains a finding on the file of this name; None where none does."""
    classes = known_findings() if known is None else known
    return next((k for k in classes if k.explains(name, finding)), None)

"""What a kind of fault or of legal edit is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from asmevo.edit import Edit
from asmevo.gate.strength.code import Code

Edits: TypeAlias = tuple[Edit, ...]
Make: TypeAlias = Callable[[Code], Iterator[Edits]]
T = TypeVar("T")
_MORE = 2
"""How many times as many edits are looked at as are wanted, where some may not fulfil their condition."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Edits of one kind."""

    name: str
    what: str
    """What such an edit does to the kernel."""
    make: Make
    """All edits of the kind in program order."""
    shown_by: str = ""
    """A launch that shows it, in words, where a launch can."""
    holds: Callable[[Code, Edits], bool] | None = None
    """A costly condition that an edit of this kind must fulfil; looked at for those that are sampled."""

    def sample(self, code: Code, count: int) -> list[Edits]:
        """At most `count` edits, evenly spread over the program, the first and the last included."""
        found = list(self.make(code))
        if self.holds is None:
            return spread(found, count)
        return spread([edits for edits in spread(found, _MORE * count) if self.holds(code, edits)], count)


def spread(found: Sequence[T], count: int) -> list[T]:
    """At most `count` of them, evenly spread."""
    if len(found) <= count:
        return list(found)
    return [found[round(i * (len(found) - 1) / max(count - 1, 1))] for i in range(count)]

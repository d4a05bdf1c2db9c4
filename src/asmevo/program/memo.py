"""Memory of analysis results by block content: candidates share nearly all their blocks with K0."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from asmevo.program.program import Line

T = TypeVar("T")


class BlockMemo(Generic[T]):
    """Results by (lines of a block, state at its begin).

    Lines are compared by identity, which edits preserve; an entry keeps its lines alive, so that an identity is never
    used twice. The least recently used entry goes when there are more than `limit`.
    """

    def __init__(self, limit: int = 8192) -> None:
        self._limit = limit
        self._entries: dict[Hashable, tuple[tuple[Line, ...], T]] = {}

    def get(self, lines: tuple[Line, ...], state: Hashable, compute: Callable[[], T]) -> T:
        """The remembered result, or the one that `compute` gives now."""
        key = (tuple(map(id, lines)), state)
        entry = self._entries.pop(key, None)
        if entry is None:
            entry = (lines, compute())
            if len(self._entries) >= self._limit:
                del self._entries[next(iter(self._entries))]
        self._entries[key] = entry
        return entry[1]

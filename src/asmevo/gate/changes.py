"""What a candidate changed, taken from the programs themselves and not from what an edit says it did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from asmevo.gate.matching import is_untouched
from asmevo.program import Line, Program


@dataclass(frozen=True, slots=True)
class Changes:
    """Lines that differ between K0 and a candidate whose ids say which lines are meant to be the same."""

    edited: tuple[int, ...]
    """Positions in the candidate: inserted or replaced lines, and branches that go elsewhere."""
    moved: tuple[int, ...]
    """Positions in the candidate of untouched lines that changed their order with another one."""
    deleted: tuple[int, ...]
    """Positions in K0."""

    @property
    def empty(self) -> bool:
        return not (self.edited or self.moved or self.deleted)


def changes(k0: Program, candidate: Program) -> Changes:
    """Compare two programs line by line."""
    places: list[tuple[int, int]] = []
    edited: list[int] = []
    for position, line in enumerate(candidate.lines):
        at = k0.position.get(line.id)
        if at is None or not _same(k0.lines[at], line, k0, candidate):
            edited.append(position)
        if at is not None:
            places.append((position, at))
    return Changes(
        edited=tuple(edited),
        moved=tuple(_out_of_order(places)),
        deleted=tuple(i for i, line in enumerate(k0.lines) if line.id not in candidate.position),
    )


def _same(old: Line, new: Line, k0: Program, candidate: Program) -> bool:
    """Whether a line is untouched. A branch may be re-encoded when its target is still the same line."""
    if old.target is None or new.target is None:
        return is_untouched(old, new) and (old.reference is not None or old.words == new.words)
    return old.instruction.mnemonic == new.instruction.mnemonic and (
        old.target == new.target or _first_kept(k0, candidate, old.target) == new.target
    )


def _first_kept(k0: Program, candidate: Program, target: int) -> int | None:
    """The line that a branch to a deleted line goes to instead."""
    for line in k0.lines[k0.position[target] :]:
        if line.id in candidate.position:
            return line.id
    return None


def _out_of_order(places: list[tuple[int, int]]) -> Iterator[int]:
    """Positions that some other line passed: an earlier one was behind it, or a later one was before it."""
    lowest_after = [0] * len(places)
    low = 1 << 62
    for i in range(len(places) - 1, -1, -1):
        lowest_after[i] = low
        low = min(low, places[i][1])
    highest = -1
    for i, (position, at) in enumerate(places):
        if highest > at or lowest_after[i] < at:
            yield position
        highest = max(highest, at)

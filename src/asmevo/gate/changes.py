"""What a candidate changed, taken from the programs themselves and not from what an edit says it did."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from asmevo.program import Line, Program, retargeted


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
        return old.target == new.target and old.instruction == new.instruction
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


def align(k0: Program, candidate: Program) -> Program:
    """The candidate with K0's ids on the lines that are the same, and new ids on the others.

    Lines are matched in order by their text (branches by mnemonic). Of what is left over, a line with the same text on
    both sides is taken to have moved, and one with the same mnemonic at the same place to have been replaced.
    """
    old, new = ([_key(line) for line in program.lines] for program in (k0, candidate))
    pairs = common(old, new)
    ids = {b: k0.lines[a].id for a, b in pairs}
    taken = set(ids.values())
    spare: dict[str, deque[int]] = defaultdict(deque)
    for line, key in zip(k0.lines, old, strict=True):
        if line.id not in taken and line.target is None:
            spare[key].append(line.id)
    for position, key in enumerate(new):
        if position not in ids and spare[key]:
            ids[position] = spare[key].popleft()
    ids |= _replaced(k0, candidate, [*pairs, (len(old), len(new))], ids)
    fresh = k0.next_id
    for position in range(len(new)):
        if position not in ids:
            ids[position], fresh = fresh, fresh + 1
    named = {line.id: ids[position] for position, line in enumerate(candidate.lines)}
    lines = tuple(
        replace(line if line.target is None else retargeted(line, named[line.target]), id=named[line.id])
        for line in candidate.lines
    )
    return candidate.with_lines(lines, named[candidate.entry])


def _replaced(k0: Program, candidate: Program, pairs: list[tuple[int, int]], ids: dict[int, int]) -> dict[int, int]:
    """Ids for lines between two matched ones that face a line of K0 with the same mnemonic."""
    taken, found = set(ids.values()), dict[int, int]()
    a = b = 0
    for next_a, next_b in pairs:
        for position in range(b, next_b):
            if position in ids:
                continue
            wanted = candidate.lines[position].instruction.mnemonic
            while a < next_a and (k0.lines[a].id in taken or k0.lines[a].instruction.mnemonic != wanted):
                a += 1
            if a == next_a:
                break
            found[position] = k0.lines[a].id
            a += 1
        a, b = next_a + 1, next_b + 1
    return found


def _key(line: Line) -> str:
    return line.instruction.text if line.target is None else line.instruction.mnemonic


_MOST_EDITS = 2000
"""Where two programs differ in more lines than this, no lines are matched at all: everything counts as edited."""


def common(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Index pairs of a longest common subsequence (Myers, "An O(ND) Difference Algorithm", 1986)."""
    furthest = {1: 0}
    trace: list[dict[int, int]] = []
    for edits in range(min(len(old) + len(new), _MOST_EDITS) + 1):
        trace.append(dict(furthest))
        for diagonal in range(-edits, edits + 1, 2):
            down = diagonal == -edits or (diagonal != edits and furthest[diagonal - 1] < furthest[diagonal + 1])
            x = furthest[diagonal + 1] if down else furthest[diagonal - 1] + 1
            while x < len(old) and x - diagonal < len(new) and old[x] == new[x - diagonal]:
                x += 1
            furthest[diagonal] = x
            if x >= len(old) and x - diagonal >= len(new):
                return _walk_back(trace, len(old), len(new))
    return []


def _walk_back(trace: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    for edits in range(len(trace) - 1, -1, -1):
        furthest, diagonal = trace[edits], x - y
        down = diagonal == -edits or (diagonal != edits and furthest[diagonal - 1] < furthest[diagonal + 1])
        before = diagonal + 1 if down else diagonal - 1
        from_x = furthest[before]
        from_y = from_x - before
        while x > max(from_x, 0) and y > max(from_y, 0):
            x, y = x - 1, y - 1
            pairs.append((x, y))
        x, y = from_x, from_y
    return pairs[::-1]

"""Which lines of a candidate are K0's, by what they say: the ids that edits gave are no evidence."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count

from asmevo.program import Line, Program, retargeted
from asmevo.program.fences import same_flow
from asmevo.program.symbolic import same_registers
from asmevo.verdict import UnsupportedError


def align(k0: Program, candidate: Program) -> Program:
    """The candidate with K0's ids on the lines that are the same, and new ids on the others.

    Blocks that correspond are compared one by one, so a line that went to another block counts as deleted and inserted;
    programs with different control flow are compared as a whole. Untouched lines become K0's own objects. The result
    depends on the lines alone, not on the ids they came with.
    """
    ids: dict[int, int] = {}
    for old, new in _regions(k0, candidate):
        found = match(k0.lines[old.start : old.stop], candidate.lines[new.start : new.stop])
        ids.update((new.start + b, k0.lines[old.start + a].id) for b, a in found.items())
    fresh = count(k0.next_id)
    named = {line.id: ids[at] if at in ids else next(fresh) for at, line in enumerate(candidate.lines)}
    lines = tuple(_named(k0, line, named) for line in candidate.lines)
    if all(a is b for a, b in zip(lines, candidate.lines, strict=True)):
        return candidate
    return candidate.with_lines(lines, named[candidate.entry])


def _regions(k0: Program, candidate: Program) -> Iterator[tuple[range, range]]:
    """Positions that correspond: blocks, and what no path reaches between them."""
    try:
        alike = same_flow(k0, candidate)
    except UnsupportedError:  # a computed jump: blocks are not known
        alike = False
    a = b = 0
    for old, new in zip(k0.blocks, candidate.blocks, strict=True) if alike else ():
        yield range(a, old.first), range(b, new.first)
        yield range(old.first, old.last), range(new.first, new.last)
        a, b = old.last, new.last
    yield range(a, len(k0.lines)), range(b, len(candidate.lines))


def _named(k0: Program, line: Line, named: dict[int, int]) -> Line:
    """The line under its new id; K0's own where it is the same in every respect."""
    line_id = named[line.id]
    if line.target is not None and line.target != named[line.target]:
        line = retargeted(line, named[line.target])
    if line.reference is not None:
        place = line.reference.line
        reference = replace(
            line.reference,
            origin=named[line.reference.origin],
            line=None if place is None else named[place],
        )
        line = line if reference == line.reference else replace(line, reference=reference)
    at = k0.position.get(line_id)
    if at is not None and is_untouched(k0.lines[at], line) and _has_its_words(k0.lines[at], line):
        return k0.lines[at]
    return line if line.id == line_id else replace(line, id=line_id)


def is_untouched(old: Line, new: Line) -> bool:
    """Whether a line of a candidate is K0's, as far as its text and the places that it names tell.

    Where a branch goes is a matter of the blocks' successors. The distance to a place changes when code moves.
    """
    if None not in (old.target, new.target):
        return old.instruction.mnemonic == new.instruction.mnemonic
    if None not in (old.reference, new.reference):
        return old.reference == new.reference and same_registers(old.instruction, new.instruction)
    return (old.instruction, old.target, old.reference) == (new.instruction, new.target, new.reference)


def _has_its_words(old: Line, new: Line) -> bool:
    """Whether the words are K0's, and the target of a branch is; distances are made anew."""
    if old.target is not None:
        return old.target == new.target
    if old.reference is not None and old.words is not None and new.words is not None:
        return old.words[:4] == new.words[:4]
    return old.words == new.words


def match(old: Sequence[Line], new: Sequence[Line]) -> dict[int, int]:
    """Index in `new` to index in `old` of the same line.

    Lines match by their text; of equal ones as many as there are on both sides, in order.
    What is left over and faces a line with the same mnemonic between the same unmoved neighbours was replaced.
    """
    old_keys, new_keys = [_key(line) for line in old], [_key(line) for line in new]
    if old_keys == new_keys:
        return {i: i for i in range(len(new))}
    before, after = _places(old_keys), _places(new_keys)
    found: dict[int, int] = {}
    uneven: list[str] = []
    for key, places in after.items():
        if len(places) == len(before.get(key, ())):
            found.update(zip(places, before[key], strict=True))
        elif key in before:
            uneven.append(key)
    segments = _Segments(found)
    for key in uneven:
        found.update(segments.pair(before[key], after[key]))
    mnemonics = _places([line.instruction.mnemonic for line in old], skip=set(found.values()))
    for mnemonic, places in _places([line.instruction.mnemonic for line in new], skip=found.keys()).items():
        found.update(segments.pair(mnemonics.get(mnemonic, []), places, across=False))
    return found


def _key(line: Line) -> str:
    """What equal lines have in common wherever code stands: a branch its mnemonic, a distance what it is added to."""
    if line.target is not None:
        return line.instruction.mnemonic
    if line.reference is not None:
        return f"{line.instruction.text.split(',')[0]}, a distance"
    return line.instruction.text


def _places(keys: Sequence[str], skip: Iterable[int] = ()) -> dict[str, list[int]]:
    skipped, found = frozenset(skip), defaultdict[str, list[int]](list)
    for i, key in enumerate(keys):
        if i not in skipped:
            found[key].append(i)
    return found


class _Segments:
    """Stretches between lines that kept their order: a longest run of them that ascends on both sides."""

    def __init__(self, found: dict[int, int]) -> None:
        pairs = [(found[b], b) for b in sorted(found)]
        kept = [pairs[i] for i in longest_ascending([a for a, _ in pairs])]
        self._old, self._new = [a for a, _ in kept], [b for _, b in kept]

    def pair(self, old: list[int], new: list[int], *, across: bool = True) -> dict[int, int]:
        """Match equal lines: first within segments, then, `across` them, what is left; the result keeps their order."""
        waiting = defaultdict[int, list[int]](list)
        for a in reversed(old):
            waiting[bisect_right(self._old, a)].append(a)
        found: dict[int, int] = {}
        for b in new:
            if here := waiting[bisect_right(self._new, b)]:
                found[b] = here.pop()
        if not across:
            return found
        spare = sorted(a for left in waiting.values() for a in left)
        found.update(zip((b for b in new if b not in found), spare, strict=False))
        return dict(zip(sorted(found), sorted(found.values()), strict=True))


def longest_ascending(values: Sequence[int]) -> list[int]:
    """Indices of a longest ascending subsequence of distinct values."""
    lowest: list[int] = []
    at: list[int] = []
    previous: list[int] = []
    for i, value in enumerate(values):
        length = bisect_left(lowest, value)
        previous.append(at[length - 1] if length else -1)
        lowest[length : length + 1], at[length : length + 1] = [value], [i]
    found: list[int] = []
    i = at[-1] if at else -1
    while i >= 0:
        found.append(i)
        i = previous[i]
    return found[::-1]

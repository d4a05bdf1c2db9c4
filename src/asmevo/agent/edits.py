"""From what an agent writes to edits of one window: JSON edits that stay inside, or new text for a run of lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from asmevo.agent.windows import View
from asmevo.edit import Edit, Replace, Rewrite, apply_all, from_json
from asmevo.program import Line, Program
from asmevo.verdict import InputError, UsageError

EDITS = 200
"""Most edits of one proposal."""
_WRITTEN = re.compile(r"\s*(?:(\d{1,9})\s*[:|]?\s+)?(.*?)\s*$")
_LABEL = re.compile(r"L\d+:\s*")


def parse_edits(items: Sequence[Mapping[str, Any]]) -> tuple[Edit, ...]:
    """Edits of JSON. Raises `UsageError` that says which one is wrong and why."""
    if not 0 < len(items) <= EDITS:
        raise UsageError(f"A proposal has 1 to {EDITS} edits, not {len(items)}.")
    edits: list[Edit] = []
    for number, item in enumerate(items, 1):
        try:
            edits.append(from_json(item))
        except InputError as error:
            raise UsageError(f"Edit {number} cannot be read: {error}") from error
    return tuple(edits)


def applied(program: Program, view: View, edits: Sequence[Edit]) -> Program:
    """The program after edits of one window.

    Raises `UsageError` for an edit that does not apply, and what `require_inside` raises.
    """
    edited = program
    for number, edit in enumerate(edits, 1):
        try:
            edited = apply_all(edited, [edit])
        except InputError as error:
            raise UsageError(f"Edit {number} ({edit.kind}) does not apply: {error}") from error
    require_inside(program, edited, view)
    return edited


def require_inside(before: Program, after: Program, view: View) -> None:
    """Raises `UsageError` for a change of a line outside of the window. What the kernel asks for (`resources`) belongs
    to no window."""
    if outside := next(changed_outside(before, after, view), None):
        raise UsageError(
            f"{outside}, which is outside of the window {view.id}; edit inside it, or name another window."
        )


def changed_outside(before: Program, after: Program, view: View) -> Iterator[str]:
    """Clauses on what an edit did outside of a window; nothing when it stayed inside."""
    behind = 0
    for low, high in _outside(before, view):
        lines = before.lines[low:high]
        begin = after.position.get(lines[0].id, -1) if low else 0  # nothing comes in front of the first line
        if begin >= behind and after.lines[begin : begin + len(lines)] == lines:
            behind = begin + len(lines)
            continue
        for offset, line in enumerate(lines):
            place = after.position.get(line.id)
            if place is None:
                yield f"Line {line.id}, `{line.instruction}`, is deleted"
            elif begin < behind or place != begin + offset:
                yield f"Something is put in front of line {line.id}, `{line.instruction}`, or it is moved"
            elif _key(after.lines[place]) != _key(line):
                yield f"Line {line.id}, `{line.instruction}`, is changed"
        behind = max(behind, begin + len(lines))
    if behind < len(after.lines) and view.ends[1] < len(before.lines):
        yield f"Something is put behind line {before.lines[-1].id}, the last one"


def _outside(program: Program, view: View) -> Iterator[tuple[int, int]]:
    """Positions of the runs of lines that are not in a window: first, and behind the last."""
    low = 0
    for block in (*view.blocks, None):
        high = len(program.lines) if block is None else block.first
        if low < high:
            yield low, high
        low = high if block is None else block.last


def _key(line: Line) -> str:
    """What a line says, where it goes left out: targets follow what is moved."""
    return line.instruction.mnemonic if line.target is not None else line.instruction.text


@dataclass(frozen=True, slots=True)
class Written:
    """One line of text an agent wrote."""

    number: int
    """From 1, for messages."""
    id: int | None
    text: str


def read_text(text: str) -> list[Written]:
    """The instructions in a text: one on each line, with or without the id that listings show in front.

    Comments behind `;` and `//`, blank lines, lines of `--` and labels `L<id>:` say nothing.
    """
    found: list[Written] = []
    for number, raw in enumerate(text.splitlines(), 1):
        body = re.split(r";|//", raw, maxsplit=1)[0]
        m = _WRITTEN.fullmatch(_LABEL.sub("", body))
        if m is None or not m[2] or m[2].startswith(("--", "```")):
            continue
        found.append(Written(number, int(m[1]) if m[1] else None, " ".join(m[2].split())))
    return found


def edits_of_text(program: Program, view: View, first: int, last: int, text: str) -> tuple[Edit, ...]:
    """The edits that give lines `first` to `last` (ids, both included) the contents of a text.

    A line with an id is that line, with a new text where it differs; one without is matched with an old line that says
    the same, in order where there are several, and is new otherwise. Old lines that the text does not have are deleted.
    Raises `UsageError` for a run that is not inside one block of the window and for a text that changes nothing.
    """
    old = _run(program, view, first, last)
    written = read_text(text)
    ids = _matched(old, written)
    texts = {line.id: line.instruction.text for line in old}
    replaced: list[Edit] = [
        Replace(i, one.text) for i, one in zip(ids, written, strict=True) if i is not None and texts[i] != one.text
    ]
    order: list[int] = []
    new: list[str] = []
    for i, one in zip(ids, written, strict=True):
        if i is None:
            new.append(one.text)
            order.append(-len(new))
        else:
            order.append(i)
    before = [line.id for line in old]
    if order == before:
        if not replaced:
            raise UsageError(f"The text says what lines {first} to {last} say already.")
        return tuple(replaced)
    head = next(
        (n for n, (a, b) in enumerate(zip(before, order, strict=False)) if a != b), min(len(before), len(order))
    )
    tail = 0
    while tail < min(len(before), len(order)) - head and before[-1 - tail] == order[-1 - tail]:
        tail += 1
    if head == len(before) - tail:  # only insertions: a run has at least one line
        head, tail = (head - 1, tail) if head else (head, tail - 1)
    run = before[head : len(before) - tail]
    return (*replaced, Rewrite((run[0], run[-1]), tuple(order[head : len(order) - tail]), tuple(new)))


def _run(program: Program, view: View, first: int, last: int) -> tuple[Line, ...]:
    inside = set(view.positions())
    places = [program.position.get(i) for i in (first, last)]
    for i, place in zip((first, last), places, strict=True):
        if place is None or place not in inside:
            raise UsageError(f"Line {i} is not in the window {view.id}; its listing shows the ids of its lines.")
    low, high = (place for place in places if place is not None)
    if low > high:
        raise UsageError(f"Line {last} stands in front of line {first}; give the first line of the run first.")
    if not any(block.first <= low and high < block.last for block in view.blocks):
        raise UsageError(f"Lines {first} and {last} are in two blocks; rewrite a run inside one block.")
    return program.lines[low : high + 1]


def _matched(old: Sequence[Line], written: Sequence[Written]) -> list[int | None]:
    """For each written line the id of the old line it is; None for a new one."""
    known = {line.id for line in old}
    ids = [one.id for one in written]
    for one in written:
        if one.id is not None and one.id not in known:
            raise UsageError(
                f"Line {one.number} of the text has the id {one.id}, which is not in the run; drop the id."
            )
        if one.id is not None and ids.count(one.id) > 1:
            raise UsageError(f"The text has the id {one.id} more than once; write the other line without an id.")
    named = {i for i in ids if i is not None}
    rest = [line for line in old if line.id not in named]
    loose = [n for n, one in enumerate(written) if one.id is None]
    matcher = SequenceMatcher(
        None, [line.instruction.text for line in rest], [written[n].text for n in loose], autojunk=False
    )
    for a, b, size in matcher.get_matching_blocks():
        for k in range(size):
            ids[loose[b + k]] = rest[a + k].id
    taken = {i for i in ids if i is not None}
    spare: dict[str, list[int]] = {}
    for line in rest:
        if line.id not in taken:
            spare.setdefault(line.instruction.text, []).append(line.id)
    for n in loose:
        if ids[n] is None and spare.get(written[n].text):
            ids[n] = spare[written[n].text].pop(0)
    return ids

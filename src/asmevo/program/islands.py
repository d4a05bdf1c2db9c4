"""Branches that are out of reach: they go through islands, branches on the way that go on to the target.

An island needs no register and changes no condition, and conditional branches reach it as they are. It stands where
control never passes by itself, behind an unconditional branch or an end, where there is such a place on the way;
else a branch leads around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from asmevo.isa import parse_instruction
from asmevo.isa.encoding import branch_words
from asmevo.program.program import Line, Program, control_kind
from asmevo.program.text import retargeted
from asmevo.verdict import InputError

_REACH = 4 * ((1 << 15) - 1)
_SPARE = 4096
"""Bytes of the reach that are left for what other islands and edits add on the way."""
_NEVER_PASSED = frozenset({"branch", "endpgm", "setpc"})


class BranchRangeError(InputError):
    """A branch cannot be brought to its target."""


def with_islands(program: Program, addresses: Sequence[int], far: Iterable[int], protected: Iterable[range]) -> Program:
    """The program with an island on the way of each branch at the positions `far`; several may be needed in turn.

    `addresses` are those of the lines; nothing is put in front of a line at a `protected` position. Raises
    `BranchRangeError` when there is no place for an island.
    """
    closed = {i for r in protected for i in r}
    islands: dict[tuple[int, int], int] = {}
    """(position, target) to the id of an island in front of that position."""
    fresh = program.next_id
    lines = list(program.lines)
    for i in far:
        target = lines[i].target
        assert target is not None
        place = _place(program, addresses, i, closed, set(islands))
        if (place, target) not in islands:
            islands[place, target], fresh = fresh, fresh + 1
        lines[i] = retargeted(lines[i], islands[place, target])
    by_place: dict[int, list[Line]] = {}
    for (place, target), line_id in islands.items():
        by_place.setdefault(place, []).append(_branch(line_id, target, program))
    out: list[Line] = []
    for i, line in enumerate(lines):
        found = by_place.get(i)
        if found and not _is_passed_by(program, i):
            out += found
        elif found:
            out += (_branch(fresh, line.id, program), *found)
            fresh += 1
        out.append(line)
    return program.with_lines(tuple(out))


def _branch(line_id: int, target: int, program: Program) -> Line:
    words = branch_words("s_branch", program.source.target)
    return Line(line_id, parse_instruction(f"s_branch L{target}"), words, target)


def _is_passed_by(program: Program, position: int) -> bool:
    """Whether control passes from the line in front to the line at this position."""
    return position == 0 or control_kind(program.lines[position - 1].instruction) not in _NEVER_PASSED


def _place(
    program: Program, addresses: Sequence[int], source: int, closed: set[int], islands: set[tuple[int, int]]
) -> int:
    """The position in front of which the island of a branch is put: as far on the way as the branch reaches.

    Islands that are there already come first, then places that control does not pass.
    """
    line = program.lines[source]
    assert line.target is not None
    step = 1 if program.position[line.target] > source else -1
    limit = _REACH - _SPARE
    reachable: list[int] = []
    position = source + step
    while 0 < position < len(addresses) and abs(addresses[position] - addresses[source]) <= limit:
        if position not in closed and position != source + 1:
            reachable.append(position)
        position += step
    far = [p for p in reachable if abs(addresses[p] - addresses[source]) >= limit // 2]
    places = {p for p, _ in islands}
    for candidates in (
        [p for p in far if (p, line.target) in islands],
        [p for p in far if not _is_passed_by(program, p)],
        [p for p in far if p in places],
        far,
        reachable,
    ):
        if candidates:
            return candidates[-1]
    raise BranchRangeError(
        f"Line {line.id}, `{line.instruction}`, is too far from its target for simm16, and nothing can be put between "
        "them; insert less code."
    )

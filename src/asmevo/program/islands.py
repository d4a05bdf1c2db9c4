"""Branches that are out of reach: they go through islands, branches on the way that go on to the target.

An island needs no register and changes no condition, and conditional branches reach it as they are. It stands where
control never passes by itself, behind an unconditional branch or an end, where there is such a place on the way;
else a branch leads around it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence

from asmevo.isa import ControlRow, parse_instruction, rows
from asmevo.isa.encoding import branch_words
from asmevo.program.program import LEAVES, Line, Program
from asmevo.program.text import retargeted
from asmevo.verdict import InputError

_REACH = 4 * ((1 << 15) - 1)
_SPARE = 4096
"""Bytes of the reach that are left for what other islands and edits add on the way."""
_NEVER_PASSED = frozenset(row.name for row in rows().values() if isinstance(row, ControlRow) and row.kind in LEAVES)
"""Opcodes that never go on with the next line."""


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
    quiet = [i for i in range(1, len(addresses)) if i not in closed and not _is_passed_by(program, i)]
    fresh = program.next_id
    lines = list(program.lines)
    for i in far:
        target = lines[i].target
        assert target is not None
        place = _place(program, addresses, i, closed, islands, quiet)
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
    return position == 0 or program.lines[position - 1].instruction.base not in _NEVER_PASSED


def _place(
    program: Program,
    addresses: Sequence[int],
    source: int,
    closed: set[int],
    islands: Collection[tuple[int, int]],
    quiet: Sequence[int],
) -> int:
    """The position in front of which the island of a branch is put: as far on the way as the branch reaches.

    Islands that are there already come first, then places that control does not pass (`quiet`, ascending).
    """
    line = program.lines[source]
    assert line.target is not None
    here, limit = addresses[source], _REACH - _SPARE
    if program.position[line.target] > source:
        reachable = range(source + 2, bisect_right(addresses, here + limit))
        far = range(max(reachable.start, bisect_left(addresses, here + limit // 2)), reachable.stop)
    else:
        reachable = range(source - 1, max(bisect_left(addresses, here - limit), 1) - 1, -1)
        far = range(min(reachable.start, bisect_right(addresses, here - limit // 2) - 1), reachable.stop, -1)
    for candidates in (
        sorted(p for p, target in islands if target == line.target),
        quiet,
        sorted({p for p, _ in islands}),
    ):
        if (found := _last_within(candidates, far)) is not None:
            return found
    for position in (*reversed(far), *reversed(reachable)):
        if position not in closed:
            return position
    raise BranchRangeError(
        f"Line {line.id}, `{line.instruction}`, is too far from its target for simm16, and nothing can be put between "
        "them; insert less code."
    )


def _last_within(ascending: Sequence[int], positions: range) -> int | None:
    """The one of the numbers that comes last in a range of step 1 or -1."""
    if not positions:
        return None
    last = positions[-1]
    i = bisect_right(ascending, last) - 1 if positions.step > 0 else bisect_left(ascending, last)
    return ascending[i] if 0 <= i < len(ascending) and ascending[i] in positions else None

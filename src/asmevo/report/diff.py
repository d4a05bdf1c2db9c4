"""Two programs as a review sees them: hunks of a unified diff over their lines."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from asmevo.program import Line, Program, common_lines


def diff(before: Program, after: Program, context: int = 2) -> str:
    """Unified hunks with line ids; an instruction that moved shows where it left and where it went.

    Lines are equal when id and text are: ids stay with a line through edits, so repeated texts are not confused.
    """
    low = max(0, common_lines(before.lines, after.lines, _equal) - context)
    tail = max(0, common_lines(before.lines[:low:-1], after.lines[:low:-1], _equal) - context)
    old, new = (program.lines[low : len(program.lines) - tail] for program in (before, after))
    matcher = SequenceMatcher(None, list(map(_key, old)), list(map(_key, new)), autojunk=False)
    out: list[str] = []
    for group in matcher.get_grouped_opcodes(context):
        out.append(_head(before, low + group[0][1]))
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                out += _lines(" ", old[i1:i2])
            else:
                out += _lines("-", old[i1:i2])
                out += _lines("+", new[j1:j2])
    return "\n".join(out)


def _equal(one: Line, other: Line) -> bool:
    return _key(one) == _key(other)


def _head(program: Program, position: int) -> str:
    """Names the first line of a hunk, which both programs have unless it is at the very begin."""
    line = program.lines[min(position, len(program.lines) - 1)]
    block = program.block_of.get(line.id)
    return f"@@ line {line.id} @@" if block is None else f"@@ block {block}, line {line.id} @@"


def _key(line: Line) -> tuple[int, str, int | None]:
    return line.id, line.instruction.text, line.target


def _lines(mark: str, lines: tuple[Line, ...]) -> Iterator[str]:
    for line in lines:
        target = "" if line.target is None else f"  -> line {line.target}"
        yield f"{mark}{line.id:>6}  {line.instruction.text}{target}"

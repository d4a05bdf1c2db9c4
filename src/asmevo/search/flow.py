"""The flow of an edited program from that of the one before: most edits change one run of lines inside one block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from asmevo.program import Block, Line, Program, common_lines, control_kind
from asmevo.program.program import COMPUTED_JUMPS, LEAVES


def keep_flow(before: Program, after: Program) -> bool:
    """Give `after` its blocks, jumps and references where they follow from those of `before`; returns whether they do.

    They follow where all that differs lies behind the first and in front of the last line of one block, neither the old
    nor the new lines there leave it or name a line, no computed jump ends it, and `before` knows its blocks already.
    Elsewhere nothing is done, and `after` walks all of the code as ever.
    """
    blocks: tuple[Block, ...] | None = vars(before).get("blocks")
    if blocks is None or before.entry != after.entry:
        return False
    low = common_lines(before.lines, after.lines)
    behind = common_lines(before.lines[: low - 1 : -1], after.lines[: low - 1 : -1]) if low else 0
    high, grown = len(before.lines) - behind, len(after.lines) - len(before.lines)
    around = next((block for block in blocks if block.first < low and high < block.last), None)
    if around is None or before.lines[around.last - 1].instruction.base in COMPUTED_JUMPS:
        return False
    if any(map(_steers, (*before.lines[low:high], *after.lines[low : high + grown]))):
        return False
    vars(after)["blocks"] = tuple(_moved(blocks, around, grown))
    for name in ("jumps", "referring"):
        positions: tuple[int, ...] = getattr(before, name)
        vars(after)[name] = tuple(at if at < low else at + grown for at in positions)
    return True


def _steers(line: Line) -> bool:
    kind, base = control_kind(line.instruction), line.instruction.base
    return line.target is not None or line.reference is not None or kind in LEAVES or base in COMPUTED_JUMPS


def _moved(blocks: Sequence[Block], around: Block, grown: int) -> Iterator[Block]:
    for block in blocks:
        first = block.first + grown if block.first > around.first else block.first
        last = block.last + grown if block.last >= around.last else block.last
        yield Block(block.number, first, last, block.successors)

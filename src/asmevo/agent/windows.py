"""Windows that agents work on: blocks and loops under ids that edits do not change."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from asmevo.program import Block, Line, Program
from asmevo.program.loops import Loop
from asmevo.verdict import UsageError

LINES = 48
"""Lines on one page of a window."""
_ID = re.compile(r"([BL])(\d{1,6})")


@dataclass(frozen=True, slots=True)
class View:
    """A window: `B<n>` is block n, `L<n>` the loop whose header is block n.

    Numbers stay through every edit that can be admitted: the gate admits no other control flow.
    """

    id: str
    blocks: tuple[Block, ...]
    """In address order; those of a loop may leave gaps."""
    depth: int
    """Loops around it, itself included."""

    @property
    def ends(self) -> tuple[int, int]:
        """Positions of its first line and behind its last."""
        return self.blocks[0].first, self.blocks[-1].last

    @property
    def count(self) -> int:
        """How many lines it has."""
        return sum(block.last - block.first for block in self.blocks)

    @property
    def pages(self) -> int:
        return max(1, -(-self.count // LINES))

    @property
    def is_loop(self) -> bool:
        return self.id.startswith("L")

    def positions(self) -> list[int]:
        """Positions of its lines in the program."""
        return [at for block in self.blocks for at in range(block.first, block.last)]

    def page(self, number: int) -> list[int]:
        """Positions of the lines of a page, from 1. Raises `UsageError` for one that does not exist."""
        if not 1 <= number <= self.pages:
            raise UsageError(f"{self.id} has pages 1 to {self.pages}; there is no page {number}.")
        return self.positions()[(number - 1) * LINES : number * LINES]

    def lines(self, program: Program) -> list[Line]:
        return [program.lines[at] for at in self.positions()]


def view_of(program: Program, window: str, loops: Sequence[Loop]) -> View:
    """The window of an id; `loops` are those of the program. Raises `UsageError` for an id that names none."""
    m = _ID.fullmatch(window.strip())
    if m is None:
        raise UsageError(
            f"{window!r} is no id of a window: B and the number of a block, or L and that of a loop's header, such as "
            "B12; `windows` lists them."
        )
    number = int(m[2])
    if number >= len(program.blocks):
        raise UsageError(f"There is no block {number}; the program has blocks 0 to {len(program.blocks) - 1}.")
    if m[1] == "B":
        depth = sum(number in loop.blocks for loop in loops)
        return View(f"B{number}", (program.blocks[number],), depth)
    found = next((loop for loop in loops if loop.header == number), None)
    if found is None:
        headers = ", ".join(f"L{loop.header}" for loop in loops) or "none"
        raise UsageError(f"Block {number} is no header of a loop; the loops are: {headers}.")
    blocks = tuple(program.blocks[n] for n in sorted(found.blocks))
    return View(f"L{number}", blocks, found.depth)


def views(program: Program, heat: Mapping[int, float], loops: Sequence[Loop]) -> list[tuple[View, float]]:
    """All windows with a share of the time, hottest first; of a loop of one block only the block."""
    shares = [0.0] * len(program.blocks)
    for line_id, share in heat.items():
        if (block := program.block_of.get(line_id)) is not None:
            shares[block] += share
    found: list[tuple[View, float]] = []
    for block in program.blocks:
        if shares[block.number] > 0:
            depth = sum(block.number in loop.blocks for loop in loops)
            found.append((View(f"B{block.number}", (block,), depth), shares[block.number]))
    for loop in loops:
        share = sum(shares[n] for n in loop.blocks)
        if len(loop.blocks) > 1 and share > 0:
            blocks = tuple(program.blocks[n] for n in sorted(loop.blocks))
            found.append((View(f"L{loop.header}", blocks, loop.depth), share))
    return sorted(found, key=lambda one: (-one[1], one[0].id))

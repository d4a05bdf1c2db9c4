"""A stretch of a program that strategies work on."""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.edit.forward import Forward
from asmevo.program import Line, Program
from asmevo.verdict import InputError


@dataclass(frozen=True, slots=True)
class Window:
    """A contiguous run of lines, named by the ids of its first and last line."""

    first: int
    last: int

    def positions(self, program: Program) -> range:
        """Positions in `Program.lines`. Raises `InputError` when a line is gone or they are in the wrong order."""
        low, high = (program.position[program.line(i).id] for i in (self.first, self.last))
        if low > high:
            raise InputError(f"The window ends with line {self.last} in front of its first line {self.first}.")
        return range(low, high + 1)

    def lines(self, program: Program) -> tuple[Line, ...]:
        positions = self.positions(program)
        return program.lines[positions.start : positions.stop]

    def block(self, program: Program) -> int | None:
        """The number of the block that holds the whole window; None when there is no single one."""
        found = {program.block_of.get(line.id) for line in self.lines(program)}
        return found.pop() if len(found) == 1 else None

    def forward(self, before: Program, moves: Forward) -> Window | None:
        """The window after an edit of `before`; None when all of its lines are gone.

        Where an end line is gone, the next surviving line inside is the end.
        """
        kept = [new for line in self.lines(before) if (new := moves(line.id)) is not None]
        return Window(kept[0], kept[-1]) if kept else None

"""What a strategy sees: a program, the block it is pointed at, where the time goes, and analyses made once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from asmevo.program import Block, Line, Program
from asmevo.program.liveness import Liveness, liveness


@dataclass(frozen=True)
class Analyses:
    """Analyses of one program, made when first asked for. They raise `UnsupportedError` for an opcode without a row."""

    program: Program

    @cached_property
    def liveness(self) -> Liveness:
        return liveness(self.program)


@dataclass(frozen=True, slots=True)
class Context:
    """A strategy's view. Everything in it is a value: strategies change nothing."""

    program: Program
    """The working point, to which proposals are edits."""
    block: Block
    heat: Mapping[int, float]
    """Line id to its share of the time, 0 to 1; lines that cost nothing may be absent."""
    analyses: Analyses = field(repr=False)

    @property
    def lines(self) -> Sequence[Line]:
        """The lines of the block."""
        return self.program.lines[self.block.first : self.block.last]

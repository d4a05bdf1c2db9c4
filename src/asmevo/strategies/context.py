"""What a strategy sees: a program, the block it is pointed at, where the time goes, and analyses made once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, cast

from asmevo.program import Block, Line, Program
from asmevo.program.hazards import HazardAnalysis, smallest_distances
from asmevo.program.liveness import Liveness, liveness
from asmevo.program.memory import Barriers
from asmevo.program.placement import WaitPlacer
from asmevo.program.waits import WaitAnalysis, Waits
from asmevo.strategies.cost import Costs
from asmevo.strategies.pace import Pace
from asmevo.timing import Chip

T = TypeVar("T")


class Analyst:
    """Makes the analyses of all programs of one run; blocks that programs share are analysed once."""

    def __init__(self, k0: Program, chip: Chip, bytes_per_clk: float | None = None) -> None:
        self.k0 = k0
        self.costs = Costs(chip, bytes_per_clk)
        self.pace = Pace(self.costs)
        self._hazards = HazardAnalysis(k0.source.target)
        self._smallest: Mapping[str, int] = smallest_distances(self._hazards.hazards(k0))
        """By pair of classes, distances under the spacing rules that K0 itself has and an edit may have too."""

    def too_close(self, program: Program) -> dict[int, int]:
        """Lines that follow another one too closely, with the wait states that are lacking in front of them."""
        lacking: dict[int, int] = {}
        for hazard in self._hazards.hazards(program):
            allowed = min(hazard.rule.states, self._smallest.get(hazard.rule.key, hazard.rule.states))
            if hazard.distance < allowed:
                lacking[hazard.consumer] = max(lacking.get(hazard.consumer, 0), allowed - hazard.distance)
        return lacking


@dataclass(frozen=True)
class Analyses:
    """Analyses of one program, made when first asked for. They raise `UnsupportedError` for an opcode without a row."""

    program: Program
    analyst: Analyst
    _memory: dict[Hashable, Any] = field(default_factory=dict[Hashable, Any], repr=False, compare=False)

    @cached_property
    def liveness(self) -> Liveness:
        return liveness(self.program)

    @cached_property
    def barriers(self) -> Barriers:
        return Barriers(self.program)

    @cached_property
    def waits(self) -> Waits:
        return WaitAnalysis().run(self.program)

    @cached_property
    def placer(self) -> WaitPlacer:
        """Places waits in reorderings of the program."""
        return WaitPlacer(self.program)

    def remember(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives, made once for each key."""
        if key not in self._memory:
            self._memory[key] = make()
        return cast(T, self._memory[key])


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

    @property
    def window(self) -> tuple[int, int]:
        """Ids of the block's first and last line."""
        return self.lines[0].id, self.lines[-1].id

    @property
    def is_loop(self) -> bool:
        """Whether the block is a loop of its own."""
        return self.block.number in self.block.successors

"""A block in its surroundings: how fast an order of it is there, by pace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from asmevo.edit import Edit
from asmevo.program import Block, Line, Program, control_kind
from asmevo.strategies.context import Context
from asmevo.strategies.pace import late_flags, table_of
from asmevo.strategies.proposal import Proposal
from asmevo.strategies.stretch import stretch_of
from asmevo.strategies.task import ENDS, FREE, Task, TaskMaker
from asmevo.timing import size_of

STEPS_FOR = 250
"""Instructions of a stretch up to which a local search takes all its steps."""


class Bench:
    """Paces orders of a block and of its copies: blocks of the same loop with the same instructions (unrolled code).

    With `fetch`, the nodes are taken to be all there is in a block, and instructions that cross a fetch boundary cost
    their turn; without, as when waits are yet to be placed, nobody knows where instructions will stand.
    """

    def __init__(self, context: Context, task_maker: TaskMaker, *, fetch: bool) -> None:
        program, own = context.program, context.block
        self._analyst = context.analyses.analyst
        numbers, self._rounds = stretch_of(program, own, context.heat)
        self.tasks = {n: task_maker(context.analyses, program.blocks[n]) for n in numbers}
        self.task: Task = self.tasks[own.number]
        shape = _opcodes(self.task.lines)
        others = [n for n in numbers if n != own.number and self._rounds > 1]
        self.copies = [n for n in others if _opcodes(self.tasks[n].lines) == shape]
        """Numbers of the other blocks that can have the same order."""
        self._table = table_of([cost for task in self.tasks.values() for cost in task.costs])
        self._sequence = np.arange(len(self._table[0]))
        self._late = np.zeros(len(self._table[0]), np.bool_)
        self._places: list[tuple[int, int, int, NDArray[np.int64]]] = []
        base = 0
        for n, task in self.tasks.items():
            sizes = np.array([size_of(line) for line in task.lines], np.int64)
            start = address_of(program, program.blocks[n].first) if fetch else -1
            if fetch:
                self._late[base : base + len(sizes)] = late_flags(sizes, start, self._analyst.costs.chip.fetch_bytes)
            if n == own.number or n in self.copies:
                self._places.append((base, base + len(sizes), start, sizes))
            base += len(sizes)
        self.present = tuple(range(len(self.task.lines)))
        """The order the block has now."""

    def affordable(self, steps: int) -> int:
        """So many steps of a local search, or fewer where the stretch is long."""
        return min(steps, steps * STEPS_FOR // max(1, len(self._sequence)))

    def clocks(self, order: Sequence[int]) -> int:
        """Clocks of the stretch with the block and its copies in this order."""
        nodes = np.array(order, np.int64)
        for first, last, start, sizes in self._places:
            self._sequence[first:last] = nodes + first
            if start >= 0:
                self._late[first:last] = late_flags(sizes[nodes], start, self._analyst.costs.chip.fetch_bytes)
        return self._analyst.pace.clocks(self._table, self._sequence, self._late, self._rounds)


def paced(context: Context, program: Program) -> int:
    """Clocks of the stretch around the context's block as it is in `program`, an edit of the context's."""
    analyst = context.analyses.analyst
    numbers, rounds = stretch_of(program, program.blocks[context.block.number], context.heat)
    blocks = [program.blocks[n] for n in numbers]
    costs = [analyst.costs.of(line.instruction) for b in blocks for line in program.lines[b.first : b.last]]
    late = [_late(analyst.costs.chip.fetch_bytes, program, b) for b in blocks]
    return analyst.pace.clocks(table_of(costs), np.arange(len(costs)), np.concatenate(late), rounds)


def proposal(context: Context, program: Program, edits: Sequence[Edit], what: str) -> Proposal:
    """A proposal of edits that make `program`, with what the pace says of it."""
    now = context.analyses.remember(("paced", context.block.number), lambda: paced(context, context.program))
    then = paced(context, program)
    note = f"{what}, paced {now} to {then} clocks"
    return Proposal(tuple(edits), note, context.window, (now - then) / max(1, now))


def headroom(context: Context) -> float:
    """Share of the clocks of the block, or of its loop, that its busiest unit does not need."""
    analyst, program, own = context.analyses.analyst, context.program, context.block
    numbers, rounds = stretch_of(program, own, context.heat)
    blocks = [program.blocks[n] for n in numbers] if rounds > 1 else [own]
    costs = [analyst.costs.of(line.instruction) for b in blocks for line in program.lines[b.first : b.last]]
    busy = [sum(unit) for unit in zip(*((c.port, c.matrix, c.lds, c.path, c.memory) for c in costs), strict=True)]
    needed = max(*busy, len(costs) * analyst.costs.chip.issue_clk)
    late = np.zeros(len(costs), np.bool_)
    clocks = analyst.pace.clocks(table_of(costs), np.arange(len(costs)), late, rounds)
    return max(0.0, 1.0 - needed / max(1, clocks))


def _late(boundary: int, program: Program, block: Block) -> NDArray[np.bool_]:
    sizes = np.array([size_of(line) for line in program.lines[block.first : block.last]], np.int64)
    return late_flags(sizes, address_of(program, block.first), boundary)


def copies_of(program: Program, block: Block, heat: Mapping[int, float]) -> set[int]:
    """Numbers of the blocks of the same loop that are alike, the block itself among them."""
    numbers, rounds = stretch_of(program, block, heat)
    others = {n for n in numbers if rounds > 1 and alike(program, program.blocks[n], block)}
    return others | {block.number}


def alike(program: Program, a: Block, b: Block) -> bool:
    """Whether two blocks have the same opcodes in the same order; waits, nops and branches do not count."""
    one, other = (program.lines[x.first : x.last] for x in (a, b))
    return _opcodes(one, leave_out=FREE) == _opcodes(other, leave_out=FREE)


def _opcodes(lines: Sequence[Line], leave_out: Sequence[str] = ()) -> list[str]:
    return [x.instruction.mnemonic for x in lines if control_kind(x.instruction) not in (*leave_out, *ENDS)]


def address_of(program: Program, position: int) -> int:
    """Bytes from the kernel's entry, which is aligned to 256, to a line behind it."""
    first = program.position[program.entry]
    return sum(size_of(line) for line in program.lines[first:position])

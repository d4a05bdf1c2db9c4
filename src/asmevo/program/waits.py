"""Missing waits: results used before the counters prove that they have arrived, on all paths, loops included."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from asmevo.isa import Counter, Instruction, names
from asmevo.isa.limits import limits_of
from asmevo.isa.wait import Wait
from asmevo.program.memo import BlockMemo
from asmevo.program.outstanding import CAP, Outstanding, Pending, State, facts
from asmevo.program.paths import block_path
from asmevo.program.program import Line, Program
from asmevo.verdict import Finding

_Missing: TypeAlias = tuple[int, str, Pending, int]
"""(line of the use, `raw` or `waw`, the operation, registers)."""
_Begin: TypeAlias = dict[tuple[Counter, int], tuple[Instruction, int]]
"""A `State` while it grows: (counter, line id) to (what it is, position)."""


@dataclass(frozen=True)
class Waits:
    """What may be outstanding where, for one program."""

    program: Program
    states: tuple[State, ...]
    """At the begin of each block."""
    missing: tuple[_Missing, ...]
    """Uses that no wait protects."""

    def pending(self, position: int) -> tuple[Pending, ...]:
        """What may be outstanding right before the line at `position`."""
        return tuple(self._before(position).pending())

    def needed(self, position: int) -> Wait:
        """The weakest wait that lets the line at `position` issue, given the waits before it."""
        now = facts(self.program.lines[position].instruction)
        return needed_for(pending for pending, _, _ in self._before(position).blocking(now))

    def findings(self) -> list[Finding]:
        """A finding for each use that no wait protects."""
        return [_finding(self.program, *missing) for missing in self.missing]

    def _before(self, position: int) -> Outstanding:
        block = self.program.blocks[self.program.block_of[self.program.lines[position].id]]
        account = Outstanding(self.states[block.number])
        for line in self.program.lines[block.first : position]:
            account.advance(line.id, line.instruction)
        return account


class WaitAnalysis:
    """Analyses programs; blocks it has seen before cost nothing."""

    def __init__(self) -> None:
        self._memo: BlockMemo[tuple[tuple[_Missing, ...], State]] = BlockMemo()

    def run(self, program: Program) -> Waits:
        """Forward over all paths to a fixpoint; at joins the operation that was issued last stands for all paths.

        Raises `UnsupportedError` for an opcode without a row.
        """
        limits_of(program.source.target)
        blocks = program.blocks
        content = [program.lines[b.first : b.last] for b in blocks]
        begins: list[_Begin] = [{} for _ in blocks]
        states: list[State] = [frozenset()] * len(blocks)
        missing: list[tuple[_Missing, ...]] = [()] * len(blocks)
        work, queued = deque(range(len(blocks))), [True] * len(blocks)
        while work:
            n = work.popleft()
            queued[n] = False
            states[n] = frozenset((c, line, what, at) for (c, line), (what, at) in begins[n].items())
            missing[n], out = self._block(content[n], states[n])
            for s in blocks[n].successors:
                if _join(begins[s], out) and not queued[s]:
                    queued[s] = True
                    work.append(s)
        return Waits(program, tuple(states), tuple(m for block in missing for m in block))

    def _block(self, lines: tuple[Line, ...], state: State) -> tuple[tuple[_Missing, ...], State]:
        return self._memo.get(lines, state, lambda: _scan(lines, state))


def _scan(lines: tuple[Line, ...], state: State) -> tuple[tuple[_Missing, ...], State]:
    account = Outstanding(state)
    missing: list[_Missing] = []
    for line in lines:
        now = facts(line.instruction)
        if now.touched & account.results:
            missing += [(line.id, kind, pending, registers) for pending, kind, registers in account.blocking(now)]
        if now.wait is not None:
            account.wait(now.wait)
        if now.operation is not None:
            account.issue(line.id, line.instruction, now.operation)
    return tuple(missing), account.state()


def _join(into: _Begin, new: State) -> bool:
    """The union, with the smaller position where both have an operation; whether anything changed."""
    changed = False
    for counter, line, what, position in new:
        known = into.get((counter, line))
        if known is None or position < known[1]:
            into[counter, line] = (what, position)
            changed = True
    return changed


def needed_for(pending: Iterator[Pending]) -> Wait:
    """The weakest wait that proves all these operations finished."""
    values = dict(CAP)
    needed = {Counter.VM: False, Counter.LGKM: False}
    for p in pending:
        needed[p.counter] = True
        values[p.counter] = min(values[p.counter], p.needed)
    wait = Wait()
    if needed[Counter.VM]:
        wait = wait.both(Wait(vm=values[Counter.VM]))
    if needed[Counter.LGKM]:
        wait = wait.both(Wait(lgkm=values[Counter.LGKM]))
    return wait


def missing_waits(program: Program) -> list[Finding]:
    """Uses of results that may not have arrived: rules `wait.raw` and `wait.waw`."""
    return WaitAnalysis().run(program).findings()


def needed_wait(program: Program, position: int) -> Wait:
    """The weakest wait that lets the line at `position` issue, given the waits before it."""
    return WaitAnalysis().run(program).needed(position)


def _finding(program: Program, line: int, kind: str, pending: Pending, registers: int) -> Finding:
    verb = "reads" if kind == "raw" else "overwrites"
    producer = program.line(pending.line).instruction
    return Finding(
        rule=f"wait.{kind}",
        message=(
            f"Line {line}, `{program.line(line).instruction}`, {verb} {names(registers)} before line {pending.line}, "
            f"`{producer}`, is proved finished; `s_waitcnt {pending.counter}({pending.needed})` would do."
        ),
        line=line,
        facts={
            "producer": pending.line,
            "registers": names(registers),
            "counter": pending.counter.value,
            "needed": pending.needed,
            "path": block_path(program, pending.line, line),
        },
    )

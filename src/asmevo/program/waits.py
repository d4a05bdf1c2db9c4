"""Missing waits: results used before the counters prove that they have arrived, on all paths, loops included."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from asmevo.isa import Counter, Instruction, names
from asmevo.isa.limits import limits_of
from asmevo.program.memo import BlockMemo
from asmevo.program.outstanding import Outstanding, Pending, State, facts
from asmevo.program.paths import block_path
from asmevo.program.program import Line, Program
from asmevo.program.skipping import may_skip
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
    ends: tuple[State, ...]
    """At the end of each block."""
    missing: tuple[_Missing, ...]
    """Uses that no wait protects."""

    def findings(self) -> list[Finding]:
        """A finding for each use that no wait protects."""
        return [_finding(self.program, *missing) for missing in self.missing]

    def ways(self, producer: int, use: int, counter: Counter) -> frozenset[int]:
        """Blocks on all ways from an operation to a line on which it may still be outstanding, both ends included."""
        program = self.program
        start, goal = program.block_of[producer], program.block_of[use]
        found = {goal}
        if start == goal and program.position[producer] < program.position[use]:
            return frozenset(found)
        leaves = [any(c is counter and line == producer for c, line, _, _ in state) for state in self.ends]
        work = [goal]
        while work:
            for before in self._predecessors[work.pop()]:
                if leaves[before] and before not in found:
                    found.add(before)
                    work += [before] if before != start else []
        return frozenset(found)

    @cached_property
    def _predecessors(self) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in self.program.blocks]
        for block in self.program.blocks:
            for successor in block.successors:
                found[successor].append(block.number)
        return found


class WaitAnalysis:
    """Analyses programs; blocks it has seen before cost nothing. `cautious` as in `Outstanding`."""

    def __init__(self, *, cautious: bool = True) -> None:
        self._cautious = cautious
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
        ends: list[State] = [frozenset()] * len(blocks)
        missing: list[tuple[_Missing, ...]] = [()] * len(blocks)
        work, queued = deque(range(len(blocks))), [True] * len(blocks)
        while work:
            n = work.popleft()
            queued[n] = False
            states[n] = frozenset((c, line, what, at) for (c, line), (what, at) in begins[n].items())
            missing[n], ends[n] = self._block(content[n], states[n])
            for s in blocks[n].successors:
                if _join(begins[s], ends[n]) and not queued[s]:
                    queued[s] = True
                    work.append(s)
        return Waits(program, tuple(states), tuple(ends), tuple(m for block in missing for m in block))

    def _block(self, lines: tuple[Line, ...], state: State) -> tuple[tuple[_Missing, ...], State]:
        return self._memo.get(lines, state, lambda: _scan(lines, state, cautious=self._cautious))


def _scan(lines: tuple[Line, ...], state: State, *, cautious: bool) -> tuple[tuple[_Missing, ...], State]:
    account = Outstanding(state, cautious=cautious)
    missing: list[_Missing] = []
    skipped = may_skip(lines) or [False] * len(lines)
    for line, may_be_skipped in zip(lines, skipped, strict=True):
        now = facts(line.instruction)
        if now.touched & account.results:
            missing += [(line.id, kind, pending, registers) for pending, kind, registers in account.blocking(now)]
        if now.wait is not None:
            account.wait(now.wait)
        if now.operation is not None:
            started = replace(now.operation, certain=False) if may_be_skipped else now.operation
            account.issue(line.id, line.instruction, started)
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

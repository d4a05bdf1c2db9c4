"""Placing waits: the weakest ones that keep everything which relies on them right, at the latest points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from asmevo.isa import Counter, parse_instruction
from asmevo.isa.wait import Wait
from asmevo.program.asynchronous import Kind, Operation, Queue
from asmevo.program.fences import DONE, NOT_ISSUED, FenceAnalysis, cares, same_flow
from asmevo.program.memory import Fence, fence
from asmevo.program.outstanding import CAP, facts, written_in_order
from asmevo.program.program import Line, Program, control_kind
from asmevo.program.text import redirected
from asmevo.program.waits import WaitAnalysis

_Lines: TypeAlias = tuple[Line, ...]
_LOOSE = (Queue.SCALAR, Queue.FLAT)
_JUMPS = ("branch", "cbranch")


@dataclass(frozen=True, slots=True)
class PlacedWait:
    """A wait to insert right before a line."""

    before: int
    wait: Wait
    fallthrough: bool = False
    """It belongs to the end of the block before: branches to the line do not execute it."""


@dataclass(slots=True)
class _Tracked:
    """One instance of an operation while the lines of a block are walked."""

    line: int
    operation: Operation
    status: int
    newest: bool
    at: dict[int, int] | None
    """Status in the reference at the lines that fences look at; None when the reference has no such operation."""
    end: int


class WaitPlacer:
    """Places waits for programs that are reorderings of a reference whose waits are right (K0, or a commit).

    The reference also says what others rely on: what it has finished at a barrier, a cache operation or an access of
    LDS that LDS-DMA writes must be finished there again.
    """

    def __init__(self, reference: Program) -> None:
        self._reference = reference
        self._fences = FenceAnalysis(reference)
        self._waits = WaitAnalysis()
        self._missing = {(line, kind, p.line) for line, kind, p, _ in self._waits.run(reference).missing}

    def place(self, candidate: Program, block: int) -> tuple[PlacedWait, ...] | None:
        """Waits for one block of `candidate`, which has none there; all other blocks are those of the reference.

        None when no waits make this order right: an operation stands behind a line that relies on it.
        """
        b = candidate.blocks[block]
        lines = candidate.lines[b.first : b.last]
        behind = candidate.lines[b.last].id if b.last < len(candidate.lines) else None
        for strict in (False, True):
            placed = tuple(self._placed(block, lines, behind, strict))
            if self.is_right(with_waits(candidate, placed)):
                return placed
        return None

    def is_right(self, candidate: Program) -> bool:
        """Whether no use and no fence comes too early, except where it does in the reference."""
        if not same_flow(self._reference, candidate):
            return False
        missing = self._waits.run(candidate).missing
        if any((line, kind, p.line) not in self._missing for line, kind, p, _ in missing):
            return False
        return not self._fences.findings(candidate)

    def weakest(self) -> dict[int, Wait]:
        """For each `s_waitcnt` of the reference, by line id, the weakest value that suffices where it stands.

        No value is stronger than the reference's, and all of them together are right. What nothing before the next
        wait relies on is left to that wait, within a block. Nothing on these targets raises expcnt, so it is dropped.
        """
        found: dict[int, Wait] = {}
        for block in self._reference.blocks:
            lines = self._reference.lines[block.first : block.last]
            if all(facts(line.instruction).wait is None for line in lines):
                continue
            values = dict(self._relaxed(block.number, lines))
            if self.is_right(with_values(self._reference, values)):
                found.update(values)
            else:  # rests on an order of operations that LLVM would not rely on
                found.update((line.id, wait) for line in lines if (wait := facts(line.instruction).wait) is not None)
        return found

    def finished(self, block: int) -> dict[int, frozenset[int]]:
        """Lines of a block that rely on memory operations having finished, with those the reference has finished there.

        Only what `cares` looks at counts: fences and accesses that conflict, not the readers of registers.
        """
        b = self._reference.blocks[block]
        lines = {line.id: line.instruction for line in self._reference.lines[b.first : b.last]}
        found: dict[int, set[int]] = {}
        for instance in self._fences.instances(block):
            for line, status in instance.at.items():
                if status == DONE and cares(lines[line], instance.operation):
                    found.setdefault(line, set()).add(instance.line)
        return {line: frozenset(operations) for line, operations in found.items()}

    # one block

    def _begin(self, block: int) -> _Walk:
        instances = self._fences.instances(block)
        tracked = [_Tracked(i.line, i.operation, i.status, i.newest, i.at, i.end) for i in instances]
        b = self._reference.blocks[block]
        return _Walk(
            pending=[t for t in tracked if t.status not in (NOT_ISSUED, DONE)],
            started={t.line: t for t in tracked if t.status == NOT_ISSUED},
            known=frozenset(line.id for line in self._reference.lines[b.first : b.last]),
        )

    def _placed(self, block: int, lines: _Lines, behind: int | None, strict: bool) -> Iterator[PlacedWait]:
        walk = self._begin(block)
        for line in lines:
            jumps = line is lines[-1] and control_kind(line.instruction) in _JUMPS
            late = [t for t in walk.pending if walk.blocks(t, line, strict) or (jumps and strict and _left_over(t))]
            if late:
                wait = walk.wait_for(late)
                yield PlacedWait(line.id, wait)
                walk.wait(wait)
            walk.issue(line)
        if strict and behind is not None and control_kind(lines[-1].instruction) not in (*_JUMPS, "endpgm"):
            late = [t for t in walk.pending if _left_over(t)]
            if late:
                yield PlacedWait(behind, walk.wait_for(late), fallthrough=True)

    def _relaxed(self, block: int, lines: _Lines) -> Iterator[tuple[int, Wait]]:
        walk = self._begin(block)
        for i, line in enumerate(lines):
            original = facts(line.instruction).wait
            if original is None:
                walk.issue(line)
                continue
            through = [t for t in walk.pending if walk.proves(original, t)]
            wait = walk.wait_for([t for t in through if walk.is_needed_before_next(t, lines[i + 1 :])])
            wait = Wait(max(wait.vm, original.vm), max(wait.lgkm, original.lgkm))
            yield line.id, wait
            walk.wait(wait)


@dataclass(slots=True)
class _Walk:
    """What is outstanding while the lines of a block are walked."""

    pending: list[_Tracked]
    started: dict[int, _Tracked]
    """What the reference starts in this block, by line."""
    known: frozenset[int]
    """Lines of the reference's block."""

    def blocks(self, t: _Tracked, line: Line, strict: bool = True) -> bool:
        """Whether a line relies on an outstanding operation: by its registers, or at a fence as the reference does."""
        now = facts(line.instruction)
        results = t.operation.results
        if t.newest and results & now.touched:
            if results & now.reads:
                return True
            counters = t.operation.queue.counters
            if not all(written_in_order(t.operation.queue, now.operation, c) for c in counters):
                return True
        plain = t.operation.kind is Kind.LOAD and fence(line.instruction) is Fence.BARRIER
        if not (cares(line.instruction, t.operation) or (strict and plain)):
            return False
        return t.at is None or t.at.get(line.id, NOT_ISSUED if line.id in self.known else DONE) == DONE

    def is_needed_before_next(self, t: _Tracked, lines: _Lines) -> bool:
        """Whether one of these lines relies on an operation before a later wait proves it.

        When neither happens in the block, somebody behind it may, unless the kernel ends there: that needs no wait.
        """
        status = t.status
        for line in lines:
            if self.blocks(t, line):
                return True
            now = facts(line.instruction)
            if now.wait is not None and self.proves(now.wait, t, status):
                return False
            if now.operation is not None and now.operation.certain and now.operation.queue is t.operation.queue:
                status += 1
        return not lines or control_kind(lines[-1].instruction) != "endpgm"

    def proves(self, wait: Wait, t: _Tracked, status: int | None = None) -> bool:
        """Whether a wait proves an operation finished: in doubt about the order, only 0 does."""
        values = {Counter.VM: wait.vm, Counter.LGKM: wait.lgkm}
        if t.operation.queue in _LOOSE:
            return all(values[c] == 0 for c in t.operation.queue.counters)
        (counter,) = t.operation.queue.counters
        position = min(t.status if status is None else status, CAP[counter])
        return values[counter] == 0 or (not self._is_loose(counter) and values[counter] <= position)

    def _is_loose(self, counter: Counter) -> bool:
        return any(t.operation.queue in _LOOSE and counter in t.operation.queue.counters for t in self.pending)

    def wait_for(self, late: Iterable[_Tracked]) -> Wait:
        """The weakest wait that proves these operations finished."""
        wait = Wait()
        for t in late:
            loose = t.operation.queue in _LOOSE
            for counter in t.operation.queue.counters:
                value = 0 if loose or self._is_loose(counter) else min(t.status, CAP[counter])
                wait = wait.both(Wait(vm=value) if counter is Counter.VM else Wait(lgkm=value))
        return wait

    def wait(self, wait: Wait) -> None:
        """Forget what a wait proves."""
        self.pending = [t for t in self.pending if not self.proves(wait, t)]

    def issue(self, line: Line) -> None:
        """Start the operation of a line, if it has one."""
        started = facts(line.instruction).operation
        if started is None:
            return
        for t in self.pending:
            if t.line == line.id:
                t.newest = False
            if started.certain and t.operation.queue is started.queue:
                t.status += 1
        known = self.started.get(line.id)
        matches = known is not None and known.operation.queue is started.queue and known.operation.kind is started.kind
        at, end = (known.at, known.end) if known is not None and matches else (None, DONE)
        self.pending.append(_Tracked(line.id, started, 0, True, at, end))


def _left_over(t: _Tracked) -> bool:
    """Whether the reference leaves the block with this operation finished, or with more newer ones behind it."""
    return t.end > t.status


def with_waits(program: Program, placed: Iterable[PlacedWait]) -> Program:
    """The program with `s_waitcnt` lines inserted."""
    fresh, new, moved = program.next_id, dict[int, list[Line]](), dict[int, int]()
    for wait in placed:
        new.setdefault(wait.before, []).append(Line(fresh, parse_instruction(str(wait.wait))))
        if not wait.fallthrough:
            moved[wait.before] = fresh
        fresh += 1
    return redirected(program, (line for old in program.lines for line in (*new.get(old.id, ()), old)), moved)


def with_values(program: Program, values: dict[int, Wait]) -> Program:
    """The program with other values in its `s_waitcnt` lines."""
    return program.with_lines(
        tuple(
            replace(line, instruction=parse_instruction(str(values[line.id])), words=None)
            if line.id in values
            else line
            for line in program.lines
        )
    )

"""Outstanding operations along one path: what a wait proves finished, and what an instruction still has to wait for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from asmevo.isa import Counter, Instruction, RegSet, effects
from asmevo.isa.wait import LGKM_MAX, VM_MAX, Wait, parse_wait
from asmevo.program.asynchronous import Operation, Queue, operation
from asmevo.program.program import control_kind

CAP = {Counter.VM: VM_MAX - 1, Counter.LGKM: LGKM_MAX - 1}
"""Largest useful position: with more operations behind it, any wait that the field can express proves it finished."""

State: TypeAlias = frozenset[tuple[Counter, int, Instruction, int]]
"""(counter, line id, what it is, position): position is how many newer operations of the counter surely were issued."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the wait analyses need of one instruction."""

    reads: RegSet
    writes: RegSet
    touched: RegSet
    operation: Operation | None
    wait: Wait | None


@lru_cache(maxsize=1 << 18)
def facts(instruction: Instruction) -> Facts:
    """Raises `UnsupportedError` for an opcode without a row, `InputError` for a wait that gfx9 does not have."""
    known = effects(instruction)
    started = operation(instruction)
    wait = parse_wait(instruction) if control_kind(instruction) == "waitcnt" else None
    reads = known.reads if started is None else started.sources
    return Facts(reads, known.writes, reads | known.writes, started, wait)


@dataclass(frozen=True, slots=True)
class Pending:
    """One operation that may not have finished, in one of its counters."""

    line: int
    counter: Counter
    operation: Operation
    position: int
    needed: int
    """The weakest wait value that proves it finished here: its position, or 0 where order cannot be relied on."""


class Outstanding:
    """A mutable account of what is outstanding, moved forward one instruction at a time.

    `cautious` follows LLVM: while anything that finishes in no order is outstanding, only 0 proves anything of that
    counter. Otherwise it is used that an older operation of an ordered queue cannot be outstanding without all newer
    ones of that queue, whatever else is counted; what then counts as finished really is.
    """

    __slots__ = ("_born", "_cautious", "_count", "_loose", "_operations", "results")

    def __init__(self, state: State = frozenset(), *, cautious: bool = True) -> None:
        self._cautious = cautious
        self._born: dict[Counter, dict[int, int]] = {Counter.VM: {}, Counter.LGKM: {}}
        self._count = {Counter.VM: 0, Counter.LGKM: 0}
        self._operations: dict[int, tuple[Instruction, Operation]] = {}
        for counter, line, instruction, position in state:
            started = operation(instruction)
            assert started is not None, "only operations are kept in a state"
            self._operations[line] = (instruction, started)
            self._born[counter][line] = -position
        self._renew()

    def _renew(self) -> None:
        results, loose = 0, {Counter.VM: False, Counter.LGKM: False}
        for counter, born in self._born.items():
            for line in born:
                started = self._operations[line][1]
                results |= started.results
                loose[counter] = loose[counter] or started.queue in (Queue.SCALAR, Queue.FLAT)
        self.results = results
        """Registers that some outstanding operation will still write."""
        self._loose = loose
        """Whether an operation that finishes in no order is outstanding: then only 0 proves anything."""

    def issue(self, line: int, instruction: Instruction, started: Operation) -> None:
        """An operation starts."""
        self._operations[line] = (instruction, started)
        for counter in started.queue.counters:
            self._count[counter] += started.certain
            self._born[counter].pop(line, None)
            self._born[counter][line] = self._count[counter]
            self._loose[counter] = self._loose[counter] or started.queue in (Queue.SCALAR, Queue.FLAT)
        self.results |= started.results

    def wait(self, wait: Wait) -> None:
        """A wait ends: forget what it proves finished."""
        for counter, value in ((Counter.VM, wait.vm), (Counter.LGKM, wait.lgkm)):
            born, count = self._born[counter], self._count[counter]
            if value > CAP[counter]:
                continue
            for line, at in list(born.items()):
                if value == 0 or (self._is_ordered(counter, line) and min(count - at, CAP[counter]) >= value):
                    del born[line]
        self._renew()

    def _is_ordered(self, counter: Counter, line: int) -> bool:
        """Whether a wait value above 0 can prove this operation finished."""
        if self._cautious:
            return not self._loose[counter]
        return self._operations[line][1].queue not in (Queue.SCALAR, Queue.FLAT)

    def advance(self, line: int, instruction: Instruction) -> None:
        """Whatever an instruction does to the account."""
        now = facts(instruction)
        if now.wait is not None:
            self.wait(now.wait)
        if now.operation is not None:
            self.issue(line, instruction, now.operation)

    def pending(self) -> Iterator[Pending]:
        """All that may be outstanding."""
        for counter, born in self._born.items():
            count = self._count[counter]
            for line, at in born.items():
                position = min(count - at, CAP[counter])
                needed = position if self._is_ordered(counter, line) else 0
                yield Pending(line, counter, self._operations[line][1], position, needed)

    def is_pending(self, line: int) -> bool:
        """Whether an operation may still be outstanding."""
        return any(line in born for born in self._born.values())

    def blocking(self, now: Facts) -> Iterator[tuple[Pending, str, RegSet]]:
        """What must finish before an instruction may issue: the operation, `raw` or `waw`, and the registers."""
        if not now.touched & self.results:
            return
        for pending in self.pending():
            registers = pending.operation.results
            if read := registers & now.reads:
                yield pending, "raw", read
            elif (written := registers & now.writes) and not written_in_order(
                pending.operation.queue, now.operation, pending.counter
            ):
                yield pending, "waw", written

    def state(self) -> State:
        """For the begin of the next block."""
        return frozenset(
            (counter, line, self._operations[line][0], min(self._count[counter] - at, CAP[counter]))
            for counter, born in self._born.items()
            for line, at in born.items()
        )


def written_in_order(older: Queue, newer: Operation | None, counter: Counter) -> bool:
    """Whether the hardware itself writes a newer result after an older one, as far as this counter of the older goes.

    Vector memory writes back in order (LLVM `hasVmemWriteVgprInOrder`), over a flat access in its vector part; so
    does LDS.
    """
    if newer is None:
        return False
    if newer.queue is Queue.VM:
        return older is Queue.VM or (older is Queue.FLAT and counter is Counter.VM)
    return newer.queue is Queue.LDS and older is Queue.LDS

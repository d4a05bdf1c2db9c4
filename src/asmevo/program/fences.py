"""What others rely on: at every fence, a candidate must have finished what K0 had finished there.

A wait in front of `s_barrier` protects other waves (LDS writes before they are read, LDS reads before the buffer is
used again, LDS-DMA), so registers alone do not tell whether a weaker wait will do; K0 does. Both programs run through
the same paths here, side by side: for each operation, in each of its dynamic instances (the newest, the one before,
...), the possible pairs of its position in the candidate's queue and in K0's. A pair that is outstanding in the
candidate and finished in K0 where a fence cares is a violation on a path that exists.

Plain global loads matter to others only when a store may overwrite what they read. One that is late at a barrier is
owed, and must have finished at a later barrier before the next store.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cached_property, lru_cache
from typing import TypeAlias

from asmevo.isa import Counter, Instruction
from asmevo.program.asynchronous import Kind, Operation, Queue, operation
from asmevo.program.memo import BlockMemo
from asmevo.program.memory import Fence, fence
from asmevo.program.outstanding import CAP, facts
from asmevo.program.program import Line, Program
from asmevo.program.skipping import may_skip
from asmevo.verdict import Finding, UnsupportedError

DONE = 1 << 20
"""The status of a finished operation; positions are below."""
NOT_ISSUED = -1
_OLDEST = 6
"""Instances this old or older of one line are not told apart."""

_Status: TypeAlias = int
"""Position in the queue, `DONE` or `NOT_ISSUED`. For scalar and flat operations the bits 1 (vmcnt) and 2 (lgkmcnt)
of the counters that are known to be through."""
_Pair: TypeAlias = tuple[_Status, _Status, bool]
"""(in the candidate, in K0, whether a barrier passed that should have waited)."""
_Key: TypeAlias = tuple[int, Queue, Kind, int]
"""(line id, queue, kind, age): age 0 is the newest instance."""
_State: TypeAlias = frozenset[tuple[_Key, _Pair]]


class _Cause(Enum):
    """Why a line may need that operations have finished."""

    BARRIER = auto()
    ACCESSES = auto()
    """Cache control, messages."""
    PUBLISH = auto()
    """An atomic or scoped store that others may take as a signal."""
    STORE = auto()
    LDS = auto()
    DMA = auto()


_LDS_KINDS = frozenset({Kind.LDS_READ, Kind.LDS_WRITE})
_CARES: dict[_Cause, frozenset[Kind]] = {
    _Cause.BARRIER: frozenset({Kind.STORE, Kind.DMA, Kind.LDS_READ, Kind.LDS_WRITE, Kind.CACHE}),
    _Cause.ACCESSES: frozenset(Kind) - {Kind.MOVE},
    _Cause.PUBLISH: frozenset({Kind.STORE, Kind.LOAD, Kind.DMA, Kind.CACHE, Kind.LDS_WRITE}),
    _Cause.STORE: frozenset({Kind.SCALAR_LOAD}),
    _Cause.LDS: frozenset({Kind.DMA}),
    _Cause.DMA: _LDS_KINDS,
}


@lru_cache(maxsize=1 << 16)
def _causes(instruction: Instruction) -> tuple[_Cause, ...]:
    started = operation(instruction)
    kind = None if started is None else started.kind
    found = {Fence.BARRIER: [_Cause.BARRIER], Fence.ACCESSES: [_Cause.ACCESSES]}.get(fence(instruction), [])
    if kind is Kind.STORE:
        found = [*found, _Cause.STORE]
    if started is not None and started.publishes:
        found = [*found, _Cause.PUBLISH]
    if kind in _LDS_KINDS or (started is not None and started.queue is Queue.FLAT):
        found = [*found, _Cause.LDS]
    if kind is Kind.DMA:
        found = [*found, _Cause.DMA]
    return tuple(found)


def cares(instruction: Instruction, older: Operation) -> bool:
    """Whether a line may rely on an older operation having finished, beyond its own registers."""
    return any(_cares(cause, older.queue, older.kind) for cause in _causes(instruction))


def _cares(cause: _Cause, queue: Queue, kind: Kind) -> bool:
    return kind in _CARES[cause] or (queue is Queue.FLAT and cause in (_Cause.BARRIER, _Cause.PUBLISH, _Cause.LDS))


@dataclass(frozen=True, slots=True)
class _Timeline:
    """The lines of a block that matter, in order."""

    events: tuple[tuple[int, Instruction, bool], ...]
    """(line id, instruction, whether it has causes)."""
    born: dict[int, tuple[int, Operation]]
    """Line id of an operation to (index of the event behind its issue, the operation)."""
    known: dict[tuple[int, Queue, _Status], tuple[dict[int, _Status], _Status]] = field(
        default_factory=dict[tuple[int, Queue, "_Status"], tuple[dict[int, "_Status"], "_Status"]], compare=False
    )

    def follow(self, start: int, queue: Queue, status: _Status) -> tuple[dict[int, _Status], _Status]:
        """Status right before each line that has causes, from event `start` on, and at the end of the block."""
        key = (start, queue, status)
        if key not in self.known:
            self.known[key] = _follow(self.events[start:], queue, status)
        return self.known[key]


def _timeline(lines: Iterable[Line]) -> _Timeline:
    events: list[tuple[int, Instruction, bool]] = []
    born: dict[int, tuple[int, Operation]] = {}
    for line in lines:
        now = facts(line.instruction)
        causes = _causes(line.instruction)
        if now.operation is None and now.wait is None and not causes:
            continue
        events.append((line.id, line.instruction, bool(causes)))
        if now.operation is not None:
            born[line.id] = (len(events), now.operation)
    return _Timeline(tuple(events), born)


def _follow(
    events: Iterable[tuple[int, Instruction, bool]], queue: Queue, status: _Status
) -> tuple[dict[int, _Status], _Status]:
    at: dict[int, _Status] = {}
    for line, instruction, has_causes in events:
        if has_causes:
            at[line] = status
        if status == DONE:
            continue
        now = facts(instruction)
        if now.wait is not None:
            status = _waited(queue, status, now.wait.vm, now.wait.lgkm)
        elif now.operation is not None and now.operation.queue is queue and now.operation.certain:
            status = min(status + 1, CAP[queue.counters[0]])
    return at, status


def _waited(queue: Queue, status: _Status, vm: int, lgkm: int) -> _Status:
    if queue in (Queue.VM, Queue.LDS):
        counter = queue.counters[0]
        value = vm if counter is Counter.VM else lgkm
        return DONE if value <= CAP[counter] and status >= value else status
    needed = sum(1 if c is Counter.VM else 2 for c in queue.counters)
    through = status | (1 if vm == 0 else 0) | (2 if lgkm == 0 else 0)
    return DONE if through & needed == needed else through & needed


_Violation: TypeAlias = tuple[int, int]
"""(line of the fence, line of the operation)."""


@dataclass(frozen=True, slots=True)
class Instance:
    """One dynamic instance of an operation in a block of K0."""

    line: int
    operation: Operation
    status: int
    """Position in its queue at the begin of the block, on one path; `NOT_ISSUED` if it is started in the block."""
    newest: bool
    """Whether it is the last one of its line."""
    at: dict[int, int]
    """Its status in K0 right before each line that a fence analysis looks at, from its start on."""
    end: int
    """Its status in K0 at the end of the block."""


class FenceAnalysis:
    """Compares candidates with one K0; blocks it has seen before cost little."""

    def __init__(self, k0: Program) -> None:
        self._k0 = k0
        self._lines = [k0.lines[b.first : b.last] for b in k0.blocks]
        self._timelines: BlockMemo[_Timeline] = BlockMemo()
        self._memo: BlockMemo[tuple[frozenset[_Violation], _State]] = BlockMemo()

    def is_alike(self, old: tuple[Line, ...], new: tuple[Line, ...]) -> bool:
        """Whether two versions of a block do the same as far as fences care: same operations, waits, fences, order."""
        before = self._timelines.get(old, None, lambda: _timeline(old))
        after = self._timelines.get(new, None, lambda: _timeline(new))
        return before.events == after.events

    def findings(self, candidate: Program) -> list[Finding]:
        """A finding for each operation that is late at a fence.

        Raises `UnsupportedError` for an opcode without a row, or when the candidate's blocks are not those of K0.
        """
        violations, _ = self._run(candidate)
        return [_finding(candidate, *violation) for violation in violations]

    def instances(self, block: int) -> list[Instance]:
        """What K0 may have outstanding at the begin of a block, and all it starts there, with its history in K0."""
        timeline = self._timelines.get(self._lines[block], None, lambda: _timeline(self._lines[block]))
        found: list[Instance] = []
        for (line, queue, _, age), pairs in self._begins[block].items():
            started = operation(self._k0.line(line).instruction)
            assert started is not None, "only operations have a status"
            for status, _, _ in pairs:
                at, end = timeline.follow(0, queue, status)
                found.append(Instance(line, started, status, age == 0, at, end))
        for line, (start, started) in timeline.born.items():
            at, end = timeline.follow(start, started.queue, 0)
            found.append(Instance(line, started, NOT_ISSUED, True, at, end))
        return found

    @cached_property
    def _begins(self) -> list[dict[_Key, set[_Pair]]]:
        return self._run(self._k0)[1]

    def _run(self, candidate: Program) -> tuple[list[_Violation], list[dict[_Key, set[_Pair]]]]:
        blocks = candidate.blocks
        if not same_flow(self._k0, candidate):
            raise UnsupportedError("The candidate's branches differ from K0's, so its fences cannot be compared.")
        content = [candidate.lines[b.first : b.last] for b in blocks]
        states: list[dict[_Key, set[_Pair]]] = [{} for _ in blocks]
        found: list[frozenset[_Violation]] = [frozenset()] * len(blocks)
        work, queued = deque(range(len(blocks))), [True] * len(blocks)
        while work:
            n = work.popleft()
            queued[n] = False
            found[n], out = self._block(n, content[n], _frozen(states[n]))
            for s in blocks[n].successors:
                if _join(states[s], out) and not queued[s]:
                    queued[s] = True
                    work.append(s)
        return sorted(set[_Violation]().union(*found, self._uneven(states))), states

    @cached_property
    def _skipping(self) -> list[tuple[int, int]]:
        """Blocks in which instructions may be skipped, which are the same in every candidate, and a line in each."""
        found = ((number, lines, may_skip(lines)) for number, lines in enumerate(self._lines))
        return [(number, lines[skipped.index(True)].id) for number, lines, skipped in found if skipped and any(skipped)]

    def _uneven(self, states: list[dict[_Key, set[_Pair]]]) -> Iterator[_Violation]:
        """Operations that are further behind in the candidate than in K0 where a block begins in which instructions may
        be skipped: a wait there may then count fewer behind them than both queues say."""
        for number, at in self._skipping:
            for (line, queue, _, _), pairs in states[number].items():
                if any(owed or not _is_ahead(queue, candidate, k0) for candidate, k0, owed in pairs):
                    yield at, line

    def _block(self, number: int, lines: tuple[Line, ...], state: _State) -> tuple[frozenset[_Violation], _State]:
        return self._memo.get(lines, (number, state), lambda: self._compare(number, lines, state))

    def _compare(self, number: int, lines: tuple[Line, ...], state: _State) -> tuple[frozenset[_Violation], _State]:
        original = self._lines[number]
        ours = self._timelines.get(lines, None, lambda: _timeline(lines))
        theirs = self._timelines.get(original, None, lambda: _timeline(original))
        alike = ours.events == theirs.events
        causes = {line: _causes(instruction) for line, instruction, has_causes in ours.events if has_causes}
        kinds = {line: _causes(instruction) for line, instruction, has_causes in theirs.events if has_causes}
        common = {line for line, found in causes.items() if kinds.get(line) == found}
        found: set[_Violation] = set()
        out: dict[_Key, set[_Pair]] = {}
        for key, (candidate, k0, owed) in state:
            line, queue, kind, age = key
            at, end = ours.follow(0, queue, candidate)
            at0, end0 = theirs.follow(0, queue, k0)
            reborn = line in ours.born
            if owed or not (alike and candidate == k0):
                owed, late = _walk(causes, common, at, at0, queue, kind, owed)
                found.update((f, line) for f in late)
            aged = (line, queue, kind, min(age + 1, _OLDEST) if reborn else age)
            out.setdefault(aged, set()).add((end, end0, owed))
        for line, (start, started) in ours.born.items():
            at, end = ours.follow(start, started.queue, 0)
            known = theirs.born.get(line)
            if known is not None and (known[1].queue, known[1].kind) == (started.queue, started.kind):
                at0, end0 = theirs.follow(known[0], started.queue, 0)
            else:
                at0, end0 = dict.fromkeys(at, DONE), DONE  # K0 has no such operation: nobody may have to wait for it
            owed = False
            if not alike:
                owed, late = _walk(causes, common, at, at0, started.queue, started.kind, owed)
                found.update((f, line) for f in late)
            out.setdefault((line, started.queue, started.kind, 0), set()).add((end, end0, owed))
        return frozenset(found), _frozen(out)


def _is_ahead(queue: Queue, candidate: _Status, k0: _Status) -> bool:
    """Whether every wait that proves an operation finished in K0's queue does so in the candidate's, however many more
    operations both have behind it."""
    return candidate in (k0, DONE) or (queue in (Queue.VM, Queue.LDS) and candidate > k0)


def _walk(
    causes: dict[int, tuple[_Cause, ...]],
    common: set[int],
    at: dict[int, _Status],
    at0: dict[int, _Status],
    queue: Queue,
    kind: Kind,
    owed: bool,
) -> tuple[bool, list[int]]:
    """Follow one instance along the candidate's fences: whether it is owed at the end, and fences it is late at."""
    late: list[int] = []
    plain = kind is Kind.LOAD and queue is Queue.VM
    for line, why in causes.items():
        status = at.get(line, NOT_ISSUED)
        original = at0.get(line, NOT_ISSUED) if line in common else DONE
        if status == NOT_ISSUED and original == NOT_ISSUED:
            continue
        behind = status != DONE and original == DONE
        if plain and _Cause.BARRIER in why:
            owed = status != DONE and (owed or behind)
        if (behind and any(_cares(cause, queue, kind) for cause in why)) or (owed and _Cause.STORE in why):
            late.append(line)
    return owed, late


def _frozen(state: dict[_Key, set[_Pair]]) -> _State:
    return frozenset((key, pair) for key, pairs in state.items() for pair in _worst(key[1], pairs))


def _worst(queue: Queue, pairs: set[_Pair]) -> Iterator[_Pair]:
    """Pairs that can still become a violation, without those that another one covers.

    An earlier position in the candidate's queue is worse, and a later one in K0's.
    """
    alive = {p for p in pairs if p[0] != DONE or p[2]}
    for pair in alive:
        if queue in (Queue.SCALAR, Queue.FLAT) or not any(p != pair and _covers(p, pair) for p in alive):
            yield pair


def _covers(a: _Pair, b: _Pair) -> bool:
    return a[0] <= b[0] and a[1] >= b[1] and a[2] >= b[2]


def _join(into: dict[_Key, set[_Pair]], new: _State) -> bool:
    changed = False
    for key, pair in new:
        pairs = into.setdefault(key, set())
        if pair not in pairs and (key[1] in (Queue.SCALAR, Queue.FLAT) or not any(_covers(p, pair) for p in pairs)):
            pairs.add(pair)
            changed = True
    return changed


def same_flow(k0: Program, candidate: Program) -> bool:
    """Whether the blocks of two programs correspond one to one, in order."""
    old, new = k0.blocks, candidate.blocks
    return len(old) == len(new) and all(a.successors == b.successors for a, b in zip(old, new, strict=True))


def _finding(candidate: Program, at: int, late: int) -> Finding:
    return Finding(
        rule="wait.fence",
        message=(
            f"At line {at}, `{candidate.line(at).instruction}`, line {late}, `{candidate.line(late).instruction}`, may "
            "still be outstanding on a path on which K0 has waited for it; others may rely on that."
        ),
        line=at,
        facts={"producer": late},
    )

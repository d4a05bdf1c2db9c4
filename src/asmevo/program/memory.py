"""Memory accesses and fences: which memories an instruction touches, and what may not be moved across it.

Addresses are per lane, so equal base registers with different offsets do not make two accesses disjoint: lane 0 of
one may meet lane 1 of the other. No two accesses of one memory are told apart here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, IntFlag
from functools import cached_property, lru_cache

from asmevo.isa import Instruction, MemoryRow, Space, effects
from asmevo.program.asynchronous import Kind, operation
from asmevo.program.program import Line, Program, control_kind


class Memory(IntFlag):
    """Separate memories."""

    NONE = 0
    LDS = 1
    GLOBAL = 2
    SCRATCH = 4


@dataclass(frozen=True, slots=True)
class Access:
    """What one instruction does to memory."""

    kind: Kind
    reads: Memory
    writes: Memory
    ordered: bool
    """An atomic or an access with a scope beyond the wave (sc0, sc1): it may signal or be signalled, so all other
    accesses of global memory keep their side of it."""

    @property
    def touched(self) -> Memory:
        return self.reads | self.writes


class Fence(Enum):
    """What may not be moved across a line."""

    NONE = "none"
    BARRIER = "barrier"
    """Accesses, but not scalar loads, and not global loads where `Barriers` allows it."""
    ACCESSES = "accesses"
    ALL = "all"
    """No instruction at all."""


_MEMORY = {
    Space.LDS: Memory.LDS,
    Space.SCRATCH: Memory.SCRATCH,
    Space.FLAT: Memory.LDS | Memory.GLOBAL | Memory.SCRATCH,
}


@lru_cache(maxsize=1 << 18)
def access(instruction: Instruction) -> Access | None:
    """The access of a load, store, atomic or LDS-DMA; None for all others."""
    row = effects(instruction).row
    if not isinstance(row, MemoryRow):
        return None
    started = operation(instruction)
    assert started is not None, "memory rows start an operation"
    space = _MEMORY.get(row.space, Memory.GLOBAL)
    reads = space if row.kind != "store" else Memory.NONE
    writes = space if row.kind != "load" else Memory.NONE
    if started.kind is Kind.DMA:
        reads, writes = Memory.GLOBAL, Memory.LDS
    ordered = Memory.GLOBAL in space and (instruction.is_scoped or row.kind == "atomic")
    return Access(started.kind, reads, writes, ordered)


@lru_cache(maxsize=1 << 18)
def fence(instruction: Instruction) -> Fence:
    """How much a line holds back. Waits hold back what they wait for, which is another matter."""
    tags = effects(instruction).row.tags
    if "barrier" in tags:
        return Fence.BARRIER
    if "cache" in tags or control_kind(instruction) == "message":
        return Fence.ACCESSES
    return Fence.ALL if "fence" in tags else Fence.NONE


@dataclass(frozen=True)
class Barriers:
    """Whether plain global loads may be moved across a barrier.

    They may not where another wave's stores, on the other side of it, could then meet them.
    """

    program: Program

    def may_rise(self, position: int) -> bool:
        """Whether loads behind the barrier at `position` may issue before it: no store of the kernel precedes it."""
        block = self._block(position)
        first = self.program.blocks[block].first
        return not self._behind[block] and not any(map(_stores, self.program.lines[first:position]))

    def may_sink(self, position: int) -> bool:
        """Whether loads before the barrier may finish behind it: no store of the kernel follows it."""
        block = self._block(position)
        last = self.program.blocks[block].last
        return not self._ahead[block] and not any(map(_stores, self.program.lines[position:last]))

    def _block(self, position: int) -> int:
        return self.program.block_of[self.program.lines[position].id]

    @cached_property
    def _own(self) -> list[bool]:
        return [any(map(_stores, self.program.lines[b.first : b.last])) for b in self.program.blocks]

    @cached_property
    def _ahead(self) -> list[bool]:
        """For each block, whether a store is reachable from its end."""
        return _reaches(self._own, [b.successors for b in self.program.blocks])

    @cached_property
    def _behind(self) -> list[bool]:
        """For each block, whether a store can have been executed before its begin."""
        edges: list[list[int]] = [[] for _ in self.program.blocks]
        for b in self.program.blocks:
            for s in b.successors:
                edges[s].append(b.number)
        return _reaches(self._own, edges)


def _reaches(own: list[bool], edges: Sequence[Sequence[int]]) -> list[bool]:
    found = [False] * len(own)
    changed = True
    while changed:
        changed = False
        for n, targets in enumerate(edges):
            if not found[n] and any(own[t] or found[t] for t in targets):
                found[n] = changed = True
    return found


def _stores(line: Line) -> bool:
    touched = access(line.instruction)
    return touched is not None and bool(touched.writes & ~Memory.LDS)

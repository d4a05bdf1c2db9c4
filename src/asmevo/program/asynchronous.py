"""Asynchronous operations: which wait counter one raises, in which order they finish, what they leave pending.

Facts: vector memory finishes in issue order, loads, stores and atomics mixed; LDS operations of one wave finish in
issue order; scalar loads and messages finish in any order; a flat access is in both queues at once and may leave
either out of order (LLVM `SIInsertWaitcnts.cpp`; AMDGPU memory model of gfx942). `buffer_wbl2` and `buffer_inv` count
in vmcnt (LLVM PR 178316 and 220694), but older sources say they do not: they are waited for, and never counted as
newer operations.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from asmevo.isa import ControlRow, Counter, Effects, Instruction, MemoryRow, Pipe, Reg, RegSet, Space, bind, effects


class Queue(StrEnum):
    """How an operation finishes."""

    VM = "vm"
    """In order, counted by vmcnt."""
    LDS = "lds"
    """In order, counted by lgkmcnt."""
    SCALAR = "scalar"
    """In any order, counted by lgkmcnt: scalar loads, messages, reads of clocks."""
    FLAT = "flat"
    """In both counters and in no order."""

    @property
    def counters(self) -> tuple[Counter, ...]:
        return _COUNTERS[self]


_COUNTERS = {
    Queue.VM: (Counter.VM,),
    Queue.LDS: (Counter.LGKM,),
    Queue.SCALAR: (Counter.LGKM,),
    Queue.FLAT: (Counter.VM, Counter.LGKM),
}


class Kind(StrEnum):
    """What an operation does to memory, as far as fences care."""

    LOAD = "load"
    """Global memory to registers."""
    STORE = "store"
    """A store or atomic to global memory."""
    DMA = "dma"
    """Global memory to LDS, without a register between."""
    LDS_READ = "lds read"
    LDS_WRITE = "lds write"
    """A write or atomic on LDS."""
    SCALAR_LOAD = "scalar load"
    CACHE = "cache"
    MESSAGE = "message"
    MOVE = "move"
    """A move between lanes through the LDS crossbar: no memory at all."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One asynchronous operation."""

    queue: Queue
    kind: Kind
    results: RegSet
    """Registers that are written when it finishes."""
    sources: RegSet
    """Registers it needs when it issues; not those whose other half a 16-bit load keeps."""
    certain: bool
    """Whether it surely raises its counter, so that a later `s_waitcnt` may count it as a newer operation."""
    publishes: bool
    """A store or atomic that others may wait for: atomics, and stores with a scope beyond the wave."""


@lru_cache(maxsize=1 << 18)
def operation(instruction: Instruction) -> Operation | None:
    """The asynchronous operation an instruction starts; None for all others.

    Raises `UnsupportedError` for an opcode without a row.
    """
    known = effects(instruction)
    row = known.row
    if isinstance(row, MemoryRow):
        return _memory(instruction, known, row)
    if not row.counters:
        return None
    if row.pipe is Pipe.LDS:
        return Operation(Queue.LDS, Kind.MOVE, known.writes, known.reads, certain=True, publishes=False)
    if row.counters == (Counter.VM,):
        return Operation(Queue.VM, Kind.CACHE, known.writes, known.reads, certain=False, publishes=False)
    message = isinstance(row, ControlRow) and row.kind == "message"
    kind = Kind.MESSAGE if message else Kind.SCALAR_LOAD if known.writes else Kind.CACHE
    return Operation(Queue.SCALAR, kind, known.writes, known.reads, certain=False, publishes=False)


def _memory(instruction: Instruction, known: Effects, row: MemoryRow) -> Operation:
    queue = {Space.LDS: Queue.LDS, Space.SCALAR: Queue.SCALAR, Space.FLAT: Queue.FLAT}.get(row.space, Queue.VM)
    kind = _kind(instruction, row)
    publishes = kind is Kind.STORE and (row.kind == "atomic" or instruction.is_scoped)
    sources = known.reads
    if row.extend.startswith("d16") and row.kind == "load":
        sources = 0
        for slot, operand in bind(instruction, row):
            sources |= operand.units if slot.is_use and isinstance(operand, Reg) else 0
    return Operation(queue, kind, known.writes, sources, queue in (Queue.VM, Queue.LDS), publishes)


def _kind(instruction: Instruction, row: MemoryRow) -> Kind:
    if "lds" in instruction.modifiers or "lds_dma" in row.tags:
        return Kind.DMA
    if row.space is Space.LDS:
        return Kind.LDS_READ if row.kind == "load" else Kind.LDS_WRITE
    if row.kind != "load":
        return Kind.STORE
    return Kind.SCALAR_LOAD if row.space is Space.SCALAR else Kind.LOAD

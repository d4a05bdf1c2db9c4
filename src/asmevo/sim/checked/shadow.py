"""The memory of checked execution of one worker, laid out for native code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from asmevo.isa import RegSet
from asmevo.sim.checked.checking import Checking
from asmevo.sim.checked.layout import (
    ENTRIES,
    ENTRY,
    EVENT,
    GROUP,
    KINDS,
    LOG,
    READ_RECORD,
    RUN,
    SEEN,
    SHADOW,
    WORDS,
    Struct,
)
from asmevo.sim.slots import aligned, cell

_WORD = (1 << 64) - 1
_PAD = 64
"""Dwords behind LDS that the shadow covers, for accesses that begin inside and end outside: those are faults."""

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Event:
    """Something found, as native code recorded it; places are block and instruction."""

    kind: str
    place: int
    last: int
    earlier: int
    wave: int
    other: int
    workgroup: int
    lane: int
    address: int
    first: int
    units: int


class Shadow:
    """What is known of a run and of its resident workgroups."""

    def __init__(
        self,
        checking: Checking,
        *,
        waves: int,
        lds_bytes: int,
        base: int,
        image_bytes: int,
        workgroups: int,
        fill: int,
        undefined: RegSet,
    ) -> None:
        self._count, self._dwords = waves, -(-lds_bytes // 4) + _PAD
        self._run = aligned(RUN.size)
        self._events, self._seen = aligned(checking.limit * EVENT.size), aligned(8 * SEEN)
        spans = [(s.first - base, s.end - base, int(s.writable)) for s in checking.spans]
        self._spans = np.array(spans, np.int64).reshape(-1, 3)
        words = [undefined >> 64 * n & _WORD for n in range(WORDS + 1)]
        self._initial = np.array([words] * waves, np.uint64)
        self._stores = aligned(image_bytes) if workgroups > 1 else None
        self._reads = aligned(checking.reads * READ_RECORD)
        self._kept: list[Bytes] = []
        _put(
            self._run, RUN, events=self._events.ctypes.data, capacity=checking.limit, seen=self._seen.ctypes.data,
            spans=self._spans.ctypes.data, span_count=len(spans), fill=int(np.uint32(fill).view(np.int32)),
            stores=0 if self._stores is None else self._stores.ctypes.data, initial=self._initial.ctypes.data,
            reads_room=checking.reads,
            reads=self._reads.ctypes.data if checking.reads else 0,
        )  # fmt: skip

    def add_workgroup(self) -> list[int]:
        """Room for one more resident workgroup; gives the address of what is known of each of its waves."""
        group, waves = aligned(GROUP.size), aligned(self._count * SHADOW.size)
        sizes = {"readers": 4 * self._dwords * self._count, "writers": 4 * self._dwords, "written": self._dwords,
                 "last": self._dwords, "log": 4 * LOG}  # fmt: skip
        tables = {name: aligned(size) for name, size in sizes.items()}
        entries = aligned(self._count * ENTRIES * ENTRY.size)
        self._kept.extend((group, waves, entries, *tables.values()))
        places = {name: table.ctypes.data for name, table in tables.items()}
        _put(group, GROUP, waves=self._count, dwords=self._dwords, **places)
        for n in range(self._count):
            _put(
                waves[n * SHADOW.size :], SHADOW, entries=entries.ctypes.data + n * ENTRIES * ENTRY.size,
                group=group.ctypes.data, run=self._run.ctypes.data,
            )  # fmt: skip
        return [waves.ctypes.data + n * SHADOW.size for n in range(self._count)]

    def reads(self) -> NDArray[np.int32]:
        """[n, 4] place, wave, workgroup and digest of each read of LDS, in the order of execution."""
        used = int(cell(self._run, RUN["reads_used"])[0])
        return self._reads[: used * READ_RECORD].view(np.int32).reshape(-1, 4).copy()

    def events(self) -> Iterator[Event]:
        """What was found so far, in the order of execution."""
        for n in range(int(cell(self._run, RUN["used"])[0])):
            memory = self._events[n * EVENT.size :]
            values = {name: int(cell(memory, field)[0]) for name, field in EVENT.fields.items()}
            yield Event(**{**values, "kind": KINDS[values["kind"]]})  # pyright: ignore[reportArgumentType] - a name


def _put(memory: Bytes, struct: Struct, **values: int) -> None:
    for name, value in values.items():
        cell(memory, struct[name])[0] = value

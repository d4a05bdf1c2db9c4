"""The memory of one worker: its waves, LDS, tables and context, laid out for native code."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from asmevo.sim import layout
from asmevo.sim.entry import EntryState
from asmevo.sim.executable import Executable
from asmevo.sim.layout import LANES, PANEL, PANEL_SLOTS, ROW, WAVE, WAVE_BYTES, WORKER, WORKER_BYTES
from asmevo.sim.results import WaveOrder
from asmevo.sim.runtime.addresses import OFFSETS

_TYPES = {"i32": np.int32, "i64": np.int64, "ptr": np.uint64}
_COPY_REGISTERS = 32
"""Registers of the longest accumulator, which MFMA may have to copy."""
_TRACE_BLOCKS = 1 << 20

Entry = Callable[[int], int]


def native_entry(address: int) -> Entry:
    """`sim_run` as a Python function; the interpreter lock is released while it runs."""
    prototype = cast(Any, ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p))
    return cast(Entry, prototype(address))


def aligned(size: int) -> NDArray[np.uint8]:
    """Zeroed host memory aligned to 64 bytes."""
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size]


class Worker:
    """Runs workgroups one after the other; several workers share a list of them."""

    def __init__(
        self,
        executable: Executable,
        entry: EntryState,
        memory: NDArray[np.uint8],
        base: int,
        shared: Shared,
        *,
        lds_bytes: int,
    ) -> None:
        self.shared = shared
        waves = len(entry.lanes)
        blocks = len(executable.chunks)
        descriptor = executable.program.kernel.descriptor
        self._private_size = descriptor.private_size
        self.states = aligned(layout.GUARD + waves * WAVE_BYTES)
        self.states[:] = shared.fill & 0xFF  # also what no register of the descriptor's covers
        self.context = aligned(WORKER_BYTES)
        self.lds = aligned(-(-max(lds_bytes, 1) // ROW) * ROW)
        self.counts = np.zeros((layout.COUNTERS, blocks), np.int64)
        self.trace = np.zeros(_TRACE_BLOCKS if shared.trace else 0, np.int32)
        self._scratch = aligned(3 * OFFSETS)
        self._panels = aligned(PANEL_SLOTS * PANEL + _COPY_REGISTERS * ROW)
        self._private = aligned(-(-waves * LANES * self._private_size // 64) * 64)
        first = self.states.ctypes.data + layout.GUARD
        self._pointers = np.array([first + n * WAVE_BYTES for n in range(waves)], np.uint64)
        self._turns = self._pointers[::-1].copy() if shared.wave_order is WaveOrder.DESCENDING else self._pointers
        self._entry = entry
        self._memory = memory
        for n in range(waves):
            self._set_wave(n, "lds", self.lds.ctypes.data)
            self._set_wave(n, "lds_size", lds_bytes)
            self._set_wave(n, "image", memory.ctypes.data)
            self._set_wave(n, "image_base", base)
            self._set_wave(n, "image_size", len(memory))
            self._set_wave(n, "offsets", self._scratch.ctypes.data)
            self._set_wave(n, "panels", self._panels.ctypes.data)
            self._set_wave(n, "private", self._private.ctypes.data + n * LANES * self._private_size)
            self._set_wave(n, "private_size", self._private_size)
            self._set_wave(n, "worker", self.context.ctypes.data)
        agprs = max(0, descriptor.vgpr_alloc - descriptor.accum_offset)
        self._set(
            waves=self._pointers.ctypes.data,
            turns=self._turns.ctypes.data,
            wave_count=waves,
            flush=int(executable.options.flush),
            limit=shared.limit,
            quantum=shared.quantum,
            blocks=blocks,
            functions=executable.functions.ctypes.data,
            counts=self.counts.ctypes.data,
            successors=shared.successors.ctypes.data,
            lengths=shared.lengths.ctypes.data,
            kinds=shared.kinds.ctypes.data,
            addresses=shared.addresses.ctypes.data,
            trace=self.trace.ctypes.data,
            trace_size=len(self.trace),
            next=shared.next.ctypes.data,
            list=shared.workgroups.ctypes.data,
            list_size=len(shared.workgroups),
            stop=shared.stop.ctypes.data,
            scalars=entry.scalars.ctypes.data,
            id_x=entry.id_units[0],
            id_y=entry.id_units[1],
            id_z=entry.id_units[2],
            id_info=entry.info_unit,
            grid_x=shared.grid[0],
            grid_y=shared.grid[1],
            entry=executable.entry,
            items=entry.items.ctypes.data,
            lanes=entry.lanes.ctypes.data,
            fill=int(np.uint32(shared.fill).view(np.int32)),
            vgprs=min(descriptor.accum_offset, descriptor.vgpr_alloc),
            agprs=agprs,
            lds_bytes=len(self.lds),
            private=self._private.ctypes.data,
            private_bytes=len(self._private),
        )

    @property
    def pointer(self) -> int:
        """Address of the context."""
        return self.context.ctypes.data

    def _cell(self, memory: NDArray[np.uint8], field: layout.Field, start: int = 0) -> NDArray[Any]:
        kind = _TYPES[field.type]
        at = start + field.offset
        return memory[at : at + np.dtype(kind).itemsize].view(kind)

    def _set(self, **values: int) -> None:
        for name, value in values.items():
            self._cell(self.context, WORKER[name])[0] = value

    def _set_wave(self, number: int, name: str, value: int) -> None:
        self._cell(self.states, WAVE[name], layout.GUARD + number * WAVE_BYTES)[0] = value

    def get(self, name: str) -> int:
        """A field of the context."""
        return int(self._cell(self.context, WORKER[name])[0])

    @property
    def current(self) -> int:
        """Number of the wave that runs."""
        first = self.states.ctypes.data + layout.GUARD
        return (int(self._turns[self.get("current")]) - first) // WAVE_BYTES

    def wave(self, number: int, name: str) -> int:
        """A field of a wave's state."""
        return int(self._cell(self.states, WAVE[name], layout.GUARD + number * WAVE_BYTES)[0])

    def take_trace(self) -> NDArray[np.int32]:
        """Empty the trace buffer: the block numbers executed since the last time."""
        used = self.get("trace_used")
        self._set(trace_used=0)
        return self.trace[:used].copy()


class Shared:
    """What the workers of one run have in common."""

    def __init__(
        self,
        executable: Executable,
        grid: tuple[int, int, int],
        workgroups: NDArray[np.int32],
        code_address: int,
        *,
        limit: int,
        quantum: int,
        fill: int,
        trace: bool,
        wave_order: WaveOrder,
    ) -> None:
        chunks = executable.chunks
        self.grid = grid
        self.workgroups = workgroups
        self.limit, self.quantum, self.fill, self.trace = limit, quantum, fill, trace
        self.wave_order = wave_order
        self.successors = np.array([c.successors for c in chunks], np.int32)
        self.lengths = np.array([c.last - c.first for c in chunks], np.int32)
        self.kinds = np.array([c.kind for c in chunks], np.int32)
        start = code_address + executable.program.source.text.address
        self.addresses = np.array([start + o for o in executable.offsets] or [0], np.int64)
        self.next = np.zeros(1, np.int64)
        self.stop = np.zeros(1, np.int32)

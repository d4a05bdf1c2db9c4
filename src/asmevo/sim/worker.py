"""The memory of one worker: its waves, LDS, tables and context, laid out for native code."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from asmevo.sim import layout, polling
from asmevo.sim.checked.checking import Checking
from asmevo.sim.checked.shadow import Shadow
from asmevo.sim.entry import EntryState
from asmevo.sim.executable import Executable
from asmevo.sim.layout import WAVE, WORKER, WORKER_BYTES
from asmevo.sim.matrices import PANEL_BYTES
from asmevo.sim.results import AccessHook, WaveOrder
from asmevo.sim.runtime.addresses import ARRAYS, OFFSETS
from asmevo.sim.slots import Slots, aligned, cell

_TRACE_BLOCKS = 1 << 20

Entry = Callable[[int], int]


def native_entry(address: int) -> Entry:
    """`sim_run` as a Python function; the interpreter lock is released while it runs."""
    prototype = cast(Any, ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p))
    return cast(Entry, prototype(address))


class Worker:
    """Runs workgroups; several workers share a list of them."""

    def __init__(
        self,
        executable: Executable,
        entry: EntryState,
        memory: NDArray[np.uint8],
        base: int,
        shared: Shared,
        *,
        lds_bytes: int,
        checking: Checking | None = None,
        on_start: int = 0,
        access_hook: AccessHook | None = None,
    ) -> None:
        self.shared = shared
        waves = len(entry.lanes)
        blocks = len(executable.chunks)
        descriptor = executable.program.kernel.descriptor
        self.context = aligned(WORKER_BYTES)
        self.counts = np.zeros((layout.COUNTERS, blocks), np.int64)
        self.trace = np.zeros(_TRACE_BLOCKS if shared.trace else 0, np.int32)
        self._scratch = aligned(ARRAYS * OFFSETS)
        self._panels = aligned(PANEL_BYTES)
        self._entry = entry
        self._memory = memory
        descending = shared.wave_order is WaveOrder.DESCENDING
        self.slots = Slots(
            waves, lds_bytes, descriptor.private_size, shared.fill, shared.residents, descending=descending
        )
        self._wave_fields = {
            "image": memory.ctypes.data,
            "image_base": base,
            "image_size": len(memory),
            "offsets": self._scratch.ctypes.data,
            "panels": self._panels.ctypes.data,
            "worker": self.context.ctypes.data,
            "access_hook": access_hook.function if access_hook else 0,
            "access_notes": access_hook.notes if access_hook else 0,
        }
        agprs = max(0, descriptor.vgpr_alloc - descriptor.accum_offset)
        self._set(
            slots=self.slots.table.ctypes.data,
            slot_limit=self.slots.most,
            wave_count=waves,
            host_mode=executable.options[0].host_mode,
            modes=shared.modes.ctypes.data,
            mode_count=len(shared.modes),
            landings=executable.landings.ctypes.data,
            code_start=shared.code_start,
            code_bytes=4 * len(executable.landings),
            limit=shared.limit,
            quantum=shared.quantum,
            blocks=blocks,
            functions=executable.functions.ctypes.data,
            heat=executable.heat.ctypes.data,
            counts=self.counts.ctypes.data,
            successors=shared.successors.ctypes.data,
            lengths=shared.lengths.ctypes.data,
            kinds=shared.kinds.ctypes.data,
            polls=shared.polls.ctypes.data,
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
            lds_bytes=self.slots.lds_room,
            private_bytes=self.slots.private_room,
            on_start=on_start,
            firsts=shared.firsts.ctypes.data,
        )
        self.shadow = None if checking is None else self._shadow(checking, base, lds_bytes)
        self.add_slot()

    def _shadow(self, checking: Checking, base: int, lds_bytes: int) -> Shadow:
        return Shadow(
            checking,
            waves=len(self._entry.lanes),
            lds_bytes=lds_bytes,
            base=base,
            image_bytes=len(self._memory),
            workgroups=len(self.shared.workgroups),
            fill=self.shared.fill,
            undefined=self._entry.undefined,
        )

    @property
    def pointer(self) -> int:
        """Address of the context."""
        return self.context.ctypes.data

    def add_slot(self) -> None:
        """Make room for one more resident workgroup."""
        count = self.slots.add(**self._wave_fields)
        if self.shadow is not None:
            for wave, pointer in enumerate(self.shadow.add_workgroup()):
                cell(self.slots.state(count - 1, wave), WAVE["shadow"])[0] = pointer
        self._set(slot_count=count)

    def _set(self, **values: int) -> None:
        for name, value in values.items():
            cell(self.context, WORKER[name])[0] = value

    def step_by_step(self) -> None:
        """From now on native code comes back after every block."""
        self._set(stepping=1)

    def get(self, name: str) -> int:
        """A field of the context."""
        return int(cell(self.context, WORKER[name])[0])

    @property
    def current(self) -> tuple[int, int]:
        """The slot and the number of the wave that runs."""
        return self.get("slot"), self.slots.wave_at(self.get("current"))

    @contextmanager
    def traced(self) -> Generator[None]:
        """Trace for a while, also in a run that is not traced."""
        whole = self.trace
        self.trace = whole if len(whole) else np.zeros(_TRACE_BLOCKS, np.int32)
        self._set(trace=self.trace.ctypes.data, trace_size=len(self.trace), trace_used=0)
        yield
        self.trace = whole
        self._set(trace=whole.ctypes.data, trace_size=len(whole))

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
        residents: int,
    ) -> None:
        chunks = executable.chunks
        self.grid = grid
        self.workgroups = workgroups
        self.limit, self.quantum, self.fill, self.trace = limit, quantum, fill, trace
        self.wave_order = wave_order
        self.residents = residents
        """Most workgroups of one worker that are under way at once."""
        self.successors = np.array([c.successors for c in chunks], np.int32)
        self.firsts = np.array([c.first for c in chunks], np.int32)
        self.lengths = np.array([c.last - c.first for c in chunks], np.int32)
        self.kinds = np.array([c.kind for c in chunks], np.int32)
        self.polls = np.array([polling.weight(executable.instructions(n)) for n in range(len(chunks))], np.int32)
        self.code_start = code_address + executable.program.source.text.address
        self.addresses = np.array([self.code_start + o for o in executable.offsets] or [0], np.int64)
        self.modes = np.array(executable.modes, np.int32)
        self.next = np.zeros(1, np.int64)
        self.stop = np.zeros(1, np.int32)

"""Memory of resident workgroups: wave states, LDS and scratch, made when another workgroup has to be resident."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from asmevo.isa.limits import limits_of
from asmevo.sim import layout
from asmevo.sim.layout import LANES, ROW, SLOT, SLOT_BYTES, WAVE, WAVE_BYTES

COMPUTE_UNITS = 304
"""Of an MI300X, which runs gfx942."""
_MOST_BYTES = 1 << 30
"""Most memory for resident workgroups of one worker."""
_TYPES = {"i32": np.int32, "i64": np.int64, "ptr": np.uint64}


def aligned(size: int) -> NDArray[np.uint8]:
    """Zeroed host memory aligned to 64 bytes."""
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size]


def cell(memory: NDArray[np.uint8], field: layout.Field, start: int = 0) -> NDArray[Any]:
    """A writable view of one field of a native structure at byte `start` of `memory`."""
    kind = _TYPES[field.type]
    at = start + field.offset
    return memory[at : at + np.dtype(kind).itemsize].view(kind)


def resident_workgroups(waves: int, vector_registers: int, lds_bytes: int) -> int:
    """Workgroups that an MI300X holds at once, at least one for each compute unit."""
    limits = limits_of("gfx942")
    by_waves = limits.waves_by_registers(vector_registers) * limits.simds // max(waves, 1)
    return COMPUTE_UNITS * max(1, min(by_waves, limits.workgroups_by_lds(lds_bytes)))


class Slots:
    """Room for up to `most` resident workgroups of one worker; memory appears with each `add`."""

    def __init__(
        self, waves: int, lds_bytes: int, private_size: int, fill: int, most: int, *, descending: bool
    ) -> None:
        self.waves = waves
        self._lds_bytes, self._private_size = lds_bytes, private_size
        self._fill, self._descending = fill, descending
        self.lds_room = -(-max(lds_bytes, 1) // ROW) * ROW
        self.private_room = -(-waves * LANES * private_size // 64) * 64
        size = waves * (WAVE_BYTES + LANES * private_size) + self.lds_room
        self.most = max(1, min(most, _MOST_BYTES // size))
        self.table = aligned(self.most * SLOT_BYTES)
        self._states: list[NDArray[np.uint8]] = []
        self._lds: list[NDArray[np.uint8]] = []
        self._kept: list[NDArray[Any]] = []

    def __len__(self) -> int:
        return len(self._states)

    def add(self, **fields: int) -> int:
        """One more slot, whose waves get these fields; gives the number of slots."""
        states = aligned(layout.GUARD + self.waves * WAVE_BYTES)
        states[:] = self._fill & 0xFF  # also what no register of the descriptor's covers
        lds, private = aligned(self.lds_room), aligned(self.private_room)
        first = states.ctypes.data + layout.GUARD
        pointers = np.array([first + n * WAVE_BYTES for n in range(self.waves)], np.uint64)
        turns = pointers[::-1].copy() if self._descending else pointers
        at = len(self) * SLOT_BYTES
        self._states.append(states)
        self._lds.append(lds)
        self._kept.extend((private, pointers, turns))
        for n in range(self.waves):
            own = {
                "lds": lds.ctypes.data,
                "lds_size": self._lds_bytes,
                "private": private.ctypes.data + n * LANES * self._private_size,
                "private_size": self._private_size,
            }
            for name, value in (own | fields).items():
                cell(states, WAVE[name], layout.GUARD + n * WAVE_BYTES)[0] = value
        for name, array in (("waves", pointers), ("turns", turns), ("private", private)):
            cell(self.table, SLOT[name], at)[0] = array.ctypes.data
        return len(self)

    def is_active(self, slot: int) -> bool:
        """Whether a workgroup is under way there."""
        return bool(cell(self.table, SLOT["active"], slot * SLOT_BYTES)[0])

    def state(self, slot: int, wave: int) -> NDArray[np.uint8]:
        """The state of a wave, as laid out in `asmevo.sim.layout`."""
        first = layout.GUARD + wave * WAVE_BYTES
        return self._states[slot][first : first + WAVE_BYTES]

    def lds(self, slot: int) -> NDArray[np.uint8]:
        """LDS of the workgroup there."""
        return self._lds[slot][: self._lds_bytes]

    def wave_at(self, turn: int) -> int:
        """Number of the wave that has this turn."""
        return self.waves - 1 - turn if self._descending else turn

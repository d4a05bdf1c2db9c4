"""The machine record: one numpy record with the program, the parameters, the state and the counts of a replay.

Compiled code gets a pointer to it. What is used together lies together: a line's costs and counts, a wave's state. Its
arrays are fixed in size and mostly untouched memory.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from mmap import MADV_NOHUGEPAGE, MAP_ANONYMOUS, MAP_PRIVATE, mmap
from typing import Final

import numpy as np
from numpy.typing import NDArray

from asmevo.timing.compiled import revision
from asmevo.timing.counters import LGKM_SIZE, VM_SIZE
from asmevo.timing.layout import CAUSE_COUNT, CODE, CODES, EVENT_COLUMNS, EVENTS, FORWARD, NEVER, SIMDS, WAVES

PARAMETERS: Final = (
    "issue_clk", "branch_clk", "barrier_clk", "packed_f32_mfma_clk", "lds_queue_clk", "lds_latency", "vmem_queue_clk",
    "store_latency", "scalar_latency", "load_latency", "scalar_miss_latency", "memory_cost_256", "memory_backlog",
)  # fmt: skip
"""Numbers of the chip and of the launch's memory traffic that the replay uses; clocks.

`memory_cost_256`: 1/256 clocks for each byte on the memory queue; `memory_backlog`: clocks of work that may wait there.
"""

COSTS: Final = np.dtype(
    [
        ("category", "u1"),
        ("kind", "u1"),
        ("idle_matrix", "u1"),  # 1 when the matrix pipe must be idle at issue: MFMA and packed f32
        ("counts_vm", "u1"),
        ("counts_lgkm", "u1"),
        ("store", "u1"),
        ("wait_vm", "i1"),  # at most this many outstanding before it issues; -1 for no wait
        ("wait_lgkm", "i1"),
        ("reads", "u2"),  # registers that must be ready
        ("writes", "u2"),  # registers whose readers wait for it
        ("extra", "i4"),  # clocks of s_nop and s_sleep beyond one turn; priority of s_setprio
        ("port", "i4"),  # clocks on the vector issue port
        ("matrix", "i4"),  # clocks on the matrix pipe, 0 for all but MFMA
        ("slow", "i4"),  # clocks until any reader may use the result
        ("fast", "i4"),  # clocks until a reader with a forwarding path may
        ("sgpr", "i4"),  # clocks until a scalar reader may use an SGPR that a VALU wrote
        ("bytes", "i4"),  # to or from memory
        ("path", "i4"),  # clocks on the path to L1
        ("lds_port", "i4"),  # clocks on the LDS port without bank conflicts
    ]
)
"""What an instruction costs wherever it stands."""

_LINE: Final = (
    ("costs", COSTS),
    ("added_256", "i4"),  # 1/256 clocks that bank conflicts or cache lines add to `lds_port` or `path` in the mean
    ("first_code", "u4"),  # index in `codes` of the first register it reads; those that it writes come behind these
    ("crosses", "u1"),  # 1 when it crosses a fetch boundary
    ("touched", "u1"),  # whether the compute unit has executed it
    ("count", "i8"),  # issues
    ("turns", "i8"),  # turns that the instruction was the first of its SIMD to use
    ("stall", "i8", (CAUSE_COUNT,)),  # clocks that waves waited: several waves can wait at once
    ("idle", "i8", (CAUSE_COUNT,)),  # clocks without issue on a SIMD, charged to what ended the gap
)

_WAVE: Final = (
    ("ready", "i8"),  # earliest issue that the wave's own state allows
    ("priority", "u4"),
    ("position", "u4"),
    ("previous", "u4"),  # position issued last
    ("last", "u4"),  # end of the current run of positions
    ("run", "u4"),
    ("run_end", "u4"),
    ("simd", "u4"),
    ("group", "i4"),  # -1 when it has ended
    ("base", "i8"),  # earliest issue that the wave's previous instruction allows
    ("base_cause", "i4"),  # what the time between the previous turn and `base` was spent on
    ("ready_cause", "i4"),
    ("ready_late", "i8"),  # clocks of the wait until `ready` that are due to bank conflicts
    ("blocked", "i8"),  # cause that held the ready wave back, or -1
    ("arrived", "i8"),  # time of arrival at the barrier, or -1
    ("slack", "i8"),  # clocks waited since the last fetch boundary was crossed
    ("packed", "i8"),  # earliest MFMA after the wave's last packed f32 instruction
    ("vm_count", "i8"),  # vector memory operations counted
    ("vm_last", "i8"),  # completion of the last
    ("lgkm_count", "i8"),  # LDS and scalar memory operations counted
    ("lgkm_last", "i8"),  # completion of the last
    ("clear_last", "i8"),  # the same without bank conflicts
    ("lgkm_ring", "i8", (LGKM_SIZE,)),
    ("clear_ring", "i8", (LGKM_SIZE,)),
    ("vm_ring", "i8", (VM_SIZE,)),
    ("producer", "u1", (FORWARD,)),  # 1 where an MFMA wrote the register last
    ("board", "i8", (2 * FORWARD,)),
)

_GROUP: Final = (
    ("ordinal", "i8"),  # which workgroup of the schedule it is, or -1
    ("alive", "i8"),
    ("at_barrier", "i8"),
)

_SIMD: Final = (
    ("next_turn", "i8"),
    ("last_turn", "i8"),
    ("vector_free", "i8"),
    ("matrix_free", "i8"),
    ("population", "i8"),
    ("resident", "u4", (WAVES,)),  # its wave slots, oldest first
)

_LDS_PORT: Final = (
    ("free", "i8"),
    ("clear", "i8"),  # when it would be free if the accesses that keep it busy had no bank conflicts
    ("last", "i8"),  # SIMD that used it last
)


@cache
def machine_type() -> np.dtype[np.void]:
    """Type of the compute unit's record, with the revision of the compiled sources as a field."""
    return np.dtype(
        [
            *((name, "i8") for name in PARAMETERS),
            ("path_free", "i8"),
            ("memory_free_256", "i8"),
            ("drained", "i8"),  # completion of the last store
            ("rooms", "i8"),  # workgroups that it holds at once
            ("group_width", "i8"),  # wave slots of one
            ("waiting", "i8"),  # next workgroup of the schedule
            ("event_count", "i8"),
            ("event_limit", "i8"),  # issues that are kept; 0 for none
            ("ports", list(_LDS_PORT), (SIMDS // 2,)),
            ("simds", list(_SIMD), (SIMDS,)),
            ("groups", list(_GROUP), (WAVES,)),
            ("waves", list(_WAVE), (WAVES,)),
            ("lines", list(_LINE), (CODE,)),
            ("codes", "u2", (CODES,)),  # registers read and written, as in `layout.FORWARD`
            ("events", "i8", (EVENTS, EVENT_COLUMNS)),
            (revision(), "u1"),
        ],
        align=True,
    )


def new_machine(waves_per_group: int, rooms: int) -> NDArray[np.void]:
    """An idle compute unit with room for `rooms` workgroups."""
    room = mmap(-1, machine_type().itemsize, flags=MAP_PRIVATE | MAP_ANONYMOUS)
    with suppress(OSError):  # of a kernel without huge pages
        room.madvise(MADV_NOHUGEPAGE)  # so little of it is used that clearing huge pages would take as long as a replay
    machine = np.frombuffer(room, machine_type())
    machine["rooms"], machine["group_width"] = rooms, waves_per_group
    machine["groups"]["ordinal"] = -1
    machine["simds"]["last_turn"], machine["simds"]["next_turn"] = -4, NEVER
    waves = machine["waves"][0, : rooms * waves_per_group]
    waves["group"] = waves["arrived"] = -1
    waves["ready"] = NEVER
    return machine

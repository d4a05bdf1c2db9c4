"""The machine record: one numpy record with the program, the parameters, the state and the counts of a replay.

Compiled code gets a pointer to it. Its nested arrays are fixed in size and mostly untouched memory.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from asmevo.timing.compiled import revision
from asmevo.timing.layout import CAUSE_COUNT, CODE, CODES, EVENT_COLUMNS, EVENTS, FORWARD, NEVER, WAVES

PARAMETERS: Final = (
    "issue_clk", "branch_clk", "barrier_clk", "packed_f32_mfma_clk", "lds_queue_clk", "lds_latency", "vmem_queue_clk",
    "store_latency", "scalar_latency", "load_latency", "scalar_miss_latency", "memory_cost_256", "memory_backlog",
)  # fmt: skip
"""Numbers of the chip and of the launch's memory traffic that the replay uses; clocks.

`memory_cost_256`: 1/256 clocks for each byte on the memory queue; `memory_backlog`: clocks of work that may wait there.
"""

PROGRAM: Final = (
    ("category", "i4", (CODE,)),
    ("kind", "i4", (CODE,)),
    ("extra", "i4", (CODE,)),  # clocks of s_nop and s_sleep beyond one turn; priority of s_setprio
    ("port", "i4", (CODE,)),  # clocks on the vector issue port
    ("matrix", "i4", (CODE,)),  # clocks on the matrix pipe, 0 for all but MFMA
    ("idle_matrix", "i4", (CODE,)),  # 1 when the matrix pipe must be idle at issue: MFMA and packed f32
    ("slow", "i4", (CODE,)),  # clocks until any reader may use the result
    ("fast", "i4", (CODE,)),  # clocks until a reader with a forwarding path may
    ("sgpr", "i4", (CODE,)),  # clocks until a scalar reader may use an SGPR that a VALU wrote
    ("reads", "i4", (CODE, 2)),  # first and last index in `codes`
    ("writes", "i4", (CODE, 2)),
    ("counts_vm", "i4", (CODE,)),
    ("counts_lgkm", "i4", (CODE,)),
    ("wait_vm", "i4", (CODE,)),  # at most this many outstanding before it issues; -1 for no wait
    ("wait_lgkm", "i4", (CODE,)),
    ("bytes", "i4", (CODE,)),  # to or from memory
    ("path", "i4", (CODE,)),  # clocks on the path to L1
    ("lds_port", "i4", (CODE,)),  # clocks on the LDS port without bank conflicts
    ("lds_conflict_256", "i4", (CODE,)),  # 1/256 clocks that bank conflicts add in the mean
    ("store", "i4", (CODE,)),
    ("crosses", "i4", (CODE,)),  # 1 when it crosses a fetch boundary
    ("codes", "i4", (CODES,)),  # registers read and written, see layout.FORWARD
)
"""By program position."""

STATE: Final = (
    # waves
    ("position", "i8", (WAVES,)),
    ("previous", "i8", (WAVES,)),  # position issued last
    ("run", "i8", (WAVES,)),
    ("run_end", "i8", (WAVES,)),
    ("last", "i8", (WAVES,)),  # end of the current run of positions
    ("base", "i8", (WAVES,)),  # earliest issue that the wave's previous instruction allows
    ("base_cause", "i8", (WAVES,)),  # what the time between the previous turn and `base` was spent on
    ("ready", "i8", (WAVES,)),  # earliest issue that the wave's own state allows
    ("ready_cause", "i8", (WAVES,)),
    ("ready_late", "i8", (WAVES,)),  # clocks of the wait until `ready` that are due to bank conflicts
    ("blocked", "i8", (WAVES,)),  # cause that held the ready wave back, or -1
    ("priority", "i8", (WAVES,)),
    ("simd", "i8", (WAVES,)),
    ("group", "i8", (WAVES,)),
    ("arrived", "i8", (WAVES,)),  # time of arrival at the barrier, or -1
    ("slack", "i8", (WAVES,)),  # clocks waited since the last fetch boundary was crossed
    ("packed", "i8", (WAVES,)),  # earliest MFMA after the wave's last packed f32 instruction
    ("board", "i8", (WAVES, 2 * FORWARD)),
    ("producer", "u1", (WAVES, FORWARD)),  # 1 where an MFMA wrote the register last
    ("vm_ring", "i8", (WAVES, 64)),
    ("vm_count", "i8", (WAVES, 2)),  # operations counted, completion of the last
    ("lgkm_ring", "i8", (WAVES, 16)),
    ("clear_ring", "i8", (WAVES, 16)),  # the same without bank conflicts
    ("lgkm_count", "i8", (WAVES, 3)),  # operations counted, completion of the last, also without bank conflicts
    # workgroups
    ("groups", "i8", ()),
    ("group_width", "i8", ()),  # wave slots of a group
    ("ordinal", "i8", (WAVES,)),  # which workgroup of the schedule it is, or -1
    ("alive", "i8", (WAVES,)),
    ("at_barrier", "i8", (WAVES,)),
    ("waiting", "i8", ()),  # next workgroup of the schedule
    # SIMDs and units
    ("resident", "i8", (4, WAVES)),  # wave slots of each SIMD, oldest first
    ("population", "i8", (4,)),
    ("next_turn", "i8", (4,)),
    ("last_turn", "i8", (4,)),
    ("vector_free", "i8", (4,)),
    ("matrix_free", "i8", (4,)),
    ("lds_free", "i8", (2,)),
    ("lds_clear", "i8", (2,)),  # when it would be free if the accesses that keep it busy had no bank conflicts
    ("lds_last", "i8", (2,)),  # SIMD that used the port last
    ("path_free", "i8", ()),
    ("memory_free_256", "i8", ()),
    ("drained", "i8", ()),  # completion of the last store
    ("touched", "u1", (CODE,)),
    ("events", "i8", (EVENTS, EVENT_COLUMNS)),
    ("event_count", "i8", ()),
    ("event_limit", "i8", ()),  # events that are kept; 0 for none
)

COUNTED: Final = (
    ("count", "i8", (CODE,)),  # issues
    ("stall", "i8", (CODE, CAUSE_COUNT)),  # clocks that waves waited: several waves can wait at once
    ("turns", "i8", (CODE,)),  # turns that the instruction was the first of its SIMD to use
    ("idle", "i8", (CODE, CAUSE_COUNT)),  # clocks without issue on a SIMD, charged to what ended the gap
)
"""By program position."""


@cache
def machine_type() -> np.dtype[np.void]:
    """Type of the record, with the revision of the compiled sources as a field."""
    parameters = [(name, "i8", ()) for name in PARAMETERS]
    return np.dtype([*parameters, *PROGRAM, *STATE, *COUNTED, (revision(), "u1", ())])


def new_machine(waves_per_group: int, groups: int) -> NDArray[np.void]:
    """An idle compute unit with room for `groups` workgroups."""
    machine = np.zeros(1, machine_type())
    machine["groups"], machine["group_width"] = groups, waves_per_group
    machine["ordinal"] = machine["group"] = machine["arrived"] = -1
    machine["last_turn"] = -4
    machine["next_turn"] = machine["ready"] = NEVER
    return machine

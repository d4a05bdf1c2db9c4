"""Byte layout of the memory that native code works on: the state of a wave and the context of a worker.

Both are plain bytes owned by Python. Native code reaches a field by its offset; `WAVE` and `WORKER` map names to
offsets.
"""

from __future__ import annotations

from dataclasses import dataclass

LANES = 64
SHARED_APERTURE, PRIVATE_APERTURE = 1 << 48, 2 << 48
"""Where flat addresses mean LDS and scratch, 4 GiB each (Linux `kfd_flat_memory.c`, GFX9)."""
ROW = 4 * LANES
"""Bytes of a vector register: 64 lanes of 32 bits."""
VECTORS = 512
"""VGPR 0..255, then AGPR 0..255."""
TEMPORARIES = 8
"""Vector registers of the engine itself, after the architectural ones."""
UNITS = 160
"""Scalar units (see `asmevo.isa.registers`): SGPRs, VCC, M0, EXEC, SCC, MODE, and room."""
GUARD = 64
"""Bytes before a wave's state, which cross-lane reads of lane -1 touch."""
VARIANTS = 3
FULL, PARTIAL, SKIP = range(VARIANTS)
"""Versions of a block: EXEC all ones; any EXEC; vector instructions skipped (`s_setvskip`)."""
IDLE = VARIANTS
"""Row of the counters for executions of the PARTIAL version in which no lane was active."""
COUNTERS = VARIANTS + 1

PANEL_SLOTS = 32
PANEL = 8 * LANES * 4
"""Bytes of one unpacked matrix operand: at most 8 elements of a lane, 32 bits each."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a native structure."""

    offset: int
    type: str
    """LLVM type."""


_SIZES = {"i32": 4, "i64": 8, "ptr": 8}


def _fields(start: int, **types: str) -> tuple[dict[str, Field], int]:
    fields: dict[str, Field] = {}
    for name, kind in types.items():
        size = _SIZES[kind]
        start = -(-start // size) * size
        fields[name] = Field(start, kind)
        start += size
    return fields, start


VECTOR_BASE = 0
SCALAR_BASE = (VECTORS + TEMPORARIES) * ROW

WAVE, _wave_end = _fields(
    SCALAR_BASE + 4 * UNITS,
    chunk="i32",  # block to run next
    phase="i32",  # RUNNING, WAITING or ENDED
    count="i64",  # instructions executed
    deadline="i64",  # count at which the wave yields to the others
    polls="i64",  # weight of the polls of this turn since the last work
    polling="i32",  # whether the last turn did nothing but poll
    fault="i32",  # 0 or a fault code
    fault_at="i32",  # instruction in the block
    fault_lane="i32",
    vskip="i32",  # vector instructions are skipped
    fault_address="i64",
    number="i32",  # wave in the workgroup
    workgroup="i32",
    lds="ptr",
    lds_size="i64",
    image="ptr",  # host address of the memory image
    image_base="i64",  # device address of its first byte
    image_size="i64",
    offsets="ptr",  # scratch for addresses (`asmevo.sim.runtime.addresses.ARRAYS`)
    apart="i32",  # whether the dwords of the last buffer access lie apart
    panels="ptr",  # unpacked matrix operands
    private="ptr",  # scratch memory: `private_size` bytes for each lane
    private_size="i64",
    worker="ptr",
    shadow="ptr",  # what checked execution knows of the wave
    mode="i32",  # which of the worker's modes the wave is in
    target="i64",  # where a computed jump goes
    access_hook="ptr",  # told of accesses (`asmevo.sim.results.AccessHook`), or null
    access_notes="ptr",
)
WAVE_BYTES = -(-_wave_end // 64) * 64 + 64 * 5
"""Size of a wave's state with padding that keeps the waves of a workgroup off the same cache sets."""

RUNNING, WAITING, ENDED = range(3)

SLOT, SLOT_BYTES = _fields(
    0,
    waves="ptr",  # pointers to the wave states, by number
    turns="ptr",  # the same pointers in the order in which waves have their turns
    private="ptr",  # scratch memory of all waves
    active="i32",  # whether a workgroup is under way
)
"""Room for one resident workgroup."""

WORKER, WORKER_BYTES = _fields(
    0,
    slots="ptr",  # [slot_limit] SLOT
    slot_count="i32",  # slots that have memory
    slot_limit="i32",  # workgroups that the chip holds at once
    residents="i32",  # workgroups under way
    slot="i32",  # the one that runs
    wave_count="i32",
    current="i32",  # turn of the wave that runs
    moved="i32",  # whether a wave came to a barrier or ended in this round
    idle="i32",  # rounds, one workgroup after the other, in which nothing happened but polling
    stepping="i32",  # return after every block
    turn_over="i32",  # whether the wave that was stepped last has ended its turn
    request="i32",  # block that is not compiled yet
    variant="i32",
    changes="i64",  # blocks that may have changed memory, and atomics that did
    changes_seen="i64",  # `changes` at the end of the last round without progress
    request_mode="i32",
    host_mode="i32",  # float mode of the host between blocks, see `asmevo.sim.runtime.floatmode`
    modes="ptr",  # [mode_count] i32: values of MODE that there is code for, the kernel's own first
    mode_count="i32",
    landings="ptr",  # i32 for each dword of the code: the block that begins there, or -1
    code_start="i64",  # device address of the code
    code_bytes="i64",
    limit="i64",  # instructions of a wave
    quantum="i64",
    blocks="i64",
    functions="ptr",  # [modes][VARIANTS][blocks] entry points or null
    heat="ptr",  # [VARIANTS][blocks] i64, executions until HOT
    counts="ptr",  # [COUNTERS][blocks] i64
    successors="ptr",  # [blocks][2] i32
    lengths="ptr",  # [blocks] i32
    kinds="ptr",  # [blocks] i32
    polls="ptr",  # [blocks] i32, see `asmevo.sim.polling`
    addresses="ptr",  # [blocks] i64, device address of the first instruction
    trace="ptr",  # i32 block numbers
    trace_used="i64",
    trace_size="i64",  # 0 when not tracing
    next="ptr",  # shared i64: index of the next workgroup in `list`
    list="ptr",  # workgroup numbers, i32
    list_size="i64",
    stop="ptr",  # shared i32: another worker has a fault
    scalars="ptr",  # initial scalar units of a wave
    id_x="i32",  # scalar unit of the workgroup id, or -1
    id_y="i32",
    id_z="i32",
    id_info="i32",  # scalar unit of the workgroup info, or -1
    grid_x="i32",
    grid_y="i32",
    entry="i32",  # first block
    items="ptr",  # [waves][64] i32: v0
    lanes="ptr",  # [waves] i64: EXEC
    fill="i32",  # initial value of vector registers, LDS and scratch
    vgprs="i32",  # registers to fill
    agprs="i32",
    lds_bytes="i32",
    private_bytes="i64",  # scratch memory of a workgroup
    on_start="ptr",  # of checked execution, called for each wave that begins; null otherwise
    firsts="ptr",  # [blocks] i32, position in the program of the first instruction
)

FALL, JUMP = 0, 1
"""What a block returns: which of its two successors follows."""
NEXT, BARRIER, END, COMPUTED, NEW_MODE = range(5)
"""Kinds of blocks: what happens after the last instruction. COMPUTED: it goes to the address that the block left in
the wave's `target`. NEW_MODE: MODE has changed, and other code follows."""

ALL_DONE, MISSING, TRACE_FULL, FAULTED, LIMIT, STALLED, NEW_SLOT, STEPPED, STARTED, HOT = range(10)
"""What the worker loop returns. STALLED: all resident workgroups only poll, and no other may start. NEW_SLOT: memory
for one more workgroup is wanted. STEPPED: a wave has executed one block. STARTED: a workgroup is about to begin, when
stepping. HOT: a block has run so often that better code is worth its while."""

FAULTS = ("", "global", "lds", "scalar", "descriptor", "scratch", "trap", "jump", "mode", "alignment")
"""Fault codes: kind of access that went wrong."""


def register_offset(unit: int) -> int:
    """Offset of a VGPR or AGPR unit (`asmevo.isa.registers` numbering) in a wave's state."""
    return (unit - 256) * ROW


def scalar_offset(unit: int) -> int:
    """Offset of a scalar unit in a wave's state."""
    return SCALAR_BASE + 4 * unit

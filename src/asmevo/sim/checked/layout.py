"""Byte layout of what checked execution remembers: of a wave, of its workgroup, of a run, and of what it found.

All of it is memory owned by Python (`asmevo.sim.checked.shadow`) on which native code works.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from asmevo.sim.layout import Field

WORDS = 12
"""64-bit words of a set of registers (`asmevo.isa.registers` has 768 units)."""
WAVES = 16
"""Most waves of a workgroup."""
NEVER = 0x7FFFFFFF
"""A stamp later than all others."""
_SIZES = {"i32": 4, "i64": 8, "ptr": 8}


@dataclass(frozen=True, slots=True)
class Struct:
    """Named fields, some of them arrays, and the size of all."""

    fields: Mapping[str, Field]
    size: int

    def __getitem__(self, name: str) -> Field:
        return self.fields[name]


def _struct(**types: str | tuple[str, int]) -> Struct:
    fields: dict[str, Field] = {}
    end = 0
    for name, kind in types.items():
        element, count = kind if isinstance(kind, tuple) else (kind, 1)
        size = _SIZES[element]
        start = -(-end // size) * size
        fields[name] = Field(start, element)
        end = start + size * count
    return Struct(fields, -(-end // 64) * 64)


_SET = ("i64", WORDS + 1)  # the last word takes what a shift moves past the end
SHADOW = _struct(
    pending=_SET,  # registers that some outstanding operation will still write
    pending_vm=_SET,  # those of vector memory
    pending_lds=_SET,  # those of LDS
    pending_other=_SET,  # those of scalar loads and flat accesses
    undefined=_SET,  # registers that nobody has written
    entries="ptr",  # outstanding operations, oldest first
    count="i32",  # of them
    vm="i32",  # operations issued that surely count in vmcnt
    lds="i32",  # LDS operations issued
    epoch="i32",  # barriers passed
    wave="i32",
    workgroup="i32",
    stamp="i32",  # of the LDS access that is under way
    group="ptr",
    run="ptr",
)
"""What is known of a wave."""

ENTRY = _struct(place="i32", queue="i32", seq="i32", first="i32", units="i32", stamp="i32", access="i32", through="i32")
"""An outstanding operation. `seq` is its number among those of its queue, `through` the counters (bits) that a flat
access is known to be through."""
ENTRIES = 256
"""Outstanding operations that are told apart; older ones count as finished, as no wait could ask for them."""
VM, LDS, SCALAR, FLAT = range(4)
"""Queues of entries, as in `asmevo.program.asynchronous`."""
NO_ACCESS, READ, WRITE, DMA = range(4)
"""What an operation does to LDS."""

GROUP = _struct(
    stamp="i32",  # of the newest access; never reset, so that what earlier workgroups left is old
    base="i32",  # stamp at the begin of the workgroup
    waves="i32",
    synchronised="i32",  # whether the workgroup executed something that orders it after others
    dwords="i64",  # of LDS
    readers="ptr",  # [waves][dwords] i32: stamp << 4 | bytes of the last read
    writers="ptr",  # [dwords] i32: stamp << 5 | agent of the last write
    written="ptr",  # [dwords] u8: bytes that were ever written
    last="ptr",  # [dwords] u8: bytes of the last write, CHANGED, ATOMIC
    log="ptr",  # [LOG] i32: place of the access with a stamp
    read_from=("i32", 2 * WAVES),  # [parity of the epoch][wave]: reads since this stamp may be under way in the epoch
    write_from=("i32", 4 * WAVES),  # [parity][agent]: the same of writes
    epoch_of=("i32", 2),  # [parity]
    open=("i32", 2),  # [parity] stamp at which the epoch began
    late=("i32", 2),  # [parity] oldest write that was outstanding when the epoch began
    ended=("i32", WAVES),  # epoch in which a wave ended plus 1, or 0
)
"""What is known of a workgroup. Agents are the waves, then their LDS-DMA engines."""
RESTART = 1 << 25
"""Stamp after which the next workgroup begins with 0 again; a stamp has 26 bits."""
LOG = 1 << 16
CHANGED, ATOMIC = 16, 32
"""Flags of the last write: it changed what was there; it was an atomic."""

RUN = _struct(
    events="ptr",
    used="i32",
    capacity="i32",
    seen="ptr",  # [SEEN] i64 keys of what was recorded
    spans="ptr",  # [span_count][3] i64: first offset, end, whether it may be written
    span_count="i32",
    fill="i32",
    stores="ptr",  # [dwords of the image] i32: workgroup + 1 << 4 | bytes of the last store; null for one workgroup
    reads="ptr",  # [reads_room] records of what LDS reads gave; null where nobody compares
    reads_used="i64",
    reads_room="i64",
    initial="ptr",  # [waves] sets of undefined registers at the begin
)
SEEN = 1 << 14

READ_RECORD = 16
"""Bytes of a record of an LDS read: i32 place, wave, workgroup, and a digest of the values."""

EVENT = _struct(
    kind="i32", place="i32", last="i32", earlier="i32", wave="i32", other="i32", workgroup="i32", lane="i32",
    address="i64", first="i32", units="i32",
)  # fmt: skip
"""Something found. `earlier` is the place of the other access, -1 where there is none; `other` its wave or workgroup;
`last` the last instruction of the range that `place` begins."""

KINDS = (
    "pending", "undefined", "lds.undefined", "lds.read", "lds.write", "lds.dma", "bounds.read", "bounds.write",
    "global.read", "global.write",
)  # fmt: skip
"""Kinds of events; their number is what `EVENT.kind` holds."""

PLACE_BITS = 12
"""A place is the number of a block shifted by this, and the instruction in the block."""

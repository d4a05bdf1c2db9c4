"""Opcode rows: the one place that says what an opcode reads, writes, counts, costs and means."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from asmevo.isa.instruction import Instruction
from asmevo.isa.registers import EXEC_LO, M0, MODE, SCC, VCC_LO

HIDDEN = {
    "scc": (SCC, 1), "vcc": (VCC_LO, 2), "exec": (EXEC_LO, 2), "m0": (M0, 1), "mode": (MODE, 1), "sgprs": (0, 102),
}  # fmt: skip
"""Registers an opcode may use without printing them: name to (first unit, count). `sgprs` is any SGPR."""

TYPE_UNITS = {
    "u8": 1, "u16": 1, "i16": 1, "f16": 1, "bf16": 1, "u32": 1, "i32": 1, "f32": 1, "u64": 2, "i64": 2, "f64": 2,
    "mask": 2, "scc": 1, "b32": 1, "b64": 2, "b96": 3, "b128": 4, "b256": 8, "b512": 16, "b1024": 32,
    "imm": 0, "any": 0,
}  # fmt: skip
"""Operand type to its width in 32-bit units; 0 where the printed operand decides. `mask` is one bit for each lane.

`i32` and `u32` are the same 32 bits (the names say how a row reads them); f types take neg, abs, clamp and omod.

A meaning receives and gives: integers of the width in the name (`b` like `u`; `u8`, `u16`, `i16` and `f16` are the part
that op_sel or SDWA selects, else the low one); IEEE floats for `f16 f32 f64`; `bf16` as 16 bits; `imm` as 32 bits;
`scc` as 1 bit; `mask` as the 1 bit of the lane in a `LaneRow`, as 64 bits in a `ScalarRow`.
"""

LATENCIES = (
    "salu", "smem", "valu", "valu_pk", "valu_64", "valu_mul", "valu_cvt", "valu_trans", "valu_trans64", "mfma", "lds",
    "vmem_load", "vmem_store", "atomic", "branch", "internal",
)  # fmt: skip
"""Latency classes that rows name; LLVM's `SISchedule.td` has other rates for conversions and transcendentals than for
plain 32-bit operations. `valu_pk` are `v_pk_*_f32`, `valu_mul` 32-bit integer products, `valu_64` 64-bit operations."""


class Pipe(StrEnum):
    """Issue category: a SIMD issues at most one instruction of each per turn (rocprofiler-compute docs)."""

    SALU = "salu"
    SMEM = "smem"
    VALU = "valu"
    MFMA = "mfma"
    VMEM = "vmem"
    LDS = "lds"
    BRANCH = "branch"
    INTERNAL = "internal"


class Counter(StrEnum):
    """Wait counters of gfx9. There is no separate store counter: stores count in VM."""

    VM = "vmcnt"
    LGKM = "lgkmcnt"
    EXP = "expcnt"


@dataclass(frozen=True, slots=True)
class Slot:
    """One operand of a row."""

    type: str
    is_def: bool = False
    is_use: bool = False
    hidden: str = ""
    """Name in `HIDDEN` for an operand that is not printed."""
    tied: int = -1
    """For a use that reads the old value of printed operand `tied`."""


_TOKEN = re.compile(r"\{(\w+)\}|@(\d+)|(\w+)")


def signature(text: str) -> tuple[Slot, ...]:
    """Slots from `"defs = uses"`, in printed order, defs first; `{scc}` is hidden, `@0` reads the old operand 0.

    Examples: `u32 = u32, u32`; `u32 {scc} = u32, u32`; `f32 = f32, f32, @0`; `{scc} = u32, u32`; `= u32`.
    """
    left, _, right = text.partition("=")
    defs = [_slot(m, is_def=True) for m in _TOKEN.finditer(left)]
    printed = [s for s in defs if not s.hidden]
    uses = [_slot(m, is_def=False, printed=printed) for m in _TOKEN.finditer(right)]
    return tuple(defs + uses)


def _slot(m: re.Match[str], *, is_def: bool, printed: list[Slot] | None = None) -> Slot:
    if m[1]:
        kind = {"vcc": "mask", "exec": "mask", "scc": "scc"}.get(m[1], "u32")
        return Slot(kind, is_def, not is_def, hidden=m[1])
    if m[2]:
        assert printed is not None
        return Slot(printed[int(m[2])].type, is_use=True, tied=int(m[2]))
    if m[3] not in TYPE_UNITS:
        raise ValueError(f"unknown operand type {m[3]!r}")
    return Slot(m[3], is_def, not is_def)


@dataclass(frozen=True, kw_only=True)
class Row:
    """What every opcode row states. Subclasses add the meaning."""

    name: str
    """Mnemonic without encoding suffix."""
    slots: tuple[Slot, ...] = ()
    pipe: Pipe = Pipe.SALU
    latency: str = "salu"
    """Latency class; its cycles are in the chip tables of `asmevo.timing`."""
    counters: tuple[Counter, ...] = ()
    """Wait counters that an issue increments."""
    tags: frozenset[str] = field(default_factory=frozenset[str])
    """Facts that hazard rules, fences and the engine look for.

    Order: `fence` nothing may be moved across it, `barrier`, `cache` (cache maintenance).
    Hazards: `trans` transcendental, `dot`, `div_fmas`, `fma64`, the matrix classes `xdl sgemm dgemm`, `wide_store` over
    64 bits of store data, `lane_select` the last operand selects a lane, `lane_read` reads one lane of a VGPR,
    `m0_data` uses M0 for more than the limit of LDS.
    Execution: `ignores_exec`; `cross_lane` depends on EXEC as data; `lds_dma` memory to LDS without a register;
    `addtid` the lane index is added to the address; `wave_count` one access for the wave, with its number of active
    lanes; `scalar_buffer` the base is a buffer descriptor; `scratch_units` the offset counts 64 bytes; `format` data is
    converted from or to a format of memory; `fp16_ovfl` holds
    for MODE.FP16_OVFL = 0.
    Partial results: `keeps_half` a 16-bit result leaves the other half of its register (op_sel picks the half);
    `high_half` the same, always into the high half; `keeps_byte` an 8-bit result into the byte of op_sel[3:2].
    """

    @property
    def is_vector(self) -> bool:
        """Whether EXEC masks it (an implicit read of EXEC)."""
        return self.pipe in (Pipe.VALU, Pipe.VMEM, Pipe.LDS) and "ignores_exec" not in self.tags

    def slots_for(self, instruction: Instruction) -> tuple[Slot, ...]:
        """Slots of this printed form; memory rows change them with the modifiers `lds` and `sc0`."""
        return self.slots


@dataclass(frozen=True, kw_only=True)
class LaneRow(Row):
    """A VALU opcode: `meaning(o, *uses)` on each lane gives the def, or a tuple of defs in slot order."""

    meaning: Callable[..., Any]
    saturated: Callable[..., Any] | None = None
    """Meaning with `clamp` of a row with an integer result; None where that form is not modelled."""
    pipe: Pipe = Pipe.VALU
    latency: str = "valu"


@dataclass(frozen=True, kw_only=True)
class PackedRow(LaneRow):
    """A VOP3P opcode: `meaning` works on one element; op_sel, op_sel_hi, neg_lo and neg_hi choose the elements."""

    element: str = "f32"
    """Element type; f32 elements are the two registers of a pair, 16-bit ones the two halves of a register."""
    kind: str = ""
    """`mov`: the low element is op_sel[0] of source 0, the high one op_sel[1] of source 1 (no meaning is applied).
    `mix`: one result; source i is f32, or with op_sel_hi[i] the f16 half op_sel[i] widened to f32."""


@dataclass(frozen=True, kw_only=True)
class ScalarRow(Row):
    """A SALU opcode: `meaning(o, *uses)` gives the defs; `scc` values are 1 bit wide."""

    meaning: Callable[..., Any]


@dataclass(frozen=True, kw_only=True)
class CrossLaneRow(Row):
    """A VALU opcode that moves values between lanes or to SGPRs; `kind` names it for the engine."""

    kind: str
    pipe: Pipe = Pipe.VALU
    latency: str = "valu"


@dataclass(frozen=True, kw_only=True)
class MatrixRow(Row):
    """An MFMA opcode: D[m,n] = sum over k of A[m,k] B[k,n] + C[m,n], in `blocks` independent blocks."""

    m: int
    n: int
    k: int
    blocks: int
    a_type: str
    """Element type of A: `f32 f16 bf16 xf32 fp8 bf8 i8 f64`; fp8 and bf8 are the fnuz formats on gfx942."""
    b_type: str
    c_type: str
    """`f32`, `i32` or `f64`."""
    passes: int
    """Length in passes of 4 clocks (hazard rules and the timing model read this)."""
    sparse: bool = False
    """SMFMAC: D[m,n] += A B, where A holds two of every four elements along k; a register says which."""
    pipe: Pipe = Pipe.MFMA
    latency: str = "mfma"

    @property
    def broadcasts(self) -> bool:
        """Whether CBSZ and ABID let several blocks take one block of A."""
        return self.blocks > 1 and self.a_type != "f64"

    @property
    def permutes(self) -> bool:
        """Whether BLGP moves B between lanes; with f64 its bits negate A, B and C."""
        return self.broadcasts or self.a_type == "f32"


class Space(StrEnum):
    """Address space of a memory opcode."""

    SCALAR = "scalar"
    GLOBAL = "global"
    BUFFER = "buffer"
    FLAT = "flat"
    SCRATCH = "scratch"
    LDS = "lds"


@dataclass(frozen=True, kw_only=True)
class MemoryRow(Row):
    """A load, store or atomic.

    Printed operands: scalar `d, base, offset`; global load `d, vaddr, saddr`, store `vaddr, data, saddr`; buffer
    `data, voffset, rsrc, soffset` (without data when `lds` is given); LDS load `d, addr`, store `addr, data[, data]`.
    """

    space: Space
    kind: str
    """`load`, `store` or `atomic`."""
    size: int
    """Bytes accessed by a lane in one element (by the wave for scalar loads)."""
    elements: int = 1
    """2 for `ds_read2`, `ds_write2` and their st64 forms."""
    stride: int = 1
    """Unit of offset0 and offset1 in elements: 64 for the st64 forms."""
    extend: str = ""
    """How a value under 32 bits meets its register.

    Loads: `zero` or `sign`; d16 forms write one half of the register and keep the other: `d16_lo` and `d16_hi` for 16
    bits, with `_zero` or `_sign` added for a byte. Stores: with `d16_hi` the data is in bits 31:16.
    """
    atomic: Callable[..., Any] | None = None
    """For atomics: `atomic(o, old, *data)` gives the new value of the `atomic_type` element in memory.

    Data operands come in printed order; one twice as wide as the element is passed as its two halves, low first.
    """
    atomic_type: str = "u32"

    def slots_for(self, instruction: Instruction) -> tuple[Slot, ...]:
        if "lds" in instruction.modifiers:  # LDS-DMA: data goes to LDS at M0, no data operand is printed
            return (*(s for s in self.slots if not s.is_def), Slot("u32", is_use=True, hidden="m0"))
        returns = "glc" if self.space is Space.SCALAR else "sc0"
        if self.kind == "atomic" and returns in instruction.modifiers and self.space is not Space.LDS:
            return self._returning()
        return self.slots

    def _returning(self) -> tuple[Slot, ...]:
        """Slots when the old value is returned: buffer and scalar forms overwrite the data, the others print a def."""
        if self.space in (Space.BUFFER, Space.SCALAR):
            return (Slot(self.slots[0].type, is_def=True, is_use=True), *self.slots[1:])
        return (Slot(f"b{8 * self.size}", is_def=True), *self.slots)


@dataclass(frozen=True, kw_only=True)
class ControlRow(Row):
    """Branches, waits, barriers, nops, end: `kind` names it for the engine and the analyses."""

    kind: str
    """`branch cbranch endpgm barrier waitcnt nop setprio sleep cache message setreg getreg trap ...`."""
    pipe: Pipe = Pipe.INTERNAL
    latency: str = "internal"


def index(rows: Iterable[Row]) -> dict[str, Row]:
    """Rows by name; a name that occurs twice is an error of the table."""
    table: dict[str, Row] = {}
    for row in rows:
        if row.name in table:
            raise ValueError(f"two rows for {row.name}")
        table[row.name] = row
    return table

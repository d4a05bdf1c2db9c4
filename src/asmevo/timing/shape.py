"""What one instruction needs of the machine, on any chip of its target: from its opcode row and its effects."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from asmevo.isa import ControlRow, Instruction, MatrixRow, MemoryRow, Pipe, RegSet, Row, Space, effects, units
from asmevo.isa.registers import VGPR_BASE
from asmevo.isa.roles import matrix_operands, wait_states
from asmevo.isa.wait import LGKM_MAX, VM_MAX, parse_wait
from asmevo.timing.layout import (
    BARRIER,
    BRANCH,
    END,
    FORWARD,
    INTERNAL,
    LDS,
    MEMORY,
    PLAIN,
    SCALAR,
    SETPRIO,
    VECTOR,
)

_CATEGORY: Final = {
    Pipe.VALU: VECTOR,
    Pipe.MFMA: VECTOR,
    Pipe.SALU: SCALAR,
    Pipe.SMEM: SCALAR,
    Pipe.VMEM: MEMORY,
    Pipe.LDS: LDS,
    Pipe.BRANCH: BRANCH,
    Pipe.INTERNAL: INTERNAL,
}
_KIND: Final = {"barrier": BARRIER, "endpgm": END, "setprio": SETPRIO}
LANES: Final = 64
"""Lanes of a wave."""
_PAST_L1: Final = frozenset({"nt", "sc1"})
"""What makes a load pass by L1 (MrRoy09/AMD-CDNA3-CacheBenchmarking; tingqli/pyhip, tools/vmem-bandwidth.md)."""
_SCALAR_UNITS: Final[RegSet] = (1 << VGPR_BASE) - 1


@dataclass(frozen=True, slots=True)
class Shape:
    """What one instruction needs of the machine, on any chip of its target."""

    row: Row
    category: int
    kind: int
    extra: int
    """Issue turns of `s_nop` and `s_sleep` beyond one; priority of `s_setprio`."""
    codes: tuple[int, ...]
    """Registers read, as in `layout.FORWARD`."""
    writes: tuple[int, ...]
    wait_vm: int
    wait_lgkm: int
    bytes: int
    """To or from memory or LDS, all lanes taken as active."""
    lds_dwords: int
    """Dwords a lane of an LDS access; 0 for the rest."""
    is_store: bool
    """Writes without reading: to memory, or to LDS."""
    to_lds: bool
    """Loads from memory into LDS."""
    past_l1: bool
    """Stores, atomics, and loads that take nothing from L1."""


@lru_cache(maxsize=1 << 16)
def shape_of(instruction: Instruction) -> Shape:
    """What an instruction needs. Raises `UnsupportedError` for an opcode without a row or a form it does not know."""
    known = effects(instruction)
    row = known.row
    category = _CATEGORY[row.pipe]
    kind = _KIND.get(row.kind, PLAIN) if isinstance(row, ControlRow) else PLAIN
    wait_vm = wait_lgkm = -1
    if isinstance(row, ControlRow) and row.kind == "waitcnt":
        wait = parse_wait(instruction)
        wait_vm = wait.vm if wait.vm < VM_MAX else -1
        wait_lgkm = wait.lgkm if wait.lgkm < LGKM_MAX else -1
    memory = row if isinstance(row, MemoryRow) else None
    size = memory.size * memory.elements if memory else 0
    lds_dwords = max(1, size // 4) if category == LDS else 0
    scalar = memory is not None and memory.space is Space.SCALAR
    return Shape(
        row=row,
        category=category,
        kind=kind,
        extra=_extra(instruction, row),
        codes=_reads(instruction, row, known.reads, known.writes),
        writes=_writes(row, known.writes),
        wait_vm=wait_vm,
        wait_lgkm=wait_lgkm,
        bytes=size if scalar else size * LANES,
        lds_dwords=lds_dwords,
        is_store=memory is not None and memory.kind == "store",
        to_lds=memory is not None and ("lds" in instruction.modifiers or "lds_dma" in row.tags),
        past_l1=memory is not None and (memory.kind != "load" or not _PAST_L1.isdisjoint(instruction.modifiers)),
    )


def _extra(instruction: Instruction, row: Row) -> int:
    kind = row.kind if isinstance(row, ControlRow) else ""
    operand = getattr(instruction.operands[0], "bits", 0) if instruction.operands else 0
    if kind == "nop":
        return wait_states(instruction) - 1
    if kind == "sleep":  # 64 clocks a unit (CDNA3 ISA, S_SLEEP), in turns of 4
        return (operand & 127) * 16
    return operand & 3 if kind == "setprio" else 0


def _reads(instruction: Instruction, row: Row, reads: RegSet, writes: RegSet) -> tuple[int, ...]:
    """Registers that must be ready at issue."""
    if isinstance(row, MatrixRow):
        other, c = matrix_operands(instruction, row)
        return (*units(other), *(FORWARD + u for u in units(c)))
    if row.pipe is Pipe.VALU:
        scalar = reads & _SCALAR_UNITS
        # A vector write waits for a pending matrix result in the same register.
        return (*units((reads | writes) & ~_SCALAR_UNITS), *(FORWARD + u for u in units(scalar)))
    if row.pipe in (Pipe.VMEM, Pipe.LDS):
        return tuple(units(reads | (writes & ~_SCALAR_UNITS)))
    return tuple(units(reads))


def _writes(row: Row, writes: RegSet) -> tuple[int, ...]:
    """Registers whose readers wait for an ALU; what loads write is guarded by counters instead."""
    if row.pipe is Pipe.VALU:
        return tuple(u if u >= VGPR_BASE else FORWARD + u for u in units(writes))
    return tuple(units(writes)) if row.pipe in (Pipe.MFMA, Pipe.SALU) else ()

"""Which registers of an instruction take part in spacing rules, and in which class.

Classes are those of `asmevo.isa.spacing`. Everything follows from the opcode row and the printed operands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from asmevo.isa.effects import bind, effects
from asmevo.isa.instruction import Instruction
from asmevo.isa.operands import Operand, Reg, Word
from asmevo.isa.registers import EXEC, M0, UNIT_COUNT, VCC, VGPR_BASE, RegSet, span
from asmevo.isa.row import MatrixRow, MemoryRow, PackedRow, Pipe, Row, Slot, Space
from asmevo.verdict import UnsupportedError

_SCALAR = span(0, 108)  # SGPRs, flat_scratch, xnack_mask, VCC
_VECTOR = span(VGPR_BASE, UNIT_COUNT - VGPR_BASE)
_DGEMM = span(UNIT_COUNT, 1)
"""A unit that is no register, for the rules between any f64 matrix product and any f64 multiply-add."""
_VSKIP = span(UNIT_COUNT + 1, 1)
"""A unit that is no register, between `s_setvskip` and all that it may skip."""
_HWREG_BASE = UNIT_COUNT + 8
_HWREG = re.compile(r"hwreg\(\s*(\w+)")
_HWREG_NUMBER = {
    "HW_REG_MODE": 1, "HW_REG_STATUS": 2, "HW_REG_TRAPSTS": 3, "HW_REG_HW_ID": 4, "HW_REG_GPR_ALLOC": 5,
    "HW_REG_LDS_ALLOC": 6, "HW_REG_IB_STS": 7, "HW_REG_SH_MEM_BASES": 15, "HW_REG_XCC_ID": 20,
}  # fmt: skip
NOP_MAX = 15
"""Largest operand of `s_nop`, which has 4 bits; it gives one wait state more."""
_MODE = span(_HWREG_BASE + _HWREG_NUMBER["HW_REG_MODE"], 1)
_PASSES = {"xdl": (2, 4, 8, 16), "sgemm": (2, 8, 16)}


@dataclass(frozen=True, slots=True)
class Roles:
    """Register sets by class; the masks are their unions."""

    base: str
    """Opcode, for rules that look at it."""
    produces: tuple[tuple[str, RegSet], ...]
    consumes: tuple[tuple[str, RegSet], ...]
    produce_mask: RegSet
    consume_mask: RegSet
    writes: RegSet
    """All it writes: a later reader no longer depends on an earlier writer of these."""
    states: int
    """Wait states it counts for when it stands between two others."""


@lru_cache(maxsize=1 << 18)
def roles(instruction: Instruction) -> Roles:
    """Classes of one instruction. Raises `UnsupportedError` for an opcode without a row."""
    known = effects(instruction)
    produces = _merge(_produced(instruction, known.row, known.writes))
    consumes = _merge(_consumed(instruction, known.row, known.writes))
    return Roles(
        base=instruction.base,
        produces=produces,
        consumes=consumes,
        produce_mask=_union(produces),
        consume_mask=_union(consumes),
        writes=known.writes,
        states=wait_states(instruction),
    )


def wait_states(instruction: Instruction) -> int:
    """Wait states it gives: 1, or N+1 for `s_nop N`."""
    if instruction.base != "s_nop":
        return 1
    operand = instruction.operands[0]
    return (getattr(operand, "bits", 0) & NOP_MAX) + 1


def _merge(found: Iterator[tuple[str, RegSet]]) -> tuple[tuple[str, RegSet], ...]:
    sets: dict[str, RegSet] = {}
    for name, registers in found:
        if name and registers:
            sets[name] = sets.get(name, 0) | registers
    return tuple(sets.items())


def _union(sets: tuple[tuple[str, RegSet], ...]) -> RegSet:
    mask = 0
    for _, registers in sets:
        mask |= registers
    return mask


def _registers(operand: Operand | None) -> RegSet:
    return operand.units if isinstance(operand, Reg) else 0


def _uses(instruction: Instruction, row: Row) -> list[tuple[Slot, Operand | None]]:
    return [(slot, operand) for slot, operand in bind(instruction, row) if slot.is_use and not slot.hidden]


def _hidden_reads(instruction: Instruction, row: Row) -> RegSet:
    return VCC if any(s.hidden == "vcc" and s.is_use for s in row.slots_for(instruction)) else 0


def matrix_class(row: MatrixRow) -> str:
    """`xdl4`, `sgemm8`, `dgemm16`: the unit and its passes (for f64 the shape).

    Raises `UnsupportedError` when no rule knows the number of passes.
    """
    if row.a_type == "f64":
        return f"dgemm{row.m}"
    unit = "sgemm" if row.a_type == "f32" else "xdl"
    if row.passes not in _PASSES[unit]:
        raise UnsupportedError(f"No spacing rule knows {row.name} with {row.passes} passes, so it is UNKNOWN.")
    return f"{unit}{row.passes}"


def matrix_operands(instruction: Instruction, row: MatrixRow) -> tuple[RegSet, RegSet]:
    """(A, B and index, C) registers of a matrix product."""
    uses = _uses(instruction, row)
    tied = [i for i, (slot, _) in enumerate(uses) if slot.tied >= 0]
    at = tied[0] if tied else 2
    other = 0
    for i, (_, operand) in enumerate(uses):
        other |= _registers(operand) if i != at else 0
    return other, _registers(uses[at][1])


def _produced(instruction: Instruction, row: Row, writes: RegSet) -> Iterator[tuple[str, RegSet]]:
    if isinstance(row, MatrixRow):
        name = matrix_class(row)
        yield name, writes
        yield f"{name}_c" if name.startswith("xdl") else "", matrix_operands(instruction, row)[1]
        yield "dgemm_any", _DGEMM if name.startswith("dgemm") else 0
    elif row.pipe is Pipe.VALU:
        vector = writes & _VECTOR
        yield "dot" if "dot" in row.tags else "valu_vgpr", vector
        yield "trans", vector if "trans" in row.tags else 0
        yield "partial", vector if _writes_upper_part(instruction, row) else 0
        yield "valu_sgpr", writes & _SCALAR
        yield "valu_exec", writes & EXEC
    elif row.pipe is Pipe.SALU:
        yield "salu_m0", writes & span(M0, 1)
    elif isinstance(row, MemoryRow):
        yield from _wide_store(instruction, row)
    if row.name.startswith("s_setreg"):
        yield "setreg", _hwreg(instruction)
    if row.name == "s_setvskip":
        yield "vskip", _VSKIP | _MODE


def _consumed(instruction: Instruction, row: Row, writes: RegSet) -> Iterator[tuple[str, RegSet]]:
    if isinstance(row, MatrixRow):
        yield from _matrix_consumed(instruction, row)
        yield "vector_write", writes & _VECTOR
    elif row.pipe is Pipe.VALU:
        yield from _valu_consumed(instruction, row, writes)
    elif row.pipe in (Pipe.VMEM, Pipe.LDS):
        yield from _memory_consumed(instruction, row, writes)
    if row.name.startswith(("s_setreg", "s_getreg")):
        yield "hwreg", _hwreg(instruction)
        yield "skippable", _hwreg(instruction) & _MODE
    if row.pipe in (Pipe.VALU, Pipe.MFMA, Pipe.VMEM, Pipe.LDS):
        yield "skippable", _VSKIP
    indexed = row.name.startswith(("s_sendmsg", "s_movrel"))
    if row.tags & {"m0_data", "lds_dma"} or "lds" in instruction.modifiers or indexed:
        yield "m0_use", span(M0, 1)


def _matrix_consumed(instruction: Instruction, row: MatrixRow) -> Iterator[tuple[str, RegSet]]:
    name = matrix_class(row)
    other, c = matrix_operands(instruction, row)
    yield "mfma_ab", other & _VECTOR
    yield "mfma_c", c
    yield "xdl_c" if name.startswith("xdl") else "other_c", c
    yield "dgemm4_c" if name == "dgemm4" else "", c
    yield "mfma_read", (other | c) & _VECTOR
    yield "mfma_exec", EXEC


def _valu_consumed(instruction: Instruction, row: Row, writes: RegSet) -> Iterator[tuple[str, RegSet]]:
    uses = _uses(instruction, row)
    reads = _hidden_reads(instruction, row)
    for slot, operand in uses:
        reads |= _registers(operand) if slot.tied < 0 else 0
    merged = effects(instruction).reads & writes & _VECTOR
    reads_all = reads | merged
    for slot, operand in uses:
        reads_all |= _registers(operand) if slot.tied >= 0 else 0
    yield "valu_read", reads_all & _VECTOR
    yield "plain_valu_read", reads_all & _VECTOR if "trans" not in row.tags else 0
    yield "vgpr_write", writes & _VECTOR
    yield "vector_write", writes & _VECTOR
    yield "valu_touch", (reads_all | writes) & _VECTOR
    yield "valu_scalar", reads & _SCALAR
    yield "valu_exec_operand", reads & EXEC
    if instruction.encoding.endswith("dpp"):
        source = _registers(instruction.operands[_first_source(instruction, row)])
        yield "dpp_source", source & _VECTOR
        yield "dpp_other", (reads_all | writes) & _VECTOR & ~source
        yield "dpp_exec", EXEC
    if "dot" in row.tags:
        ab = [operand for slot, operand in uses if slot.tied < 0][:2]
        yield "dot_ab", (_registers(ab[0]) | _registers(ab[1])) & _VECTOR
    if "lane_select" in row.tags:
        yield "lane_select", _registers(instruction.operands[-1]) & _SCALAR
    if "lane_read" in row.tags:
        yield "lane_read", reads & _VECTOR
    if row.tags & {"lane_read", "lane_select"}:
        yield "lane_exec", EXEC
    if "div_fmas" in row.tags:
        yield "div_fmas", VCC
    if "fma64" in row.tags:
        yield "fma64", _DGEMM
    if row.name.startswith("v_permlane") and "swap" in row.name:
        yield "permlane_swap", (reads_all | writes) & _VECTOR
        yield "permlane_exec", EXEC


def _memory_consumed(instruction: Instruction, row: Row, writes: RegSet) -> Iterator[tuple[str, RegSet]]:
    reads = 0
    for _, operand in _uses(instruction, row):
        reads |= _registers(operand)
    yield "mem_read", reads & _VECTOR
    yield "vgpr_write", writes & _VECTOR
    if row.pipe is Pipe.VMEM:
        yield "vmem_scalar", reads & _SCALAR
        yield "vmem_exec", EXEC


def _first_source(instruction: Instruction, row: Row) -> int:
    """Index of the printed operand that a DPP control permutes: source 0."""
    defs = [slot for slot in row.slots_for(instruction) if slot.is_def and not slot.hidden]
    return len(defs)


def _writes_upper_part(instruction: Instruction, row: Row) -> bool:
    """Whether the result goes to a part of the register other than its lowest: it is not forwarded."""
    if instruction.encoding == "sdwa":
        return instruction.modifiers.get("dst_sel", "DWORD") != "DWORD"
    selectors = instruction.bits("op_sel", ())
    if "keeps_byte" in row.tags:
        return any(selectors[2:])
    if isinstance(row, PackedRow) or not selectors or len(selectors) != len(instruction.operands):
        return False
    return bool(selectors[-1])


def _wide_store(instruction: Instruction, row: MemoryRow) -> Iterator[tuple[str, RegSet]]:
    """Stores whose data, over 64 bits of a lane, is still being read when the next instruction issues."""
    if row.space in (Space.SCALAR, Space.LDS) or row.kind == "load":
        return
    for slot, operand in _uses(instruction, row):
        if isinstance(operand, Reg) and operand.first >= VGPR_BASE and operand.count > 2 and slot.is_use:
            offset = instruction.operands[-1]
            held = row.space is Space.BUFFER and isinstance(offset, Reg) and offset.is_scalar
            yield "wide_store_soffset" if held else "wide_store", operand.units


def _hwreg(instruction: Instruction) -> RegSet:
    """A pseudo unit for the hardware register an `s_setreg` or `s_getreg` names."""
    for operand in instruction.operands:
        if isinstance(operand, Word) and (m := _HWREG.match(operand.text)):
            number = int(m[1], 0) if m[1].isdigit() else _HWREG_NUMBER.get(m[1], 63)
            return span(_HWREG_BASE + (number & 63), 1)
    return span(_HWREG_BASE, 64)

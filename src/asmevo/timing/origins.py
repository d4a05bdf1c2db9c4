"""Which buffer a memory instruction reads: the kernel argument that its address is made of.

Traces have no addresses, and how often a buffer is read decides which level of memory serves it. Pointers are followed
through registers from the loads of kernel arguments on, on all ways through the code. A way of counting, not a proof:
what it does not see it leaves open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np

from asmevo.isa import Imm, Instruction, MemoryRow, Reg, RegSet, effects, span, units
from asmevo.isa.registers import EXEC, M0, SCC, VCC_LO
from asmevo.isa.row import Space
from asmevo.launch import Launch, pointer_offsets
from asmevo.program import Program
from asmevo.sim.entry import entry_state

Sets: TypeAlias = list[RegSet]
"""Registers whose value is made of the address of the arguments (the first set), and of each pointer among them."""
_COPIES: Final = frozenset({"s_mov_b32", "s_mov_b64", "s_and_b32", "s_and_b64", "s_bfe_u64"})
"""What leaves an address of kernel arguments as it is: AMD's kernels mask it to 48 bits."""
_FLAGS: Final = EXEC | span(SCC, 1) | span(VCC_LO, 2) | span(M0, 1)
"""Where a pointer is compared, and never kept."""
_BUFFERS: Final = (Space.BUFFER, Space.GLOBAL, Space.FLAT)
_PROBE: Final = 0x5BAD0000_5AFE0000


class _Kind(Enum):
    LOAD = auto()
    """Of anything but arguments: what it writes is no pointer that is known."""
    ARGUMENTS = auto()
    """A scalar load at a constant offset."""
    COPY = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class _Facts:
    """What an instruction does with pointers."""

    kind: _Kind
    address: RegSet
    """Registers that hold the pointer of a vector load or atomic."""
    reads: RegSet
    writes: RegSet
    touches: RegSet
    """Both; 0 when it writes no register that could hold a pointer. Where it touches none it changes nothing."""


def origins(program: Program, launch: Launch) -> dict[int, str]:
    """Position of each vector load or atomic whose address is made of one pointer argument, to the buffer's name."""
    names = [f.buffer for f in launch.kernarg if f.buffer is not None]
    if not names:
        return {}
    offsets = {offset: 1 + n for n, offset in enumerate(pointer_offsets(launch, program.kernel))}
    blocks, entry = program.blocks, program.block_of[program.entry]
    begins: list[Sets | None] = [None] * len(blocks)
    begins[entry] = [_arguments(program, launch), *([0] * len(names))]
    found: dict[int, str] = {}
    work = [entry]
    while work:
        number = work.pop()
        begin = begins[number]
        assert begin is not None
        sets = list(begin)
        followed = _union(sets)
        for position in range(blocks[number].first, blocks[number].last):
            instruction = program.lines[position].instruction
            known = _facts(instruction)
            if known.address:
                made = [n for n, held in enumerate(sets) if n and held & known.address]
                found.pop(position, None)
                if len(made) == 1:
                    found[position] = names[made[0] - 1]
            if known.touches & followed:
                _step(sets, instruction, known, offsets)
                followed = _union(sets)
        for successor in blocks[number].successors:
            before = begins[successor]
            joined = sets if before is None else [a | b for a, b in zip(before, sets, strict=True)]
            if joined != before:
                begins[successor] = list(joined)
                if successor not in work:
                    work.append(successor)
    return found


def _arguments(program: Program, launch: Launch) -> RegSet:
    """Registers that hold the address of the kernel arguments at the entry."""
    scalars = entry_state(program.kernel.descriptor, _PROBE, launch.block, 0).scalars
    held = np.flatnonzero((scalars == _PROBE & 0xFFFFFFFF) | (scalars == _PROBE >> 32))
    return sum(1 << int(unit) for unit in held)


def _union(sets: Sets) -> RegSet:
    union = 0
    for held in sets:
        union |= held
    return union


def _step(sets: Sets, instruction: Instruction, known: _Facts, offsets: Mapping[int, int]) -> None:
    kind, reads, writes = known.kind, known.reads, known.writes
    keep = ~writes
    if kind is _Kind.ARGUMENTS:
        base, offset = instruction.operands[1:3]
        assert isinstance(base, Reg) and isinstance(offset, Imm)
        certain = sets[0] & base.units == base.units and not any(held & base.units for held in sets[1:])
        sets[:] = [held & keep for held in sets]
        for n, unit in enumerate(units(writes) if certain else ()):
            at = offset.signed + 4 * n
            if pointer := offsets.get(at) or offsets.get(at - 4):
                sets[pointer] |= 1 << unit
        return
    first = 0 if kind is _Kind.COPY else 1
    through = kind is not _Kind.LOAD
    for n, held in enumerate(sets):
        if held:
            sets[n] = held | writes if through and n >= first and held & reads else held & keep


@lru_cache(maxsize=1 << 16)
def _facts(instruction: Instruction) -> _Facts:
    known = effects(instruction)
    row, reads, writes = known.row, known.reads & ~_FLAGS, known.writes & ~_FLAGS
    if isinstance(row, MemoryRow):
        kind, address = _access(instruction, row)
    else:
        kind, address = _Kind.COPY if instruction.base in _COPIES else _Kind.OTHER, 0
    return _Facts(kind, address, reads, writes, reads | writes if writes else 0)


def _access(instruction: Instruction, row: MemoryRow) -> tuple[_Kind, RegSet]:
    """What a memory instruction does here, and the registers that hold its pointer."""
    operands = instruction.operands
    if row.space is Space.SCALAR and row.kind == "load" and len(operands) > 2:
        constant = isinstance(operands[1], Reg) and isinstance(operands[2], Imm)
        return _Kind.ARGUMENTS if constant else _Kind.LOAD, 0
    if row.space not in _BUFFERS or row.kind == "store":
        return _Kind.LOAD, 0
    if row.space is Space.BUFFER:  # data, voffset, descriptor, soffset; no data when it goes to LDS
        operands = operands[1 if "lds" in instruction.modifiers else 2 :][:1]
    elif row.kind == "load":
        operands = operands[1:]
    return _Kind.LOAD, _registers(operands)


def _registers(operands: Sequence[object]) -> RegSet:
    used = 0
    for operand in operands:
        used |= operand.units if isinstance(operand, Reg) else 0
    return used

"""Upper bounds of registers where blocks begin, in the lanes that a program switches on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import TypeAlias

from asmevo.isa import ControlRow, Instruction, LaneRow, Reg, RegSet, bind, effects, units
from asmevo.isa.registers import EXEC, VGPR_BASE
from asmevo.program import Line, Program
from asmevo.prove.ranges import LARGEST, bound_of

Bounds: TypeAlias = dict[int, int]
"""Unit to the largest value it can hold, as an unsigned number; units without one can hold anything."""


class _Lanes(IntEnum):
    """What is known of EXEC."""

    ENTRY = 0
    """It is what it was at the kernel's entry."""
    WITHIN = 1
    """No lane is on that was off at the entry."""
    ANY = 2


@dataclass(frozen=True, slots=True)
class _State:
    """What is known at one point. Bounds of vector registers are those of lanes that were on at the kernel's entry."""

    lanes: _Lanes
    within: RegSet
    """Scalar registers with no bit set of a lane that was off at the entry, each with its half of the lanes."""
    bounds: Bounds


def entry_bounds(program: Program) -> tuple[Bounds, ...]:
    """For each block, bounds that hold where it begins for every active lane. A forward dataflow.

    A write hides an old value in all lanes only while EXEC is that of the entry. Where lanes may be on that were not on
    then, nothing is known of vector registers.
    """
    blocks = program.blocks
    if any(_renames(line.instruction) for line in program.lines):
        return tuple(Bounds() for _ in blocks)
    entry = program.block_of[program.entry]
    begins: list[_State | None] = [None] * len(blocks)
    visits = [0] * len(blocks)
    begins[entry] = _State(_Lanes.ENTRY, 0, {})
    work = [entry]
    while work:
        number = work.pop()
        block, begin = blocks[number], begins[number]
        assert begin is not None
        end, _ = _behind(begin, program.lines[block.first : block.last])
        for successor in block.successors:
            joined = _joined(begins[successor], end, visits[successor])
            if joined != begins[successor]:
                begins[successor] = joined
                visits[successor] += 1
                work.append(successor)
    return tuple(
        _usable(begin, program.lines[block.first : block.last]) for block, begin in zip(blocks, begins, strict=True)
    )


def _renames(instruction: Instruction) -> bool:
    """Whether vector instructions behind it may write other registers than they name, or none."""
    row = effects(instruction).row
    return isinstance(row, ControlRow) and (row.kind in ("setvskip", "setreg") or row.kind.startswith("gpr_idx"))


def _usable(begin: _State | None, lines: Sequence[Line]) -> Bounds:
    """What a block may use: bounds of vector registers only where no line of it may run in other lanes."""
    if begin is None:
        return {}
    if _behind(begin, lines)[1] is not _Lanes.ANY:
        return begin.bounds
    return {unit: top for unit, top in begin.bounds.items() if unit < VGPR_BASE}


_PATIENCE = 4
"""Times that a block's begin may change before bounds that still grow are given up."""


def _joined(known: _State | None, new: _State, visits: int) -> _State:
    if known is None:
        return new
    bounds: Bounds = {}
    for unit, top in known.bounds.items():
        other = new.bounds.get(unit, LARGEST)
        top = top if other <= top else LARGEST if visits > _PATIENCE else (1 << other.bit_length()) - 1
        if top < LARGEST:
            bounds[unit] = top
    return _State(max(known.lanes, new.lanes), known.within & new.within, bounds)


def _behind(begin: _State, lines: Sequence[Line]) -> tuple[_State, _Lanes]:
    """What is known behind the lines, and the worst that was known of EXEC on the way."""
    bounds = dict(begin.bounds)
    lanes, within, worst = begin.lanes, begin.within, begin.lanes
    for line in lines:
        instruction = line.instruction
        known = effects(instruction)
        if not known.writes:
            continue
        weak = known.masked and lanes is not _Lanes.ENTRY
        top = bound_of(instruction, lambda unit: bounds.get(unit, LARGEST))
        written = list(units(known.writes))
        first = _target(instruction)
        made = {unit: top if unit == first else LARGEST for unit in written}
        for unit, new in made.items():
            new = max(new, bounds.get(unit, LARGEST)) if weak and unit >= VGPR_BASE else new
            bounds.pop(unit, None)
            if new < LARGEST:
                bounds[unit] = new
        kept = _masks(instruction, lanes, within)
        within = within & ~known.writes | kept & known.writes & ~EXEC
        if known.writes & EXEC:
            lanes = _Lanes.WITHIN if kept & EXEC == EXEC else _Lanes.ANY
            worst = max(worst, lanes)
    return _State(lanes, within, bounds), worst


@lru_cache(maxsize=1 << 14)
def _target(instruction: Instruction) -> int:
    """The unit of the first printed result where that is one register; -1 for others."""
    for slot, operand in bind(instruction, effects(instruction).row):
        if slot.is_def and not slot.hidden:
            return operand.first if isinstance(operand, Reg) and operand.count == 1 else -1
    return -1


def _masks(instruction: Instruction, lanes: _Lanes, within: RegSet) -> RegSet:
    """Registers written with masks of which no bit is of a lane that was off at the entry."""
    known = effects(instruction)
    own = within | (EXEC if lanes is not _Lanes.ANY else 0)
    if isinstance(known.row, LaneRow):  # a comparison clears the bits of inactive lanes
        masks = [operand for slot, operand in bind(instruction, known.row) if slot.is_def and slot.type == "mask"]
        compares = instruction.base.startswith("v_cmp") and lanes is not _Lanes.ANY
        return known.writes if compares and (masks or known.writes & EXEC) else 0
    operands = instruction.operands
    sources = [_mask(operand) for operand in operands[1:]]
    target = _mask(operands[0]) if operands else 0
    inside = [bool(source) and source & ~own == 0 for source in sources]
    if instruction.base == "s_and_b64":
        return target if any(inside) else 0
    if instruction.base == "s_andn2_b64":
        return target if inside[0] else 0
    if instruction.base in ("s_or_b64", "s_xor_b64", "s_mov_b64"):
        return target if all(inside) else 0
    if instruction.base == "s_and_saveexec_b64" and lanes is not _Lanes.ANY:
        return target | EXEC
    return 0


def _mask(operand: object) -> RegSet:
    return operand.units if isinstance(operand, Reg) and operand.is_scalar and operand.count == 2 else 0

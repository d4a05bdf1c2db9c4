"""Operands that steer: they say where memory is accessed, whether or how something happens, and not what is computed.

Launches show what a kernel computes from data, of which there is a lot. They show little of what steers it: a handful
of sizes, addresses within small buffers, borders that no size meets, selections of which only one side ever counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

from asmevo.isa import (
    ControlRow,
    Instruction,
    LaneRow,
    MemoryRow,
    Operand,
    Pipe,
    Reg,
    RegSet,
    Slot,
    Space,
    bind,
    effects,
    span,
)
from asmevo.isa import units as units_of
from asmevo.isa.registers import EXEC, VGPR_BASE
from asmevo.isa.row import HIDDEN
from asmevo.program import Line, Program
from asmevo.program.execmask import full_at_entry, full_lines
from asmevo.program.liveness import Pair, step_of

MASKS: RegSet = span(0, VGPR_BASE)
"""Where masks can be."""
Carried: TypeAlias = frozenset[Space]
"""Spaces through which values travel that steer something when they are loaded."""
NOTHING: Carried = frozenset()
_FOLLOWED = (Space.LDS, Space.SCRATCH)
_FLOATS = ("f16", "f32", "f64", "bf16")


@lru_cache(maxsize=1 << 16)
def steering_units(instruction: Instruction, carried: Carried = NOTHING) -> tuple[int, ...]:
    """Units that steer an instruction, operand by operand; what is stored to `carried` spaces is among them.

    Addresses, descriptors and offsets of accesses, M0 where an access needs it; the masks and SCC that a selection, a
    carry or a branch takes; the lane that a lane access or a move between lanes names; all that decides EXEC; what a
    mode register is set to. Raises `UnsupportedError` for an opcode without a row.
    """
    known = effects(instruction)
    if known.writes & EXEC or isinstance(known.row, ControlRow):
        return tuple(units_of(known.reads & ~EXEC))
    found: list[int] = []
    for index, (slot, operand) in enumerate(_uses(instruction)):
        if _steers(instruction, index, slot, carried):
            found += _units(slot, operand)
    return tuple(found)


def _uses(instruction: Instruction) -> Iterator[tuple[Slot, Operand | None]]:
    """Operands that are read, without results that are merged into."""
    row = effects(instruction).row
    return ((slot, operand) for slot, operand in bind(instruction, row) if slot.is_use and slot.tied < 0)


def _steers(instruction: Instruction, index: int, slot: Slot, carried: Carried) -> bool:
    row = effects(instruction).row
    if slot.hidden:
        return slot.hidden in ("scc", "vcc", "m0")
    if isinstance(row, MemoryRow):
        return row.space in carried or index not in _data(instruction, row)
    if row.pipe is Pipe.LDS:  # a move between lanes: the first operand says from or to where
        return index == 0
    if "lane_select" in row.tags:
        return index == 1
    return slot.type in ("mask", "scc")


def _data(instruction: Instruction, row: MemoryRow) -> range:
    """Which of the operands that are read are data to be stored."""
    if row.kind == "load":
        return range(0)
    if row.space in (Space.BUFFER, Space.SCALAR):
        return range(1)
    count = sum(1 for slot, _ in _uses(instruction) if not slot.hidden)
    return range(1, count) if row.space is Space.LDS else range(1, 2)


def _units(slot: Slot, operand: Operand | None) -> range:
    if slot.hidden:
        first, count = HIDDEN[slot.hidden]
        return range(first, first + count)
    return range(operand.first, operand.first + operand.count) if isinstance(operand, Reg) else range(0)


def selects(instruction: Instruction) -> bool:
    """Whether it takes one of its operands and leaves the other: by a mask or by SCC."""
    row = effects(instruction).row
    kinds = [(slot.type, slot.is_def) for slot in row.slots]
    return any((kind, False) in kinds and (kind, True) not in kinds for kind in ("mask", "scc")) and bool(row.slots)


@lru_cache(maxsize=1 << 16)
def judges_data(instruction: Instruction) -> RegSet:
    """The mask that a comparison or classification of floats writes; nothing for other instructions.

    Such a mask is data itself: launches have as many of them as they have numbers. NaN checks are among them.
    """
    known = effects(instruction)
    row = known.row
    if not isinstance(row, LaneRow) or not any(s.is_use and s.type in _FLOATS for s in row.slots):
        return 0
    return known.writes & MASKS & ~EXEC


def selects_by_data(lines: Sequence[Line], index: int) -> bool:
    """Whether a selection's mask was made by a comparison of floats in the same run of lines."""
    mask = sum(1 << unit for unit in set(steering_units(lines[index].instruction)))
    for line in reversed(lines[:index]):
        if effects(line.instruction).writes & mask:
            return judges_data(line.instruction) & mask == mask
    return False


def steering_registers(program: Program) -> tuple[tuple[RegSet, ...], Carried]:
    """For each block, the registers behind its last line whose value reaches something that steers; and the spaces that
    carry such values.

    A backward dataflow like `liveness`, lanes that are off included, in which only steering operands are readers of
    their own accord. It ends at masks that comparisons of floats make (`judges_data`). Through LDS and scratch it goes
    as a whole: where anything that is loaded from there steers, all that is stored there does. What travels through
    other memory is not followed.
    """
    carried = NOTHING
    while True:
        found: set[Space] = set()
        ends = _ends(program, carried, found)
        if found <= carried:
            return ends, carried
        carried |= found


def _ends(program: Program, carried: Carried, found: set[Space]) -> tuple[RegSet, ...]:
    blocks = program.blocks
    full = full_at_entry(program)
    known = [full_lines(program.lines[b.first : b.last], full[b.number]) for b in blocks]
    ends: list[Pair] = [(0, 0)] * len(blocks)
    begins: list[Pair] = [(0, 0)] * len(blocks)
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            near = far = 0
            for successor in block.successors:
                near, far = near | begins[successor][0], far | begins[successor][1]
            lines = program.lines[block.first : block.last]
            begin = _before(lines, known[block.number], (near, far), carried, found)
            if ((near, far), begin) != (ends[block.number], begins[block.number]):
                ends[block.number], begins[block.number] = (near, far), begin
                changed = True
    return tuple(near | far for near, far in ends)


def _before(lines: Sequence[Line], full: Sequence[bool], pair: Pair, carried: Carried, found: set[Space]) -> Pair:
    """What steers in front of the lines; adds to `found` the spaces that something which steers is loaded from."""
    near, far = pair
    for line, all_on in zip(reversed(lines), reversed(full), strict=True):
        step = step_of(line.instruction)
        row = effects(line.instruction).row
        if isinstance(row, MemoryRow) and row.space in _FOLLOWED and effects(line.instruction).writes & (near | far):
            found.add(row.space)
        if step.widens:
            near, far = 0, far | near
        judged = judges_data(line.instruction)
        near, far = near & ~judged, far & ~judged
        computes = step.kill_near & (near | far)
        near &= ~step.kill_near
        far &= ~(step.kill_near if all_on else step.kill_far)
        if computes:
            near, far = near | step.near, far | step.far
        own = _mask(line.instruction, carried)
        near, far = near | own & step.near, far | own & step.far
    return near, far


@lru_cache(maxsize=1 << 16)
def _mask(instruction: Instruction, carried: Carried) -> RegSet:
    return sum(1 << unit for unit in set(steering_units(instruction, carried)))

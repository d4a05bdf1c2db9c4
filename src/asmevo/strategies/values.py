"""Which instructions of a block compute what is there already, and which compute what nobody reads."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TypeAlias

from asmevo.isa import (
    CrossLaneRow,
    Imm,
    Instruction,
    LaneRow,
    MatrixRow,
    PackedRow,
    Reg,
    RegSet,
    ScalarRow,
    effects,
    units,
)
from asmevo.isa.registers import EXEC, EXEC_HI, EXEC_LO, M0, MODE
from asmevo.program import Line

_Value: TypeAlias = tuple[object, ...]
"""What a register holds: what made it, and from which values."""


def is_pure(instruction: Instruction) -> bool:
    """Whether its only effect is on registers, EXEC and MODE not among them. `UnsupportedError` without a row."""
    known = effects(instruction)
    computes = isinstance(known.row, LaneRow | PackedRow | ScalarRow | CrossLaneRow | MatrixRow)
    return computes and not known.writes & (EXEC | 1 << MODE) and "fence" not in known.row.tags


def dead_lines(lines: Sequence[Line], live_out: Sequence[RegSet]) -> list[int]:
    """Ids of pure lines whose results nobody reads; `live_out` is by line."""
    return [
        line.id
        for line, live in zip(lines, live_out, strict=True)
        if is_pure(line.instruction) and not effects(line.instruction).writes & live
    ]


def redundant_lines(
    lines: Sequence[Line], live_out: Sequence[RegSet], among: Container[int] | None = None
) -> list[int]:
    """Ids of pure lines, of those `among`, that leave every register that is read later as it already is.

    They may go all together, not each for itself: one that stays may clobber what makes a later one redundant.

    Value numbering over the block: an instruction with the same text on the same values gives the same results. Lanes
    that EXEC masks off count: EXEC and, for vector writes, the old destination are among the values.
    """
    held: dict[int, _Value] = {}
    found: list[int] = []

    def value(unit: int) -> _Value:
        return held.setdefault(unit, ("at begin", unit))

    for line, live in zip(lines, live_out, strict=True):
        instruction = line.instruction
        known = effects(instruction)
        if not is_pure(instruction):
            held.update((unit, ("made by", line.id, unit)) for unit in units(known.writes))
            continue
        if copied := _copied(instruction):
            made = {target: value(source) for target, source in copied.items()}
            if known.masked and any(target != source for target, source in copied.items()):
                made = {unit: ("masked", value(EXEC_LO), value(EXEC_HI), new) for unit, new in made.items()}
        else:
            key = (instruction.text, *(value(unit) for unit in units(known.reads)))
            made = {unit: (*key, unit) for unit in units(known.writes)}
        wanted = [unit for unit in made if live >> unit & 1]
        may_go = among is None or line.id in among
        if may_go and wanted and all(value(unit) == made[unit] for unit in wanted):
            found.append(line.id)
            continue
        held.update(made)
    return found


def _copied(instruction: Instruction) -> dict[int, int]:
    """Target unit to source unit of a plain register copy; empty for everything else."""
    pair = copy_of(instruction)
    if pair is None:
        return {}
    target, source = pair
    return {target.first + n: source.first + n for n in range(target.count)}


def copy_of(instruction: Instruction) -> tuple[Reg, Reg] | None:
    """(target, source) of an instruction that only copies a register: moves, and sums and alike with 0."""
    operands = instruction.operands
    if instruction.modifiers or instruction.is_sdwa_or_dpp:
        return None
    sources: list[object] = []
    if instruction.base in ("v_mov_b32", "s_mov_b32", "s_mov_b64"):
        sources = list(operands[1:])
    elif instruction.base in ("v_add_u32", "v_or_b32", "v_xor_b32") and len(operands) == 3:
        sources = [operand for operand in operands[1:] if not _is_zero(operand)]
    elif instruction.base == "v_lshlrev_b32" and len(operands) == 3 and _is_zero(operands[1]):
        sources = [operands[2]]
    target = operands[0] if operands else None
    if len(sources) != 1 or not isinstance(target, Reg) or not isinstance(source := sources[0], Reg):
        return None
    plain = not (source.neg or source.absolute or source.sext or target.neg)
    special = {M0} & {target.first, source.first}
    return (target, source) if plain and target.count == source.count and not special else None


def _is_zero(operand: object) -> bool:
    return isinstance(operand, Imm) and operand.bits == 0

"""Scalar tuples that a loop puts together anew on every turn from values that never change, as compilers do with buffer
descriptors when they are short of aligned registers: what they hold, and where they could be held throughout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from asmevo.isa import Imm, Instruction, MemoryRow, Reg, RegSet, effects, parse_instruction, span, unit_name, units
from asmevo.isa.registers import SGPR_COUNT
from asmevo.program import Line
from asmevo.strategies.values import copy_of
from asmevo.strategies.webs import renamed

Source: TypeAlias = int | str
"""A unit that the loop does not write, or a constant as printed."""


@dataclass(frozen=True, slots=True)
class Lifted:
    """A loop of one block that reads such tuples from registers of their own."""

    before: tuple[str, ...]
    """Texts of the moves in front of the loop."""
    replaced: Mapping[int, str]
    """New texts of the readers, by line id."""
    gone: tuple[int, ...]
    """Line ids of moves that nobody needs any more."""
    end: int
    """One more than the highest SGPR among the new ones."""


def lifted(lines: Sequence[Line], live_out: RegSet, free: Sequence[int]) -> Lifted | None:
    """All such tuples of a loop in registers of their own; None where there is none, or no room.

    `live_out` are the units live behind the block, `free` numbers of SGPRs that nothing uses.
    """
    changing: RegSet = 0
    for line in lines:
        changing |= effects(line.instruction).writes
    held: dict[int, Source] = {}
    places: dict[tuple[Source, ...], int] = {}
    room = set(free)
    replaced: dict[int, str] = {}
    for line in lines:
        text = line.instruction
        for operand in text.operands if isinstance(effects(text).row, MemoryRow) else ():
            if not isinstance(operand, Reg) or not _is_tuple(operand) or not operand.units & changing:
                continue
            sources = _sources(operand, held, changing)
            place = None if sources is None else places.get(sources, place_of_tuple(operand.count, room))
            new = None if place is None else renamed(text, operand.units, 0, place - operand.first)
            if sources is None or place is None or new is None:
                continue
            places[sources] = place
            room -= set(range(place, place + operand.count))
            replaced[line.id] = new
            break
        _follow(text, held, changing)
    gone = _unneeded(lines, replaced, live_out)
    if not replaced or not gone:
        return None
    moves = [
        f"s_mov_b32 {unit_name(place + n)}, {source if isinstance(source, str) else unit_name(source)}"
        for sources, place in places.items()
        for n, source in enumerate(sources)
    ]
    end = max(place + len(sources) for sources, place in places.items())
    return Lifted(tuple(moves), replaced, gone, end)


def sources_of(lines: Sequence[Line], changing: RegSet) -> list[dict[Reg, tuple[Source, ...]]]:
    """For each line of a loop that writes `changing`, the scalar tuples that an access names, and what they hold; not
    those of which some is made in the loop."""
    held: dict[int, Source] = {}
    found: list[dict[Reg, tuple[Source, ...]]] = []
    for line in lines:
        text = line.instruction
        here: dict[Reg, tuple[Source, ...]] = {}
        for operand in text.operands if isinstance(effects(text).row, MemoryRow) else ():
            if isinstance(operand, Reg) and _is_tuple(operand):
                sources = _sources(operand, held, changing)
                here |= {} if sources is None else {operand: sources}
        found.append(here)
        _follow(text, held, changing)
    return found


def _is_tuple(operand: Reg) -> bool:
    return operand.count > 1 and operand.first + operand.count <= SGPR_COUNT


def _sources(operand: Reg, held: Mapping[int, Source], changing: RegSet) -> tuple[Source, ...] | None:
    """Where the units of a tuple come from; None where one of them is made in the loop."""
    found: list[Source] = []
    for unit in units(operand.units):
        source = held.get(unit) if changing >> unit & 1 else unit
        if source is None:
            return None
        found.append(source)
    return tuple(found)


def place_of_tuple(count: int, room: set[int]) -> int | None:
    """The lowest aligned run of so many free registers."""
    step = 4 if count >= 4 else count
    return next((n for n in range(0, SGPR_COUNT, step) if room.issuperset(range(n, n + count))), None)


def _follow(instruction: Instruction, held: dict[int, Source], changing: RegSet) -> None:
    """Bring what units hold up to date."""
    for unit in units(effects(instruction).writes):
        held.pop(unit, None)
    source = _moved(instruction)
    target = instruction.operands[0] if instruction.operands else None
    if source is None or not isinstance(target, Reg):
        return
    if isinstance(source, str) or not changing >> source & 1:
        held[target.first] = source


def _moved(instruction: Instruction) -> Source | None:
    """What a move to one numbered SGPR takes."""
    if instruction.base != "s_mov_b32" or len(instruction.operands) != 2:
        return None
    target, source = instruction.operands
    if not isinstance(target, Reg) or target.first >= SGPR_COUNT:
        return None
    if isinstance(source, Imm):
        return instruction.text.rpartition(" ")[2]
    pair = copy_of(instruction)
    return pair[1].first if pair is not None and pair[1].first < SGPR_COUNT else None


def _unneeded(lines: Sequence[Line], replaced: Mapping[int, str], live_out: RegSet) -> tuple[int, ...]:
    """Moves of the block whose results nobody reads once some lines have new texts."""
    gone: list[int] = []
    live = live_out
    for line in reversed(lines):
        known = effects(line.instruction)
        if _moved(line.instruction) is not None and not known.writes & live:
            gone.append(line.id)
            continue
        live &= ~(known.writes & span(0, SGPR_COUNT))
        live |= effects(parse_instruction(replaced[line.id])).reads if line.id in replaced else known.reads
    return tuple(reversed(gone))

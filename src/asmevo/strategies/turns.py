"""What of a loop of one block can be loaded a turn ahead: loads, what makes their addresses, and their descriptors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from asmevo.isa import Instruction, Reg, RegSet, bind, effects, parse_instruction, span, units
from asmevo.isa.registers import IMPLIED, SCC, SGPR_COUNT, VGPR_BASE
from asmevo.program import Line
from asmevo.prove import guarding_descriptor
from asmevo.strategies.tuples import Source, sources_of
from asmevo.strategies.values import is_pure
from asmevo.strategies.webs import renamed

_REFUSED = frozenset({"sc0", "sc1", "tfe"})
"""Modifiers of loads that stay: with a scope, and those that write a status, too."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """A buffer load that could be made at the end of the turn before."""

    index: int
    """In the block."""
    results: RegSet
    address: tuple[int, ...]
    """Indices of the lines of the block that make its address from what there is at the begin of a turn."""
    inputs: RegSet
    """What they and the load read of that, without the descriptor."""
    descriptor: Reg
    words: tuple[Source, ...]
    """Where the loop has the words of its descriptor from."""


def fetches(lines: Sequence[Line]) -> list[Fetch]:
    """The loads of a loop whose addresses hang on what a turn begins with and on nothing that it loads."""
    changing: RegSet = 0
    for line in lines:
        changing |= effects(line.instruction).writes
    held = sources_of(lines, changing)
    found: list[Fetch] = []
    for index, line in enumerate(lines):
        parts = _parts(line.instruction)
        if parts is None:
            continue
        descriptor, address = parts
        words = held[index].get(descriptor)
        path = _path(lines, index, address)
        if words is not None and path is not None:
            found.append(Fetch(index, effects(line.instruction).writes, *path, descriptor, words))
    return found


def _parts(instruction: Instruction) -> tuple[Reg, RegSet] | None:
    """Descriptor and other registers of a plain buffer load without a scalar offset."""
    known, descriptor = effects(instruction), guarding_descriptor(instruction)
    if descriptor is None or _REFUSED & instruction.modifiers.keys() or known.writes & span(0, VGPR_BASE):
        return None
    if any(slot.tied >= 0 for slot, _ in bind(instruction, known.row)):
        return None
    return descriptor, known.reads & ~descriptor.units & ~IMPLIED


def _path(lines: Sequence[Line], index: int, needed: RegSet) -> tuple[tuple[int, ...], RegSet] | None:
    """The lines in front of one that make the registers it needs, and what they need of what was there before."""
    path: list[int] = []
    for at in range(index - 1, -1, -1):
        instruction = lines[at].instruction
        known = effects(instruction)
        if not known.writes & needed:
            continue
        if not is_pure(instruction) or known.writes.bit_count() != 1 or known.writes & span(SCC, 1):
            return None
        path.append(at)
        needed = needed & ~known.writes | known.reads & ~IMPLIED
    return (tuple(reversed(path)), needed) if not needed & span(SCC, 1) else None


def repeated(lines: Sequence[Line], fetch: Fetch, text: str, temporaries: Sequence[int], quad: int) -> list[str] | None:
    """Texts that make a load again somewhere else, with its address in other registers and its descriptor at SGPR
    `quad`; `text` is that of the load, with its results where they are to be. None where registers do not suffice."""
    room = list(temporaries)
    places: dict[int, int] = {}
    last = _last_readers(lines, fetch)
    made: list[str] = []
    for at in (*fetch.address, fetch.index):
        instruction = parse_instruction(text) if at == fetch.index else lines[at].instruction
        reads = effects(lines[at].instruction).reads
        for unit in [unit for unit in places if reads >> unit & 1]:
            changed = renamed(instruction, 1 << unit, 0, places[unit] - unit)
            if changed is None:
                return None
            instruction = parse_instruction(changed)
            if last[unit] == at:
                room.insert(0, places.pop(unit))
        if at == fetch.index:
            shift = quad - fetch.descriptor.first
            final = renamed(instruction, fetch.descriptor.units, 0, shift)
            return None if final is None else [*made, final]
        (unit,) = units(effects(lines[at].instruction).writes)
        if unit in places:
            room.insert(0, places.pop(unit))
        place = next((t for t in room if (t >= VGPR_BASE) == (unit >= VGPR_BASE)), None)
        if place is None:
            return None
        room.remove(place)
        changed = renamed(instruction, 0, 1 << unit, place - unit)
        if changed is None:
            return None
        places[unit] = place
        made.append(changed)
    return None


def _last_readers(lines: Sequence[Line], fetch: Fetch) -> Mapping[int, int]:
    """For each register that is read on the path of an address, the last line of the path that reads it."""
    found: dict[int, int] = {}
    for at in (*fetch.address, fetch.index):
        for unit in units(effects(lines[at].instruction).reads):
            if unit < SGPR_COUNT or unit >= VGPR_BASE:
                found[unit] = at
    return found

"""Offsets: constants of address sums in the offset fields of the accesses that the sums are for.

Where a field reaches far enough, the sum is not needed at all. Where it does not, as with accesses of two elements in
LDS whose offsets count elements in 8 bits, one sum serves the accesses around it, in a register of its own if need be.
Preconditions: the sum is read as the address of such accesses and nothing else; its base and EXEC stay as they are
until the last of them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from asmevo.edit import Delete, Edit, Replace
from asmevo.isa import Imm, Instruction, MemoryRow, Reg, RegSet, Space, bind, effects, parse_instruction, unit_name
from asmevo.isa.registers import VGPR_BASE
from asmevo.program import Line
from asmevo.program.execmask import writes_exec
from asmevo.program.registers import granted
from asmevo.prove import address_slot
from asmevo.strategies.context import Context
from asmevo.strategies.proposal import Proposal
from asmevo.strategies.room import names_of_line
from asmevo.strategies.settle import settled

_FIELD = re.compile(r" offset[01]?:-?\w+")
_REACH = {Space.LDS: range(1 << 16), Space.BUFFER: range(1 << 12), Space.GLOBAL: range(-(1 << 12), 1 << 12)}
"""Offsets in bytes of accesses of one element (LLVM `DSInstructions.td`, `BUFInstructions.td`, `FLATInstructions.td`
for gfx9)."""
_ELEMENTS = range(1 << 8)
"""Offsets in elements, or in 64 of them, of those of two."""


@dataclass(frozen=True, slots=True)
class AddressSum:
    """A base and a constant, added for accesses alone."""

    at: int
    """Place in the block."""
    target: Reg
    base: Reg
    constant: int
    readers: tuple[int, ...]
    """Places of the accesses."""
    until: int
    """From this place on its base may be another one, or EXEC."""


class Offsets:
    """Address sums: all of a block at once, then those of one base at a time."""

    name = "offsets"

    def propose(self, context: Context, rng: random.Random) -> Iterator[Proposal]:
        lines = context.lines
        live = [context.analyses.liveness.live_out(n) for n in range(context.block.first, context.block.last)]
        found = address_sums(lines, live)
        everything = _changes(context, found)
        if everything.gone:
            yield from settled(context, _edits(lines, everything), _what(everything))
        bases = sorted({one.base.first for one in found})
        for base in rng.sample(bases, len(bases)) if len(bases) > 1 else ():
            some = _changes(context, [one for one in found if one.base.first == base])
            if some.gone:
                yield from settled(context, _edits(lines, some), f"{_what(some)} of {unit_name(base)}")


@dataclass(frozen=True, slots=True)
class _Changes:
    """What a block becomes."""

    texts: Mapping[int, str]
    """New texts by place."""
    gone: tuple[int, ...]
    """Places of sums that go."""


def _what(changes: _Changes) -> str:
    return f"{len(changes.gone)} address sums made part of {len(changes.texts)} offsets"


def _edits(lines: Sequence[Line], changes: _Changes) -> list[Edit]:
    edits: list[Edit] = [Replace(lines[n].id, text) for n, text in sorted(changes.texts.items())]
    return [*edits, Delete(tuple(lines[n].id for n in changes.gone))]


def address_sums(lines: Sequence[Line], live_out: Sequence[RegSet]) -> list[AddressSum]:
    """The sums of a block that only accesses of the block read, in order; `live_out` is by line."""
    found: list[AddressSum] = []
    for at, line in enumerate(lines):
        parts = _sum_of(line.instruction)
        if parts is None:
            continue
        target, base, constant = parts
        readers = _readers(lines, live_out, at, target.units)
        if not readers:
            continue
        until = next((n for n in range(at + 1, len(lines)) if _ends(lines[n].instruction, base.units)), len(lines))
        if readers[-1] <= until:
            found.append(AddressSum(at, target, base, constant, readers, until))
    return found


def _sum_of(instruction: Instruction) -> tuple[Reg, Reg, int] | None:
    """Target, base and constant of a vector register and a constant that is not negative."""
    if instruction.base != "v_add_u32" or instruction.modifiers or instruction.encoding not in ("e32", "e64"):
        return None
    target, *sources = instruction.operands
    constants = [x.signed for x in sources if isinstance(x, Imm) and not (x.is_float or x.neg or x.absolute)]
    bases = [x for x in sources if isinstance(x, Reg) and not (x.is_scalar or x.neg or x.absolute or x.sext)]
    if len(constants) != 1 or len(bases) != 1 or constants[0] < 0 or not isinstance(target, Reg):
        return None
    return None if target.units == bases[0].units else (target, bases[0], constants[0])


def _ends(instruction: Instruction, base: RegSet) -> bool:
    return bool(effects(instruction).writes & base) or writes_exec(instruction)


def _readers(lines: Sequence[Line], live_out: Sequence[RegSet], at: int, target: RegSet) -> tuple[int, ...] | None:
    """Places of all that reads the register; None where something else than the address of an access does."""
    readers: list[int] = []
    for n in range(at, len(lines)):
        known = effects(lines[n].instruction)
        if n > at and known.reads & target:
            if _addressed(lines[n].instruction) != target or _data(lines[n].instruction) & target:
                return None
            readers.append(n)
        if not live_out[n] & target or (n > at and known.writes & target):
            return tuple(readers)
    return None


def _place(instruction: Instruction) -> int:
    """Which printed operand is the one vector register that the offset field is added to; -1 for none."""
    row = effects(instruction).row
    if not isinstance(row, MemoryRow):
        return -1
    bound = list(bind(instruction, row))
    at = address_slot(instruction, row, bound)
    operand = bound[at][1] if at >= 0 else None
    if not isinstance(operand, Reg) or operand.count != 1:
        return -1
    return sum(not slot.hidden and slot.tied < 0 for slot, _ in bound[:at])


def _addressed(instruction: Instruction) -> RegSet:
    place = _place(instruction)
    operand = instruction.operands[place] if place >= 0 else None
    return operand.units if isinstance(operand, Reg) else 0


def _data(instruction: Instruction) -> RegSet:
    """Registers among the operands other than the address."""
    place = _place(instruction)
    return _union(x.units for n, x in enumerate(instruction.operands) if n != place and isinstance(x, Reg))


def _union(sets: Iterable[RegSet]) -> RegSet:
    found: RegSet = 0
    for one in sets:
        found |= one
    return found


def readdressed(instruction: Instruction, register: str, distance: int) -> str | None:
    """The text of an access by way of another register, and `distance` bytes more in its offset; None where the field
    does not reach."""
    row, place = effects(instruction).row, _place(instruction)
    if not isinstance(row, MemoryRow) or place < 0:
        return None
    fields: list[str] = []
    if row.elements == 2:
        unit = row.size * row.stride
        if distance % unit:
            return None
        for name in ("offset0", "offset1"):
            offset = instruction.number(name) + distance // unit
            if offset not in _ELEMENTS:
                return None
            fields += [f"{name}:{offset}"] if offset else []
    else:
        offset = instruction.number("offset") + distance
        if offset not in _REACH[row.space]:
            return None
        fields += [f"offset:{offset}"] if offset else []
    mnemonic, _, rest = _FIELD.sub("", instruction.text).partition(" ")
    *operands, last = rest.split(", ")
    end, *modifiers = last.split(" ")
    operands.append(end)
    operands[place] = register
    at = 1 if modifiers[:1] == ["offen"] else 0
    return " ".join([mnemonic, ", ".join(operands), *modifiers[:at], *fields, *modifiers[at:]])


def _changes(context: Context, found: Sequence[AddressSum]) -> _Changes:
    lines, taken = context.lines, _taken(context)
    texts: dict[int, str] = {}
    gone: list[int] = []
    left: dict[int, list[AddressSum]] = {}
    for one in found:
        made = _through(lines, one, unit_name(one.base.first), one.constant)
        if made is None:
            left.setdefault(one.base.first, []).append(one)
            continue
        texts |= made
        gone.append(one.at)
    for sums in left.values():
        for group, unit in _groups(context, sums, taken):
            leader, least = group[0], min(one.constant for one in group)
            for n in range(leader.at, _last(group) + 1):
                taken[n] |= 1 << unit
            texts[leader.at] = f"v_add_u32_e32 {unit_name(unit)}, {least:#x}, {unit_name(leader.base.first)}"
            for one in group:
                texts |= _through(lines, one, unit_name(unit), one.constant - least) or {}
            gone += [one.at for one in group[1:]]
    kept = {n: text for n, text in texts.items() if parse_instruction(text) != lines[n].instruction}
    return _Changes(kept, tuple(gone))


def _through(lines: Sequence[Line], one: AddressSum, register: str, distance: int) -> dict[int, str] | None:
    """New texts of the readers of a sum by way of another register; None where one does not reach."""
    texts: dict[int, str] = {}
    for n in one.readers:
        text = readdressed(lines[n].instruction, register, distance)
        if text is None:
            return None
        texts[n] = text
    return texts


def _groups(
    context: Context, sums: Sequence[AddressSum], taken: Sequence[RegSet]
) -> Iterator[tuple[list[AddressSum], int]]:
    """Runs of sums of one base, two at least, that one register can serve, with its unit."""
    group: list[AddressSum] = []
    chosen: int | None = None
    for one in sums:
        unit = _serves(context, [*group, one], taken) if group else None
        if unit is not None:
            group.append(one)
            chosen = unit
            continue
        if chosen is not None:
            yield group, chosen
        group, chosen = [one], None
    if chosen is not None:
        yield group, chosen


def _serves(context: Context, group: Sequence[AddressSum], taken: Sequence[RegSet]) -> int | None:
    """The register that can hold one sum for all accesses of the group."""
    lines, first, last = context.lines, group[0], _last(group)
    least = min(one.constant for one in group)
    if last > first.until:
        return None
    if any(_through(lines, one, unit_name(one.target.first), one.constant - least) is None for one in group):
        return None
    gone = {one.at for one in group[1:]}
    between = [n for n in range(first.at + 1, last + 1) if n not in gone]
    if not any(effects(lines[n].instruction).writes & first.target.units for n in between):
        return first.target.first
    used = _union(taken[first.at : last + 1])
    program = context.program
    count = granted(program.kernel.descriptor, program.source.target)["v"]
    return next((unit for unit in range(VGPR_BASE, VGPR_BASE + count) if not used >> unit & 1), None)


def _last(group: Sequence[AddressSum]) -> int:
    return max(one.readers[-1] for one in group)


def _taken(context: Context) -> list[RegSet]:
    """By line, the registers that it uses or that hold something behind it or in front of it."""
    before = context.analyses.liveness.live_in(context.block.first)
    found: list[RegSet] = []
    for n, line in enumerate(context.lines):
        behind = context.analyses.liveness.live_out(context.block.first + n)
        found.append(before | behind | names_of_line(line))
        before = behind
    return found

"""Registers that are free: in the grant, or in a larger one that costs no wave."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from asmevo.edit import Edit, SetResources
from asmevo.isa import RegSet, effects, units
from asmevo.isa.limits import has_limits, limits_of
from asmevo.isa.registers import UNNUMBERED_SGPRS, VGPR_BASE
from asmevo.program import Line, Program
from asmevo.program.registers import granted, own_lines, used
from asmevo.strategies.context import Context
from asmevo.strategies.webs import Web


@dataclass(frozen=True, slots=True)
class Room:
    """How many VGPRs there may be, and the edit that asks for them."""

    vgprs: int
    edit: Edit

    def edits_for(self, program: Program, taken: RegSet) -> tuple[Edit, ...]:
        """The edit, if these registers go beyond the grant."""
        vgprs = max((unit - VGPR_BASE + 1 for unit in units(taken) if unit >= VGPR_BASE), default=0)
        return (self.edit,) if vgprs > granted(program.kernel.descriptor, program.source.target)["v"] else ()


def rooms(program: Program) -> list[Room]:
    """The grant, as large as its occupancy allows, and the one that costs a wave."""
    target = program.source.target
    if not has_limits(target) or "a" in used(own_lines(program)):
        return []
    limits = limits_of(target)
    waves = limits.waves_by_registers(program.kernel.descriptor.vgpr_alloc)
    found: list[Room] = []
    for count in (waves, waves - 1):
        if count < 1:
            continue
        most = min(limits.vgprs, limits.registers // count // limits.register_granule * limits.register_granule)
        found.append(Room(most, SetResources(vgprs=most)))
    return found


def drawn(places: Sequence[Room], rng: random.Random) -> Room:
    """The first one mostly; rarely one that costs a wave."""
    return places[0] if len(places) == 1 or rng.random() < 0.75 else rng.choice(places[1:])


def names_of_line(line: Line) -> RegSet:
    """Registers that a line reads or writes."""
    known = effects(line.instruction)
    return known.reads | known.writes


def taken_in(context: Context) -> RegSet:
    """Registers that a block names, or that hold something in it."""
    taken = context.analyses.liveness.live_in(context.block.first)
    for n, line in enumerate(context.lines):
        taken |= names_of_line(line) | context.analyses.liveness.live_out(context.block.first + n)
    return taken


def place_of(web: Web, taken: RegSet, vgprs: int) -> int | None:
    """The lowest unit where the web's registers fit, with tuples aligned as they are."""
    registers = web.registers
    low = min(units(registers))
    shape = registers >> low
    for base in range(VGPR_BASE + (low - VGPR_BASE) % 2, VGPR_BASE + vgprs, 2):
        there = shape << base
        if not there & taken:
            return base if there.bit_length() <= VGPR_BASE + vgprs else None
    return None


def free_sgprs(program: Program) -> list[int]:
    """SGPRs that no line names, and that are granted or could be."""
    named: RegSet = 0
    for line in program.lines:
        named |= names_of_line(line)
    count = granted_sgprs(program)
    if has_limits(program.source.target):
        count = max(count, limits_of(program.source.target).sgprs_without_cost - UNNUMBERED_SGPRS)
    return [n for n in range(count) if not named >> n & 1]


def granted_sgprs(program: Program) -> int:
    """SGPRs of a wave that code may name by number."""
    return granted(program.kernel.descriptor, program.source.target)["s"]

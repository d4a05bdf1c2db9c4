"""Webs: values of a block that begin and end inside it, with every place that names their registers.

The registers of a web can be others without anyone outside of the block noticing; that takes away the order which is
only there because a register is used again (write after read, write after write).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from asmevo.isa import Instruction, Reg, RegSet, bind, effects, parse_instruction, span, unit_name, units
from asmevo.isa.registers import AGPR_BASE, SGPR_COUNT, VGPR_BASE
from asmevo.program import Line
from asmevo.verdict import AsmEvoError

ALL_VGPRS: RegSet = span(VGPR_BASE, AGPR_BASE - VGPR_BASE)
_Node = tuple[int, int]
"""(index of the defining line, unit)."""
_OUTSIDE = -1
"""Index of the definition that was there when the block began."""
_ALL_SGPRS: RegSet = span(0, SGPR_COUNT)
_NAMES = {bank: re.compile(rf"(?<![\w.]){bank}(?:\[(\d+):(\d+)\]|(\d+))(?![\w\[])") for bank in "sv"}


@dataclass(frozen=True, slots=True)
class Web:
    """One value, or several that instructions name as one tuple."""

    definitions: Mapping[int, RegSet]
    """By index in the block, the units that the line defines for it."""
    uses: Mapping[int, RegSet]
    """By index in the block, the units of it that the line reads."""

    @property
    def registers(self) -> RegSet:
        return _union(self.definitions.values()) | _union(self.uses.values())

    @property
    def first(self) -> int:
        """Index of its first definition."""
        return min(self.definitions)


def webs(lines: Sequence[Line], live_out: RegSet) -> list[Web]:
    """The webs of VGPRs in a block whose values all begin and end inside it, by first definition.

    `live_out` are the units live behind its last line. Values are taken to end where their register is written again,
    so this is for blocks that leave EXEC as it is. Raises `UnsupportedError` for an opcode without a row.
    """
    parent: dict[_Node, _Node] = {}

    def find(node: _Node) -> _Node:
        parent.setdefault(node, node)
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    def join(nodes: Sequence[_Node]) -> None:
        for node in nodes:
            parent[find(node)] = find(nodes[0])

    reaching: dict[int, int] = {}
    reads: list[tuple[int, _Node]] = []
    for index, line in enumerate(lines):
        for used in _uses(line.instruction):
            nodes = [(reaching.get(unit, _OUTSIDE), unit) for unit in units(used)]
            join(nodes)
            reads += [(index, node) for node in nodes]
        for made, merges in _definitions(line.instruction):
            before = [(reaching.get(unit, _OUTSIDE), unit) for unit in units(made)]
            nodes = [(index, unit) for unit in units(made)]
            join(nodes)
            if merges:
                for one, other in zip(before, nodes, strict=True):
                    join((one, other))
            reaching.update(dict.fromkeys(units(made), index))
    outside = {find(node) for node in tuple(parent) if node[0] == _OUTSIDE}
    outside |= {find((index, unit)) for unit, index in reaching.items() if live_out >> unit & 1}
    definitions: dict[_Node, dict[int, RegSet]] = {}
    for node in tuple(parent):
        root = find(node)
        if root not in outside:
            found = definitions.setdefault(root, {})
            found[node[0]] = found.get(node[0], 0) | 1 << node[1]
    uses: dict[_Node, dict[int, RegSet]] = {root: {} for root in definitions}
    for index, node in reads:
        if (root := find(node)) in uses:
            uses[root][index] = uses[root].get(index, 0) | 1 << node[1]
    return sorted((Web(definitions[root], uses[root]) for root in definitions), key=lambda web: web.first)


def moved(lines: Sequence[Line], web: Web, base: int) -> dict[int, str] | None:
    """New texts, by line id, with the lowest register of a web at unit `base`; None where a text cannot have them."""
    low = min(units(web.registers))
    texts: dict[int, str] = {}
    for index in sorted({*web.definitions, *web.uses}):
        instruction = lines[index].instruction
        text = renamed(instruction, web.uses.get(index, 0), web.definitions.get(index, 0), base - low)
        if text is None:
            return None
        texts[lines[index].id] = text
    return texts


def renamed(instruction: Instruction, used: RegSet, defined: RegSet, shift: int) -> str | None:
    """The text with these units, where it reads and where it defines them, moved by `shift`; None where it cannot have
    that: part of a tuple, something it reads in place, registers that do not exist.

    The units are all VGPRs or all SGPRs, before and after.
    """
    bank, registers = ("v", ALL_VGPRS) if (used | defined) & ALL_VGPRS else ("s", _ALL_SGPRS)
    wanted: list[int] = []
    for operand, is_use, is_def in _named(instruction):
        if not operand.units & registers:
            continue
        inside = operand.units & ((used if is_use else 0) | (defined if is_def else 0))
        if inside and inside != operand.units:
            return None
        wanted.append(shift if inside else 0)
    shifts = iter(wanted)

    def put(match: re.Match[str]) -> str:
        by = next(shifts, 0)
        if match[3] is not None:
            return f"{bank}{int(match[3]) + by}"
        return f"{bank}[{int(match[1]) + by}:{int(match[2]) + by}]"

    mnemonic, _, rest = instruction.text.partition(" ")
    text = f"{mnemonic} {_NAMES[bank].sub(put, rest)}"
    try:
        known = effects(parse_instruction(text))
    except AsmEvoError:
        return None
    before = effects(instruction)
    right = known.reads == shifted(before.reads, used, shift) and known.writes == shifted(before.writes, defined, shift)
    return text if right else None


def shifted(whole: RegSet, part: RegSet, shift: int) -> RegSet:
    """A set of units with those of `part` moved by `shift`."""
    here = whole & part
    return whole & ~part | (here << shift if shift >= 0 else here >> -shift)


def _named(instruction: Instruction) -> list[tuple[Reg, bool, bool]]:
    """The registers that an instruction names, as printed, with whether it reads and whether it defines them."""
    roles: dict[int, tuple[bool, bool]] = {}
    at = 0
    for slot, _ in bind(instruction, effects(instruction).row):
        if slot.hidden:
            continue
        place = slot.tied if slot.tied >= 0 else at
        at += slot.tied < 0
        is_use, is_def = roles.get(place, (False, False))
        roles[place] = (is_use or slot.is_use, is_def or slot.is_def)
    named = [(operand, *roles.get(n, (True, True))) for n, operand in enumerate(instruction.operands)]
    return [(operand, is_use, is_def) for operand, is_use, is_def in named if isinstance(operand, Reg)]


def _uses(instruction: Instruction) -> list[RegSet]:
    """VGPR tuples that an instruction reads, as it names them; what it reads without naming comes last."""
    named = [operand.units & ALL_VGPRS for operand, is_use, _ in _named(instruction) if is_use]
    rest = effects(instruction).reads & ALL_VGPRS & ~_union(named)
    return [*(one for one in named if one), *([rest] if rest else [])]


def _definitions(instruction: Instruction) -> list[tuple[RegSet, bool]]:
    """VGPR tuples that an instruction defines, and whether part of what was there stays or is read in place."""
    found: list[tuple[RegSet, bool]] = []
    separate = _union(operand.units for operand, is_use, is_def in _named(instruction) if is_use and not is_def)
    for operand, is_use, is_def in _named(instruction):
        made = operand.units & ALL_VGPRS
        if is_def and made:
            found.append((made, is_use or bool(effects(instruction).reads & made & ~separate)))
    return found


def _union(sets: Iterable[RegSet]) -> RegSet:
    whole = 0
    for one in sets:
        whole |= one
    return whole


def names_of(registers: RegSet) -> str:
    """The registers for a note, as `v24-v27`."""
    numbers = sorted(units(registers))
    return unit_name(numbers[0]) if len(numbers) == 1 else f"{unit_name(numbers[0])}-{unit_name(numbers[-1])}"

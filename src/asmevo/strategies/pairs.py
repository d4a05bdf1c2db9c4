"""Two instructions on neighbouring registers as one on the pair: packed f32, and moves of 64 bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from asmevo.isa import Instruction, LaneRow, PackedRow, Reg, RegSet, effects, rows
from asmevo.isa.registers import SGPR_COUNT, VGPR_BASE
from asmevo.program import Line
from asmevo.program.execmask import writes_exec
from asmevo.strategies.meanings import meaning_tree


@dataclass(frozen=True, slots=True)
class Pairing:
    """One instruction for two."""

    gone: int
    """Id of the line that goes."""
    kept: int
    """Id of the line that does the work of both."""
    text: str
    first: int
    """Index in the block of the first of the two."""
    last: int
    sinks: bool
    """Whether the first one's work is done where the second one stands, or the other way about."""


@dataclass(frozen=True, slots=True)
class _Half:
    """An instruction that can be half of a packed one."""

    packed: str
    target: Reg
    uses: tuple[Reg, ...]


_SHAPES = [[("f32", True), *[("f32", False)] * uses] for uses in (1, 2, 3)]
"""Types of the operands of f32 rows, and whether they are results."""


@cache
def _packed() -> Mapping[str, str]:
    """Names of f32 rows and of the packed rows that do the same to each element, by their meanings."""
    by_tree: dict[str, str] = {}
    for row in rows().values():
        if isinstance(row, PackedRow) and row.element == "f32" and not row.kind and not row.tags:
            by_tree[meaning_tree(row, sum(slot.is_use for slot in row.slots))] = row.name
    found: dict[str, str] = {}
    for row in rows().values():
        shape = [(slot.type, slot.is_def) for slot in row.slots]
        if isinstance(row, LaneRow) and not isinstance(row, PackedRow) and not row.tags and shape in _SHAPES:
            name = by_tree.get(meaning_tree(row, len(row.slots) - 1))
            found |= {row.name: name} if name else {}
    return found


@lru_cache(maxsize=1 << 14)
def _half(instruction: Instruction) -> _Half | None:
    if instruction.modifiers or instruction.encoding not in ("", "e32", "e64"):
        return None
    row = effects(instruction).row
    name = "v_mov_b64" if row.name == "v_mov_b32" else _packed().get(row.name)
    registers = [operand for operand in instruction.operands if isinstance(operand, Reg) and not operand.is_agpr]
    if name is None or len(registers) != len(instruction.operands):
        return None
    tied = [registers[slot.tied] for slot in row.slots if slot.tied >= 0]
    uses = (*registers[1:], *tied)
    numbered = all(
        reg.count == 1 and not reg.absolute and (not reg.is_scalar or reg.first < SGPR_COUNT) for reg in uses
    )
    return _Half(name, registers[0], uses) if numbered else None


def paired(low: Instruction, high: Instruction) -> str | None:
    """The text of one instruction that does what both do, each from what was there before; None where there is none.

    `low` has the lower one of two targets that are an even register and the next. Sources must be in one such pair
    too, both the same register perhaps; one pair of scalar registers can be read.
    """
    one, two = _half(low), _half(high)
    if one is None or two is None or one.packed != two.packed:
        return None
    if one.target.first % 2 or two.target.first != one.target.first + 1:
        return None
    scalars: set[int] = set()
    for a, b in zip(one.uses, two.uses, strict=True):
        if a.first // 2 != b.first // 2:
            return None
        scalars |= {a.first // 2} if a.is_scalar else set()
    if len(scalars) > 1:
        return None
    operands = [_pair(one.target), *(_pair(use) for use in one.uses)]
    if one.packed == "v_mov_b64":
        straight = one.uses[0].first % 2 == 0 and two.uses[0].first % 2 == 1
        return f"v_mov_b64_e32 {', '.join(operands)}" if straight else None
    text = f"{one.packed} {', '.join(operands)}"
    text += _bits("op_sel", [use.first % 2 for use in one.uses], usual=0)
    text += _bits("op_sel_hi", [use.first % 2 for use in two.uses], usual=1)
    text += _bits("neg_lo", [int(use.neg) for use in one.uses], usual=0)
    return text + _bits("neg_hi", [int(use.neg) for use in two.uses], usual=0)


def _pair(register: Reg) -> str:
    number = (register.first if register.is_scalar else register.first - VGPR_BASE) // 2 * 2
    return f"{'s' if register.is_scalar else 'v'}[{number}:{number + 1}]"


def _bits(name: str, bits: Sequence[int], *, usual: int) -> str:
    return "" if all(bit == usual for bit in bits) else f" {name}:[{','.join(map(str, bits))}]"


def pairings(lines: Sequence[Line]) -> list[Pairing]:
    """Pairs of instructions of a block that can be one, by their last line; each instruction is in one at most."""
    found: list[Pairing] = []
    waiting: dict[int, int] = {}
    for at, line in enumerate(lines):
        half = _half(line.instruction)
        if half is None:
            continue
        partner = waiting.pop(half.target.first ^ 1, None)
        pairing = None if partner is None else _pairing(lines, partner, at)
        if pairing:
            found.append(pairing)
            waiting.pop(half.target.first, None)
        else:
            waiting[half.target.first] = at
    return found


def _pairing(lines: Sequence[Line], first: int, last: int) -> Pairing | None:
    one, other = lines[first].instruction, lines[last].instruction
    ordered = (one, other) if effects(one).writes < effects(other).writes else (other, one)
    if effects(other).reads & effects(one).writes:
        return None
    text = paired(*ordered)
    between = lines[first + 1 : last]
    if text is None or any(writes_exec(line.instruction) for line in between):
        return None
    if _passes(one, between):
        return Pairing(lines[first].id, lines[last].id, text, first, last, sinks=True)
    if _passes(other, between):
        return Pairing(lines[last].id, lines[first].id, text, first, last, sinks=False)
    return None


def _passes(instruction: Instruction, lines: Sequence[Line]) -> bool:
    """Whether an instruction may change places with all of the lines."""
    own: RegSet = effects(instruction).writes
    used = effects(instruction).reads | own
    return not any(effects(line.instruction).writes & used or effects(line.instruction).reads & own for line in lines)

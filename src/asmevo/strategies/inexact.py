"""Cheaper arithmetic with other roundings, for searches that allow it: no other search knows this strategy."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from asmevo.edit import Delete, Edit, Replace, apply_all
from asmevo.isa import Imm, Instruction, Reg, effects, unit_name
from asmevo.isa.registers import VGPR_BASE
from asmevo.program import Line
from asmevo.program.execmask import writes_exec
from asmevo.program.liveness import liveness
from asmevo.strategies.context import Context
from asmevo.strategies.proposal import Proposal
from asmevo.strategies.settle import settled
from asmevo.strategies.values import dead_lines, redundant_lines

_ONE = 0x3F800000


@dataclass(frozen=True, slots=True)
class _Change:
    """New texts of lines of the block; what only the old ones needed is dead then."""

    texts: tuple[tuple[int, str], ...]


class Inexact:
    """Divides by a reciprocal, and contracts products and sums.

    The steps of a correctly rounded f32 division become `v_rcp_f32` and a product, one reciprocal for all that divide
    by the same register; a product that only a sum reads becomes one fused instruction. Quotients that leave the range
    on the way, and denormal ones, come out as zeros, infinities or NaN. All of one kind together first, then one by
    one.
    """

    name = "inexact"

    def propose(self, context: Context, rng: random.Random) -> Iterator[Proposal]:
        for what, found in (
            ("IEEE division{} to a product with the reciprocal", _divisions(context.lines)),
            ("product and sum{} to one fused instruction", _contractions(context.lines)),
        ):
            if found:
                yield from _proposals(context, found, what.format(f", {len(found)} times," if len(found) > 1 else ""))
            for change in rng.sample(found, len(found)) if len(found) > 1 else ():
                yield from _proposals(context, [change], what.format(""))


def _proposals(context: Context, changes: Sequence[_Change], what: str) -> Iterator[Proposal]:
    """The changes, without lines that are not needed any more."""
    texts = [pair for change in changes for pair in change.texts]
    edits: list[Edit] = [Replace(line, text) for line, text in texts]
    while True:
        program = apply_all(context.program, edits)
        block, known = program.blocks[context.block.number], liveness(program)
        lines = program.lines[block.first : block.last]
        live = [known.live_out(block.first + n) for n in range(len(lines))]
        gone = dead_lines(lines, live) or redundant_lines(lines, live, {line for line, _ in texts})
        if not gone:
            break
        edits.append(Delete(tuple(gone)))
    yield from settled(context, edits, what)


def _divisions(lines: Sequence[Line]) -> list[_Change]:
    """Ends of division sequences: `v_div_fmas_f32 q, ...` and `v_div_fixup_f32 d, q, denominator, numerator`."""
    found: list[_Change] = []
    for at, line in enumerate(lines):
        end = line.instruction
        if end.base != "v_div_fixup_f32" or not _plain(end):
            continue
        target, quotient, denominator, numerator = end.operands
        if not isinstance(quotient, Reg) or not isinstance(denominator, Reg) or not isinstance(target, Reg):
            continue
        if isinstance(numerator, Imm) and numerator.bits == _ONE:
            found.append(_Change(((line.id, f"v_rcp_f32_e32 {_name(target)}, {_name(denominator)}"),)))
            continue
        begin = _maker(lines, at, quotient)
        if not isinstance(numerator, Reg) or begin is None:
            continue
        if lines[begin].instruction.base != "v_div_fmas_f32" or _touched(lines[begin:at], denominator):
            continue
        if any(_reads(x, quotient) for x in lines[begin + 1 : at]):
            continue
        if quotient.units != target.units and not _dies(lines[at + 1 :], quotient):
            continue
        first = f"v_rcp_f32_e32 {_name(quotient)}, {_name(denominator)}"
        product = f"v_mul_f32_e32 {_name(target)}, {_name(numerator)}, {_name(quotient)}"
        found.append(_Change(((lines[begin].id, first), (line.id, product))))
    return found


def _contractions(lines: Sequence[Line]) -> list[_Change]:
    """Sums of which one side is a product that nobody else reads, of VGPRs only."""
    found: list[_Change] = []
    for at, line in enumerate(lines):
        end = line.instruction
        if end.base not in ("v_add_f32", "v_sub_f32") or not _plain(end) or not _vgprs(end):
            continue
        target = end.operands[0]
        for side in (1, 2):
            product, other = end.operands[side], end.operands[3 - side]
            assert isinstance(product, Reg) and isinstance(other, Reg) and isinstance(target, Reg)
            begin = None if product.units == other.units else _maker(lines, at, product)
            if begin is None or not _is_product(lines[begin].instruction):
                continue
            _, a, b = lines[begin].instruction.operands
            assert isinstance(a, Reg) and isinstance(b, Reg)
            between = lines[begin + 1 : at]
            if any(_touched(lines[begin:at], factor) for factor in (a, b)) or any(_reads(x, product) for x in between):
                continue
            if product.units != target.units and not _dies(lines[at + 1 :], product):
                continue
            found.append(_Change(((line.id, _fused(end.base, side, target, (a, b), other)),)))
            break
    return found


def _fused(base: str, side: int, target: Reg, factors: tuple[Reg, Reg], other: Reg) -> str:
    a, b = map(_name, factors)
    if base == "v_add_f32" and target.units == other.units:
        return f"v_fmac_f32_e32 {_name(target)}, {a}, {b}"
    minus = "-" if base == "v_sub_f32" else ""
    signs = (minus, "") if side == 2 else ("", minus)
    return f"v_fma_f32 {_name(target)}, {signs[0]}{a}, {b}, {signs[1]}{_name(other)}"


def _is_product(instruction: Instruction) -> bool:
    return instruction.base == "v_mul_f32" and _plain(instruction) and _vgprs(instruction)


def _plain(instruction: Instruction) -> bool:
    """Without modifiers, of operands too, and of all lanes alike."""
    changed = any(isinstance(x, Reg | Imm) and (x.neg or x.absolute) for x in instruction.operands)
    return instruction.encoding in ("", "e32", "e64") and not instruction.modifiers and not changed


def _vgprs(instruction: Instruction) -> bool:
    return all(isinstance(x, Reg) and x.count == 1 and x.first >= VGPR_BASE for x in instruction.operands)


def _maker(lines: Sequence[Line], at: int, register: Reg) -> int | None:
    """Place of the line in front of `at` that made a register, all lanes that are read included; None outside."""
    for place in range(at - 1, -1, -1):
        if writes_exec(lines[place].instruction):
            return None
        if effects(lines[place].instruction).writes & register.units:
            return place
    return None


def _touched(lines: Sequence[Line], register: Reg) -> bool:
    """Whether one of the lines writes a register."""
    return any(effects(line.instruction).writes & register.units for line in lines)


def _reads(line: Line, register: Reg) -> bool:
    return bool(effects(line.instruction).reads & register.units)


def _dies(lines: Sequence[Line], register: Reg) -> bool:
    """Whether the lines overwrite a register, or end the program, before anyone reads it."""
    for line in lines:
        known = effects(line.instruction)
        if known.reads & register.units or writes_exec(line.instruction):
            return False
        if known.writes & register.units or line.instruction.base == "s_endpgm":
            return True
    return False


def _name(register: Reg) -> str:
    return unit_name(register.first)

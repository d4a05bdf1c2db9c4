"""One instruction that does the work of two: the second reads what the first made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TypeGuard, cast

from asmevo.isa import Imm, Instruction, LaneRow, Reg, ScalarRow, effects, rows, unit_name
from asmevo.isa.exact import Bits
from asmevo.strategies.meanings import Tree, forms, has_floats, is_simple, parts_of, tree_of


@dataclass(frozen=True, slots=True)
class _Plain:
    """An instruction that computes one 32-bit register from others and constants, each lane for itself."""

    row: LaneRow | ScalarRow
    target: Reg
    uses: tuple[Reg | Imm, ...]
    texts: tuple[str, ...]
    """The uses as printed."""


@lru_cache(maxsize=1 << 14)
def _plain(instruction: Instruction) -> _Plain | None:
    if instruction.modifiers or instruction.encoding not in ("", "e32", "e64"):
        return None
    row = effects(instruction).row
    target = instruction.operands[0] if instruction.operands else None
    uses = [use for use in instruction.operands[1:] if isinstance(use, (Reg, Imm))]
    if not is_simple(row) or not isinstance(target, Reg) or target.count != 1:
        return None
    registers = [operand for operand in instruction.operands if isinstance(operand, Reg)]
    if len(uses) != len(instruction.operands) - 1 or any(reg.count != 1 or reg.is_agpr for reg in registers):
        return None
    return _Plain(row, target, tuple(uses), tuple(instruction.text.partition(" ")[2].split(", ")[1:]))


def can_fuse(instruction: Instruction) -> bool:
    """Whether `fused` may know what to do with the result. Raises `UnsupportedError` for an opcode without a row."""
    return _plain(instruction) is not None


@lru_cache(maxsize=1 << 14)
def fused(first: Instruction, second: Instruction) -> str | None:
    """The text of one instruction that makes what `second` makes of `first`'s result, without that result.

    None where the table has none, or where the operands do not fit it: vector instructions read one scalar register at
    most, and those with three sources no literal. SCC may come out other than from `second`.
    """
    one, two = _plain(first), _plain(second)
    if one is None or two is None or (isinstance(one.row, LaneRow) and isinstance(two.row, ScalarRow)):
        return None
    copies = len(one.uses) == 1 and tree_of(one.row, [("operand", 0)]) == ("operand", 0)
    if has_floats(one.row) != has_floats(two.row) and not copies:
        return None
    results = [isinstance(use, Reg) and bool(use.units & one.target.units) for use in two.uses]
    if not any(results) or any(is_it and use != one.target for use, is_it in zip(two.uses, results, strict=True)):
        return None  # read without being named, or negated
    others = [i for i, is_result in enumerate(results) if not is_result]
    uses = [*one.uses, *(two.uses[i] for i in others)]
    texts = [*one.texts, *(two.texts[i] for i in others)]
    for leaves, named in _leaves(uses):
        inner = tree_of(one.row, leaves[: len(one.uses)])
        rest = iter(leaves[len(one.uses) :])
        tree = tree_of(two.row, [inner if is_result else next(rest) for is_result in results])
        for text in _texts(second, two, tree, [uses[i] for i in named], [texts[i] for i in named]):
            return text
    return None


def _leaves(uses: Sequence[Reg | Imm]) -> Iterator[tuple[list[Tree], list[int]]]:
    """Trees for operands, constants as operands or as what they are, and which of them are operands."""
    integers = [isinstance(use, Imm) and not use.neg and not use.absolute for use in uses]
    for constant in product(*((False, True) if is_constant else (False,) for is_constant in integers)):
        named = [i for i in range(len(uses)) if not constant[i]]
        leaves: list[Tree] = [
            Bits(cast("Imm", use).bits, 32) if constant[i] else ("operand", named.index(i))
            for i, use in enumerate(uses)
        ]
        if named:
            yield leaves, named


def _texts(
    second: Instruction, two: _Plain, tree: Tree, uses: Sequence[Reg | Imm], texts: Sequence[str]
) -> Iterator[str]:
    """Instructions that compute a tree of these operands into the second one's target."""
    target, vector = unit_name(two.target.first), isinstance(two.row, LaneRow)
    for form in sorted(forms(tree), key=lambda form: form.row != two.row):
        operands = [uses[i] for i in form.order]
        name = _mnemonic(form.row, second, two, operands)
        if isinstance(form.row, LaneRow) is vector and name:
            yield f"{name} {', '.join([target, *(texts[i] for i in form.order)])}"
    if vector and len(uses) == 1 and (field := _field(tree)) and _fits(uses):
        yield f"v_bfe_u32 {target}, {texts[0]}, {field[0]}, {field[1]}"


def _mnemonic(row: LaneRow | ScalarRow, second: Instruction, two: _Plain, operands: Sequence[Reg | Imm]) -> str:
    """The mnemonic that takes these operands; empty when there is none."""
    if isinstance(row, ScalarRow):
        return row.name if len({use.bits for use in operands if is_literal(use)}) <= 1 else ""
    if len(operands) == 3:
        return row.name if _fits(operands) else ""
    if row != two.row or second.encoding not in ("e32", "e64"):
        return ""
    is_short = all(isinstance(use, Imm) or not (use.neg or use.absolute) for use in operands)
    if is_short and all(isinstance(use, Reg) and not use.is_scalar for use in operands[1:]):
        return f"{row.name}_e32"
    return f"{row.name}_e64" if _fits(operands) else ""


def _fits(operands: Sequence[Reg | Imm]) -> bool:
    """Whether an instruction of 64 bits can read all of them: one scalar register, no literal."""
    scalars = {use.first for use in operands if isinstance(use, Reg) and use.is_scalar}
    return len(scalars) <= 1 and not any(is_literal(use) for use in operands)


def is_literal(use: Reg | Imm) -> TypeGuard[Imm]:
    """Whether an operand is a constant that stands behind the instruction."""
    return isinstance(use, Imm) and use.needs_literal


def _field(tree: Tree) -> tuple[int, int] | None:
    """Offset and width where a tree is what `v_bfe_u32` gives of its operand."""
    row = cast("LaneRow", rows()["v_bfe_u32"])
    for mask in parts_of(tree, "and_"):
        for shift in (amount for part in parts_of(tree, "and_") for amount in parts_of(part, "lshr")[1:]):
            if isinstance(mask, Bits) and isinstance(shift, Bits):
                field = shift.value, mask.value.bit_length()
                if tree_of(row, [("operand", 0), *(Bits(n, 32) for n in field)]) == tree:
                    return field
    return None

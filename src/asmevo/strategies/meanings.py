"""Meanings of rows as trees, and which row computes a given tree: nothing here is a list of opcodes.

Rows with the same tree compute exactly the same, for every input. Integer operations may be regrouped, as they are
associative modulo 2**32 too; floats keep their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from itertools import permutations
from typing import Any, TypeAlias, TypeGuard, cast

from asmevo.isa import LaneRow, PackedRow, ScalarRow, rows
from asmevo.isa.evaluate import Interpreter
from asmevo.isa.exact import Bits

Tree: TypeAlias = Any
"""(operation, *trees), ("operand", index), or the `Bits` of a constant."""

_REGROUPED = frozenset({"add", "mul", "and_", "or_", "xor", "umin", "umax", "smin", "smax"})
"""Integer operations that are associative and commutative."""
_LOW = frozenset({"add", "sub", "mul", "and_", "or_", "xor"})
"""Operations whose low bits depend on the low bits of their operands alone."""
_INTEGERS = frozenset({"u32", "i32", "b32"})
_WITH_LITERAL = ("v_fmamk_f32", "v_fmaak_f32")
"""What they do other rows do for every operand."""
_KINDS = _INTEGERS | {"f32"}


class _Trees:
    """Writes meanings down as trees, with constants folded and what may be regrouped in a fixed order."""

    def __init__(self) -> None:
        self._exact = Interpreter()

    def const(self, value: int, bits: int = 32) -> Bits:
        return self._exact.const(value, bits)

    def __getattr__(self, name: str) -> Callable[..., Tree]:
        def node(*operands: Tree, **more: Any) -> Tree:
            if all(isinstance(operand, (Bits, int, str)) for operand in operands):
                return getattr(self._exact, name)(*operands, **more)
            if name == "trunc":
                return self._low(operands[0], operands[1])
            if name not in _REGROUPED:
                return (name, *operands, *sorted(more.items()))
            return (
                name,
                *sorted((part for operand in operands for part in parts_of(operand, name) or (operand,)), key=repr),
            )

        return node

    def _low(self, tree: Tree, bits: int) -> Tree:
        """The low bits of a tree, which is often a wider copy of what has them."""
        if isinstance(tree, Bits):
            return self.const(tree.value, bits)
        if tree[0] in ("zext", "sext") and _width(tree[1]) == bits:
            return tree[1]
        if tree[0] in _LOW:
            return reduce(getattr(self, tree[0]), [self._low(part, bits) for part in tree[1:]])
        if tree[0] == "shl" and isinstance(tree[2], Bits) and tree[2].value < bits:
            return self.shl(self._low(tree[1], bits), self.const(tree[2].value, bits))
        return ("trunc", tree, bits)


def _width(tree: Tree) -> int:
    """Bits of a tree; 0 where that is not looked up."""
    if isinstance(tree, Bits):
        return tree.width
    if tree[0] in ("zext", "sext", "trunc"):
        return tree[2]
    if tree[0] in _LOW | _REGROUPED | {"shl", "lshr", "ashr"}:
        return _width(tree[1])
    return 32 if tree[0] == "operand" else 0


def parts_of(tree: Tree, operation: str) -> Sequence[Tree]:
    """The operands of a tree that is this operation; nothing of any other."""
    whole = cast("tuple[Tree, ...]", tree)
    return () if isinstance(tree, Bits) or whole[0] != operation else whole[1:]


def is_simple(row: object) -> TypeGuard[LaneRow | ScalarRow]:
    """Whether a row makes one 32-bit result, and SCC perhaps, from one to three printed 32-bit operands."""
    if not isinstance(row, (LaneRow, ScalarRow)) or isinstance(row, PackedRow) or row.tags:
        return False
    printed = [slot for slot in row.slots if not (slot.is_def and slot.hidden == "scc")]
    plain = all(slot.type in _KINDS and not slot.hidden and slot.tied < 0 for slot in printed)
    alike = len({slot.type in _INTEGERS for slot in printed}) == 1
    return plain and alike and sum(slot.is_def for slot in printed) == 1 and 2 <= len(printed) <= 4


def has_floats(row: LaneRow | ScalarRow) -> bool:
    """Whether the operands of a simple row are floats."""
    return row.slots[0].type not in _INTEGERS


def meaning_tree(row: LaneRow, count: int) -> str:
    """The meaning of a row of `count` operands, written down; equal where it is the same."""
    return repr(row.meaning(_Trees(), *(("operand", place) for place in range(count))))


def tree_of(row: LaneRow | ScalarRow, operands: Sequence[Tree]) -> Tree:
    """What a simple row computes from these operands; SCC is left out."""
    given = row.meaning(_Trees(), *operands)
    return given[0] if len(row.slots) > len(operands) + 1 else given


@dataclass(frozen=True, slots=True)
class Form:
    """A row, and which operand of a tree is its first, second and third."""

    row: LaneRow | ScalarRow
    order: tuple[int, ...]


def forms(tree: Tree) -> Sequence[Form]:
    """The simple rows that compute a tree."""
    return _forms().get(repr(tree), ())


@cache
def _forms() -> dict[str, list[Form]]:
    found: dict[str, list[Form]] = {}
    for row in rows().values():
        if is_simple(row) and row.name not in _WITH_LITERAL:
            for order in permutations(range(sum(slot.is_use for slot in row.slots))):
                tree = tree_of(row, [("operand", place) for place in order])
                found.setdefault(repr(tree), []).append(Form(row, order))
    return found

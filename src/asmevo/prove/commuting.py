"""Which opcodes give the same with their two sources exchanged: read off the meaning of their row."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from asmevo.isa import LaneRow, PackedRow, Row, ScalarRow

_COMMUTATIVE = frozenset({"add", "mul", "and_", "or_", "xor", "umin", "umax", "smin", "smax"})
"""Integer operations of the algebra whose operands may be exchanged."""


class _Trees:
    """Writes a meaning down as a tree, with the operands of commutative operations in a fixed order."""

    def __getattr__(self, name: str) -> Callable[..., tuple[Any, ...]]:
        def node(*operands: Any, **more: Any) -> tuple[Any, ...]:
            shown = sorted(operands, key=repr) if name in _COMMUTATIVE else operands
            return (name, *shown, *sorted(more.items()))

        return node


@cache
def _commuting(name: str, meaning: Callable[..., Any]) -> bool:
    return repr(meaning(_Trees(), "a", "b")) == repr(meaning(_Trees(), "b", "a"))


def commutes(row: Row) -> bool:
    """Whether `meaning(a, b)` is `meaning(b, a)`: the same tree for both. Rows with other than two uses do not."""
    if not isinstance(row, (LaneRow, ScalarRow)) or isinstance(row, PackedRow):
        return False
    uses = [slot for slot in row.slots if slot.is_use]
    if len(uses) != 2 or uses[0].type != uses[1].type or any(slot.hidden or slot.tied >= 0 for slot in uses):
        return False
    return _commuting(row.name, row.meaning)

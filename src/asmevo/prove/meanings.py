"""One instruction by the meaning of its row, over an algebra that follows what it can."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, cast

from asmevo.isa import Instruction, LaneRow, Operand, PackedRow, Row, ScalarRow, Slot


class Other:
    """What an algebra does not follow. It is not None, which is an operand that is left out to some rows' meanings."""


OTHER = Other()


def first_result(
    instruction: Instruction,
    row: Row,
    bound: Sequence[tuple[Slot, Operand | None]],
    types: Collection[str],
    algebra: Any,
    value_of: Callable[[Slot, Operand | None], object],
) -> tuple[str, Any] | None:
    """Type and value of the first printed result; None where it has none of these types, or where more than the row's
    meaning decides it: modifiers, SDWA, DPP, other lanes. `value_of` gives what the algebra knows of a use."""
    if not isinstance(row, (LaneRow, ScalarRow)) or isinstance(row, PackedRow) or "cross_lane" in row.tags:
        return None
    if instruction.modifiers or instruction.is_sdwa_or_dpp:
        return None
    target = next((slot for slot, _ in bound if slot.is_def), None)
    if target is None or target.hidden or target.type not in types:
        return None
    made: Any = row.meaning(algebra, *[value_of(slot, operand) for slot, operand in bound if slot.is_use])
    return target.type, cast(tuple[Any, ...], made)[0] if isinstance(made, tuple) else made

"""The opcode table of gfx942: one row for each opcode."""

from __future__ import annotations

from functools import cache

from asmevo.isa.instruction import Instruction
from asmevo.isa.row import Row, index
from asmevo.isa.table import (
    control,
    convert,
    cross_lane,
    flat,
    float_,
    half,
    integer,
    lds,
    matrix,
    media,
    scalar,
    vector_memory,
)
from asmevo.verdict import UnsupportedError


@cache
def rows() -> dict[str, Row]:
    """All rows by mnemonic without encoding suffix."""
    modules = (scalar, control, integer, float_, half, convert, media, cross_lane, matrix, lds, vector_memory, flat)
    return index(row for module in modules for row in module.ROWS)


def row_of(instruction: Instruction) -> Row:
    """The row of an instruction. Raises `UnsupportedError` when the table has none."""
    row = rows().get(instruction.base)
    if row is None:
        raise UnsupportedError(f"The opcode {instruction.mnemonic!r} has no row in the opcode table, so it is UNKNOWN.")
    return row

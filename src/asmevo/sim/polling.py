"""Which blocks poll memory for what another wave writes, and which do work.

A wave that executes nothing but polls for a while ends its turn, and when all resident workgroups do, another one is
started: on the chip they would be there already. What counts is a sum of weights, so that a wrong guess costs a switch
and never a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from asmevo.isa import ControlRow, Instruction, MatrixRow, MemoryRow, Space, row_of

LIMIT, LIMIT_AGAIN = 1 << 14, 1 << 8
"""Weight of polls after which a turn ends, and after which it does when the last one ended like that."""
CERTAIN, POSSIBLE = 64, 1
"""Weights of a block that only makes sense in a wait (a pause, an access past the caches), and of one with any other
load."""
NEUTRAL = 0
STORES, SCALAR_STORES = -1, -2
"""Not a weight: the block may change memory, or multiplies matrices; the sum starts again. Without an active lane only
a scalar store can change anything."""


def weight(instructions: Sequence[Instruction]) -> int:
    """The weight of a block, or STORES or SCALAR_STORES."""
    found = [_of(i) for i in instructions]
    return min(found) if min(found, default=NEUTRAL) < NEUTRAL else max(found, default=NEUTRAL)


def talks(instructions: Sequence[Instruction]) -> bool:
    """Whether an instruction lets workgroups tell each other something: an atomic, or an access past the caches."""
    return any(_talks(i) for i in instructions)


@lru_cache(maxsize=1 << 16)
def _talks(instruction: Instruction) -> bool:
    row = row_of(instruction)
    if not isinstance(row, MemoryRow) or row.space is Space.LDS:
        return False
    return row.kind == "atomic" or instruction.is_scoped


@lru_cache(maxsize=1 << 16)
def _of(instruction: Instruction) -> int:
    row = row_of(instruction)
    if isinstance(row, MatrixRow):
        return STORES
    if isinstance(row, ControlRow):
        return CERTAIN if row.kind == "sleep" else NEUTRAL
    if not isinstance(row, MemoryRow):
        return NEUTRAL
    if row.kind == "store":
        return SCALAR_STORES if row.space is Space.SCALAR else STORES
    if row.kind == "atomic":  # one that changes something says so when it runs
        return CERTAIN
    if "lds" in instruction.modifiers or "lds_dma" in row.tags:
        return STORES
    return CERTAIN if instruction.is_scoped else POSSIBLE

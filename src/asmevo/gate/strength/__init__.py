"""Strength of the gate on one kernel: faults seeded into it, legal edits of it, and what becomes of them."""

from asmevo.gate.strength.code import Code
from asmevo.gate.strength.kind import Kind, spread
from asmevo.gate.strength.legal import LEGAL
from asmevo.gate.strength.measure import (
    CACHE_BITS,
    FAULTS,
    FalseRefusal,
    Score,
    Strength,
    Survivor,
    examined,
    judge,
    legal_edits,
    seeded_code,
    strength,
)

__all__ = [
    "CACHE_BITS",
    "FAULTS",
    "LEGAL",
    "Code",
    "FalseRefusal",
    "Kind",
    "Score",
    "Strength",
    "Survivor",
    "examined",
    "judge",
    "legal_edits",
    "seeded_code",
    "spread",
    "strength",
]

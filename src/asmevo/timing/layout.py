"""Numbers that encoded programs and the compiled replay share: causes, issue categories, kinds, register codes.

Plain integers, because compiled code takes module constants as literals.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Cause(StrEnum):
    """Why a wave or a SIMD did not issue. The order is the column order of stall arrays."""

    VMCNT = "vmcnt"
    """`s_waitcnt vmcnt`, or the counter is full."""
    LGKMCNT = "lgkmcnt"
    MFMA = "mfma"
    """The matrix pipe is busy."""
    MFMA_DEPENDENCY = "mfma_dependency"
    """A matrix result is not ready."""
    VALU_DEPENDENCY = "valu_dependency"
    """A result of another vector or scalar instruction is not ready."""
    VALU = "valu"
    """The vector issue port is busy with a longer instruction."""
    LDS = "lds"
    """The LDS port has too much work waiting."""
    LDS_CONFLICT = "lds_conflict"
    """Waiting for LDS, at a wait or for its port, that bank conflicts cause."""
    VMEM = "vmem"
    """The path to L1 or memory has too much work waiting."""
    BARRIER = "barrier"
    FETCH = "fetch"
    """Taken branches, and instructions that cross a fetch boundary."""
    NOP = "nop"
    """`s_nop` and `s_sleep` beyond one issue turn."""
    ARBITRATION = "arbitration"
    """Another wave of the SIMD took the issue slot."""
    LAUNCH = "launch"
    """The workgroup was not there yet."""


CAUSES: Final = tuple(Cause)
CAUSE_COUNT: Final = len(CAUSES)

VMCNT: Final = 0
LGKMCNT: Final = 1
MFMA_BUSY: Final = 2
MFMA_DEPENDENCY: Final = 3
VALU_DEPENDENCY: Final = 4
VALU_BUSY: Final = 5
LDS_BUSY: Final = 6
LDS_CONFLICT: Final = 7
VMEM_BUSY: Final = 8
BARRIER_WAIT: Final = 9
FETCH: Final = 10
NOP: Final = 11
ARBITRATION: Final = 12
LAUNCH: Final = 13

# Issue categories: one instruction of each in a turn of a SIMD, except INTERNAL, which only its own wave limits.
VECTOR: Final = 0
SCALAR: Final = 1
MEMORY: Final = 2
LDS: Final = 3
BRANCH: Final = 4
INTERNAL: Final = 5

# What an instruction does besides taking time.
PLAIN: Final = 0
BARRIER: Final = 1
END: Final = 2
SETPRIO: Final = 3

FORWARD: Final = 1024
"""Added to a unit in a read list: read its forwarded time. In a write list: an SGPR written by a VALU instruction."""
NEVER: Final = 1 << 62
"""A time that does not come."""

SIMDS: Final = 4
"""Of a compute unit."""

# Capacities of the machine record.
CODE: Final = 65536
"""Most program positions."""
CODES: Final = 16 * CODE
"""Most register codes of all positions."""
WAVES: Final = 32
"""Wave slots of a compute unit."""
EVENTS: Final = 65536
"""Issues that a replay can keep, from its beginning."""
EVENT_COLUMNS: Final = 7
"""Wave slot, SIMD, workgroup of the schedule, position, earliest issue by its predecessor, issue, cause of the rest."""

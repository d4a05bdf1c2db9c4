"""The registers of a wave as one space of 32-bit units.

Unit numbers: SGPRs and the scalar specials keep their hardware encoding 0..127 (VCC 106, M0 124, EXEC 126), then SCC
and MODE; VGPR n is 256 + n; AGPR n is 512 + n. A set of registers (`RegSet`) is an int used as a bit mask over units,
so that liveness over tens of thousands of instructions stays cheap.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

Unit: TypeAlias = int
RegSet: TypeAlias = int

VCC_LO, VCC_HI, M0, EXEC_LO, EXEC_HI = 106, 107, 124, 126, 127
SCC, MODE = 128, 129
VGPR_BASE, AGPR_BASE, UNIT_COUNT = 256, 512, 768
SGPR_COUNT, UNNUMBERED_SGPRS = 102, 6
"""SGPRs that gfx9 has numbers for, and those of an allocation that no number reaches: its last ones are flat_scratch,
xnack_mask and VCC (LLVM `getNumExtraSGPRs`, targets with architected flat scratch)."""

NAMED: dict[str, tuple[int, int]] = {
    "vcc": (VCC_LO, 2),
    "vcc_lo": (VCC_LO, 1),
    "vcc_hi": (VCC_HI, 1),
    "exec": (EXEC_LO, 2),
    "exec_lo": (EXEC_LO, 1),
    "exec_hi": (EXEC_HI, 1),
    "m0": (M0, 1),
    "flat_scratch": (102, 2),
    "flat_scratch_lo": (102, 1),
    "flat_scratch_hi": (103, 1),
    "xnack_mask": (104, 2),
    "xnack_mask_lo": (104, 1),
    "xnack_mask_hi": (105, 1),
    "scc": (SCC, 1),
    "mode": (MODE, 1),
}
"""Name to (first unit, number of units) of the scalar registers that have names."""

_NAME_OF = {span: name for name, span in NAMED.items()}


def span(first: Unit, count: int) -> RegSet:
    """The set of `count` consecutive units from `first`."""
    return ((1 << count) - 1) << first


IMPLIED: RegSet = span(EXEC_LO, 2) | span(MODE, 1)
"""Read by vector instructions whatever they name: EXEC and MODE."""


def units(registers: RegSet) -> Iterator[Unit]:
    """The units of a set in ascending order."""
    while registers:
        low = registers & -registers
        yield low.bit_length() - 1
        registers ^= low


def unit_name(unit: Unit) -> str:
    """Assembly name of one unit, e.g. `v3`, `s12`, `vcc_lo`, `scc`."""
    if unit >= AGPR_BASE:
        return f"a{unit - AGPR_BASE}"
    if unit >= VGPR_BASE:
        return f"v{unit - VGPR_BASE}"
    return _NAME_OF.get((unit, 1), f"s{unit}")


def names(registers: RegSet) -> str:
    """Comma-separated names of a set, for messages."""
    return ", ".join(map(unit_name, units(registers)))


VCC, EXEC = span(VCC_LO, 2), span(EXEC_LO, 2)
"""Frequent sets."""

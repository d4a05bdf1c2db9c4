"""Names of AMD GPU targets, the numbers that stand for them in ELF headers, and which of them are handled here.

Source: LLVM `AMDGPUUsage`, "AMDGPU e_flags" (`EF_AMDGPU_MACH`).
"""

from __future__ import annotations

MACHINES = {
    0x20: "gfx600", 0x21: "gfx601", 0x22: "gfx700", 0x23: "gfx701", 0x24: "gfx702", 0x25: "gfx703", 0x26: "gfx704",
    0x28: "gfx801", 0x29: "gfx802", 0x2A: "gfx803", 0x2B: "gfx810", 0x2C: "gfx900", 0x2D: "gfx902", 0x2E: "gfx904",
    0x2F: "gfx906", 0x30: "gfx908", 0x31: "gfx909", 0x32: "gfx90c", 0x33: "gfx1010", 0x34: "gfx1011", 0x35: "gfx1012",
    0x36: "gfx1030", 0x37: "gfx1031", 0x38: "gfx1032", 0x39: "gfx1033", 0x3A: "gfx602", 0x3B: "gfx705", 0x3C: "gfx805",
    0x3D: "gfx1035", 0x3E: "gfx1034", 0x3F: "gfx90a", 0x40: "gfx940", 0x41: "gfx1100", 0x42: "gfx1013", 0x43: "gfx1150",
    0x44: "gfx1103", 0x45: "gfx1036", 0x46: "gfx1101", 0x47: "gfx1102", 0x48: "gfx1200", 0x49: "gfx1250",
    0x4A: "gfx1151", 0x4B: "gfx941", 0x4C: "gfx942", 0x4E: "gfx1201", 0x4F: "gfx950", 0x51: "gfx9-generic",
    0x52: "gfx10-1-generic", 0x53: "gfx10-3-generic", 0x54: "gfx11-generic", 0x55: "gfx1152", 0x58: "gfx1153",
    0x59: "gfx12-generic", 0x5A: "gfx1251", 0x5F: "gfx9-4-generic",
}  # fmt: skip
"""EF_AMDGPU_MACH to target."""
HANDLED = ("gfx908", "gfx90a", "gfx942", "gfx950", "gfx1250")
"""Targets whose code is recovered and rebuilt."""
_NUMBER = {target: number for number, target in MACHINES.items()}
_ANY_FEATURES = 0x500
"""Objects that run whatever the settings of xnack and sramecc are."""


def flags_of(target: str) -> int:
    """The `e_flags` of an object for a target with any setting of its features. `KeyError` for an unknown name."""
    return _NUMBER[target] | _ANY_FEATURES

"""Registers that a kernel descriptor grants, which each target counts in its own blocks.

Source: LLVM `AMDGPUUsage`, "Kernel Descriptor", `GRANULATED_WORKITEM_VGPR_COUNT`; for gfx1250 what llvm-mc encodes.
"""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.codeobject.descriptor import Descriptor

_UNIFIED = ("gfx90a", "gfx942", "gfx950")
"""Targets on which AGPRs are a part of the granted vector registers."""
_FIELD_BLOCK = 8
"""The block of most targets, in which `Descriptor.vgpr_alloc` counts."""
_VECTOR_BLOCK = {"gfx908": 4, "gfx1250": 16}


@dataclass(frozen=True, slots=True)
class Registers:
    """Granted registers, as counts."""

    vector: int
    """All vector registers of a lane, AGPRs included where they are a part."""
    accumulation: int
    """AGPRs."""
    scalar: int | None
    """SGPRs in the descriptor; None where the hardware grants all of them."""
    vector_block: int
    user_scalar: int
    """User SGPRs."""


def granted_registers(descriptor: Descriptor, target: str) -> Registers:
    """What a descriptor grants on a handled target."""
    block = _VECTOR_BLOCK.get(target, 8)
    vector = descriptor.vgpr_alloc // _FIELD_BLOCK * block
    accumulation = max(0, vector - descriptor.accum_offset) if target in _UNIFIED else 0
    is_gfx12 = target == "gfx1250"
    return Registers(
        vector,
        vector if target == "gfx908" else accumulation,
        None if is_gfx12 else descriptor.sgpr_alloc,
        block,
        descriptor.rsrc2 >> 1 & (0x3F if is_gfx12 else 0x1F),
    )

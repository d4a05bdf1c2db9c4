"""What one wave and one workgroup may use at most, for each target.

Source: LLVM 22 `AMDGPUBaseInfo.cpp` (granules, waves by registers).
"""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.verdict import UnsupportedError

NUMBERED = {"s": 106, "ttmp": 16, "v": 256, "a": 256}
"""Registers of each kind that instructions have numbers for, on the target with most; 106 SGPRs are gfx1250's, and its
VGPRs beyond 255 have the numbers of others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetLimits:
    """Limits of one target. Sizes in bytes, registers in 32-bit registers of a lane."""

    target: str
    lds: int
    """LDS of a compute unit, and at most of one workgroup."""
    lds_granule: int
    vgprs: int = NUMBERED["v"]
    """Architectural VGPRs of a wave; the same number of AGPRs."""
    registers: int = 512
    """VGPRs and AGPRs of a wave together; also the registers of a SIMD for each lane slot."""
    register_granule: int = 8
    sgprs_granted: int = 112
    """Scalar registers of a wave with the specials, rounded up to the granule."""
    sgprs: int = 800
    """Scalar registers of a SIMD."""
    sgpr_granule: int = 16
    scratch: int = 131056
    """Private memory of a work-item: 13 bits of 1 KiB for a wave of 64 (`GCNSubtarget.h`, getMaxWaveScratchSize)."""
    waves_per_simd: int = 8
    simds: int = 4
    wave_size: int = 64

    @property
    def sgprs_without_cost(self) -> int:
        """Scalar registers, specials included, that every wave can have with as many waves as there may be."""
        return self.sgprs // self.waves_per_simd // self.sgpr_granule * self.sgpr_granule

    def waves_by_registers(self, count: int) -> int:
        """Waves a SIMD can hold when each is granted `count` vector registers, AGPRs included; 0 if none fits.

        Source: LLVM `AMDGPUBaseInfo.cpp`, `getNumWavesPerEUWithNumVGPRs`.
        """
        if count > self.registers:
            return 0
        granted = max(-(-count // self.register_granule), 1) * self.register_granule
        return min(self.waves_per_simd, self.registers // granted)

    def workgroups_by_lds(self, size: int) -> int:
        """Workgroups a compute unit can hold when each uses `size` bytes of LDS; 0 if none fits.

        Without LDS the other limits decide: the answer is the number of waves of the compute unit.
        """
        if size > self.lds:
            return 0
        granted = -(-size // self.lds_granule) * self.lds_granule
        return self.lds // granted if granted else self.waves_per_simd * self.simds


_LIMITS = {
    limits.target: limits
    for limits in (
        TargetLimits(target="gfx942", lds=65536, lds_granule=512),
        TargetLimits(target="gfx950", lds=163840, lds_granule=1280),
    )
}


def has_limits(target: str) -> bool:
    """Whether the limits of a target are known."""
    return target in _LIMITS


def limits_of(target: str) -> TargetLimits:
    """The limits of `gfx942` or `gfx950`. Raises `UnsupportedError` for another target."""
    if target not in _LIMITS:
        raise UnsupportedError(f"The limits of {target} are not known; use an object for {' or '.join(_LIMITS)}.")
    return _LIMITS[target]

"""What compiled code depends on besides its instructions: the float rules of a value of MODE."""

from __future__ import annotations

from dataclasses import dataclass, field

from asmevo.codeobject import Descriptor
from asmevo.verdict import UnsupportedError

KEEP = 3
"""MODE.FP_DENORM: 0 flushes denormal operands and results, 1 results, 2 operands, 3 keeps all."""
_FLOAT_BITS = 0x3FF
_EXCEPTION_BITS = 0x1FF000
"""MODE.EXCP_EN: which float exceptions trap. They do not happen here."""


@dataclass(frozen=True, slots=True)
class FloatRules:
    """Float behaviour of VALU code (CDNA3 ISA, MODE register); part of the key under which a block is cached."""

    denorm_f32: int = KEEP
    denorm_f64: int = KEEP
    """For f64 and f16."""
    round_f32: int = 0
    """0 to nearest even, 1 up, 2 down, 3 toward zero."""
    round_f64: int = 0
    """For f64 and f16."""
    dx10_clamp: bool = True
    """Clamping takes NaN to 0."""
    ieee: bool = False
    """Minimum and maximum of a signalling NaN are NaN, and output modifiers do nothing."""

    @classmethod
    def of(cls, mode: int) -> FloatRules:
        """Rules of a value of MODE. Raises `UnsupportedError` for what is not modelled, such as FP16_OVFL."""
        if other := mode & ~(_FLOAT_BITS | _EXCEPTION_BITS):
            raise UnsupportedError(
                f"The kernel sets bits 0x{other:x} of MODE, which the simulator does not model; it knows rounding, "
                "denormals, DX10_CLAMP and IEEE."
            )
        return cls(mode >> 4 & 3, mode >> 6 & 3, mode & 3, mode >> 2 & 3, bool(mode >> 8 & 1), bool(mode >> 9 & 1))


@dataclass(frozen=True, slots=True)
class Options:
    """What a block is compiled for."""

    rules: FloatRules = field(default_factory=FloatRules)
    host_mode: int = 0
    """Float mode of the host at the begin and the end of each block (`asmevo.sim.runtime.floatmode`)."""
    checked: bool = False
    """Code carries the checks of `asmevo.sim.checked`."""


def mode_of(descriptor: Descriptor) -> int:
    """MODE when a kernel starts: rounding and denormals, DX10_CLAMP and IEEE."""
    m = descriptor.float_mode
    floats = m.round_f32 | m.round_f64 << 2 | m.denorm_f32 << 4 | m.denorm_f64 << 6
    return floats | descriptor.dx10_clamp << 8 | descriptor.ieee << 9

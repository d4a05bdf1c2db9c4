"""What a kernel's descriptor fixes for all of its blocks."""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.codeobject import Descriptor
from asmevo.verdict import UnsupportedError


@dataclass(frozen=True, slots=True)
class Options:
    """Float behaviour that compiled code depends on; part of the key under which a block is cached."""

    flush: bool
    """f32 denormals are flushed, in operands and in results."""
    dx10_clamp: bool
    """Clamping takes NaN to 0."""
    ieee: bool = False
    checked: bool = False
    """Code carries the checks of `asmevo.sim.checked`."""

    @classmethod
    def of(cls, descriptor: Descriptor) -> Options:
        """Options of a kernel. Raises `UnsupportedError` for float modes that are not modelled."""
        mode = descriptor.float_mode
        if mode.round_f32 or mode.round_f64:
            raise UnsupportedError("The kernel's float mode does not round to nearest even, which the simulator needs.")
        if mode.denorm_f32 not in (0, 3):
            raise UnsupportedError(
                "The kernel's float mode flushes f32 denormals only on one side, which the simulator cannot do."
            )
        if mode.denorm_f64 != 3:
            raise UnsupportedError(
                "The kernel's float mode flushes f16 and f64 denormals, which the simulator cannot do."
            )
        return cls(mode.denorm_f32 == 0, descriptor.dx10_clamp, descriptor.ieee)

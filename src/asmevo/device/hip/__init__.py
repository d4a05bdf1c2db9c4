"""AMD GPUs through the HIP runtime: any version from ROCm 6 on, found at run time.

Not verified on hardware: see `docs/hardware.md`.
"""

from asmevo.device.hip.device import HipDevice
from asmevo.device.hip.identity import ChipIdentity, recorded_chip, same_chip

__all__ = ["ChipIdentity", "HipDevice", "recorded_chip", "same_chip"]

"""AMD GPUs through the HIP runtime: any version from ROCm 6 on, found at run time.

Nothing here was run on hardware when it was written; `docs/hardware.md` says what that leaves open.
"""

from asmevo.device.hip.device import HipDevice
from asmevo.device.hip.identity import ChipIdentity, recorded_chip, same_chip

__all__ = ["ChipIdentity", "HipDevice", "recorded_chip", "same_chip"]

"""The device that a user names."""

from __future__ import annotations

from collections.abc import Sequence

from asmevo.device.accompanied import AccompaniedDevice
from asmevo.device.contract import Device
from asmevo.device.hip import HipDevice
from asmevo.device.isolated import simulator
from asmevo.verdict import UsageError

DEVICES = ("sim", "hip")


def open_device(name: str, chip: str, gpus: Sequence[int] = ()) -> tuple[Device, str]:
    """The device, and the name of the chip table that models it: `chip` for the simulator, the nearest for a GPU.

    `gpus` are those that may be used, one after the other; the first of the host without any. Raises `UsageError` for a
    name that is none, `EnvironmentError_` where there is no GPU or no HIP runtime.
    """
    if name not in DEVICES:
        raise UsageError(f"There is no device {name!r}; the devices are {' and '.join(DEVICES)}.")
    if name == "sim":
        return simulator(chip), chip
    hardware = HipDevice(gpus or (0,))
    try:
        table = hardware.chip.table
    except BaseException:
        hardware.close()
        raise
    return AccompaniedDevice(hardware, simulator(table)), table

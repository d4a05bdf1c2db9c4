"""Engine clock and temperature of a GPU, through amdsmi where it is installed."""

from __future__ import annotations

import ctypes
from importlib import import_module
from typing import Any, cast

from asmevo.device.hip.binding import HipError, Runtime

_ADDRESS = 64
"""Room for a PCI address, `0000:c1:00.0`."""


def pci_address(runtime: Runtime, gpu: int) -> str:
    """Where GPU number `gpu` of the runtime is; empty where that is not told. amdsmi numbers GPUs in its own way, and
    sees those that are hidden from this process too."""
    found = ctypes.create_string_buffer(_ADDRESS)
    if not runtime.has("hipDeviceGetPCIBusId"):
        return ""
    try:
        runtime.call("hipDeviceGetPCIBusId", found, ctypes.c_int(_ADDRESS), ctypes.c_int(gpu))
    except HipError:
        return ""
    return found.value.decode(errors="replace")


class Clocks:
    """Reads what amdsmi tells of the GPU at a PCI address; nothing where there is no amdsmi, or no such GPU for it."""

    def __init__(self, address: str) -> None:
        self._smi: Any = None
        self._handle: Any = None
        if not address:
            return
        try:
            smi = cast("Any", import_module("amdsmi"))
        except (ImportError, OSError, KeyError):  # the last: its library is missing, and it looks for it in $ROCM_PATH
            return
        try:
            smi.amdsmi_init()
            self._handle = smi.amdsmi_get_processor_handle_from_bdf(address)
        except smi.AmdSmiException:
            return
        self._smi = smi

    @property
    def known(self) -> bool:
        return self._handle is not None

    def read(self) -> tuple[float | None, float | None]:
        """(engine clock in MHz, hottest spot in degrees Celsius); None for what is not known."""
        if not self.known:
            return None, None
        return self._clock(), self._temperature()

    def _clock(self) -> float | None:
        try:
            found = self._smi.amdsmi_get_clock_info(self._handle, self._smi.AmdSmiClkType.GFX)
        except self._smi.AmdSmiException:
            return None
        return _number(found.get("clk"))

    def _temperature(self) -> float | None:
        kinds, metrics = self._smi.AmdSmiTemperatureType, self._smi.AmdSmiTemperatureMetric
        try:
            found = self._smi.amdsmi_get_temp_metric(self._handle, kinds.HOTSPOT, metrics.CURRENT)
        except self._smi.AmdSmiException:
            return None
        return _number(found)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None  # it says "N/A" for what a GPU does not tell

"""Engine clock and temperature of a GPU, through amdsmi where it is installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast


class Clocks:
    """Reads what amdsmi tells; nothing where there is no amdsmi, or where it does not know the GPU."""

    def __init__(self, gpu: int) -> None:
        self._smi: Any = None
        self._handle: Any = None
        try:
            smi = cast("Any", import_module("amdsmi"))
        except (ImportError, OSError, KeyError):  # the last: its library is missing, and it looks for it in $ROCM_PATH
            return
        try:
            smi.amdsmi_init()
            handles = smi.amdsmi_get_processor_handles()
        except smi.AmdSmiException:
            return
        if gpu < len(handles):
            self._smi, self._handle = smi, handles[gpu]

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

"""Hardware counters that rocprofv3 collected, beside the modelled profile."""

from asmevo.device.counters.beside import Pair, beside, render_beside
from asmevo.device.counters.read import read_counters, read_rows
from asmevo.device.counters.values import KernelCounters, Reading, by_kernel, of_kernel, written_names

__all__ = [
    "KernelCounters",
    "Pair",
    "Reading",
    "beside",
    "by_kernel",
    "of_kernel",
    "read_counters",
    "read_rows",
    "render_beside",
    "written_names",
]

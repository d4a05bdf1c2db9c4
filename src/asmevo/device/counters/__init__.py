"""Hardware counters that rocprofv3 collected, beside the modelled profile."""

from asmevo.device.counters.beside import Pair, beside, render_beside
from asmevo.device.counters.read import read_counters
from asmevo.device.counters.values import KernelCounters, of_kernel

__all__ = ["KernelCounters", "Pair", "beside", "of_kernel", "read_counters", "render_beside"]

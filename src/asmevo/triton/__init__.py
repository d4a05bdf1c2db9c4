"""Triton kernels on the simulated chip: `import asmevo.triton`, and `kernel[grid](...)` takes tensors of the CPU.

Importing installs a driver for Triton 3.9, which compiles for gfx942 without a GPU. A launch copies the storages of its
tensors into a memory image, executes there, and copies back what changed; it raises `LaunchFault` when the kernel does
what hardware would stop at. Autotuning and `triton.testing.do_bench` use modelled time. torch is not needed: a kernel
takes numpy arrays wrapped into `Array`.
"""

from asmevo.triton.account import Statistics
from asmevo.triton.array import Array
from asmevo.triton.faults import LaunchFault
from asmevo.triton.installation import engine, install, launches, statistics

__all__ = ["Array", "LaunchFault", "Statistics", "engine", "install", "launches", "statistics"]

install()

"""The simulator: executes gfx942 code on the CPU."""

from asmevo.sim.cache import BlockCache
from asmevo.sim.executable import Executable
from asmevo.sim.execute import execute
from asmevo.sim.fidelity import LEDGER, Difference
from asmevo.sim.results import Execution, Limits, WaveOrder, WaveTrace

__all__ = [
    "LEDGER",
    "BlockCache",
    "Difference",
    "Executable",
    "Execution",
    "Limits",
    "WaveOrder",
    "WaveTrace",
    "execute",
]

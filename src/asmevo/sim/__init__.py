"""The simulator: executes gfx942 code on the CPU."""

from asmevo.sim.cache import BlockCache
from asmevo.sim.checked import Checking, Span
from asmevo.sim.executable import Executable
from asmevo.sim.execute import execute
from asmevo.sim.fidelity import LEDGER, Difference
from asmevo.sim.results import Execution, Limits, WaveOrder, WaveTrace

__all__ = [
    "LEDGER",
    "BlockCache",
    "Checking",
    "Difference",
    "Executable",
    "Execution",
    "Limits",
    "Span",
    "WaveOrder",
    "WaveTrace",
    "execute",
]

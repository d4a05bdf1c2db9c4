"""The simulator: executes gfx942 code on the CPU."""

from asmevo.sim.cache import BlockCache
from asmevo.sim.checked import Checking, Span, first_difference
from asmevo.sim.debugger import Change, Debugger, Stop, Watch, WaveState
from asmevo.sim.executable import TARGET, Executable, other_obstacle, refusals
from asmevo.sim.execute import execute
from asmevo.sim.fidelity import APPROXIMATIONS, LEDGER, Approximation, Difference
from asmevo.sim.lockstep import Divergence, LockstepResult, differing_workgroup, lockstep
from asmevo.sim.results import AccessHook, Execution, Limits, WaveOrder, WaveTrace
from asmevo.sim.stepping import Step, Stepper

__all__ = [
    "APPROXIMATIONS",
    "LEDGER",
    "TARGET",
    "AccessHook",
    "Approximation",
    "BlockCache",
    "Change",
    "Checking",
    "Debugger",
    "Difference",
    "Divergence",
    "Executable",
    "Execution",
    "Limits",
    "LockstepResult",
    "Span",
    "Step",
    "Stepper",
    "Stop",
    "Watch",
    "WaveOrder",
    "WaveState",
    "WaveTrace",
    "differing_workgroup",
    "execute",
    "first_difference",
    "lockstep",
    "other_obstacle",
    "refusals",
]

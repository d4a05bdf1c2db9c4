"""The search: what to try next, what becomes a commit, when to stop, and what is handed back."""

from asmevo.search.bound import anchor, bind_to_chip
from asmevo.search.building import Built, build
from asmevo.search.cluster import GPU_ALONE, LOCAL
from asmevo.search.expense import Expense
from asmevo.search.fork import fork
from asmevo.search.gating import gate_of
from asmevo.search.handover import HANDOVER, Driver, Hand
from asmevo.search.interrupt import Interrupt
from asmevo.search.launches import kernel_of, run_kernel, run_launches
from asmevo.search.node import Node
from asmevo.search.optimize import optimize
from asmevo.search.pattern import patterns_of
from asmevo.search.protocols import Examiner, Progress, Report, Timed, Timer, Update, silent
from asmevo.search.randomness import stream
from asmevo.search.replay import Replayed, replay
from asmevo.search.result import CERTIFICATE, OBJECT, Certifier, write_result
from asmevo.search.session import (
    MakeDriver,
    certifier,
    new_run,
    open_run,
    resume,
    run_settings,
    start,
    write_summary,
)
from asmevo.search.settings import Settings
from asmevo.search.state import State
from asmevo.search.summary import RunSummary
from asmevo.search.workbench import Workbench

__all__ = [
    "CERTIFICATE",
    "GPU_ALONE",
    "HANDOVER",
    "LOCAL",
    "OBJECT",
    "Built",
    "Certifier",
    "Driver",
    "Examiner",
    "Expense",
    "Hand",
    "Interrupt",
    "MakeDriver",
    "Node",
    "Progress",
    "Replayed",
    "Report",
    "RunSummary",
    "Settings",
    "State",
    "Timed",
    "Timer",
    "Update",
    "Workbench",
    "anchor",
    "bind_to_chip",
    "build",
    "certifier",
    "fork",
    "gate_of",
    "kernel_of",
    "new_run",
    "open_run",
    "optimize",
    "patterns_of",
    "replay",
    "resume",
    "run_kernel",
    "run_launches",
    "run_settings",
    "silent",
    "start",
    "stream",
    "write_result",
    "write_summary",
]

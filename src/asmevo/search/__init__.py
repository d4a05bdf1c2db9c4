"""The search: what to try next, what becomes a commit, when to stop, and what is handed back."""

from asmevo.search.interrupt import Interrupt
from asmevo.search.optimize import optimize
from asmevo.search.protocols import Examiner, Progress, Report, Timed, Timer, Update, silent
from asmevo.search.result import CERTIFICATE, OBJECT, Certifier
from asmevo.search.session import kernel_of, resume, run_kernel, run_launches, run_settings, start
from asmevo.search.settings import Settings
from asmevo.search.summary import RunSummary

__all__ = [
    "CERTIFICATE",
    "OBJECT",
    "Certifier",
    "Examiner",
    "Interrupt",
    "Progress",
    "Report",
    "RunSummary",
    "Settings",
    "Timed",
    "Timer",
    "Update",
    "kernel_of",
    "optimize",
    "resume",
    "run_kernel",
    "run_launches",
    "run_settings",
    "silent",
    "start",
]

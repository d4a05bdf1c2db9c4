"""The search: what to try next, what becomes a commit, when to stop, and what is handed back."""

from asmevo.search.interrupt import Interrupt
from asmevo.search.optimize import optimize
from asmevo.search.protocols import Examiner, Progress, Report, Timed, Timer, Update, silent
from asmevo.search.result import CERTIFICATE, OBJECT, Certifier
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
    "optimize",
    "silent",
]

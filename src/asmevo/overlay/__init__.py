"""Putting an admitted object where an engine loads K0 from, and taking it out again.

An overlay is a folder that holds code objects: an AITer tree, a cache or override folder of Triton, or any other. What
was installed there, and the bytes that were there before, are kept in its folder `.asmevo`.
"""

from asmevo.overlay.admission import Admitted, admit
from asmevo.overlay.install import Installed, Options, install
from asmevo.overlay.journal import Change, Entry, Journal
from asmevo.overlay.status import FileState, Status, status
from asmevo.overlay.withdraw import rollback

__all__ = [
    "Admitted",
    "Change",
    "Entry",
    "FileState",
    "Installed",
    "Journal",
    "Options",
    "Status",
    "admit",
    "install",
    "rollback",
    "status",
]

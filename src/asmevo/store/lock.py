"""One writer a run: a lock that the system releases when its process ends, however it ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from asmevo.store.files import disk
from asmevo.verdict import EnvironmentError_


class WriterLock:
    """An exclusive advisory lock on a file of the run folder; `EnvironmentError_` when another process holds it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with disk(path):
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._handle)
            raise EnvironmentError_(
                f"{path.parent} is being written by another process; wait for it, or stop it, and try again."
            ) from None

    @property
    def is_current(self) -> bool:
        """Whether the file that is locked is still the one with that name."""
        try:
            return os.path.samestat(os.fstat(self._handle), self._path.stat())
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Give the lock back; the file stays."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

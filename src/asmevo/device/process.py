"""A child process that answers requests, with limits on time and memory: the parent's side.

The child is started with `python -m asmevo.device.worker` and not through `multiprocessing`, so it never imports the
program that uses this library. Both sides share one socket pair, over which memory files travel as descriptors.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import asmevo
from asmevo.verdict import EnvironmentError_


class Lost(Exception):
    """The child gave no proper answer and was ended. `how` is `timeout`, `crash` or `garbage`; the text a sentence.

    `complaints` are the lines that it wrote to stderr.
    """

    def __init__(self, how: str, message: str, complaints: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.how, self.complaints = how, tuple(complaints)


class Worker:
    """One child process, started when first needed and again after it was lost.

    `target` is `module:function`; the function gets the child's end of the connection and serves until it closes.
    `memory` limits the child's address space in bytes, 0 for none. An answer is awaited for a number of seconds of wall
    time; with `patience` above 1 they are the child's own CPU seconds, since other programs may hold the cores, and
    wall time may be `patience` times as long.
    """

    def __init__(self, target: str, memory: int = 0, patience: float = 1.0) -> None:
        self._target, self._memory, self._patience = target, memory, patience
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as this value
        """What the children write to stderr; the last line explains a death."""
        self._lock = threading.RLock()
        self._ended = False
        self.starts = 0
        """How many processes were started so far: what the child remembers is gone when it changes."""

    def ensure(self) -> int:
        """Start the child if there is none; returns `starts`. Raises `EnvironmentError_` after `end`."""
        with self._lock:
            if self._ended:
                raise EnvironmentError_("The worker process was ended; start anew.")
            if self._process is None or self._process.poll() is not None:
                self.stop()
                self._start()
            return self.starts

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        self._complaints.seek(0)
        self._complaints.truncate()
        environment = dict(os.environ)
        home = str(Path(asmevo.__file__).resolve().parents[1])
        path = [home, *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
        environment |= {"PYTHONPATH": os.pathsep.join(path), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "asmevo.device.worker", str(theirs.fileno()), self._target, str(self._memory)]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stderr=self._complaints,
                pass_fds=(theirs.fileno(),),
                env=environment,
                start_new_session=True,  # Ctrl-C is for the parent, which ends its children itself
            )
        except OSError as error:
            ours.close()
            raise EnvironmentError_(
                f"No worker process can be started ({error.strerror}); free some memory."
            ) from error
        finally:
            theirs.close()
        self._connection = Connection(ours.detach())
        self.starts += 1

    def send(self, message: Any, descriptor: int | None = None) -> None:
        """Send a request, and a file descriptor after it. A child that is gone shows when its answer is awaited."""
        self.ensure()
        connection = self._connection
        if connection is None:  # ended by another thread
            return
        try:
            connection.send(message)
            if descriptor is not None:
                with socket.socket(fileno=os.dup(connection.fileno())) as channel:
                    socket.send_fds(channel, [b"f"], [descriptor])
        except OSError:
            return

    def receive(self, seconds: float) -> Any:
        """The next answer. Raises `Lost` when none comes in time, the child dies, or the answer cannot be read."""
        connection = self._connection
        if connection is None:
            raise self._lost("crash", "The worker process was ended.")
        try:
            if not self._answers(connection, seconds):
                raise self._lost("timeout", f"There was no answer within {seconds:g} seconds.")
            return pickle.loads(connection.recv_bytes())
        except (EOFError, ConnectionError) as error:
            raise self._lost("crash", f"The worker process died ({self._death()}).") from error
        except (
            OSError,
            pickle.UnpicklingError,
            AttributeError,
            ImportError,
            IndexError,
            ValueError,
            TypeError,
        ) as error:
            raise self._lost("garbage", f"The worker's answer cannot be read ({type(error).__name__}).") from error

    def _answers(self, connection: Connection, seconds: float) -> bool:
        """Whether an answer comes in time."""
        if self._patience <= 1:
            return connection.poll(seconds)
        spent, wall = self._cpu_seconds(), time.monotonic()
        while True:
            left = seconds - (self._cpu_seconds() - spent)
            allowed = seconds * self._patience - (time.monotonic() - wall)
            if left <= 0 or allowed <= 0:
                return connection.poll(0)
            if connection.poll(min(left, allowed)):
                return True

    def _cpu_seconds(self) -> float:
        """CPU time of the child so far; 0 when it is gone, which its connection tells."""
        try:
            fields = Path(f"/proc/{self._process.pid if self._process else 0}/stat").read_text().rpartition(")")[2]
        except OSError:
            return 0.0
        return sum(int(ticks) for ticks in fields.split()[11:13]) / os.sysconf("SC_CLK_TCK")

    def lost(self, how: str, message: str) -> Lost:
        """End the child because of what it answered."""
        return self._lost(how, message)

    def _lost(self, how: str, message: str) -> Lost:
        self.stop()
        return Lost(how, message, self._lines())

    def _death(self) -> str:
        process = self._process
        if process is None:
            return "it was ended"
        try:
            code = process.wait(5.0)
        except subprocess.TimeoutExpired:
            return "it closed its connection"
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        lines = self._lines()
        return f"{how}: {lines[-1].rstrip('.')}" if lines else how

    def _lines(self) -> list[str]:
        """What the child wrote to stderr."""
        self._complaints.seek(0)
        return self._complaints.read().decode(errors="replace").strip().splitlines()

    def retarget(self, target: str) -> None:
        """Serve something else from the next start on."""
        self.stop()
        self._target = target

    def stop(self) -> None:
        """End the child, if there is one."""
        with self._lock:
            if self._process is not None:
                self._process.kill()
                self._process.wait()
            if self._connection is not None:
                self._connection.close()
            self._connection = self._process = None

    def end(self) -> None:
        """End the child, and start no other one; another thread may be waiting for an answer, and loses it."""
        with self._lock:
            self._ended = True
            self.stop()

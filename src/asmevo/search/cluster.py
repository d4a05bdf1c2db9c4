"""Drafts and examinations on the nodes of a Ray cluster.

Ray is an extra: it is imported when an executor is made. It has no usable types, so what comes from it is `Any`.
"""

from __future__ import annotations

import os
import queue
import re
import socket
import threading
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

from asmevo.device.process import Lost
from asmevo.gate import tools
from asmevo.search.draft import Drafter
from asmevo.search.executor import SECONDS, TURN, Pool
from asmevo.search.worker import Desk, MakeStation
from asmevo.verdict import AsmEvoError, EnvironmentError_, UsageError, shown

LOCAL = "local"
"""Address of a cluster of this machine alone, which is started and ended with the executor."""
AUTO = "auto"
"""Address of the cluster that this machine is a node of."""
GPU_ALONE = "A GPU is timed by one process at a time, and a cluster does not help; leave it out."
PATIENCE = 300.0
"""Seconds without any actor, as when no node has a free core, after which a search ends; it can be resumed."""
STARTS = 3
"""An actor that dies so often while it starts is not started again."""
_STORE = 100 << 20
"""Bytes of shared memory of a local cluster; what does not fit goes to disk."""
_CONNECT = 10.0
"""Seconds for the head of a cluster to be reached."""
_HOST = re.compile(r"[!-~]+")
_PORT = re.compile(r"[0-9]{1,5}")


class Ray(Pool):
    """Actors on the nodes of a Ray cluster, each with one core, a gate and a simulator of its own.

    `make` travels to the nodes and makes the stations there, so it holds all that a node may not have on its disk. An
    actor that is lost, with its node or alone, is started again wherever a core is or becomes free. What an actor that
    was dead already was to be asked does not count as asked.

    `address` is `host:port` of the head of a cluster that this machine belongs to, `auto` or `local`. There are
    `workers` actors, and no more than `most`; one a core of the cluster without a number. A cluster with fewer free
    cores starts the others later, when there are some.

    Raises `EnvironmentError_` where Ray is not installed or the cluster is not there, and from any answer when a node
    has other versions of the tools than this machine.
    """

    def __init__(
        self, make: MakeStation, address: str, workers: int | None, most: int, drafter: Drafter | None = None
    ) -> None:
        ray = self._ray = require_cluster(address)
        self._versions = tools()
        self._ours = not ray.is_initialized()
        """The connection is not one that the program had already."""
        if self._ours:
            _connect(ray, address, workers)
        self.count = min(most, workers or max(1, int(ray.cluster_resources().get("CPU", 1))))
        super().__init__(self.count, drafter)
        self._closed = threading.Event()
        self._idle: queue.SimpleQueue[_Seat] = queue.SimpleQueue()
        kind: Any = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(Actor)
        start: Callable[[], Any] = kind.remote
        self._make = ray.put(make)
        self._seats = [_Seat(start, self._idle) for _ in range(self.count)]

    def _answer(self, request: tuple[Any, ...]) -> Any:
        seat = self._seat()
        try:
            answer = self._result(seat.actor.answer.remote(*request), SECONDS)
        except Lost:
            self._replace(seat)
            raise
        self._idle.put(seat)
        return answer

    def _seat(self) -> _Seat:
        """A free seat whose actor lives."""
        since = time.monotonic()
        while True:
            self._require_open()
            try:
                seat = self._idle.get(timeout=TURN)
            except queue.Empty:
                if any(seat.placed for seat in self._seats):
                    since = time.monotonic()
                elif time.monotonic() - since > PATIENCE:
                    raise EnvironmentError_(
                        f"No node of the Ray cluster had a free core for {PATIENCE:g} seconds; look at `ray status`, "
                        "then go on with `asmevo resume`."
                    ) from None
                continue
            try:
                self._greet(seat)
            except Lost as lost:
                if seat.starts >= STARTS:
                    self._idle.put(seat)  # whoever waits for it is to see the reason, too
                    raise EnvironmentError_(
                        f"A worker does not start on a node of the Ray cluster ({lost}); install the same version of "
                        "asmevo on every node."
                    ) from lost
                self._replace(seat)
            except EnvironmentError_:
                self._idle.put(seat)
                raise
            else:
                return seat

    def _greet(self, seat: _Seat) -> None:
        """Raise `Lost` for an actor that is gone, and `EnvironmentError_` for a new one with other tools."""
        if seat.placed:
            self._result(seat.actor.ping.remote(), PATIENCE)
            return
        there: dict[str, str] | str = self._result(seat.hello, PATIENCE)
        if isinstance(there, str):
            raise EnvironmentError_(f"A node of the Ray cluster lacks something: {there}")
        if other := [
            f"{name} {there.get(name)}, here {here}" for name, here in self._versions.items() if there.get(name) != here
        ]:
            raise EnvironmentError_(
                f"The node {there['node']} of the Ray cluster has other tools ({'; '.join(other)}), so what it finds "
                "proves nothing here; install the same versions on every node."
            )
        seat.actor.begin.remote(self._make)
        seat.placed, seat.starts = True, 0

    def _replace(self, seat: _Seat) -> None:
        if not self._closed.is_set():
            self._ray.kill(seat.actor)
            seat.start()

    def _result(self, reference: Any, seconds: float) -> Any:
        """What an actor returns. Raises `Lost`."""
        ray, until = self._ray, time.monotonic() + seconds
        while not ray.wait([reference], timeout=TURN)[0]:
            self._require_open()
            if time.monotonic() > until:
                raise Lost("timeout", f"There was no answer within {seconds:g} seconds.")
        try:
            return ray.get(reference)
        except ray.exceptions.RayError as error:
            raise Lost("crash", _reason(error)) from error

    def _require_open(self) -> None:
        if self._closed.is_set():
            raise EnvironmentError_("The workers on the cluster were ended; start anew.")

    def close(self) -> None:
        super().close()
        self._closed.set()
        self._threads.shutdown(wait=True)  # they see it within a turn, and use Ray until then
        for seat in self._seats:
            self._ray.kill(seat.actor)
        if self._ours:
            self._ray.shutdown()


class Actor:
    """What runs on a node."""

    def __init__(self) -> None:
        self._desk: Desk | None = None

    def hello(self) -> dict[str, str] | str:
        """The versions of the tools on this node and its name, or what is missing."""
        try:
            return {**tools(), "node": socket.gethostname()}
        except AsmEvoError as error:
            return str(error)

    def begin(self, make: MakeStation) -> None:
        self._desk = Desk(make)

    def ping(self) -> None:
        """It lives."""

    def answer(self, *request: Any) -> Any:
        assert self._desk
        return self._desk.answer(*request)


class _Seat:
    """One actor, and the next one when it was lost."""

    def __init__(self, make: Callable[[], Any], idle: queue.SimpleQueue[_Seat]) -> None:
        self._make, self._idle = make, idle
        self.starts = 0
        """How often in a row an actor was started, and not used yet."""
        self.start()

    def start(self) -> None:
        """Start an actor; the seat is idle when it is there."""
        self.placed = False
        """There is an actor, with the right tools."""
        self.starts += 1
        self.actor = self._make()
        self.hello = self.actor.hello.remote()
        self.hello.future().add_done_callback(self._there)

    def _there(self, future: Any) -> None:
        self._idle.put(self)


def require_cluster(address: str) -> Any:
    """The module of Ray. Raises what is wrong with the address of a cluster, and `EnvironmentError_` where Ray or the
    head is not there: Ray itself would try for very long."""
    if address not in (LOCAL, AUTO):
        _reach(address)
    try:
        return import_module("ray")
    except ImportError as error:
        raise EnvironmentError_(
            "A search on a cluster needs Ray; install it on every node with `pip install 'asmevo[cluster]'`."
        ) from error


def _connect(ray: Any, address: str, workers: int | None) -> None:
    """Connect to a cluster, quietly: what is printed on nodes stays there."""
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    # News of dead workers go to standard output all the same, where the result is JSON: Ray has this switch for them.
    ray._private.worker._worker_logs_enabled = False
    if address == LOCAL:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        cores = workers or len(os.sched_getaffinity(0))
        ray.init(address=LOCAL, num_cpus=cores, object_store_memory=_STORE, include_dashboard=False, **quiet)
        return
    try:
        ray.init(address=address, **quiet)
    except (OSError, ValueError, RuntimeError, ray.exceptions.RayError) as error:  # no node here, no token, other Ray
        raise EnvironmentError_(
            f"The Ray cluster {address} cannot be joined ({_reason(error)}); make this machine a node of it with "
            "`ray start`, and see that RAY_AUTH_MODE and the token are those of its head."
        ) from error


def _reach(address: str) -> None:
    host, _, port = address.rpartition(":")
    no_address = UsageError(
        f"{shown(address)!r} is no address of a Ray cluster; give host:port of its head, `auto` or `local`."
    )
    if not _HOST.fullmatch(host) or not _PORT.fullmatch(port) or int(port) >= 1 << 16:
        raise no_address
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT).close()
    except UnicodeError as error:  # a part of the name is empty or too long
        raise no_address from error
    except OSError as error:
        raise EnvironmentError_(
            f"There is no Ray cluster at {shown(address)} ({error}); start its head with `ray start --head`."
        ) from error


def _reason(error: Exception) -> str:
    """The first sentence of the last line of what Ray says, which is long."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1].split(". ")[0].rstrip(".") if lines else type(error).__name__

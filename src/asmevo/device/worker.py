"""The child's side of a worker process, and the server of a device inside one.

Run as `python -m asmevo.device.worker DESCRIPTOR MODULE:FUNCTION[:ARGUMENT] MEMORY`.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import resource
import signal
import socket
import sys
from collections import OrderedDict
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any

from asmevo.device.contract import Device, Module, Outcome, RunLimits
from asmevo.launch import Launch, MemoryImage
from asmevo.sim import WaveOrder
from asmevo.verdict import AsmEvoError

_PR_SET_PDEATHSIG = 1
_IMAGES = 32
"""Memory images a worker keeps mapped."""


def main(arguments: Sequence[str]) -> None:
    """Limit this process, then serve."""
    descriptor, target, memory = int(arguments[0]), arguments[1], int(arguments[2])
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # a parent that is killed takes its workers along
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory:
        _, most = resource.getrlimit(resource.RLIMIT_AS)  # a window over scattered memory raises the limit by its size
        resource.setrlimit(resource.RLIMIT_AS, (memory if most < 0 else min(memory, most), most))
    module, name, *extra = target.split(":")
    serve: Callable[..., None] = getattr(importlib.import_module(module), name)
    serve(Connection(descriptor), *extra)


def receive_descriptor(connection: Connection) -> int:
    """The file descriptor that follows a request."""
    with socket.socket(fileno=os.dup(connection.fileno())) as channel:
        _, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
    return descriptors[0]


def serve_device(device: Device, connection: Connection) -> None:
    """Answer the requests of an `IsolatedDevice` until its end closes.

    A request is `(verb, *arguments)`, an answer `("ok", value)`, `("error", class, message)` or
    `("memory", message)`.
    """
    server = _Server(device, connection)
    while True:
        try:
            request = connection.recv()
        except EOFError:
            return
        connection.send(server.answer(request))


class _Server:
    def __init__(self, device: Device, connection: Connection) -> None:
        self._device, self._connection = device, connection
        self._images: OrderedDict[int, MemoryImage] = OrderedDict()

    def answer(self, request: tuple[Any, ...]) -> tuple[Any, ...]:
        verb, *arguments = request
        try:
            return "ok", getattr(self, f"do_{verb}")(*arguments)
        except MemoryError:
            return "memory", "The device ran out of memory."
        except AsmEvoError as error:
            return "error", type(error), str(error)

    def do_forget(self, tokens: Sequence[int]) -> bool:
        for token in tokens:
            self._images.pop(token, None)
        return True

    def do_load(self, data: bytes, kernel: str | None) -> bool:
        self._device.load(data, kernel)
        return True

    def do_image(self, token: int, facts: dict[str, Any]) -> bool:
        self._images[token] = MemoryImage.attach(receive_descriptor(self._connection), facts)
        while len(self._images) > _IMAGES:
            self._images.popitem(last=False)
        return True

    def do_run(
        self,
        module: Module,
        launch: Launch,
        token: int,
        limits: RunLimits,
        workgroups: Sequence[int] | None,
        order: WaveOrder,
    ) -> Outcome | None:
        image = self._images.get(token)
        if image is None:
            return None
        self._images.move_to_end(token)
        return self._device.run(module, launch, image, limits=limits, workgroups=workgroups, wave_order=order)

    def do_time(self, module: Module, launches: Sequence[Launch], limits: RunLimits) -> Any:
        return self._device.time(module, launches, limits=limits)

    def do_compare(self, base: Module, candidate: Module, launches: Sequence[Launch], limits: RunLimits) -> Any:
        return self._device.compare(base, candidate, launches, limits=limits)

    def do_describe(self) -> dict[str, Any]:
        return self._device.describe()


if __name__ == "__main__":
    main(sys.argv[1:])

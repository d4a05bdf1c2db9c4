"""A device in a process of its own: crashes, hangs and nonsense become outcomes, and the next run finds a fresh one."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from itertools import count
from typing import Any

from asmevo.device.contract import Device, Module, Outcome, RunLimits, Status, Timing
from asmevo.device.process import Lost, Worker
from asmevo.launch import Launch, MemoryImage
from asmevo.sim import WaveOrder
from asmevo.timing import Comparison, chip
from asmevo.verdict import AsmEvoError, Finding, UnsupportedError

SIMULATED = "asmevo.device.simulated:serve"
"""Target of a worker that holds a `SimDevice`."""
MEMORY = 16 << 30
"""Address space of a worker in bytes. Images count, and so does what LLVM reserves without using it."""
START_SECONDS = 60.0
"""Extra time for the first answer of a new process: imports, and compiling its helpers."""
PATIENCE = 5.0
"""Wall time of a device that computes on the host, over its limit in CPU time: other programs may hold the cores."""


class IsolatedDevice(Device):
    """Any device behind a process border (see `Device` for the contract).

    The worker stays alive between runs, with its compiled code, and is replaced after it was lost. Images are shared
    memory: nothing is copied. A worker that fails `load` or `time` raises `UnsupportedError`, so that a caller takes it
    as missing evidence. `patience` is that of its `Worker`.
    """

    def __init__(self, target: str = SIMULATED, memory: int = MEMORY, patience: float = PATIENCE) -> None:
        self._worker = Worker(target, memory, patience)
        self._tokens: weakref.WeakKeyDictionary[MemoryImage, int] = weakref.WeakKeyDictionary()
        self._known: set[int] = set()
        self._gone: list[int] = []
        self._next = count(1)
        self._epoch = 0

    def load(self, data: bytes, kernel: str | None = None) -> Module:
        self._ask(RunLimits().seconds, "load", data, kernel)
        return Module(data, kernel)

    def run(
        self,
        module: Module,
        launch: Launch,
        image: MemoryImage,
        *,
        limits: RunLimits | None = None,
        workgroups: Sequence[int] | None = None,
        wave_order: WaveOrder = WaveOrder.ASCENDING,
    ) -> Outcome:
        limits = limits or RunLimits()
        rest = (limits, workgroups, wave_order)
        try:
            token = self._share(image)
            answer = self._request(limits.seconds, "run", module, launch, token, *rest)
            if answer is None:  # the worker forgot the image
                self._known.discard(token)
                answer = self._request(limits.seconds, "run", module, launch, self._share(image), *rest)
            if isinstance(answer, Outcome):
                return answer
            raise self._worker.lost("garbage", "The worker answered something that is no outcome.")
        except Lost as lost:
            return self._lost(lost)

    def _lost(self, lost: Lost) -> Outcome:
        """The outcome of a run over which the worker was lost."""
        return Outcome(Status(lost.how), Finding(f"device.{lost.how}", str(lost)))

    def time(self, module: Module, launches: Sequence[Launch], *, limits: RunLimits | None = None) -> Timing:
        answer = self._ask((limits or RunLimits()).seconds, "time", module, tuple(launches), limits or RunLimits())
        if not isinstance(answer, Timing):
            raise UnsupportedError("The device gave no time; the candidate stays untimed.")
        return answer

    def compare(
        self, base: Module, candidate: Module, launches: Sequence[Launch], *, limits: RunLimits | None = None
    ) -> Comparison:
        limits = limits or RunLimits()
        answer = self._ask(limits.seconds, "compare", base, candidate, tuple(launches), limits)
        if not isinstance(answer, Comparison):
            raise UnsupportedError("The device gave no comparison; the candidate counts as no faster.")
        return answer

    def describe(self) -> dict[str, Any]:
        return {**self._ask(RunLimits().seconds, "describe"), "isolated": True}

    def close(self) -> None:
        self._worker.stop()

    def _ask(self, seconds: float, *request: Any) -> Any:
        """A request whose loss is missing evidence."""
        try:
            answer = self._request(seconds, *request)
        except Lost as lost:
            raise UnsupportedError(f"The device was lost over `{request[0]}`: {lost}") from lost
        if isinstance(answer, Outcome):
            raise UnsupportedError(f"The device could not do `{request[0]}`: {answer.fault and answer.fault.message}")
        return answer

    def _request(self, seconds: float, *request: Any, descriptor: int | None = None) -> Any:
        fresh = self._worker.starts
        self._sync()
        self._worker.send(request, descriptor)
        answer = self._worker.receive(seconds + (START_SECONDS if self._worker.starts != fresh else 0.0))
        match answer:
            case ("ok", value):
                return value
            case ("memory", str(message)):
                return Outcome(Status.MEMORY, Finding("device.memory", message))
            case ("error", type() as kind, str(message)) if issubclass(kind, AsmEvoError):
                raise kind(message)
            case _:
                raise self._worker.lost("garbage", "The worker's answer has no known form.")

    def _sync(self) -> None:
        """Notice a new process, which knows no image, and tell the worker of images that are gone."""
        if self._worker.ensure() != self._epoch:
            self._epoch = self._worker.starts
            self._known.clear()
            self._gone.clear()
        if gone := [self._gone.pop() for _ in range(len(self._gone))]:
            self._known.difference_update(gone)
            self._request(RunLimits().seconds, "forget", gone)

    def _share(self, image: MemoryImage) -> int:
        """The worker's number for an image; sends its memory file the first time."""
        token = self._tokens.get(image)
        if token is None:
            token = self._tokens[image] = next(self._next)
            weakref.finalize(image, self._gone.append, token)
        self._sync()
        if token not in self._known:
            self._request(RunLimits().seconds, "image", token, image.facts(), descriptor=image.fd)
            self._known.add(token)
        return token


def simulator(chip_name: str) -> IsolatedDevice:
    """The simulator in a process of its own, timing for one chip. Raises `UsageError` for an unknown chip."""
    return IsolatedDevice(f"{SIMULATED}:{chip(chip_name).name}")

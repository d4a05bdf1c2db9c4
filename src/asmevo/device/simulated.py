"""The simulator as a device: functional execution of gfx942 code, and a modelled MI300X for times."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from asmevo.codeobject import CodeObject
from asmevo.device.contract import Device, Module, Outcome, RunLimits, Status, Timing
from asmevo.device.worker import serve_device
from asmevo.launch import Launch, MemoryImage
from asmevo.program import Program, recover
from asmevo.sim import BlockCache, Executable, Limits, execute
from asmevo.timing import chip

_MODULES = 16
"""Executables kept."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    program: Program
    executable: Executable


class SimDevice(Device):
    """Runs on the CPU through compiled blocks; times with the cycle model of a chip (see `Device` for the contract).

    `chip_name` is a name of `asmevo.timing`. Compiled blocks are kept for the life of the device.
    """

    def __init__(self, chip_name: str = "mi300x") -> None:
        self._chip = chip(chip_name)
        self._cache = BlockCache()
        self._modules: OrderedDict[tuple[str, str | None], _Loaded] = OrderedDict()

    def load(self, data: bytes, kernel: str | None = None) -> Module:
        module = Module(data, kernel)
        self._loaded(module)
        return module

    def _loaded(self, module: Module) -> _Loaded:
        key = (module.sha256, module.kernel)
        found = self._modules.get(key)
        if found is None:
            program = recover(CodeObject.parse(module.data, "the object"), module.kernel)
            found = self._modules[key] = _Loaded(program, Executable.build(program, self._cache))
            while len(self._modules) > _MODULES:
                self._modules.popitem(last=False)
        self._modules.move_to_end(key)
        return found

    def run(
        self,
        module: Module,
        launch: Launch,
        image: MemoryImage,
        *,
        limits: RunLimits | None = None,
        workgroups: Sequence[int] | None = None,
    ) -> Outcome:
        loaded = self._loaded(module)
        limits = limits or RunLimits()
        image.load(loaded.program.source)
        done = execute(
            loaded.executable, launch, image, limits=Limits(limits.instructions_per_wave), workgroups=workgroups
        )
        return Outcome(
            status=Status(done.status),
            fault=done.fault,
            instructions=done.instructions,
            lines=done.line_counts,
            seconds=done.cpu_seconds,
        )

    def time(self, module: Module, launches: Sequence[Launch], *, limits: RunLimits | None = None) -> Timing:
        raise NotImplementedError

    def close(self) -> None:
        self._modules.clear()

    def describe(self) -> dict[str, Any]:
        return {"device": "simulator", "chip": self._chip.name, "timing": "modelled"}


def serve(connection: Connection, chip_name: str = "mi300x") -> None:
    """Entry of a worker process."""
    serve_device(SimDevice(chip_name), connection)

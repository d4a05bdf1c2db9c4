"""The simulator as a device: functional execution of gfx942 code, and a modelled MI300X for times."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from asmevo.codeobject import CodeObject
from asmevo.device.contract import Device, LaunchTime, Module, Outcome, RunLimits, Status, Timing, objective_of
from asmevo.device.worker import serve_device
from asmevo.launch import Launch, MemoryImage, build_image, image_key
from asmevo.program import Program, recover
from asmevo.sim import BlockCache, Checking, Executable, Limits, WaveOrder, execute
from asmevo.timing import Chip, Estimate, Profile, chip, estimate, profile, traces_needed
from asmevo.verdict import UnsupportedError

_MODULES = 16
"""Executables kept."""
_IMAGES = 4
"""Images of objective launches kept."""


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
        self._images: OrderedDict[Hashable, MemoryImage] = OrderedDict()

    def load(self, data: bytes, kernel: str | None = None) -> Module:
        module = Module(data, kernel)
        self._loaded(module)
        return module

    def _loaded(self, module: Module) -> _Loaded:
        key = (module.sha256, module.kernel)
        found = self._modules.get(key)
        if found is None:
            obj = CodeObject.parse(module.data, "the object")
            self._chip.require(obj.target)
            program = recover(obj, module.kernel)
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
        wave_order: WaveOrder = WaveOrder.ASCENDING,
    ) -> Outcome:
        loaded = self._loaded(module)
        limits = limits or RunLimits()
        image.load(loaded.program.source)
        done = execute(
            loaded.executable,
            launch,
            image,
            limits=Limits(limits.instructions_per_wave, quantum=limits.turn or Limits().quantum),
            workgroups=workgroups,
            threads=limits.threads,
            wave_order=wave_order,
            checking=Checking.of(image) if limits.checked else None,
        )
        return Outcome(
            status=Status(done.status),
            fault=done.fault,
            instructions=done.instructions,
            lines=done.line_counts,
            lines_active=done.lines_active,
            findings=done.findings if limits.checked else None,
            seconds=done.cpu_seconds,
        )

    def time(self, module: Module, launches: Sequence[Launch], *, limits: RunLimits | None = None) -> Timing:
        loaded = self._loaded(module)
        times: list[LaunchTime] = []
        heat: dict[int, float] = {}
        for launch in objective_of(launches):
            found = self._estimate(loaded, launch, limits or RunLimits())
            times.append(LaunchTime(launch.name, launch.weight, found.microseconds, found.to_json()))
            for position, share in found.heat().items():
                heat[position] = heat.get(position, 0.0) + share * launch.weight * found.microseconds
        total = sum(t.weight * t.microseconds for t in times)
        return Timing("modelled", tuple(times), {position: part / total for position, part in heat.items()})

    def profile(self, module: Module, launch: Launch, *, limits: RunLimits | None = None) -> Profile:
        """Where the modelled time of one launch goes."""
        loaded = self._loaded(module)
        return profile(loaded.program, self._estimate(loaded, launch, limits or RunLimits()))

    def _estimate(self, loaded: _Loaded, launch: Launch, limits: RunLimits) -> Estimate:
        """Trace a few workgroups of the launch and replay them on the chip's model."""
        image = self._image(launch, loaded).copy()
        image.load(loaded.program.source)
        return modelled(loaded.executable, launch, image, self._chip, Limits(limits.instructions_per_wave))

    def _image(self, launch: Launch, loaded: _Loaded) -> MemoryImage:
        """Memory before an objective launch; kept, because inputs of real size take longer to make than to copy."""
        obj, kernel = loaded.program.source, loaded.program.kernel
        key = image_key(launch, obj, kernel)
        found = self._images.get(key)
        if found is None:
            found = self._images[key] = build_image(launch, obj, kernel)
            while len(self._images) > _IMAGES:
                self._images.popitem(last=False)
        self._images.move_to_end(key)
        return found

    def close(self) -> None:
        self._modules.clear()
        self._images.clear()

    def describe(self) -> dict[str, Any]:
        return {"device": "simulator", "chip": self._chip.name, "timing": "modelled"}


def modelled(executable: Executable, launch: Launch, image: MemoryImage, chip: Chip, limits: Limits) -> Estimate:
    """Modelled time of a launch on a chip, from the traces of a few workgroups. They change the image.

    Raises `UnsupportedError` when one of them does not end.
    """
    done = execute(executable, launch, image, limits=limits, workgroups=traces_needed(launch), trace=True)
    if Status(done.status) is not Status.DONE:
        why = done.fault.message if done.fault else ""
        raise UnsupportedError(f"The launch {launch.name!r} cannot be timed: it ends with {done.status}. {why}")
    return estimate(executable.program, launch, done.traces, chip)


def serve(connection: Connection, chip_name: str = "mi300x") -> None:
    """Entry of a worker process."""
    serve_device(SimDevice(chip_name), connection)

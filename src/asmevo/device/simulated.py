"""The simulator as a device: functional execution of gfx942 code, and a modelled MI300X for times."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from asmevo.codeobject import CodeObject
from asmevo.device.contract import Device, LaunchTime, Module, Outcome, RunLimits, Status, Timing, objective_of
from asmevo.device.unmapped import fault_of
from asmevo.device.worker import serve_device
from asmevo.launch import Launch, MemoryImage, build_image, image_key
from asmevo.program import Program, recover
from asmevo.sim import BlockCache, Checking, Executable, Limits, WaveOrder, execute
from asmevo.timing import (
    Chip,
    Comparison,
    Ensemble,
    Estimate,
    Prepared,
    Profile,
    Timeable,
    chip,
    estimate_of,
    prepare,
    profile,
    record,
    timeline,
    traces_needed,
)
from asmevo.timing.layout import EVENTS
from asmevo.verdict import UnsupportedError

_MODULES = 16
"""Executables kept."""
_IMAGES = 4
"""Images of objective launches kept."""
_PREPARED = 16
"""Traced launches of modules kept, for comparisons."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    sha256: str
    program: Program
    executable: Executable


class SimDevice(Device):
    """Runs on the CPU through compiled blocks; times with the cycle model of a chip (see `Device` for the contract).

    `chip_name` is a name of `asmevo.timing`. Compiled blocks are kept for the life of the device.
    """

    def __init__(self, chip_name: str = "mi300x") -> None:
        self._chip = chip(chip_name)
        self._cache = BlockCache()
        self._modules: OrderedDict[Hashable, _Loaded] = OrderedDict()
        self._images: OrderedDict[Hashable, MemoryImage] = OrderedDict()
        self._prepared: OrderedDict[Hashable, Prepared] = OrderedDict()
        self._timeable: OrderedDict[Hashable, Timeable] = OrderedDict()
        self._ensemble = Ensemble(self._chip)

    @property
    def chip(self) -> Chip:
        """Whose time is modelled."""
        return self._chip

    def load(self, data: bytes, kernel: str | None = None) -> Module:
        module = Module(data, kernel)
        self._loaded(module)
        return module

    def _loaded(self, module: Module) -> _Loaded:
        def made() -> _Loaded:
            obj = CodeObject.parse(module.data, "the object")
            self._chip.require(obj.target)
            program = recover(obj, module.kernel)
            return _Loaded(module.sha256, program, Executable.build(program, self._cache))

        return _kept(self._modules, (module.sha256, module.kernel), made, _MODULES)

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
        memory = image.on_device
        done = execute(
            loaded.executable,
            launch,
            memory,
            limits=Limits(limits.instructions_per_wave, quantum=limits.turn or Limits().quantum),
            workgroups=workgroups,
            threads=limits.threads,
            wave_order=wave_order,
            checking=Checking.of(memory) if limits.checked else None,
        )
        status, fault = fault_of(memory, done)
        return Outcome(
            status=Status(status),
            fault=fault,
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

    def compare(
        self, base: Module, candidate: Module, launches: Sequence[Launch], *, limits: RunLimits | None = None
    ) -> Comparison:
        """By an ensemble of chips whose parameters are drawn from their ranges: repeats of the model are all alike."""
        return self._ensemble.compare(*(self._ready(m, launches, limits or RunLimits()) for m in (base, candidate)))

    def _ready(self, module: Module, launches: Sequence[Launch], limits: RunLimits) -> Timeable:
        """The objective launches of a module; the same one for the same launches, whose times are remembered."""
        loaded = self._loaded(module)
        parts = tuple((self._trace(loaded, one, limits), one.weight) for one in objective_of(launches))
        return _kept(self._timeable, parts, lambda: Timeable(parts), _PREPARED)

    def prepared(self, module: Module, launch: Launch, *, limits: RunLimits | None = None) -> Prepared:
        """A launch traced, to be replayed on copies of the chip."""
        return self._trace(self._loaded(module), launch, limits or RunLimits())

    def profile(self, module: Module, launch: Launch, *, limits: RunLimits | None = None) -> Profile:
        """Where the modelled time of one launch goes."""
        loaded = self._loaded(module)
        return profile(loaded.program, self._estimate(loaded, launch, limits or RunLimits()))

    def timeline(self, module: Module, launch: Launch, *, limits: RunLimits | None = None) -> dict[str, Any]:
        """The first issues of the modelled compute unit, wave by wave, as a trace for Perfetto."""
        prepared = self._trace(self._loaded(module), launch, limits or RunLimits())
        return timeline(prepared.replay(self._chip, events=EVENTS))

    def _estimate(self, loaded: _Loaded, launch: Launch, limits: RunLimits) -> Estimate:
        """Replay a few workgroups of the launch on the chip's model."""
        return estimate_of(self._trace(loaded, launch, limits), self._chip)

    def _trace(self, loaded: _Loaded, launch: Launch, limits: RunLimits) -> Prepared:
        """Execute a few workgroups of the launch with tracing."""
        obj, kernel = loaded.program.source, loaded.program.kernel
        image_of = image_key(launch, obj, kernel)

        def traced() -> Prepared:
            image = _kept(self._images, image_of, lambda: build_image(launch, obj, kernel), _IMAGES).copy()
            image.load(obj)
            return traced_launch(loaded.executable, launch, image, self._chip, Limits(limits.instructions_per_wave))

        return _kept(self._prepared, (loaded.sha256, limits.instructions_per_wave, image_of), traced, _PREPARED)

    def close(self) -> None:
        self._modules.clear()
        self._images.clear()
        self._prepared.clear()
        self._timeable.clear()

    def describe(self) -> dict[str, Any]:
        return {"device": "simulator", "chip": self._chip.name, "timing": "modelled"}


def traced_launch(executable: Executable, launch: Launch, image: MemoryImage, chip: Chip, limits: Limits) -> Prepared:
    """A launch ready to be timed on a chip, from the traces of a few workgroups. They change the image.

    Raises `UnsupportedError` when one of them does not end.
    """
    memory = image.on_device
    recorded = record(executable, launch, memory, workgroups=traces_needed(launch), limits=limits)
    done = recorded.execution
    status, fault = fault_of(memory, done)
    if Status(status) is not Status.DONE:
        why = fault.message if fault else ""
        raise UnsupportedError(f"The launch {launch.name!r} cannot be timed: it ends with {status}. {why}")
    return prepare(executable.program, launch, done.traces, chip, recorded.accesses)


_V = TypeVar("_V")


def _kept(store: OrderedDict[Hashable, _V], key: Hashable, make: Callable[[], _V], most: int) -> _V:
    """What a store of the `most` values used last has under a key; made when it is not there."""
    if key not in store:
        store[key] = make()
        while len(store) > most:
            store.popitem(last=False)
    store.move_to_end(key)
    return store[key]


def serve(connection: Connection, chip_name: str = "mi300x") -> None:
    """Entry of a worker process."""
    serve_device(SimDevice(chip_name), connection)

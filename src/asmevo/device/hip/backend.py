"""One GPU as a device, inside the worker process that talks to it (see `Device` for the contract)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from asmevo.device.contract import Ability, Device, LaunchTime, Module, Outcome, RunLimits, Status, Timing, objective_of
from asmevo.device.hip.bench import HipBench
from asmevo.device.hip.binding import HipError, Runtime, device_count, runtime
from asmevo.device.hip.clocks import Clocks, pci_address
from asmevo.device.hip.events import Stopwatch
from asmevo.device.hip.faults import outcome_of
from asmevo.device.hip.identity import ChipIdentity, identity_of
from asmevo.device.hip.launching import Modules, arguments, start
from asmevo.device.hip.memory import GpuMemory
from asmevo.device.measure import Cache, LeastTime, MeasuredComparison, Sample, Spending, compare, control
from asmevo.device.worker import serve_device
from asmevo.launch import Launch, MemoryImage, build_image
from asmevo.sim import WaveOrder
from asmevo.verdict import EnvironmentError_, Finding, UnsupportedError, UsageError

TIMES = 21
"""Samples of a plain time; the first warms up."""
PEAK_BYTES = {"gfx90a": 17.2e12, "gfx942": 17.2e12}
"""Bytes a second that no store goes beyond: the peak of the memory-side cache of MI300X (AMD CDNA3 white paper), and of
its L2 as 16 channels of 64 bytes a clock on 8 dies at 2.1 GHz; more than that of the chip before it."""


@dataclass(frozen=True, slots=True)
class _Open:
    """What is there once the GPU is in use."""

    runtime: Runtime
    chip: ChipIdentity
    memory: GpuMemory
    modules: Modules
    watch: Stopwatch
    clocks: Clocks


class HipBackend(Device):
    """Runs and times on GPU number `gpu` of the HIP runtime, which is opened by the first request.

    After a fault the process is of no use any more; `asmevo.device.hip.HipDevice` sees to that.
    """

    abilities = frozenset[Ability]()
    source = "measured"

    def __init__(self, gpu: int = 0) -> None:
        self._gpu = gpu
        self._state: _Open | None = None

    def _open(self) -> _Open:
        if self._state is None:
            found = runtime()
            if not 0 <= self._gpu < (count := device_count(found)):
                raise UsageError(f"There is no GPU {self._gpu}; the numbers go from 0 to {count - 1}.")
            found.call("hipSetDevice", self._gpu)
            chip = identity_of(found, self._gpu)
            self._state = _Open(
                found,
                chip,
                GpuMemory(found, self._gpu),
                Modules(found, chip.target),
                Stopwatch.make(found),
                Clocks(pci_address(found, self._gpu)),
            )
        return self._state

    def load(self, data: bytes, kernel: str | None = None) -> Module:
        module = Module(data, kernel)
        self._open().modules.load(module)
        return module

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
        """All workgroups, in the order of the hardware; only the limit in seconds holds."""
        state = self._open()
        loaded = state.modules.load(module)
        image.load(loaded.obj)
        try:
            span = state.memory.place(image)
        except UnsupportedError as error:
            return Outcome(Status.REFUSED, Finding("hip.address", str(error)))
        state.memory.write(span, image)
        segment = arguments(launch, loaded.kernel, image, span.shift(image))
        try:
            seconds = 1e-6 * state.watch.time(lambda: start(state.runtime, loaded, launch, segment))
        except HipError as error:
            return outcome_of(error)
        state.memory.read(span, image)
        return Outcome(Status.DONE, seconds=seconds)

    def time(self, module: Module, launches: Sequence[Launch], *, limits: RunLimits | None = None) -> Timing:
        """Medians; for a claim that something is faster, `compare` two."""
        objective = objective_of(launches)
        with self._bench(module, module, objective) as bench:
            floor = bench.floor()
            samples = [bench.sample(0, at % bench.sets, Cache.ROTATING) for at in range(TIMES)][1:]
        times = np.array([sample.launches for sample in samples])
        return Timing("measured", tuple(self._launch_times(objective, times, samples, floor)))

    def _launch_times(
        self, launches: Sequence[Launch], times: np.ndarray, samples: Sequence[Sample], floor: float
    ) -> list[LaunchTime]:
        clocks = [s.clock_mhz for s in samples if s.clock_mhz]
        facts: dict[str, Any] = {"samples": len(samples), "floor_us": floor, "chip": str(self._open().chip)}
        facts["clock_mhz"] = [min(clocks), max(clocks)] if clocks else None
        found: list[LaunchTime] = []
        for at, launch in enumerate(launches):
            low, middle, high = (float(q) for q in np.quantile(times[:, at], (0.05, 0.5, 0.95)))
            found.append(LaunchTime(launch.name, launch.weight, middle, {**facts, "low_us": low, "high_us": high}))
        return found

    def compare(
        self, base: Module, candidate: Module, launches: Sequence[Launch], *, limits: RunLimits | None = None
    ) -> MeasuredComparison:
        """By `asmevo.device.measure`; the machine has to find the base as fast as itself first.

        Raises `UnsupportedError` where it does not.
        """
        objective = objective_of(launches)
        confirmations = (limits or RunLimits()).confirmations
        rng = np.random.default_rng([int(base.sha256[:16], 16), int(candidate.sha256[:16], 16), confirmations])
        if base.sha256 == candidate.sha256:
            with self._bench(base, base, objective) as bench:
                if words := control(bench, rng):
                    raise UnsupportedError(words)
        before, least = self._results(candidate, objective)

        def again() -> str:
            changed = self._results(candidate, objective)[0] != before
            return "After timing, the second object leaves other bytes than before." if changed else ""

        with self._bench(base, candidate, objective) as bench:
            return compare(bench, Spending(used=confirmations), rng, least=least, again=again)

    def _bench(self, base: Module, candidate: Module, launches: Sequence[Launch]) -> HipBench:
        state = self._open()
        return HipBench(state.runtime, state.memory, state.chip, state.clocks, (base, candidate), launches)

    def _results(self, module: Module, launches: Sequence[Launch]) -> tuple[tuple[str, ...], LeastTime]:
        """What an object leaves in memory after each launch, and the least time that it can take for them."""
        state = self._open()
        obj = state.modules.load(module).obj
        hashes: list[str] = []
        changed = 0.0
        for launch in launches:
            image = build_image(launch, obj, obj.kernel(module.kernel))
            initial = image.data.copy()
            outcome = self.run(module, launch, image)
            if not outcome.done:
                words = outcome.fault.message if outcome.fault else outcome.status
                raise UnsupportedError(f"The launch {launch.name!r} cannot be timed. {words}")
            hashes.append(hashlib.sha256(image.data.data).hexdigest())
            changed += launch.weight * np.count_nonzero(image.data != initial)
        total = sum(launch.weight for launch in launches)
        peak = PEAK_BYTES.get(state.chip.target, float("inf"))
        return tuple(hashes), LeastTime(bytes_written=changed / total, peak_bytes=peak)

    def describe(self) -> dict[str, Any]:
        state = self._open()
        if not state.memory.answers():
            raise EnvironmentError_(f"GPU {self._gpu} does not compute rightly any more; reset it, or use another one.")
        return {
            "device": "hip",
            "chip": state.chip.to_json(),
            "gpu": self._gpu,
            "gpus": device_count(state.runtime),
            "runtime": state.runtime.version,
            "clocks": state.clocks.known,
            "timing": "measured",
        }

    def close(self) -> None:
        if self._state is not None:
            self._state.modules.close()
            self._state.memory.close()
            self._state = None


def serve(connection: Connection, gpu: str = "0") -> None:
    """Entry of a worker process."""
    serve_device(HipBackend(int(gpu)), connection)

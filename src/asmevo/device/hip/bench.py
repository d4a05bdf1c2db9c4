"""Two objects on one GPU, ready to be timed in turn (see `asmevo.device.measure.Bench`)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from statistics import median
from types import TracebackType
from typing import Self

from asmevo.device.contract import Module
from asmevo.device.hip.binding import Runtime
from asmevo.device.hip.clocks import Clocks
from asmevo.device.hip.events import Stopwatch
from asmevo.device.hip.flush import LAST_CACHE, Flush
from asmevo.device.hip.identity import ChipIdentity
from asmevo.device.hip.launching import Loaded, arguments, load, start, unload
from asmevo.device.hip.memory import GpuMemory, Span, overlap
from asmevo.device.hip.null import null_object
from asmevo.device.measure import Cache, Sample
from asmevo.launch import Launch, MemoryImage, build_image

MOST_SETS = 32
"""Small launches do not fill the last cache even so; they are cold in the cold series only."""
SHARE_OF_MEMORY = 0.5
"""Of what is free, for sets of buffers."""
FLOOR_SAMPLES = 15


@dataclass(frozen=True, slots=True)
class _Timed:
    """One objective launch."""

    launch: Launch
    pristine: Span
    sets: tuple[Span, ...]
    segments: tuple[bytes, ...]
    """Kernel arguments for each set."""


class HipBench:
    """Both objects are loaded afresh, in turn use the same sets of buffers, and find in them what the launch says.

    A set is restored right after its use, so that its data has left the caches when its turn comes again; launches that
    share addresses are restored right before. Memory at fixed addresses is good until something else runs on the GPU.
    """

    def __init__(
        self,
        runtime: Runtime,
        memory: GpuMemory,
        chip: ChipIdentity,
        clocks: Clocks,
        modules: tuple[Module, Module],
        launches: Sequence[Launch],
    ) -> None:
        self._runtime, self._memory, self._clocks = runtime, memory, clocks
        self._owned = ExitStack()
        with self._owned:  # whatever fails below frees what was there before it
            self._watch = Stopwatch.make(runtime)
            self._objects = tuple(self._load(module.data, module.kernel) for module in modules)
            self._null = self._load(null_object(self._objects[0].obj, modules[0].kernel), modules[0].kernel)
            images = [build_image(one, self._objects[0].obj, self._objects[0].kernel) for one in launches]
            total = sum(len(image.data) for image in images)
            room = int(SHARE_OF_MEMORY * memory.available() / total) - 1
            fixed = any(image.pieces for image in images)  # buffers at fixed addresses are there once
            self.sets = 1 if fixed else max(1, min(MOST_SETS, room, 1 + -(-2 * LAST_CACHE // total)))
            at_home = [image for image in images if image.pieces]
            homes = iter(memory.place_together(at_home) if at_home else ())
            placed = [(self._pristine(i), (next(homes),) if i.pieces else self._copies(i)) for i in images]
            self._shared = overlap([part for _, sets in placed for span in sets for part in span.parts])
            self._timed = tuple(self._ready(*each) for each in zip(launches, images, placed, strict=True))
            self._flush = Flush.make(runtime, memory, chip)
            self._owned.callback(self._flush.close)
            self._owned = self._owned.pop_all()

    def _load(self, data: bytes, kernel: str | None) -> Loaded:
        loaded = load(self._runtime, data, kernel)
        self._owned.callback(unload, self._runtime, loaded)
        return loaded

    def _allocate(self, size: int) -> Span:
        span = self._memory.allocate(size)
        self._owned.callback(self._memory.free, span)
        return span

    def _pristine(self, image: MemoryImage) -> Span:
        span = self._allocate(len(image.data))
        self._memory.write(span, image)
        return span

    def _copies(self, image: MemoryImage) -> tuple[Span, ...]:
        return tuple(self._allocate(len(image.data)) for _ in range(self.sets))

    def _ready(self, launch: Launch, image: MemoryImage, placed: tuple[Span, tuple[Span, ...]]) -> _Timed:
        pristine, sets = placed
        for span in sets:
            self._memory.duplicate(pristine, span)
        kernel = self._objects[0].kernel
        segments = tuple(arguments(launch, kernel, image, span.shift(image)) for span in sets)
        return _Timed(launch, pristine, sets, segments)

    def sample(self, which: int, buffers: int, cache: Cache) -> Sample:
        return self._sample(self._objects[which], buffers, cache)

    def _sample(self, loaded: Loaded, buffers: int, cache: Cache) -> Sample:
        times: list[float] = []
        for timed in self._timed:
            if self._shared:
                self._memory.duplicate(timed.pristine, timed.sets[buffers])
            if cache is Cache.COLD:
                self._flush()
            work = partial(start, self._runtime, loaded, timed.launch, timed.segments[buffers])
            times.append(self._watch.time(work))
            self._memory.duplicate(timed.pristine, timed.sets[buffers])
        weights = [timed.launch.weight for timed in self._timed]
        mean = sum(w * t for w, t in zip(weights, times, strict=True)) / sum(weights)
        return Sample(mean, *self._clocks.read(), launches=tuple(times))

    def floor(self) -> float:
        found = [self._sample(self._null, at % self.sets, Cache.ROTATING) for at in range(FLOOR_SAMPLES)]
        return median(sample.microseconds for sample in found)

    def close(self) -> None:
        self._owned.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

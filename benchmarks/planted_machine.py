"""A machine with known times and planted trouble: noise, drift, throttling, spikes, coarse clocks, caches, clocks.

It stands in for a GPU where the measurement protocol itself is measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from asmevo.device.measure import Cache, Sample


@dataclass(frozen=True)
class Trouble:
    """What disturbs times, as shares of them."""

    noise: float = 0.005
    drift: float = 0.0
    """Most steady change from sample to sample, in either direction."""
    throttling: float = 0.0
    """Chance that a throttled stretch begins at a sample."""
    throttled: float = 0.08
    """How much slower it then is."""
    stretch: int = 40
    """Mean samples of a throttled stretch."""
    spikes: float = 0.0
    """Chance that a sample is hit by something else, and takes up to twice as long."""

    def logs(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Logarithms of the factors on true times, in the order of time along the last axis."""
        out = rng.normal(0.0, self.noise, shape)
        if self.drift:
            out += rng.uniform(-self.drift, self.drift, (*shape[:-1], 1)) * np.arange(shape[-1])
        if self.throttling:
            out += np.log1p(self.throttled) * self._throttled(rng, shape)
        if self.spikes:
            out += (rng.random(shape) < self.spikes) * rng.uniform(0.0, np.log(2.0), shape)
        return out

    def _throttled(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.bool_]:
        begins, ends = rng.random(shape) < self.throttling, rng.random(shape) < 1 / self.stretch
        state = rng.random(shape[:-1]) < self.throttling * self.stretch
        out = np.empty(shape, bool)
        for i in range(shape[-1]):
            state = (state & ~ends[..., i]) | begins[..., i]
            out[..., i] = state
        return out


QUIET = Trouble()
ROUGH = Trouble(drift=0.0005, throttling=0.002, spikes=0.01)
"""About one sample in twelve is throttled, one in a hundred hit by something else."""


@dataclass
class PlantedBench:
    """Two objects whose true microseconds are known, on a machine with trouble (see `asmevo.device.measure.Bench`)."""

    times: tuple[float, float]
    rng: np.random.Generator
    trouble: Trouble = QUIET
    sets: int = 4
    null: float = 0.0
    """Microseconds of a kernel that does nothing."""
    quantum: float = 0.0
    """Step of the clock in microseconds."""
    cold_times: tuple[float, float] | None = None
    """True microseconds with cold caches."""
    warm_saving: float = 0.0
    """Share that a sample saves on a set of buffers that the sample before used."""
    first_slower: float = 0.0
    """Share that every other sample takes longer, whichever object it is of."""
    clock: Callable[[int, int], float] | None = None
    """Engine clock in MHz of object and sample number."""
    taken: int = 0
    last: int = -1
    log: list[tuple[int, int, Cache]] = field(default_factory=list)
    """Object, set and cache of every sample."""

    def __post_init__(self) -> None:
        self._logs = iter(())

    def sample(self, which: int, buffers: int, cache: Cache) -> Sample:
        true = (self.cold_times or self.times)[which] if cache is Cache.COLD else self.times[which]
        if buffers == self.last and cache is Cache.ROTATING:
            true *= 1 - self.warm_saving
        if self.taken % 2 == 0:
            true *= 1 + self.first_slower
        time = true * float(np.exp(self._next())) + self.null
        if self.quantum:
            time = round(time / self.quantum) * self.quantum
        clock = self.clock(which, self.taken) if self.clock else None
        self.log.append((which, buffers, cache))
        self.taken, self.last = self.taken + 1, buffers
        return Sample(time, clock)

    def _next(self) -> float:
        for value in self._logs:
            return float(value)
        self._logs = iter(self.trouble.logs(self.rng, (4096,)).tolist())
        return self._next()

    def floor(self) -> float:
        return self.null

"""Paired blocks: four samples in the order ABBA or BAAB, as a coin says."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from math import log

import numpy as np

from asmevo.device.measure.evidence import BETS, Ratios, log_factors, log_mean, unit
from asmevo.device.measure.samples import Bench, Cache, Sample

CLOCKS_APART = 0.02
"""A block whose samples ran at clocks that differ by more than this share is not used. Which object ran at which is not
looked at, so this favours neither."""
BLIND = 12
"""Blocks without any difference after which a clock counts as too coarse."""
_ORDERS = ((0, 1, 1, 0), (1, 0, 0, 1))


@dataclass(frozen=True, slots=True)
class Block:
    """Four samples; a steady drift over them is in both objects alike."""

    first: tuple[Sample, Sample]
    second: tuple[Sample, Sample]

    @property
    def ratio(self) -> float:
        """Logarithm of the first object's time over the second's; 0, which says nothing, where a clock stood still."""
        if min(s.microseconds for s in (*self.first, *self.second)) <= 0:
            return 0.0
        return sum(log(s.microseconds) for s in self.first) / 2 - sum(log(s.microseconds) for s in self.second) / 2

    @property
    def steady(self) -> bool:
        clocks = [s.clock_mhz for s in (*self.first, *self.second) if s.clock_mhz]
        return not clocks or max(clocks) <= (1 + CLOCKS_APART) * min(clocks)


@dataclass(slots=True)
class Series:
    """Blocks of one comparison under one state of the caches."""

    bench: Bench
    cache: Cache
    rng: np.random.Generator
    blocks: list[Block] = field(default_factory=list[Block])
    dropped: int = 0
    turn: count[int] = field(default_factory=count)
    """Which set of buffers is next; shared by series that follow each other."""
    _ratios: list[float] = field(default_factory=list[float])
    _grown: tuple[Ratios, Ratios] = field(default_factory=lambda: (np.zeros(len(BETS)), np.zeros(len(BETS))))
    """By bet, the evidence for and against."""

    def take(self) -> None:
        """One more block."""
        samples: tuple[list[Sample], list[Sample]] = ([], [])
        for which in _ORDERS[int(self.rng.integers(2))]:
            samples[which].append(self.bench.sample(which, next(self.turn) % self.bench.sets, self.cache))
        self.add(Block((samples[0][0], samples[0][1]), (samples[1][0], samples[1][1])))

    def add(self, block: Block) -> None:
        """Take a block into account, or drop it for its clocks."""
        if block.steady:
            self.blocks.append(block)
            self._ratios.append(block.ratio)
            last = unit(self.ratios)
            self._grown = (self._grown[0] + log_factors(last), self._grown[1] + log_factors(-last))
        else:
            self.dropped += 1

    @property
    def ratios(self) -> Ratios:
        return np.array(self._ratios)

    @property
    def evidence(self) -> float:
        """Natural logarithm of the evidence that the second object is faster."""
        return float(log_mean(self._grown[0]))

    @property
    def against(self) -> float:
        """Natural logarithm of the evidence that the second object is slower."""
        return float(log_mean(self._grown[1]))

    @property
    def blind(self) -> bool:
        """The clock has not told any two samples apart, and will not."""
        return len(self._ratios) >= BLIND and not any(self._ratios)

    @property
    def samples(self) -> int:
        return 4 * (len(self.blocks) + self.dropped)

    def of(self, which: int) -> list[Sample]:
        """All samples of one object."""
        return [sample for block in self.blocks for sample in (block.second if which else block.first)]

    def microseconds(self, which: int) -> float:
        """Median over the samples of one object."""
        return float(np.median([sample.microseconds for sample in self.of(which)])) if self.blocks else float("nan")

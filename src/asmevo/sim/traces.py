"""From the native trace of block numbers to the paths of waves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from asmevo.sim.chunks import Chunk
from asmevo.sim.results import WaveTrace


class TraceCollector:
    """Gathers parts of a worker's trace. A wave's turn begins with -1 minus its number and its workgroup."""

    def __init__(self) -> None:
        self._parts: dict[tuple[int, int], list[NDArray[np.int32]]] = {}

    def add(self, trace: NDArray[np.int32]) -> None:
        """Sort a part of the trace by wave."""
        marks = np.flatnonzero(trace < 0).tolist()
        for start, end in pairwise([*marks, len(trace)]):
            key = int(trace[start + 1]), -1 - int(trace[start])
            self._parts.setdefault(key, []).append(trace[start + 2 : end])

    def blocks(self) -> dict[tuple[int, int], set[int]]:
        """(workgroup, wave) to the numbers of the blocks it has executed."""
        return {key: set(np.concatenate(parts).tolist()) for key, parts in self._parts.items()}

    def traces(self, chunks: Sequence[Chunk]) -> Iterator[WaveTrace]:
        """The path of each wave as ranges of lines, blocks that follow each other merged."""
        bounds = np.array([(c.first, c.last) for c in chunks], np.int32).reshape(-1, 2)
        for (workgroup, wave), parts in self._parts.items():
            runs = bounds[np.concatenate(parts)]
            if len(runs) > 1:
                begins = np.concatenate([[True], runs[1:, 0] != runs[:-1, 1]])
                ends = np.concatenate([begins[1:], [True]])
                runs = np.stack([runs[begins, 0], runs[ends, 1]], axis=1)
            yield WaveTrace(workgroup, wave, runs)

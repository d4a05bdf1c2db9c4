"""What a timing model has to beat: the roofline, llvm-mca on the hottest loop, and the nearest measured shape."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from asmevo.isa import Toolchain
from asmevo.program import Program
from asmevo.timing import Prepared
from asmevo.verdict import EnvironmentError_
from benchmarks.timing_cases import Candidate, Shape, blocks_of, chip_of, recipe_of
from benchmarks.timing_scores import group

OVERHEAD_US: Final = 5.0
PEAK_GHZ: Final = {80: 1.42, 304: 2.1}
"""Clock of the peak of each chip; 8-bit matrix peak is 4096 flops a clock and compute unit."""
HBM: Final = 5.3e12
"""Peak bytes a second of either chip."""
MCA_ITERATIONS: Final = 3


def roofline(candidate: Candidate) -> float:
    """Exact operations at the peak, or one pass over the operands at the peak bandwidth, in microseconds."""
    shape = candidate.shape
    parts = 2 if shape.family == "fmoe_2stages" else 3
    flops = 2.0 * shape.tokens * shape.topk * parts * shape.inter * shape.dim
    peak = 4096 * shape.compute_units * PEAK_GHZ[shape.compute_units] * 1e9
    return OVERHEAD_US + 1e6 * max(flops / peak, operand_bytes(shape) / HBM)


def operand_bytes(shape: Shape) -> float:
    """Tokens, and the weights of the experts that get any by uniform routing."""
    parts = 2 if shape.family == "fmoe_2stages" else 3
    active = shape.experts * (1 - (1 - shape.topk / shape.experts) ** shape.tokens)
    return shape.tokens * shape.dim + active * parts * shape.inter * shape.dim


def nearest(candidates: Sequence[Candidate]) -> dict[Candidate, float]:
    """For each, the time of the same object at the nearest other shape, in proportion to the mean of both shapes'
    candidates. It needs the hardware, so no model may do it."""
    shapes = group(candidates)
    found: dict[Candidate, float] = {}
    for candidate in candidates:
        others = [c for c in candidates if c.path == candidate.path and c.shape != candidate.shape]
        if not others:
            continue
        other = min(others, key=lambda c: (_distance(candidate.shape, c.shape), c.shape))
        found[candidate] = other.microseconds * roofline(candidate) / roofline(other)
    return {c: t for c, t in found.items() if len(shapes[c.shape]) > 1}


def _distance(a: Shape, b: Shape) -> float:
    logs = [abs(math.log(getattr(a, n) / getattr(b, n))) for n in ("tokens", "dim", "inter", "experts", "topk")]
    return 10 * (logs[1] + logs[2]) + logs[0] + logs[3] + logs[4]


class Mca:
    """llvm-mca's cycles of the hottest loop, times its trips, times the rounds of workgroups; or the bandwidth."""

    def __init__(self) -> None:
        self._tools = Toolchain.find()
        self._cycles: dict[tuple[str, int, int], float] = {}

    def time(self, candidate: Candidate, prepared: Prepared) -> float:
        """Microseconds: one wave on each SIMD, a cycle of llvm-mca is 4 clocks."""
        shape, samples = candidate.shape, prepared.samples
        lengths = samples.counts.sum(axis=1)
        busy = int(np.argmax(lengths))
        # Waves of a workgroup may run copies of the loop of their own: positions of the first wave only.
        counts = np.zeros(len(prepared.program.lines), np.int64)
        first = samples.waves[samples.spans[busy, 0]]
        for begin, end in samples.runs[first[0] : first[1]]:
            counts[begin:end] += 1
        clocks = 4 * self._loop(candidate.path, prepared.program, counts)
        recipe = recipe_of(candidate, shape.tokens, shape.experts, shape.topk)
        rounds = math.ceil(blocks_of(recipe) * prepared.launch.grid[0] / chip_of(shape).cus)
        seconds = max(rounds * clocks / (PEAK_GHZ[shape.compute_units] * 1e9), operand_bytes(shape) / HBM)
        return OVERHEAD_US + 1e6 * seconds

    def _loop(self, path: str, program: Program, counts: np.ndarray) -> float:
        """llvm-mca cycles of all trips of the instructions that are executed most often."""
        trips = int(np.bincount(counts[counts > 1]).argmax()) if (counts > 1).any() else 1
        inside = np.flatnonzero(counts == trips)
        key = (path, trips, len(inside))
        if key not in self._cycles:
            texts = [program.lines[int(i)].instruction.text for i in inside]
            kept = [text for text in texts if not text.startswith(("s_cbranch", "s_branch"))]
            self._cycles[key] = trips * self._mca("\n".join(kept))
        return self._cycles[key]

    def _mca(self, text: str) -> float:
        """Cycles of one repetition in a steady state."""
        total: list[int] = []
        for iterations in (1, MCA_ITERATIONS):
            options = ("-mtriple=amdgcn-amd-amdhsa", "-mcpu=gfx942", f"-iterations={iterations}")
            done = self._tools.run("llvm-mca", *options, stdin=text.encode())
            found = re.search(rb"Total Cycles:\s+(\d+)", done.stdout)
            if done.returncode or found is None:
                raise EnvironmentError_(f"llvm-mca failed: {done.stderr.decode()[:200]}; install all tools of LLVM.")
            total.append(int(found[1]))
        return (total[1] - total[0]) / (MCA_ITERATIONS - 1)

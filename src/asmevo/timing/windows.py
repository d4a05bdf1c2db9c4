"""Windows of a profile: blocks and loops, the time charged to each, and what an ideal schedule of it could reach."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asmevo.edit import Window
from asmevo.isa import effects, units
from asmevo.program import Block, Program
from asmevo.program.loops import find_loops
from asmevo.timing.bounds import Bounds, bounds_of
from asmevo.timing.encode import Code
from asmevo.timing.estimate import Estimate
from asmevo.timing.layout import BARRIER, CAUSES, FORWARD, LDS, MEMORY, SCALAR
from asmevo.timing.shape import shape_of
from asmevo.timing.traffic import MemoryView


@dataclass(frozen=True)
class HotWindow:
    """A block or loop. Clocks are those of the whole launch on the busiest compute unit, as in `LineTimes`."""

    kind: str
    """`block` or `loop`."""
    window: Window
    """From its first to its last line; the blocks of a loop may leave gaps."""
    blocks: tuple[int, ...]
    depth: int
    """Loops around it, itself included."""
    trips: float
    """Executions by a wave, over all waves of the compute unit."""
    cycles: float
    share: float
    """Of the time of the launch."""
    idle: dict[str, float]
    """Clocks in which SIMDs issued nothing, by cause, largest first."""
    stall: dict[str, float]
    """Clocks that waves waited, hidden or not, by cause, largest first."""
    dependence_bound: float
    """What the resident waves would need if only the longest chain of results in each block counted."""
    bounds: Bounds
    """What each unit would need for the work of the window."""

    @property
    def ideal(self) -> float:
        """A lower bound for any order of instructions within the blocks, with the same waves."""
        return max(self.dependence_bound, self.bounds.value)

    @property
    def limiter(self) -> str:
        """What decides `ideal`."""
        return "dependence" if self.dependence_bound >= self.bounds.value else self.bounds.largest

    @property
    def saving(self) -> float:
        """Clocks between what it takes and `ideal`: the most that rescheduling its blocks can gain."""
        return max(0.0, self.cycles - self.ideal)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "first": self.window.first,
            "last": self.window.last,
            "blocks": list(self.blocks),
            "depth": self.depth,
            "trips": self.trips,
            "cycles": self.cycles,
            "share": self.share,
            "idle": self.idle,
            "stall": self.stall,
            "dependence_bound": self.dependence_bound,
            "bounds": asdict(self.bounds),
            "ideal": self.ideal,
            "limiter": self.limiter,
            "saving": self.saving,
        }


def windows_of(program: Program, estimate: Estimate) -> tuple[HotWindow, ...]:
    """All executed blocks and loops, by time charged."""
    blocks, loops = program.blocks, find_loops(program)
    depth = {b.number: sum(b.number in loop.blocks for loop in loops) for b in blocks}
    executed = [b for b in blocks if estimate.lines.count[b.first] > 0]
    builder = _Builder(program, estimate, {b.number: _path(estimate.code, b, estimate.view) for b in executed})
    found = [builder.window("block", [b], depth[b.number]) for b in executed]
    for loop in loops:
        inside = [b for b in executed if b.number in loop.blocks]
        if len(inside) > 1:
            found.append(builder.window("loop", inside, loop.depth, header=blocks[loop.header]))
    return tuple(sorted(found, key=lambda w: (-w.cycles, w.window.first, w.kind)))


@dataclass(frozen=True)
class _Builder:
    program: Program
    estimate: Estimate
    paths: dict[int, int]

    def window(self, kind: str, blocks: Sequence[Block], depth: int, header: Block | None = None) -> HotWindow:
        e = self.estimate
        inside = np.concatenate([np.arange(b.first, b.last) for b in blocks])
        count = np.zeros(len(self.program.lines))
        count[inside] = e.lines.count[inside]
        waves = e.occupancy.waves_per_workgroup * min(e.occupancy.workgroups, e.workgroups_of_cu)
        chains = sum(e.lines.count[b.first] * self.paths[b.number] for b in blocks)
        cycles = float(e.lines.cycles[inside].sum())
        lines = self.program.lines
        first = header or blocks[0]
        return HotWindow(
            kind=kind,
            window=Window(lines[int(inside.min())].id, lines[int(inside.max())].id),
            blocks=tuple(b.number for b in blocks),
            depth=depth,
            trips=float(e.lines.count[first.first]),
            cycles=cycles,
            share=cycles / e.cycles,
            idle=by_cause(e.lines.idle[inside].sum(axis=0)),
            stall=by_cause(e.lines.stall[inside].sum(axis=0)),
            dependence_bound=float(chains) / waves,
            bounds=bounds_of(e.code, count, e.view),
        )


def by_cause(clocks: NDArray[np.float64]) -> dict[str, float]:
    """Clocks by name of the cause, largest first, zeros left out."""
    pairs = [(clocks[i], i) for i in np.flatnonzero(clocks).tolist()]
    return {CAUSES[i].value: float(n) for n, i in sorted(pairs, key=lambda pair: (-pair[0], pair[1]))}


def _path(code: Code, block: Block, view: MemoryView) -> int:
    """Clocks of the longest chain of results in one execution of a block by one wave, with nothing in its way.

    Registers order it, and barriers: nothing passes a barrier, and LDS accesses in front of it are waited for.
    """
    chip = code.chip
    ready: dict[int, int] = {}
    floor = end = shared = 0
    costs = {name: code.whole(code.costs[name]) for name in ("slow", "fast", "sgpr", "path", "store")}
    lds_clocks = code.whole(code.costs["lds_port"] + code.lds_conflict_256 // 256)
    for position in range(block.first, block.last):
        instruction = code.program.lines[position].instruction
        shape = shape_of(instruction)
        start = max(floor, max((ready.get(c, 0) for c in shape.codes), default=0))
        end = max(end, start + chip.issue_clk)
        if shape.kind == BARRIER:
            floor = max(end, shared)
        elif shape.category == LDS:
            shared = start + int(lds_clocks[position]) + chip.lds_latency
            _fill(ready, units(effects(instruction).writes), shared)
        elif shape.category == MEMORY:
            latency = chip.store_latency if shape.is_store else view.load_latency
            _fill(ready, units(effects(instruction).writes), start + int(costs["path"][position]) + latency)
        elif shape.category == SCALAR and shape.bytes:
            _fill(ready, units(effects(instruction).writes), start + chip.scalar_latency)
        else:
            for c in shape.writes:
                unit = c % FORWARD
                ready[unit] = start + int(costs["sgpr" if c >= FORWARD else "slow"][position])
                ready[unit + FORWARD] = start + int(costs["fast"][position])
    return max(end, floor, max(ready.values(), default=0) if not block.successors else 0)


def _fill(ready: dict[int, int], registers: Iterable[int], time: int) -> None:
    for unit in registers:
        ready[unit] = ready[unit + FORWARD] = time

"""What one instruction costs a wave that issues in order: its cost on the chip, scoreboard units and queues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from asmevo.isa import Counter, Instruction, MemoryRow, Space
from asmevo.timing import Chip, Shape, cost_of, shape_of
from asmevo.timing.layout import BARRIER, FORWARD

PSEUDO, UNITS = 1024, 5120
"""Units of the scoreboard: registers from 0, pseudo units from `PSEUDO`; `UNITS` in all."""


def pseudo(line_id: int) -> int:
    """The unit that stands for the completion of a line's memory operation. Lines far apart may share one."""
    return PSEUDO + line_id % (UNITS - PSEUDO)


@dataclass(frozen=True, slots=True)
class Cost:
    """What one instruction does to the clock. Times in engine clocks."""

    reads: tuple[int, ...] = ()
    """Units whose results it needs."""
    writes: tuple[int, ...] = ()
    chained: tuple[int, ...] = ()
    """Units that it reads with a forwarding path."""
    port: int = 0
    """Clocks on the vector issue port."""
    matrix: int = 0
    """Clocks on the matrix pipe."""
    idles_matrix: bool = False
    """Waits until the matrix pipe is idle, and keeps it from starting for a while."""
    result: int = 4
    """Clocks until its results can be read; for memory, from leaving its port or path. Of a vector instruction that
    writes vector registers too, a scalar result counts as ready with those."""
    forward: int = 4
    """Clocks until a chained reader can have them."""
    lds: int = 0
    """Clocks on the LDS port."""
    path: int = 0
    """Clocks on the path to L1."""
    memory: int = 0
    """Clocks of the compute unit's share of memory bandwidth."""
    counter: int = 0
    """0 none, 1 vmcnt, 2 lgkmcnt."""
    idle: int = 0
    """Clocks beyond its issue turn."""
    wait_vm: int = -1
    """Most vector memory operations outstanding after it; -1 for no wait."""
    wait_lgkm: int = -1

    def with_units(self, reads: Sequence[int], writes: Sequence[int]) -> Cost:
        """The same with more units read and written."""
        if not reads and not writes:
            return self
        return replace(self, reads=(*self.reads, *reads), writes=(*self.writes, *writes))


class Costs:
    """Costs of instructions on one chip.

    Four SIMDs are taken to run the same code side by side: two share an LDS port, all four the path to L1 and the
    compute unit's share of bandwidth, which is that of the L2 where nothing better is known.
    """

    def __init__(self, chip: Chip, bytes_per_clk: float | None = None) -> None:
        self.chip = chip
        self.load_latency = round(chip.hbm_latency_ns * chip.clock_ghz)
        self.bytes_per_clk = bytes_per_clk or chip.l2_bytes_per_clk / chip.cus_per_xcd
        self.of = lru_cache(maxsize=1 << 14)(self._of)

    def _of(self, instruction: Instruction) -> Cost:
        """The cost of an instruction wherever it stands. Raises `UnsupportedError` for an opcode without a row."""
        chip, shape = self.chip, shape_of(instruction)
        cost = cost_of(shape, chip)
        counter, result = self._queue(shape)
        scalar_only = bool(shape.writes) and all(code >= FORWARD for code in shape.writes)
        return Cost(
            reads=tuple(code for code in shape.codes if code < FORWARD),
            writes=tuple(code % FORWARD for code in shape.writes),
            chained=tuple(code - FORWARD for code in shape.codes if code >= FORWARD),
            port=cost.port,
            matrix=cost.matrix,
            idles_matrix=cost.idles_matrix,
            result=result if counter else cost.sgpr if scalar_only else cost.result,
            forward=result if counter else cost.forward,
            lds=2 * cost.lds_port,
            path=4 * cost.path,
            memory=round(4 * shape.bytes / self.bytes_per_clk) if cost.path else 0,
            counter=counter,
            idle=chip.barrier_clk if shape.kind == BARRIER else cost.idle,
            wait_vm=shape.wait_vm,
            wait_lgkm=shape.wait_lgkm,
        )

    def _queue(self, shape: Shape) -> tuple[int, int]:
        """Counter of a memory operation, and clocks from leaving its port or path until it is finished; 0, 0 for the
        rest."""
        row, chip = shape.row, self.chip
        if not isinstance(row, MemoryRow):
            return 0, 0
        counter = 2 if Counter.LGKM in row.counters else 1
        if row.space is Space.LDS:
            return counter, chip.lds_latency
        if row.space is Space.SCALAR:
            return counter, chip.scalar_latency
        return counter, chip.store_latency if shape.is_store else self.load_latency

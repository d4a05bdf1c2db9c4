"""What one instruction costs a wave that issues in order, from a chip's table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from asmevo.isa import Counter, Instruction, MatrixRow, MemoryRow, Space
from asmevo.program import Line
from asmevo.timing import Chip
from asmevo.timing.encode import shape_of
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
    """Clocks until its results can be read; for memory, from leaving its port or path."""
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
        row = shape.row
        cost = chip.cost(row.latency)
        reads = tuple(code for code in shape.codes if code < FORWARD)
        chained = tuple(code - FORWARD for code in shape.codes if code >= FORWARD)
        writes = tuple(code % FORWARD for code in shape.writes)
        if isinstance(row, MatrixRow):
            clocks = chip.issue_clk * row.passes
            result = clocks + chip.issue_clk * chip.mfma_read_passes
            forward = max(clocks, 3 * chip.issue_clk)
            return Cost(reads, writes, chained, cost.port, clocks, result=result, forward=forward)
        if isinstance(row, MemoryRow):
            return self._memory(instruction, row, reads, chained)
        return Cost(
            reads,
            writes,
            chained,
            cost.port,
            idles_matrix=row.latency == "valu_pk",
            result=cost.result,
            forward=cost.result,
            idle=chip.barrier_clk if shape.kind == BARRIER else chip.issue_clk * shape.extra,
            wait_vm=shape.wait_vm,
            wait_lgkm=shape.wait_lgkm,
        )

    def _memory(
        self, instruction: Instruction, row: MemoryRow, reads: tuple[int, ...], chained: tuple[int, ...]
    ) -> Cost:
        chip, shape = self.chip, shape_of(instruction)
        counter = 2 if Counter.LGKM in row.counters else 1
        if row.space is Space.LDS:
            read = shape.lds_dwords * 256 // chip.lds_read_bytes_per_clk
            port = chip.lds_write_clk[min(shape.lds_dwords, 4) - 1] if shape.is_store else read
            return Cost(reads, (), chained, result=chip.lds_latency, lds=2 * port, counter=counter)
        if row.space is Space.SCALAR:
            return Cost(reads, (), chained, result=chip.scalar_latency, counter=counter)
        path = 4 * max(chip.issue_clk, shape.bytes // chip.l1_bytes_per_clk)
        memory = round(4 * shape.bytes / self.bytes_per_clk)
        result = chip.store_latency if shape.is_store else self.load_latency
        return Cost(reads, (), chained, result=result, path=path, memory=memory, counter=counter)


def size_of(line: Line) -> int:
    """Bytes of a line; the usual size of its encoding when it was not assembled yet."""
    if line.words is not None:
        return len(line.words)
    instruction = line.instruction
    short = instruction.encoding == "e32" or instruction.mnemonic.startswith(("s_waitcnt", "s_nop", "s_mov", "s_add"))
    return 4 if short else 8

"""How long one wave takes for a stretch of code: an in-order issue bound that strategies rank their own ideas with.

It knows issue turns, the vector port, the matrix pipe, result latencies, the LDS port, the path to L1, wait counters,
fetch boundaries and a share of bandwidth, with the costs of a chip table. It takes one wave a SIMD and four SIMDs that
run the same code side by side, and knows nothing of caches. It is not the timing model, it is asked before the gate, and its clocks are not reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from asmevo.isa import Counter, Instruction, MatrixRow, MemoryRow, Space
from asmevo.program import Line
from asmevo.timing import Chip
from asmevo.timing.encode import shape_of
from asmevo.timing.layout import BARRIER, FORWARD

UNITS = 5120
"""Size of the scoreboard: register units, then pseudo units for what has no register."""
PSEUDO = 1024
"""First pseudo unit: the completion of the operation of a line is unit `pseudo(line id)`."""


def pseudo(line_id: int) -> int:
    """The unit that stands for the completion of a line's memory operation. Far apart lines may share one."""
    return PSEUDO + line_id % (UNITS - PSEUDO)


@dataclass(frozen=True, slots=True)
class Cost:
    """What one instruction does to the clock. Times in engine clocks."""

    reads: tuple[int, ...]
    """Units whose results it needs."""
    writes: tuple[int, ...]
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
    counter: int = 0
    """0 none, 1 vmcnt, 2 lgkmcnt."""
    memory: int = 0
    """Clocks of the compute unit's share of memory bandwidth."""
    idle: int = 0
    """Clocks beyond its issue turn."""
    wait_vm: int = -1
    """Most vector memory operations outstanding after it; -1 for no wait."""
    wait_lgkm: int = -1
    late: bool = False
    """Crosses a fetch boundary, which costs an issue turn."""

    def after(self, extra_reads: Sequence[int], extra_writes: Sequence[int]) -> Cost:
        """The same with more units read and written, e.g. pseudo units."""
        if not extra_reads and not extra_writes:
            return self
        return replace(self, reads=(*self.reads, *extra_reads), writes=(*self.writes, *extra_writes))


class Pace:
    """Costs of instructions on one chip, and the clocks of sequences of them."""

    def __init__(self, chip: Chip) -> None:
        self._chip = chip
        self._load = round(chip.hbm_latency_ns * chip.clock_ghz)
        self._bytes_per_clk = chip.l2_bytes_per_clk / chip.cus_per_xcd
        self.cost = lru_cache(maxsize=1 << 14)(self._cost)

    def _cost(self, instruction: Instruction) -> Cost:
        chip, shape = self._chip, shape_of(instruction)
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
            return self._memory(row, reads, chained, instruction)
        return Cost(
            reads,
            writes,
            chained,
            cost.port,
            idles_matrix=row.latency == "valu_pk",
            result=cost.result,
            forward=cost.result,
            idle=chip.barrier_clk if shape.kind == BARRIER else chip.issue_clk * shape.extra if shape.extra else 0,
            wait_vm=shape.wait_vm,
            wait_lgkm=shape.wait_lgkm,
        )

    def _memory(
        self, row: MemoryRow, reads: tuple[int, ...], chained: tuple[int, ...], instruction: Instruction
    ) -> Cost:
        chip, shape = self._chip, shape_of(instruction)
        counter = 2 if Counter.LGKM in row.counters else 1
        if row.space is Space.LDS:
            read = shape.lds_dwords * 256 // chip.lds_read_bytes_per_clk
            port = chip.lds_write_clk[min(shape.lds_dwords, 4) - 1] if shape.is_store else read
            return Cost(reads, (), chained, result=chip.lds_latency, lds=2 * port, counter=counter)
        if row.space is Space.SCALAR:
            return Cost(reads, (), chained, result=chip.scalar_latency, counter=counter)
        path = 4 * max(chip.issue_clk, shape.bytes // chip.l1_bytes_per_clk)
        memory = round(4 * shape.bytes / self._bytes_per_clk)
        result = chip.store_latency if shape.is_store else self._load
        return Cost(reads, (), chained, result=result, path=path, memory=memory, counter=counter)

    def code(self, lines: Sequence[Line], address: int) -> list[Cost]:
        """Costs of lines that stand at a byte address: like `cost`, and aware of fetch boundaries."""
        boundary = self._chip.fetch_bytes
        out: list[Cost] = []
        for line in lines:
            size = size_of(line)
            crosses = address // boundary != (address + size - 1) // boundary
            cost = self.cost(line.instruction)
            out.append(replace(cost, late=True) if crosses else cost)
            address += size
        return out

    def clocks(self, costs: Sequence[Cost], rounds: int = 1) -> int:
        """In-order issue of `costs`, `rounds` times over; clocks of the last round: a loop's steady state from 2 on.

        Results of loads are guarded by waits, or by pseudo units where waits are still to be placed.
        """
        chip = self._chip
        lds_queue, vmem_queue, turn = chip.lds_queue_clk, chip.vmem_queue_clk, chip.issue_clk
        packed_clk, backlog = (
            chip.packed_f32_mfma_clk,
            round(chip.vmem_inflight_bytes / self._bytes_per_clk) - self._load,
        )
        ready, forwarded = [0] * UNITS, [0] * UNITS
        pending: tuple[list[int], list[int], list[int]] = ([], [0], [0])
        now = port = matrix = lds = path = memory = packed = began = 0
        for _ in range(rounds):
            began = now
            for cost in costs:
                at = now + turn if cost.late else now
                for unit in cost.reads:
                    if ready[unit] > at:
                        at = ready[unit]
                for unit in cost.chained:
                    if forwarded[unit] > at:
                        at = forwarded[unit]
                if cost.port:
                    at = max(at, port)
                    if cost.matrix:
                        at = max(at, matrix, packed)
                        matrix = at + cost.matrix
                    elif cost.idles_matrix:
                        at = max(at, matrix)
                        packed = at + packed_clk
                    port = at + cost.port
                elif cost.counter:
                    if cost.lds:
                        at = max(at, lds - lds_queue)
                    elif cost.path:
                        at = max(at, path - vmem_queue, memory - backlog)
                else:
                    if cost.wait_vm >= 0 and len(pending[1]) > cost.wait_vm:
                        at = max(at, pending[1][-1 - cost.wait_vm])
                    if cost.wait_lgkm >= 0 and len(pending[2]) > cost.wait_lgkm:
                        at = max(at, pending[2][-1 - cost.wait_lgkm])
                done, chained = at + cost.result, at + cost.forward
                if cost.counter:
                    if cost.lds:
                        lds = max(at, lds) + cost.lds
                        done = lds + cost.result
                    elif cost.path:
                        memory = max(at, path, memory) + cost.memory
                        path = max(at, path) + cost.path
                        done = max(path, memory) + cost.result
                    queue = pending[cost.counter]
                    done = chained = max(done, queue[-1])
                    queue.append(done)
                for unit in cost.writes:
                    ready[unit], forwarded[unit] = done, chained
                now = at + turn + cost.idle
        return now - began


def size_of(line: Line) -> int:
    """Bytes of a line; the usual size of its encoding when it was not assembled yet."""
    if line.words is not None:
        return len(line.words)
    instruction = line.instruction
    short = instruction.encoding == "e32" or instruction.mnemonic.startswith(("s_waitcnt", "s_nop", "s_mov", "s_add"))
    return 4 if short else 8

"""How long one wave takes for a stretch of code: an in-order issue bound that a strategy ranks its own ideas with.

It knows issue turns, the vector port, the matrix pipe, result latencies, the LDS port and wait counters, with the costs of
a chip table; no other waves, no caches, no bandwidth. It is not the timing model and its clocks are never reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from asmevo.isa import Counter, Imm, Instruction, MatrixRow, MemoryRow, Reg, Space, bind, effects, units
from asmevo.isa.wait import Wait, parse_wait
from asmevo.program import control_kind
from asmevo.timing import Chip

UNITS = 768


@dataclass(frozen=True, slots=True)
class Cost:
    """What one instruction does to the clock. Times in engine clocks."""

    reads: tuple[int, ...]
    """Register units whose results it needs; those of an MFMA's C operand are in `chained` instead."""
    writes: tuple[int, ...]
    chained: tuple[int, ...] = ()
    """Units it reads with the matrix pipe's forwarding."""
    port: int = 0
    """Clocks of the vector port."""
    matrix: int = 0
    """Clocks of the matrix pipe."""
    result: int = 4
    """Clocks until its results can be read, or until a load returns."""
    forward: int = 4
    """Clocks until a chained reader can have them."""
    lds: int = 0
    """Clocks of the LDS port."""
    path: int = 0
    """Clocks of the path to L1."""
    counter: int = 0
    """0 none, 1 vmcnt, 2 lgkmcnt."""
    idle: int = 0
    """Clocks beyond its issue turn, for `s_nop`."""
    wait_vm: int = -1
    """Most vector memory operations outstanding after it; -1 for no wait."""
    wait_lgkm: int = -1


class Pace:
    """Costs by instruction on one chip, and the clocks of sequences of them."""

    def __init__(self, chip: Chip) -> None:
        self._chip = chip
        self._load = round(chip.mall_latency_ns * chip.clock_ghz)
        self.cost = lru_cache(maxsize=1 << 14)(self._cost)

    def _cost(self, instruction: Instruction) -> Cost:
        kind = control_kind(instruction)
        if kind == "waitcnt":
            wait = parse_wait(instruction)
            none = Wait()
            vm, lgkm = (-1 if wait.vm >= none.vm else wait.vm), (-1 if wait.lgkm >= none.lgkm else wait.lgkm)
            return Cost((), (), wait_vm=vm, wait_lgkm=lgkm)
        if kind == "nop":
            operand = instruction.operands[0]
            return Cost((), (), idle=4 * (operand.bits & 15) if isinstance(operand, Imm) else 0)
        if kind:
            return Cost((), (), idle=self._chip.barrier_clk if kind == "barrier" else 0)
        used = effects(instruction)
        row = used.row
        reads, writes = tuple(units(used.reads)), tuple(units(used.writes))
        if isinstance(row, MatrixRow):
            return self._matrix(instruction, row, reads, writes)
        if isinstance(row, MemoryRow):
            return self._memory(row, reads, writes)
        cost = self._chip.cost(row.latency)
        packed = self._chip.packed_f32_mfma_clk if row.latency == "packed_f32" else 0
        return Cost(reads, writes, port=cost.port, matrix=packed, result=cost.result, forward=cost.result)

    def _matrix(
        self, instruction: Instruction, row: MatrixRow, reads: tuple[int, ...], writes: tuple[int, ...]
    ) -> Cost:
        operands = [operand for slot, operand in bind(instruction, row) if slot.is_use and not slot.hidden]
        c = operands[2] if len(operands) > 2 else None
        chained = tuple(units(c.units)) if isinstance(c, Reg) and tuple(units(c.units)) == writes else ()
        clocks = 4 * row.passes
        result = clocks + 4 * self._chip.mfma_read_passes
        others = tuple(unit for unit in reads if unit not in chained)
        return Cost(others, writes, chained, port=4, matrix=clocks, result=result, forward=clocks)

    def _memory(self, row: MemoryRow, reads: tuple[int, ...], writes: tuple[int, ...]) -> Cost:
        chip, size = self._chip, row.size * row.elements
        counter = 2 if Counter.LGKM in row.counters else 1
        if row.space is Space.LDS:
            per_wave = 64 * size
            port = (
                chip.lds_write_clk[min(size // 4, 4) - 1]
                if row.kind == "store" and size >= 4
                else max(1, per_wave // chip.lds_read_bytes_per_clk)
            )
            return Cost(reads, writes, result=chip.lds_latency, lds=port, counter=counter)
        if row.space is Space.SCALAR:
            return Cost(reads, writes, result=chip.scalar_latency, counter=counter)
        path = max(4, 64 * size // chip.l1_bytes_per_clk)
        return Cost(
            reads, writes, result=self._load if row.kind != "store" else chip.store_latency, path=path, counter=counter
        )

    def clocks(self, instructions: Iterable[Instruction], rounds: int = 1) -> int:
        """Clocks of the last of `rounds` passes over the instructions; 2 or more give a loop's steady state."""
        return clocks([self.cost(i) for i in instructions], rounds, self._chip.lds_queue_clk, self._chip.vmem_queue_clk)


def clocks(costs: Sequence[Cost], rounds: int, lds_queue: int, vmem_queue: int) -> int:
    """In-order issue of one wave over `costs`, repeated; clocks of the last round.

    Results of loads count as ready when they return, so code whose waits are left out is paced as if with exact ones.
    """
    ready, forwarded = [0] * UNITS, [0] * UNITS
    outstanding: tuple[list[int], list[int], list[int]] = ([], [], [])
    now = port = matrix = lds = path = began = 0
    for _ in range(rounds):
        began = now
        for cost in costs:
            at = now
            for unit in cost.reads:
                if ready[unit] > at:
                    at = ready[unit]
            for unit in cost.chained:
                if forwarded[unit] > at:
                    at = forwarded[unit]
            if cost.port and port > at:
                at = port
            if cost.matrix and matrix > at:
                at = matrix
            if cost.lds and lds - lds_queue > at:
                at = lds - lds_queue
            if cost.path and path - vmem_queue > at:
                at = path - vmem_queue
            if cost.wait_vm >= 0 and len(outstanding[1]) > cost.wait_vm:
                at = max(at, outstanding[1][-1 - cost.wait_vm])
            if cost.wait_lgkm >= 0 and len(outstanding[2]) > cost.wait_lgkm:
                at = max(at, outstanding[2][-1 - cost.wait_lgkm])
            if cost.port:
                port = at + cost.port
            if cost.matrix:
                matrix = at + cost.matrix
            done, chained = at + cost.result, at + cost.forward
            if cost.counter:
                if cost.lds:
                    lds = max(at, lds) + cost.lds
                    done = lds + cost.result
                elif cost.path:
                    path = max(at, path) + cost.path
                    done = path + cost.result
                queue = outstanding[cost.counter]
                done = chained = max(done, queue[-1]) if queue else done
                queue.append(done)
            for unit in cost.writes:
                ready[unit], forwarded[unit] = done, chained
            now = at + 4 + cost.idle
    return now - began

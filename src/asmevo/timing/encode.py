"""A program as the replay reads it: costs and registers by position, from opcode rows, effects and a chip's table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from asmevo.isa import ControlRow, Counter, Instruction, MatrixRow, MemoryRow, Pipe, RegSet, Row, Space, effects, units
from asmevo.isa.registers import VGPR_BASE
from asmevo.isa.roles import matrix_operands, wait_states
from asmevo.isa.wait import LGKM_MAX, VM_MAX, parse_wait
from asmevo.program import Program
from asmevo.timing.chips import Chip
from asmevo.timing.layout import (
    BARRIER,
    BRANCH,
    CODE,
    CODES,
    END,
    FORWARD,
    INTERNAL,
    LDS,
    MEMORY,
    PLAIN,
    SCALAR,
    SETPRIO,
    VECTOR,
)
from asmevo.verdict import UnsupportedError

_CATEGORY: Final = {
    Pipe.VALU: VECTOR,
    Pipe.MFMA: VECTOR,
    Pipe.SALU: SCALAR,
    Pipe.SMEM: SCALAR,
    Pipe.VMEM: MEMORY,
    Pipe.LDS: LDS,
    Pipe.BRANCH: BRANCH,
    Pipe.INTERNAL: INTERNAL,
}
_KIND: Final = {"barrier": BARRIER, "endpgm": END, "setprio": SETPRIO}
_LANES: Final = 64
_SCALAR_UNITS: Final[RegSet] = (1 << VGPR_BASE) - 1


@dataclass(frozen=True, slots=True)
class Shape:
    """What one instruction needs of the machine, on any chip of its target."""

    row: Row
    category: int
    kind: int
    extra: int
    """Issue turns of `s_nop` and `s_sleep` beyond one; priority of `s_setprio`."""
    codes: tuple[int, ...]
    """Registers read, as in `layout.FORWARD`."""
    writes: tuple[int, ...]
    wait_vm: int
    wait_lgkm: int
    bytes: int
    """To or from memory or LDS, all lanes taken as active."""
    lds_dwords: int
    """Dwords a lane of an LDS access; 0 for the rest."""
    is_store: bool
    """Writes without reading: to memory, or to LDS."""
    to_lds: bool
    """Loads from memory into LDS."""


@dataclass(frozen=True)
class Code:
    """Encoded positions of a program on a chip."""

    program: Program
    chip: Chip
    positions: NDArray[np.int64]
    """Executed positions, ascending."""
    shapes: tuple[Shape, ...]
    """By index in `positions`."""
    columns: dict[str, NDArray[np.int64]]
    """Fields of the machine record (`asmevo.timing.machine.PROGRAM`), by index in `positions`."""
    codes: NDArray[np.int64]
    """Register codes; `columns["reads"]` and `columns["writes"]` are ranges of it."""
    crosses: NDArray[np.int64]
    """By position of the whole program: 1 where an instruction crosses a fetch boundary."""

    def load(self, machine: NDArray[Any]) -> None:
        """Write the program into a machine record."""
        for name, values in self.columns.items():
            machine[name][0, self.positions] = values
        machine["crosses"][0, self.positions] = self.crosses[self.positions]
        machine["codes"][0, : len(self.codes)] = self.codes

    def column(self, name: str) -> NDArray[np.int64]:
        """One column by position of the whole program; 0 where nothing was executed."""
        whole = np.zeros(len(self.program.lines), np.int64)
        whole[self.positions] = self.columns[name]
        return whole


def encode_program(program: Program, positions: Iterable[int], chip: Chip) -> Code:
    """Encode the positions that traces execute.

    Raises `UnsupportedError` for an opcode without a row, a latency class the chip's table lacks, or more code than the
    machine record holds.
    """
    where = np.unique(np.fromiter(positions, np.int64))
    if len(program.lines) > CODE:
        raise UnsupportedError(f"The kernel has {len(program.lines)} instructions; the timing model holds {CODE}.")
    instructions = [program.lines[int(i)].instruction for i in where]
    shapes = tuple(map(shape_of, instructions))
    columns, codes = _columns(shapes, list(map(_costs_on(chip), instructions)))
    return Code(program, chip, where, shapes, columns, codes, _crossings(program, chip.fetch_bytes))


def _columns(
    shapes: Sequence[Shape], rows: Sequence[tuple[int, ...]]
) -> tuple[dict[str, NDArray[np.int64]], NDArray[np.int64]]:
    names = (
        "category", "kind", "extra", "port", "matrix", "idle_matrix", "slow", "fast", "sgpr", "counts_vm",
        "counts_lgkm", "wait_vm", "wait_lgkm", "bytes", "path", "lds_port", "store",
    )  # fmt: skip
    table = np.array(rows, np.int64).reshape(len(rows), len(names))
    columns = {name: table[:, i] for i, name in enumerate(names)}
    lengths = np.array([(len(s.codes), len(s.writes)) for s in shapes], np.int64).reshape(len(shapes), 2)
    ends = np.cumsum(lengths.ravel()).reshape(lengths.shape)
    columns["reads"] = np.stack([ends[:, 0] - lengths[:, 0], ends[:, 0]], axis=1)
    columns["writes"] = np.stack([ends[:, 1] - lengths[:, 1], ends[:, 1]], axis=1)
    codes = np.array([code for s in shapes for part in (s.codes, s.writes) for code in part], np.int64)
    if len(codes) > CODES:
        raise UnsupportedError(f"The kernel names {len(codes)} registers; the timing model holds {CODES}.")
    return columns, codes


@lru_cache(maxsize=64)
def _costs_on(chip: Chip) -> Callable[[Instruction], tuple[int, ...]]:
    """Rows of columns on one chip, remembered by instruction."""

    @lru_cache(maxsize=1 << 16)
    def costs(instruction: Instruction) -> tuple[int, ...]:
        return _costs(shape_of(instruction), chip)

    return costs


def _costs(s: Shape, chip: Chip) -> tuple[int, ...]:
    """One row of the columns, in their order."""
    row, turn = s.row, chip.issue_clk
    cost = chip.cost(row.latency)
    slow = fast = cost.result
    port, matrix = cost.port, 0
    if isinstance(row, MatrixRow):
        matrix = turn * row.passes
        slow = matrix + turn * chip.mfma_read_passes
        fast = max(matrix, 3 * turn)  # after 2 passes the C operand takes two more turns (LLVM, checkMAIHazards90A)
        if row.a_type in ("f32", "f64"):  # the vector ALU waits for the end of these
            port = matrix
    vector_memory = s.category == MEMORY
    return (
        s.category,
        s.kind,
        s.extra if s.kind == SETPRIO else s.extra * turn,
        port,
        matrix,
        int(matrix > 0 or row.latency == "valu_pk"),
        slow,
        fast,
        chip.sgpr_result_clk,
        int(Counter.VM in row.counters),
        int(Counter.LGKM in row.counters),
        s.wait_vm,
        s.wait_lgkm,
        s.bytes if s.category in (MEMORY, SCALAR) else 0,
        _path_clocks(s, chip) if vector_memory and s.bytes else 0,
        _lds_clocks(s, chip),
        int(s.is_store),
    )


def _path_clocks(s: Shape, chip: Chip) -> int:
    """Clocks of a vector memory instruction on the path to L1."""
    clocks = max(chip.issue_clk, s.bytes // chip.l1_bytes_per_clk)
    return max(clocks, chip.lds_dma_clk) if s.to_lds else clocks


def _lds_clocks(s: Shape, chip: Chip) -> int:
    """Clocks of an LDS instruction on its port."""
    if not s.lds_dwords:
        return 0
    read = s.lds_dwords * 4 * _LANES // chip.lds_read_bytes_per_clk
    write = chip.lds_write_clk[min(s.lds_dwords, 4) - 1]
    if isinstance(s.row, MemoryRow) and s.row.kind == "atomic":
        return read + write
    return write if s.is_store else read


@lru_cache(maxsize=1 << 16)
def shape_of(instruction: Instruction) -> Shape:
    """What an instruction needs. Raises `UnsupportedError` for an opcode without a row or a form it does not know."""
    known = effects(instruction)
    row = known.row
    category = _CATEGORY[row.pipe]
    kind = _KIND.get(row.kind, PLAIN) if isinstance(row, ControlRow) else PLAIN
    wait_vm = wait_lgkm = -1
    if isinstance(row, ControlRow) and row.kind == "waitcnt":
        wait = parse_wait(instruction)
        wait_vm = wait.vm if wait.vm < VM_MAX else -1
        wait_lgkm = wait.lgkm if wait.lgkm < LGKM_MAX else -1
    memory = row if isinstance(row, MemoryRow) else None
    size = memory.size * memory.elements if memory else 0
    lds_dwords = max(1, size // 4) if category == LDS else 0
    scalar = memory is not None and memory.space is Space.SCALAR
    return Shape(
        row=row,
        category=category,
        kind=kind,
        extra=_extra(instruction, row),
        codes=_reads(instruction, row, known.reads, known.writes),
        writes=_writes(row, known.writes),
        wait_vm=wait_vm,
        wait_lgkm=wait_lgkm,
        bytes=size if scalar else size * _LANES,
        lds_dwords=lds_dwords,
        is_store=memory is not None and memory.kind == "store",
        to_lds=memory is not None and ("lds" in instruction.modifiers or "lds_dma" in row.tags),
    )


def _extra(instruction: Instruction, row: Row) -> int:
    kind = row.kind if isinstance(row, ControlRow) else ""
    operand = getattr(instruction.operands[0], "bits", 0) if instruction.operands else 0
    if kind == "nop":
        return wait_states(instruction) - 1
    if kind == "sleep":  # 64 clocks a unit (CDNA3 ISA, S_SLEEP), in turns of 4
        return (operand & 127) * 16
    return operand & 3 if kind == "setprio" else 0


def _reads(instruction: Instruction, row: Row, reads: RegSet, writes: RegSet) -> tuple[int, ...]:
    """Registers that must be ready at issue."""
    if isinstance(row, MatrixRow):
        other, c = matrix_operands(instruction, row)
        return (*units(other), *(FORWARD + u for u in units(c)))
    if row.pipe is Pipe.VALU:
        scalar = reads & _SCALAR_UNITS
        # A vector write waits for a pending matrix result in the same register.
        return (*units((reads | writes) & ~_SCALAR_UNITS), *(FORWARD + u for u in units(scalar)))
    if row.pipe in (Pipe.VMEM, Pipe.LDS):
        return tuple(units(reads | (writes & ~_SCALAR_UNITS)))
    return tuple(units(reads))


def _writes(row: Row, writes: RegSet) -> tuple[int, ...]:
    """Registers whose readers wait for an ALU; what loads write is guarded by counters instead."""
    if row.pipe is Pipe.VALU:
        return tuple(u if u >= VGPR_BASE else FORWARD + u for u in units(writes))
    return tuple(units(writes)) if row.pipe in (Pipe.MFMA, Pipe.SALU) else ()


def _crossings(program: Program, boundary: int) -> NDArray[np.int64]:
    """1 where a line's encoding crosses a multiple of `boundary`; `.text` and entries are aligned to 256."""
    lines, entry = program.lines, program.position[program.entry]
    sizes = np.array([len(x.words) if x.words is not None else _usual_size(x.instruction) for x in lines], np.int64)
    ends = np.cumsum(sizes)
    ends[entry:] += -(ends[entry] - sizes[entry]) % 256
    return ((ends - sizes) // boundary != (ends - 1) // boundary).astype(np.int64)


def _usual_size(instruction: Instruction) -> int:
    """Size of a line that has not been assembled: the usual size of its encoding."""
    if instruction.encoding == "e32" or instruction.mnemonic.startswith("s_"):
        return 8 if instruction.mnemonic.startswith(("s_load", "s_buffer")) else 4
    return 8

"""A program as the replay reads it: costs and registers by position, from opcode rows, effects and a chip's table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asmevo.isa import Counter, Instruction
from asmevo.program import Line, Program
from asmevo.timing.banks import BANKS
from asmevo.timing.chips import Chip
from asmevo.timing.costs import InstructionCost, cost_of
from asmevo.timing.layout import CODE, CODES, MEMORY, SCALAR, SETPRIO
from asmevo.timing.recording import LdsConflicts
from asmevo.timing.shape import Shape, shape_of
from asmevo.verdict import UnsupportedError


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


def encode_program(program: Program, positions: Iterable[int], chip: Chip, lds: LdsConflicts | None = None) -> Code:
    """Encode the positions that traces execute, with the bank conflicts of their LDS accesses where they are known.

    Raises `UnsupportedError` for an opcode without a row, a latency class the chip's table lacks, or more code than the
    machine record holds.
    """
    where = np.unique(np.fromiter(positions, np.int64))
    if len(program.lines) > CODE:
        raise UnsupportedError(f"The kernel has {len(program.lines)} instructions; the timing model holds {CODE}.")
    instructions = [program.lines[int(i)].instruction for i in where]
    shapes = tuple(map(shape_of, instructions))
    columns, codes = _columns(shapes, list(map(_rows_on(chip), instructions)))
    columns["lds_conflict_256"] = np.zeros(len(where), np.int64) if lds is None else _conflicts(lds, chip)[where]
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


def _conflicts(lds: LdsConflicts, chip: Chip) -> NDArray[np.int64]:
    """By position of the whole program: 1/256 clocks that bank conflicts add to an execution in the mean, rounded up.

    A pass of all banks keeps a port for as long as it takes to move so many bytes.
    """
    clocks = 4 * BANKS // chip.lds_read_bytes_per_clk
    return -(-256 * clocks * lds.passes // np.maximum(lds.executions, 1))


@lru_cache(maxsize=64)
def _rows_on(chip: Chip) -> Callable[[Instruction], tuple[int, ...]]:
    """Rows of columns on one chip, remembered by instruction."""

    @lru_cache(maxsize=1 << 16)
    def row(instruction: Instruction) -> tuple[int, ...]:
        shape = shape_of(instruction)
        return _row(shape, cost_of(shape, chip))

    return row


def _row(shape: Shape, cost: InstructionCost) -> tuple[int, ...]:
    """One row of the columns, in their order."""
    return (
        shape.category,
        shape.kind,
        shape.extra if shape.kind == SETPRIO else cost.idle,
        cost.port,
        cost.matrix,
        int(cost.idles_matrix),
        cost.result,
        cost.forward,
        cost.sgpr,
        int(Counter.VM in shape.row.counters),
        int(Counter.LGKM in shape.row.counters),
        shape.wait_vm,
        shape.wait_lgkm,
        shape.bytes if shape.category in (MEMORY, SCALAR) else 0,
        cost.path,
        cost.lds_port,
        int(shape.is_store),
    )


def _crossings(program: Program, boundary: int) -> NDArray[np.int64]:
    """1 where a line's encoding crosses a multiple of `boundary`; `.text` and entries are aligned to 256."""
    lines, entry = program.lines, program.position[program.entry]
    sizes = np.array([size_of(line) for line in lines], np.int64)
    ends = np.cumsum(sizes)
    ends[entry:] += -(ends[entry] - sizes[entry]) % 256
    return ((ends - sizes) // boundary != (ends - 1) // boundary).astype(np.int64)


def size_of(line: Line) -> int:
    """Bytes of a line; the usual size of its encoding when it has not been assembled."""
    if line.words is not None:
        return len(line.words)
    instruction = line.instruction
    if instruction.encoding == "e32" or instruction.mnemonic.startswith("s_"):
        return 8 if instruction.mnemonic.startswith(("s_load", "s_buffer")) else 4
    return 8

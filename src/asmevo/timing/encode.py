"""A program as the replay reads it: costs and registers by position, from opcode rows, effects and a chip's table."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from struct import Struct
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from asmevo.isa import Counter, Instruction
from asmevo.program import Line, Program
from asmevo.timing.banks import BANKS
from asmevo.timing.chips import Chip
from asmevo.timing.costs import InstructionCost, cost_of, scatter_clocks
from asmevo.timing.layout import CODE, CODES, MEMORY, SCALAR, SETPRIO
from asmevo.timing.machine import COSTS
from asmevo.timing.recording import Accesses
from asmevo.timing.shape import Shape, shape_of
from asmevo.verdict import UnsupportedError

_COSTS: Final = Struct("=" + "".join(COSTS[name].char for name in COSTS.names or ()))


@dataclass(frozen=True)
class Code:
    """Encoded positions of a program on a chip."""

    program: Program
    chip: Chip
    positions: NDArray[np.int64]
    """Executed positions, ascending."""
    shapes: tuple[Shape, ...]
    """By index in `positions`."""
    costs: NDArray[np.void]
    """Records of `asmevo.timing.machine.COSTS`, by index in `positions`."""
    lds_conflict_256: NDArray[np.int64]
    """1/256 clocks that bank conflicts add to an execution in the mean, by index in `positions`."""
    scatter_256: NDArray[np.int64]
    """The same for what the cache lines of memory accesses add on the path to L1."""
    codes: NDArray[np.uint16]
    """Registers, as in `layout.FORWARD`: of each position those that it reads, then those that it writes."""
    crosses: NDArray[np.bool_]
    """By position of the whole program: whether an instruction crosses a fetch boundary."""

    def load(self, machine: NDArray[np.void]) -> None:
        """Write the program into a machine record."""
        lengths = self.costs["reads"].astype(np.int64) + self.costs["writes"]
        lines = machine["lines"][0]
        lines["costs"][self.positions] = self.costs
        lines["added_256"][self.positions] = self.lds_conflict_256 + self.scatter_256
        lines["first_code"][self.positions] = np.cumsum(lengths) - lengths
        lines["crosses"][self.positions] = self.crosses[self.positions]
        machine["codes"][0, : len(self.codes)] = self.codes

    def whole(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Values by index in `positions` as values by position of the whole program; 0 where nothing was executed."""
        found = np.zeros(len(self.program.lines), np.int64)
        found[self.positions] = values
        return found


@dataclass(frozen=True, slots=True)
class _Encoded:
    """One instruction on one chip."""

    shape: Shape
    costs: bytes
    codes: bytes


def encode_program(
    program: Program, positions: NDArray[np.int64], chip: Chip, accesses: Accesses | None = None
) -> Code:
    """Encode the positions that traces execute, with what their accesses ask for where that is known.

    Raises `UnsupportedError` for an opcode without a row, a latency class the chip's table lacks, or more code than the
    machine record holds.
    """
    where = np.unique(positions)
    if len(program.lines) > CODE:
        raise UnsupportedError(f"The kernel has {len(program.lines)} instructions; the timing model holds {CODE}.")
    executed: list[int] = where.tolist()
    encoded = list(map(_encoder(chip), [program.lines[i].instruction for i in executed]))
    codes = np.frombuffer(b"".join([e.codes for e in encoded]), np.uint16)
    if len(codes) > CODES:
        raise UnsupportedError(f"The kernel names {len(codes)} registers; the timing model holds {CODES}.")
    shapes = tuple(e.shape for e in encoded)
    nothing = np.zeros(len(where), np.int64)
    return Code(
        program=program,
        chip=chip,
        positions=where,
        shapes=shapes,
        costs=np.frombuffer(b"".join([e.costs for e in encoded]), COSTS),
        lds_conflict_256=nothing if accesses is None else _conflicts(accesses, chip)[where],
        scatter_256=nothing if accesses is None else _scatter(accesses, where, shapes, chip),
        codes=codes,
        crosses=_crossings(program, chip.fetch_bytes),
    )


def _conflicts(accesses: Accesses, chip: Chip) -> NDArray[np.int64]:
    """By position of the whole program: 1/256 clocks that bank conflicts add to an execution in the mean, rounded up.

    A pass of all banks keeps a port for as long as it takes to move so many bytes.
    """
    clocks = 4 * BANKS // chip.lds_read_bytes_per_clk
    return -(-256 * clocks * accesses.passes // np.maximum(accesses.executions, 1))


def _scatter(accesses: Accesses, where: NDArray[np.int64], shapes: Sequence[Shape], chip: Chip) -> NDArray[np.int64]:
    """By index in `where`: 1/256 clocks that lines add to an execution on the path to L1 in the mean, rounded up."""
    found = np.zeros(len(where), np.int64)
    for i in np.flatnonzero(accesses.lines[where]).tolist():
        position, shape = where[i], shapes[i]
        lines, whole = (n[position] / accesses.executions[position] for n in (accesses.lines, accesses.whole_lines))
        found[i] = ceil(256 * scatter_clocks(shape, float(lines), float(whole), chip))
    return found


@lru_cache(maxsize=64)
def _encoder(chip: Chip) -> Callable[[Instruction], _Encoded]:
    """Encodes instructions for one chip, and remembers them."""

    @lru_cache(maxsize=1 << 16)
    def encoded(instruction: Instruction) -> _Encoded:
        shape = shape_of(instruction)
        codes = array("H", (*shape.codes, *shape.writes))
        return _Encoded(shape, _record(shape, cost_of(shape, chip)), codes.tobytes())

    return encoded


def _record(shape: Shape, cost: InstructionCost) -> bytes:
    """A record of `asmevo.timing.machine.COSTS`."""
    return _COSTS.pack(
        shape.category,
        shape.kind,
        cost.idles_matrix,
        Counter.VM in shape.row.counters,
        Counter.LGKM in shape.row.counters,
        shape.is_store,
        shape.wait_vm,
        shape.wait_lgkm,
        len(shape.codes),
        len(shape.writes),
        shape.extra if shape.kind == SETPRIO else cost.idle,
        cost.port,
        cost.matrix,
        cost.result,
        cost.forward,
        cost.sgpr,
        shape.bytes if shape.category in (MEMORY, SCALAR) else 0,
        cost.path,
        cost.lds_port,
    )


def _crossings(program: Program, boundary: int) -> NDArray[np.bool_]:
    """Where a line's encoding crosses a multiple of `boundary`; `.text` and entries are aligned to 256."""
    lines, entry = program.lines, program.position[program.entry]
    sizes = np.array([size_of(line) for line in lines], np.int64)
    ends = np.cumsum(sizes)
    ends[entry:] += -(ends[entry] - sizes[entry]) % 256
    return (ends - sizes) // boundary != (ends - 1) // boundary


def size_of(line: Line) -> int:
    """Bytes of a line; the usual size of its encoding when it has not been assembled."""
    if line.words is not None:
        return len(line.words)
    instruction = line.instruction
    if instruction.encoding == "e32" or instruction.mnemonic.startswith("s_"):
        return 8 if instruction.mnemonic.startswith(("s_load", "s_buffer")) else 4
    return 8

"""What one instruction costs on a chip wherever it stands: the cycle model and the search's scheduler both ask here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from asmevo.isa import MatrixRow, MemoryRow
from asmevo.timing.banks import LINE_BYTES
from asmevo.timing.chips import Chip
from asmevo.timing.layout import MEMORY, SETPRIO
from asmevo.timing.shape import LANES, Shape

_FORWARD_PASSES: Final = 3
"""Least passes until the C operand of another MFMA: after 2 it takes two more turns (LLVM, checkMAIHazards90A)."""
_BLOCKS_VECTOR: Final = ("f32", "f64")
"""Matrix element types for whose end the vector ALU waits."""


@dataclass(frozen=True, slots=True)
class InstructionCost:
    """Clocks of the engine for which an instruction of one wave keeps each unit, and until its results are there."""

    port: int
    """On the vector issue port; 0 for other pipes."""
    matrix: int
    """On the matrix pipe."""
    idles_matrix: bool
    """Waits until the matrix pipe is idle; without work of its own there it keeps it from starting for a while."""
    result: int
    """From issue until any reader of a register that an ALU wrote; 0 for memory, whose results counters guard."""
    forward: int
    """From issue until a reader with a forwarding path (`layout.FORWARD`)."""
    sgpr: int
    """From issue until a scalar instruction may read a scalar register that a vector one wrote."""
    lds_port: int
    """On its LDS port."""
    path: int
    """On the compute unit's path to L1, for lanes whose data lie side by side."""
    idle: int
    """Of its own wave, beyond the issue turn: `s_nop` and `s_sleep`."""


def cost_of(shape: Shape, chip: Chip) -> InstructionCost:
    """The cost of an instruction. Raises `UnsupportedError` for a latency class that the chip's table lacks."""
    row, turn = shape.row, chip.issue_clk
    known = chip.cost(row.latency)
    port, matrix, result, forward = known.port, 0, known.result, known.result
    if isinstance(row, MatrixRow):
        matrix = turn * row.passes
        result = matrix + turn * chip.mfma_read_passes
        forward = max(matrix, turn * _FORWARD_PASSES)
        port = matrix if row.a_type in _BLOCKS_VECTOR else port
    return InstructionCost(
        port=port,
        matrix=matrix,
        idles_matrix=matrix > 0 or row.latency == "valu_pk",
        result=result,
        forward=forward,
        sgpr=chip.sgpr_result_clk,
        lds_port=_lds_clocks(shape, chip),
        path=_path_clocks(shape, chip),
        idle=0 if shape.kind == SETPRIO else shape.extra * turn,
    )


def scatter_clocks(shape: Shape, lines: float, whole: float, chip: Chip) -> float:
    """Clocks that an access to so many lines, some of them whole, keeps the path to L1 beyond those of its bytes."""
    if shape.category != MEMORY or not shape.bytes:
        return 0.0
    clocks = lines * chip.l1_line_clk
    if shape.past_l1:
        clocks = (lines - whole) * chip.l2_line_clk + whole * LINE_BYTES / chip.l1_bytes_per_clk
    return max(0.0, clocks - _path_clocks(shape, chip))


def _path_clocks(shape: Shape, chip: Chip) -> int:
    if shape.category != MEMORY or not shape.bytes:
        return 0
    clocks = max(chip.issue_clk, shape.bytes // chip.l1_bytes_per_clk)
    return max(clocks, chip.lds_dma_clk) if shape.to_lds else clocks


def _lds_clocks(shape: Shape, chip: Chip) -> int:
    if not shape.lds_dwords:
        return 0
    read = shape.lds_dwords * 4 * LANES // chip.lds_read_bytes_per_clk
    write = chip.lds_write_clk[min(shape.lds_dwords, 4) - 1]
    if isinstance(shape.row, MemoryRow) and shape.row.kind == "atomic":
        return read + write
    return write if shape.is_store else read

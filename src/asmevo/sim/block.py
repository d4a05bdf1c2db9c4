"""From the instructions of one block to the IR of one native function."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from asmevo.isa import (
    ControlRow,
    CrossLaneRow,
    Instruction,
    LaneRow,
    MatrixRow,
    MemoryRow,
    PackedRow,
    Pipe,
    Row,
    ScalarRow,
    bind,
    effects,
    parse_instruction,
    row_of,
)
from asmevo.sim.checked.blocks import BlockChecks
from asmevo.sim.control import ControlEmitter
from asmevo.sim.crosslane import CrossLaneEmitter
from asmevo.sim.floats import FloatMode, wanted_mode
from asmevo.sim.indexing import EVERY_VGPR, Indexing
from asmevo.sim.ir import Builder, Module
from asmevo.sim.layout import FALL, FULL, PARTIAL, SKIP
from asmevo.sim.matrices import MatrixEmitter
from asmevo.sim.memory import MemoryEmitter
from asmevo.sim.options import Options
from asmevo.sim.registers import Registers
from asmevo.sim.scalars import emit_scalar
from asmevo.sim.vector import VectorEmitter
from asmevo.verdict import UnsupportedError

ENTRY = "block"
"""Name of the function of a block: `i32 block(ptr state)`; it returns FALL or JUMP."""

VECTOR_PIPES = (Pipe.VALU, Pipe.MFMA, Pipe.VMEM, Pipe.LDS)
"""Pipes whose instructions lanes execute: without an active one, or under `s_setvskip`, they do next to nothing."""


def block_module(instructions: Sequence[Instruction], offsets: Sequence[int], variant: int, options: Options) -> Module:
    """IR of a block in one variant.

    `offsets` are byte distances of the instruction after each one from the start of the block, for `s_getpc_b64`.
    Raises `UnsupportedError` for an instruction that the simulator does not model.
    """
    module = Module()
    with module.function(ENTRY, "i32", {"state": "ptr"}) as f:
        emitter = _BlockEmitter(module, f, variant, options, instructions)
        for at, instruction in enumerate(instructions):
            emitter.emit(instruction, at, offsets[at])
        f.do(f"ret i32 {emitter.finish()}")
    return module


class _BlockEmitter:
    def __init__(
        self, module: Module, builder: Builder, variant: int, options: Options, instructions: Sequence[Instruction]
    ) -> None:
        self.variant = variant
        self.registers = Registers(module, builder, FULL if variant == SKIP else variant, options.rules)
        self.rules = options.rules
        self.floats = FloatMode(self.registers, options)
        self.vector = VectorEmitter(self.registers)
        self.checks = self._checks(instructions) if options.checked else None
        self.memory = MemoryEmitter(self.registers, self.checks)
        self.matrix = MatrixEmitter(self.registers)
        self.cross = CrossLaneEmitter(self.registers)
        self.control = ControlEmitter(self.registers)
        self.indexing = Indexing(self.registers)
        self.taken = str(FALL)

    def _checks(self, instructions: Sequence[Instruction]) -> BlockChecks:
        checks = BlockChecks(self.registers, instructions, [self._is_skipped(row_of(i)) for i in instructions])
        checks.begin()
        return checks

    def _is_skipped(self, row: Row) -> bool:
        return self.variant == SKIP and row.pipe in VECTOR_PIPES

    def emit(self, instruction: Instruction, at: int, end: int) -> None:
        row = row_of(instruction)
        if self.checks is not None:
            self.checks.before(instruction, at)
        if self._is_skipped(row):
            return
        self.floats.want(wanted_mode(row, self.rules))
        if isinstance(row, ControlRow) and row.kind == "gpr_idx_on":
            self.indexing.on(instruction)
        elif isinstance(row, ControlRow) and row.kind == "gpr_idx_off":
            self.indexing.off()
        elif self.indexing.is_on and row.pipe is Pipe.VALU:
            self.indexing.emit(instruction, row, lambda changed: self._dispatch(changed, row, at, end))
            self.matrix.changed(EVERY_VGPR)
        else:
            self._dispatch(instruction, row, at, end)
        self.matrix.changed(effects(instruction).writes)

    def _dispatch(self, instruction: Instruction, row: Row, at: int, end: int) -> None:
        match row:
            case PackedRow():
                self.vector.packed(instruction, row)
            case LaneRow():
                self.vector.lane(instruction, row)
            case ScalarRow():
                emit_scalar(self.registers, instruction, row)
            case MatrixRow():
                self.matrix.emit(instruction, row)
            case MemoryRow():
                self.memory.emit(instruction, row, at)
            case CrossLaneRow():
                self.cross.emit(instruction, row)
            case ControlRow():
                taken = self.control.emit(instruction, row, at, end)
                self.taken = taken if taken is not None else self.taken
            case _:
                raise UnsupportedError(f"`{instruction}` is of a kind that the simulator does not model.")

    def finish(self) -> str:
        """Write everything back; gives which successor follows."""
        self.registers.finish()
        self.floats.finish()
        if self.checks is not None:
            self.checks.finish()
        return self.taken


@lru_cache(maxsize=1 << 16)
def refusal(text: str) -> str:
    """Why the simulator cannot execute an instruction, or the empty string."""
    instruction = parse_instruction(text)
    try:
        list(bind(instruction, row_of(instruction)))
        block_module((instruction,), (0,), PARTIAL, Options())
    except UnsupportedError as error:
        return str(error)
    return ""

"""Emission of rows that move values between lanes or between lanes and SGPRs."""

from __future__ import annotations

from asmevo.isa import CrossLaneRow, Imm, Instruction, Operand, Reg, bind
from asmevo.sim.forms import immediate_bits
from asmevo.sim.ir import Value, constant
from asmevo.sim.layout import LANES
from asmevo.sim.registers import Registers
from asmevo.sim.swizzle import swizzle_source
from asmevo.verdict import UnsupportedError


class CrossLaneEmitter:
    """Emits cross-lane instructions as straight-line code on registers in memory."""

    def __init__(self, registers: Registers) -> None:
        self.r = registers
        self.b = registers.b

    def emit(self, instruction: Instruction, row: CrossLaneRow) -> None:
        """One instruction, by the row's kind."""
        operands = [operand for slot, operand in bind(instruction, row) if not slot.hidden and slot.tied < 0]
        method = {
            "readlane": self._readlane,
            "readfirstlane": self._readlane,
            "writelane": self._writelane,
            "bpermute": self._bpermute,
            "permute": self._permute,
            "swizzle": self._swizzle,
        }.get(row.kind)
        if method is None:
            raise UnsupportedError(f"`{instruction}` moves values between lanes in a way the simulator does not model.")
        method(instruction, operands)

    def _vector(self, operand: Operand | None, instruction: Instruction) -> int:
        """A vector register whose value in memory is up to date."""
        if not isinstance(operand, Reg) or operand.is_scalar:
            raise UnsupportedError(f"`{instruction}` needs a vector register where it has {operand}.")
        if self.r.is_pending(operand.first):
            self.r.flush()
        return operand.first

    def _scalar(self, operand: Operand | None, instruction: Instruction) -> Value:
        if isinstance(operand, Imm):
            return constant(immediate_bits(operand, "u32"), 32)
        if isinstance(operand, Reg) and operand.is_scalar:
            return self.r.word(operand.first)
        raise UnsupportedError(f"`{instruction}` needs a scalar operand where it has {operand}.")

    def _lane_pointer(self, unit: int, lane: Value) -> str:
        return self.b.let(f"getelementptr i32, ptr {self.r.vector_pointer(unit)}, i32 {lane.text}")

    def _first_active(self) -> Value:
        """The lowest active lane; lane 0 when there is none."""
        if not self.r.partial:
            return constant(0, 32)
        trailing = self.r.module.intrinsic("llvm.cttz.i64", "i64", "i64", "i1")
        count = self.b.call("i64", trailing, f"i64 {self.r.exec_bits()}", "i1 false")
        return Value(self.b.cast("trunc", self.b.i64("and", count, LANES - 1), "i64", "i32"), "i", 32, 1)

    def _readlane(self, instruction: Instruction, operands: list[Operand | None]) -> None:
        target, source, *select = operands
        if not isinstance(target, Reg) or not target.is_scalar:
            raise UnsupportedError(f"`{instruction}` has a result that is not a scalar register.")
        o = self.r.scalar
        lane = o.and_(self._scalar(select[0], instruction), o.const(LANES - 1)) if select else self._first_active()
        if isinstance(source, Reg) and source.is_scalar:
            self.r.set_word(target.first, self.r.word(source.first))
            return
        unit = self._vector(source, instruction)
        self.r.set_word(target.first, Value(self.b.load("i32", self._lane_pointer(unit, lane), 4), "i", 32, 1))

    def _writelane(self, instruction: Instruction, operands: list[Operand | None]) -> None:
        target, source, select = operands
        if not isinstance(target, Reg) or target.is_scalar:
            raise UnsupportedError(f"`{instruction}` has a result that is not a vector register.")
        o = self.r.scalar
        value, select_value = self._scalar(source, instruction), self._scalar(select, instruction)
        self.r.flush()  # later reads must see the lane
        lane = o.and_(select_value, o.const(LANES - 1))
        self.b.store("i32", value.text, self._lane_pointer(target.first, lane), 4)

    # --- movement through the LDS crossbar
    def _bpermute(self, instruction: Instruction, operands: list[Operand | None]) -> None:
        self._through("sim_bpermute", instruction, operands)

    def _permute(self, instruction: Instruction, operands: list[Operand | None]) -> None:
        self._through("sim_permute", instruction, operands)

    def _through(self, name: str, instruction: Instruction, operands: list[Operand | None]) -> None:
        target, address, data = operands
        self.r.flush()
        rows = [self.r.vector_pointer(self._vector(o, instruction)) for o in (target, address, data)]
        self.r.module.extern(name, "void", "ptr", "ptr", "ptr", "i64", "i64")
        arguments = [f"ptr {r}" for r in rows]
        self.b.call("void", name, *arguments, f"i64 {instruction.number('offset')}", f"i64 {self.r.exec_bits()}")

    def _swizzle(self, instruction: Instruction, operands: list[Operand | None]) -> None:
        """Lane by lane from a copy: the pattern is a constant. Lanes whose source is inactive read 0."""
        target, data = operands
        self.r.flush()
        source = self.r.snapshot(self._vector(data, instruction), 0)
        row = self.r.vector_pointer(self._vector(target, instruction))
        active = self.r.exec_bits()
        for lane, other in enumerate(swizzle_source(instruction)):
            value = self.b.load("i32", self.b.at(source, 4 * other), 4)
            place = self.b.at(row, 4 * lane)
            if self.r.partial:
                readable, wanted = (self._bit(active, n) for n in (other, lane))
                value = self.b.choose(readable, "i32", value, "0")
                value = self.b.choose(wanted, "i32", value, self.b.load("i32", place, 4))
            self.b.store("i32", value, place, 4)

    def _bit(self, mask: str, lane: int) -> str:
        return self.b.cast("trunc", self.b.i64("lshr", mask, lane), "i64", "i1")

"""Emission of MFMA rows: unpack both operands, unless a panel of the same registers is still valid, and multiply."""

from __future__ import annotations

from asmevo.isa import Imm, Instruction, MatrixRow, Reg, RegSet, bind, span
from asmevo.isa.registers import VGPR_BASE
from asmevo.sim.forms import immediate_bits
from asmevo.sim.layout import PANEL, PANEL_SLOTS, ROW, TEMPORARIES, VECTORS, WAVE, register_offset
from asmevo.sim.registers import STATE, Registers
from asmevo.sim.runtime.matrix import PRODUCT_PARAMETERS, Shape, operand_registers
from asmevo.sim.runtime.unpack import PARAMETERS, unpack_name
from asmevo.verdict import UnsupportedError


class MatrixEmitter:
    """Emits matrix instructions as calls, and remembers which panels hold which registers."""

    def __init__(self, registers: Registers) -> None:
        self.r = registers
        self.b = registers.b
        self._panels: dict[tuple[str, int, int], int] = {}
        """(element type, first unit, registers) to panel slot, in order of use."""
        self._base = ""

    def changed(self, writes: RegSet) -> None:
        """These registers were written: forget panels made from them."""
        for key in [k for k in self._panels if writes & span(k[1], k[2])]:
            del self._panels[key]

    def emit(self, instruction: Instruction, row: MatrixRow) -> None:
        """One matrix instruction. EXEC does not matter to it."""
        if instruction.modifiers:
            raise UnsupportedError(
                f"`{instruction}` has modifiers, which the simulator does not model on matrix opcodes."
            )
        destination, a, b, c = (operand for _, operand in bind(instruction, row))
        if not isinstance(destination, Reg) or not isinstance(a, Reg) or not isinstance(b, Reg):
            raise UnsupportedError(f"`{instruction}` has an operand that is not a register.")
        self.r.flush()
        shape = Shape.of(row)
        panels = [
            self._panel(element, operand, operand_registers(row, element), destination)
            for element, operand in ((row.a_type, a), (row.b_type, b))
        ]
        source, step = self._accumulator(instruction, row, destination, c)
        target = self.r.vector_pointer(destination.first)
        self.r.module.extern(shape.name, "void", *PRODUCT_PARAMETERS.values())
        arguments = (f"ptr {target}", f"ptr {source}", f"i64 {step}", f"ptr {panels[0]}", f"ptr {panels[1]}")
        self.b.call("void", shape.name, *arguments)

    def _panel(self, element: str, operand: Reg, registers: int, destination: Reg) -> str:
        """Address of the operand's numbers. f32 registers are their own panel unless D overwrites them meanwhile."""
        key = (element, operand.first, registers)
        overlap = (
            operand.first < destination.first + destination.count and destination.first < operand.first + registers
        )
        if element == "f32" and not overlap:
            return self.r.vector_pointer(operand.first)
        if not self._base:
            self._base = self.b.load("ptr", self.b.at(STATE, WAVE["panels"].offset), 8)
        slot = self._panels.pop(key, -1)
        if slot < 0:
            used = set(self._panels.values())
            free = [s for s in range(PANEL_SLOTS) if s not in used]
            slot = free[0] if free else self._panels.pop(next(iter(self._panels)))
            panel = self.b.at(self._base, slot * PANEL)
            name = self.r.module.extern(unpack_name(element), "void", *PARAMETERS.values())
            source = self.r.vector_pointer(operand.first)
            self.b.call("void", name, f"ptr {panel}", f"ptr {source}", f"i64 {registers}")
        self._panels[key] = slot
        return self.b.at(self._base, slot * PANEL)

    def _accumulator(self, instruction: Instruction, row: MatrixRow, destination: Reg, c: object) -> tuple[str, int]:
        """Address of C and the distance of its registers; C is copied where D overlaps it out of step."""
        count = destination.count
        if isinstance(c, Reg):
            overlap = c.first != destination.first and abs(c.first - destination.first) < count
            if not overlap:
                return self.r.vector_pointer(c.first), ROW
            if not self._base:
                self._base = self.b.load("ptr", self.b.at(STATE, WAVE["panels"].offset), 8)
            copy = self.b.at(self._base, PANEL_SLOTS * PANEL)
            self._copy(self.r.vector_pointer(c.first), copy, count)
            return copy, ROW
        if isinstance(c, Imm) and (row.c_type != "f64" or c.bits == 0):
            pointer = self.b.at(STATE, register_offset(VGPR_BASE + VECTORS + TEMPORARIES - 1))
            word = immediate_bits(c, "f32")
            for offset in range(0, ROW, 64):
                self.b.store("<16 x i32>", f"splat (i32 {word})", self.b.at(pointer, offset), 64)
            return pointer, 0
        raise UnsupportedError(f"`{instruction}` has the accumulator operand {c}, which the simulator does not model.")

    def _copy(self, source: str, target: str, registers: int) -> None:
        with self.b.loop(registers * ROW // 64) as part:
            vector = self.b.load("<16 x i32>", self.b.at(source, part, 64), 64)
            self.b.store("<16 x i32>", vector, self.b.at(target, part, 64), 64)

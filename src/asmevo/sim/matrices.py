"""Emission of MFMA and SMFMAC rows: unpack operands, unless a panel of the same registers is valid still; multiply."""

from __future__ import annotations

from asmevo.isa import Imm, Instruction, MatrixRow, Operand, Reg, RegSet, bind, span
from asmevo.isa.registers import VGPR_BASE
from asmevo.sim.forms import immediate_bits
from asmevo.sim.ir import index_text
from asmevo.sim.layout import LANES, PANEL, PANEL_SLOTS, ROW, TEMPORARIES, VECTORS, WAVE, register_offset
from asmevo.sim.registers import STATE, Registers
from asmevo.sim.runtime.matrix import PRODUCT_PARAMETERS, SPARSE_PARAMETERS, Shape, operand_registers
from asmevo.sim.runtime.unpack import PARAMETERS, SELECT, SELECT_PARAMETERS, unpack_name
from asmevo.verdict import UnsupportedError

_COPY = PANEL_SLOTS * PANEL
"""Offset of the copy of an accumulator, behind the panels."""
_WIDE = _COPY + 32 * ROW
"""Offset of three panels of twice the size, for SMFMAC."""
PANEL_BYTES = _WIDE + 3 * 2 * PANEL
"""Memory that panels of one worker need."""
_WORDS = f"<{LANES} x i32>"


class MatrixEmitter:
    """Emits matrix instructions as calls, and remembers which panels hold which registers."""

    def __init__(self, registers: Registers) -> None:
        self.r = registers
        self.b = registers.b
        self._panels: dict[tuple[str, int, int, tuple[int, ...]], int] = {}
        """(element type, first unit, registers, lanes) to panel slot, in order of use."""
        self._base = ""

    def changed(self, writes: RegSet) -> None:
        """These registers were written: forget panels made from them."""
        for key in [k for k in self._panels if writes & span(k[1], k[2])]:
            del self._panels[key]

    def emit(self, instruction: Instruction, row: MatrixRow) -> None:
        """One matrix instruction. EXEC does not matter to it."""
        if row.sparse:
            self._sparse(instruction, row)
            return
        destination, a, b, c = (operand for _, operand in bind(instruction, row))
        if not isinstance(destination, Reg) or not isinstance(a, Reg) or not isinstance(b, Reg):
            raise UnsupportedError(f"`{instruction}` has an operand that is not a register.")
        self.r.flush()
        shape = Shape.of(row)
        negate = _negated(instruction, row)
        panels = [
            self._panel(element, operand, operand_registers(row, element), destination, lanes, negate=minus)
            for element, operand, lanes, minus in (
                (row.a_type, a, _broadcast(instruction, row), negate[0]),
                (row.b_type, b, _permuted(instruction, row), negate[1]),
            )
        ]
        source, step = self._accumulator(instruction, row, destination, c, negate=negate[2])
        target = self.r.vector_pointer(destination.first)
        self.r.module.extern(shape.name, "void", *PRODUCT_PARAMETERS.values())
        arguments = (f"ptr {target}", f"ptr {source}", f"i64 {step}", f"ptr {panels[0]}", f"ptr {panels[1]}")
        self.b.call("void", shape.name, *arguments)

    def _sparse(self, instruction: Instruction, row: MatrixRow) -> None:
        """SMFMAC: CBSZ = 0 lets ABID choose a set of indices in their register, else the lowest one is taken."""
        destination, a, b, index, _ = (operand for _, operand in bind(instruction, row))
        registers = (destination, a, b, index)
        if not all(isinstance(operand, Reg) and not operand.is_scalar for operand in registers):
            raise UnsupportedError(f"`{instruction}` has an operand that is not a vector register.")
        unknown = instruction.modifiers.keys() - {"cbsz", "abid"}
        if unknown:
            raise UnsupportedError(f"`{instruction}` has the modifier {unknown.pop()}, which means nothing on it.")
        self.r.flush()
        shape = Shape.of(row)
        set_bits = 2 * shape.elements // 2
        sets = 32 // set_bits
        chosen = 0 if instruction.number("cbsz") else instruction.number("abid") % sets
        panels = [self.b.at(self._panel_base(), _WIDE + 2 * PANEL * i) for i in range(3)]
        for panel, operand, element in ((panels[0], a, row.a_type), (panels[1], b, row.b_type)):
            assert isinstance(operand, Reg)
            self._unpack(element, self.r.vector_pointer(operand.first), operand.count, panel)
        assert isinstance(index, Reg) and isinstance(destination, Reg)
        self.r.module.extern(SELECT, "void", *SELECT_PARAMETERS.values())
        source = self.r.vector_pointer(index.first)
        count = shape.elements // 2
        self.b.call(
            "void", SELECT, f"ptr {panels[2]}", f"ptr {source}", f"i32 {set_bits * chosen}", f"i64 {count}"
        )  # fmt: skip
        self.r.module.extern(shape.sparse_name, "void", *SPARSE_PARAMETERS.values())
        target = self.r.vector_pointer(destination.first)
        self.b.call("void", shape.sparse_name, f"ptr {target}", *(f"ptr {panel}" for panel in panels))

    def _panel_base(self) -> str:
        if not self._base:
            self._base = self.b.load("ptr", self.b.at(STATE, WAVE["panels"].offset), 8)
        return self._base

    def _unpack(self, element: str, source: str, registers: int, panel: str) -> None:
        name = self.r.module.extern(unpack_name(element), "void", *PARAMETERS.values())
        self.b.call("void", name, f"ptr {panel}", f"ptr {source}", f"i64 {registers}")

    def _panel(
        self,
        element: str,
        operand: Reg,
        registers: int,
        destination: Reg,
        lanes: tuple[int, ...],
        *,
        negate: bool,
    ) -> str:
        """Address of the operand's numbers, from other lanes where `lanes` says so.

        f32 registers are their own panel unless D overwrites them meanwhile.
        """
        overlap = (
            operand.first < destination.first + destination.count and destination.first < operand.first + registers
        )
        if element == "f32" and not overlap and not lanes:
            return self.r.vector_pointer(operand.first)
        key = (element, operand.first, registers, (*lanes, -1) if negate else lanes)
        slot = self._panels.pop(key, -1)
        if slot < 0:
            used = set(self._panels.values())
            free = [s for s in range(PANEL_SLOTS) if s not in used]
            slot = free[0] if free else self._panels.pop(next(iter(self._panels)))
            panel = self.b.at(self._panel_base(), slot * PANEL)
            source = self.r.vector_pointer(operand.first)
            if lanes:
                source = self._moved(source, registers, lanes)
            if negate:
                source = self._negative(source, registers)
            self._unpack(element, source, registers, panel)
        self._panels[key] = slot
        return self.b.at(self._panel_base(), slot * PANEL)

    def _moved(self, source: str, registers: int, lanes: tuple[int, ...]) -> str:
        """A copy of registers in which lane n has what lane `lanes[n]` had."""
        copy = self.b.at(self._panel_base(), _COPY)
        for i in range(registers):
            value = self.b.load(_WORDS, self.b.at(source, i * ROW), 64)
            moved = self.b.let(f"shufflevector {_WORDS} {value}, {_WORDS} poison, {index_text(list(lanes))}")
            self.b.store(_WORDS, moved, self.b.at(copy, i * ROW), 64)
        return copy

    def _negative(self, source: str, registers: int) -> str:
        """A copy of registers that hold f64, with the other sign."""
        copy = self.b.at(self._panel_base(), _COPY)
        self._copy(source, copy, registers)
        for i in range(1, registers, 2):
            for offset in range(0, ROW, 64):
                place = self.b.at(copy, i * ROW + offset)
                flipped = self.b.op(
                    "xor", "<16 x i32>", self.b.load("<16 x i32>", place, 64), "splat (i32 -2147483648)"
                )
                self.b.store("<16 x i32>", flipped, place, 64)
        return copy

    def _accumulator(
        self, instruction: Instruction, row: MatrixRow, destination: Reg, c: Operand | None, *, negate: bool
    ) -> tuple[str, int]:
        """Address of C and the distance of its registers; C is copied where D overlaps it out of step."""
        count = destination.count
        if isinstance(c, Reg):
            overlap = c.first != destination.first and abs(c.first - destination.first) < count
            if negate:
                return self._negative(self.r.vector_pointer(c.first), count), ROW
            if not overlap:
                return self.r.vector_pointer(c.first), ROW
            copy = self.b.at(self._panel_base(), _COPY)
            self._copy(self.r.vector_pointer(c.first), copy, count)
            return copy, ROW
        if isinstance(c, Imm) and row.c_type != "f64":
            return self._constant(immediate_bits(c, "f32" if row.c_type == "f32" else "i32")), 0
        if isinstance(c, Imm):
            bits = immediate_bits(c, "f64") ^ (1 << 63 if negate else 0)
            if bits == 0:
                return self._constant(0), 0
            copy = self.b.at(self._panel_base(), _COPY)
            for i in range(count):
                word = bits >> 32 * (i % 2) & 0xFFFFFFFF
                for offset in range(0, ROW, 64):
                    self.b.store("<16 x i32>", f"splat (i32 {word})", self.b.at(copy, i * ROW + offset), 64)
            return copy, ROW
        raise UnsupportedError(f"`{instruction}` has the accumulator operand {c}, which the simulator does not model.")

    def _constant(self, word: int) -> str:
        """A register of the engine's with this word in all lanes."""
        pointer = self.b.at(STATE, register_offset(VGPR_BASE + VECTORS + TEMPORARIES - 1))
        for offset in range(0, ROW, 64):
            self.b.store("<16 x i32>", f"splat (i32 {word})", self.b.at(pointer, offset), 64)
        return pointer

    def _copy(self, source: str, target: str, registers: int) -> None:
        with self.b.loop(registers * ROW // 64) as part:
            vector = self.b.load("<16 x i32>", self.b.at(source, part, 64), 64)
            self.b.store("<16 x i32>", vector, self.b.at(target, part, 64), 64)


def _broadcast(instruction: Instruction, row: MatrixRow) -> tuple[int, ...]:
    """For each lane of A the lane it reads: each group of 2**CBSZ blocks takes its block number ABID. Empty: its own.

    Raises `UnsupportedError` where the opcode has no such modifiers, or they name more blocks than there are.
    """
    size, chosen = instruction.number("cbsz"), instruction.number("abid")
    if not size and not chosen:
        return ()
    if not row.broadcasts or 1 << size > row.blocks or chosen >= 1 << size:
        raise UnsupportedError(f"`{instruction}` broadcasts blocks that its matrix A does not have.")
    lanes: list[int] = []
    for lane in range(LANES):
        within, block = lane % row.m, lane // row.m % row.blocks
        source = (block >> size << size) | chosen
        lanes.append(lane - row.m * block + row.m * source if within < row.m else lane)
    return tuple(lanes)


def _permuted(instruction: Instruction, row: MatrixRow) -> tuple[int, ...]:
    """For each lane of B the lane it reads, by BLGP (AMD matrix instruction calculator). Empty: its own.

    Raises `UnsupportedError` where the opcode has no such modifier.
    """
    pattern = instruction.number("blgp")
    if not pattern:
        return ()
    if not row.permutes:
        raise UnsupportedError(f"`{instruction}` moves matrix B between lanes, which its opcode does not.")
    lanes = range(LANES)
    if pattern == 3:
        return tuple((n + 16) % LANES for n in lanes)
    if pattern < 3:
        return tuple(n % 32 + 32 * (pattern - 1) for n in lanes)
    return tuple(n % 16 + 16 * (pattern - 4) for n in lanes)


def _negated(instruction: Instruction, row: MatrixRow) -> tuple[bool, bool, bool]:
    """Whether A, B and C of an f64 product are negated."""
    bits = instruction.bits("neg", ()) if row.a_type == "f64" else ()
    a, b, c = bits or (0, 0, 0)
    return bool(a), bool(b), bool(c)

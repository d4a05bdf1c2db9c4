"""Emission of branches, waits and the state of the wave."""

from __future__ import annotations

import re

from asmevo.isa import ControlRow, Imm, Instruction, Reg, Word
from asmevo.isa.registers import EXEC_LO, M0, MODE, SGPR_COUNT, VCC_LO
from asmevo.sim.ir import Value, constant
from asmevo.sim.layout import FAULTS, WAVE, WORKER
from asmevo.sim.registers import STATE, Registers
from asmevo.sim.scalars import read_scalar
from asmevo.verdict import UnsupportedError

_NOTHING = {
    "nop", "waitcnt", "sleep", "setprio", "wakeup", "barrier", "endpgm", "branch", "cache", "message", "perflevel",
    "trace",
}  # fmt: skip
"""Kinds without an effect on registers; what barriers, ends and branches do follows from the block's kind."""

_HARDWARE = re.compile(r"hwreg\((\w+)(?:,\s*(\d+),\s*(\d+))?\)")
_DIES = 8
"""Compute dies (XCC) of the chip, to which workgroups go in turn."""


class ControlEmitter:
    """Emits control instructions; a conditional branch gives the block's result."""

    def __init__(self, registers: Registers) -> None:
        self.r = registers
        self.b = registers.b

    def emit(self, instruction: Instruction, row: ControlRow, at: int, end: int) -> str | None:
        """One instruction; for a conditional branch, an i32 that says whether it is taken."""
        if row.kind in _NOTHING:
            return None
        if row.kind == "cbranch":
            return self._condition(instruction)
        if row.kind in ("getpc", "setpc", "swappc", "call"):
            self._jump(instruction, row.kind, end)
        elif row.kind == "clock":
            self._clock(instruction)
        elif row.kind == "setvskip":
            self._setvskip(instruction)
        elif row.kind == "getreg":
            self._getreg(instruction)
        elif row.kind == "setreg":
            self._setreg(instruction)
        elif row.kind in ("movrels", "movreld"):
            self._move_relative(instruction, row)
        elif row.kind in ("trap", "halt"):
            self._fault(at)
        else:
            raise UnsupportedError(f"`{instruction}` is a control instruction that the simulator does not model.")
        return None

    def _condition(self, instruction: Instruction) -> str:
        o, r = self.r.scalar, self.r
        name = instruction.base.removeprefix("s_cbranch_")
        if name in ("scc0", "scc1"):
            holds = r.scc() if name == "scc1" else o.not_(r.scc())
        elif name.startswith("cdbg"):  # there is no debugger
            holds = o.const(0, 1)
        elif name in ("vccz", "vccnz", "execz", "execnz"):
            bits = r.pair(VCC_LO if name.startswith("vcc") else EXEC_LO)
            holds = o.icmp("ne" if name.endswith("nz") else "eq", bits, o.const(0, 64))
        else:
            raise UnsupportedError(f"`{instruction}` is a branch that the simulator does not model.")
        return o.zext(holds, 32).text

    def _target(self, instruction: Instruction) -> int:
        target = instruction.operands[0]
        if not isinstance(target, Reg) or not target.is_scalar:
            raise UnsupportedError(f"`{instruction}` has a result that is not a scalar register.")
        return target.first

    def _next_address(self, end: int) -> Value:
        """Address of the next instruction: the block's own address, which the worker knows, and a distance."""
        b = self.b
        worker = b.load("ptr", b.at(STATE, WAVE["worker"].offset), 8)
        table = b.load("ptr", b.at(worker, WORKER["addresses"].offset), 8)
        chunk = b.cast("zext", b.load("i32", b.at(STATE, WAVE["chunk"].offset), 4), "i32", "i64")
        start = Value(b.load("i64", b.at(table, chunk, 8), 8), "i", 64, 1)
        return self.r.scalar.add(start, constant(end, 64))

    def _jump(self, instruction: Instruction, kind: str, end: int) -> None:
        """The address of what follows goes to a register, and a new one to the wave's `target`; either may be left out.

        The new one is read first: both may be the same register.
        """
        target = None
        if kind in ("setpc", "swappc"):
            target = read_scalar(self.r, instruction.operands[-1], "b64", instruction)
        elif kind == "call":
            distance = instruction.operands[-1]
            if not isinstance(distance, Imm):
                raise UnsupportedError(f"`{instruction}` calls {distance}, which is not a distance.")
            words = distance.bits & 0xFFFF
            bytes_ = 4 * (words - 0x10000 if words >> 15 else words)
            target = self.r.scalar.add(self._next_address(end), constant(bytes_, 64))
        if target is not None:
            self.b.store("i64", target.text, self.b.at(STATE, WAVE["target"].offset), 8)
        if kind != "setpc":
            self.r.set_pair(self._target(instruction), self._next_address(end))

    def _clock(self, instruction: Instruction) -> None:
        """Instructions executed so far stand for the clock."""
        count = self.b.load("i64", self.b.at(STATE, WAVE["count"].offset), 8)
        self.r.set_pair(self._target(instruction), Value(count, "i", 64, 1))

    def _setvskip(self, instruction: Instruction) -> None:
        """Bit S1[4:0] of S0 turns skipping of vector instructions on."""
        o = self.r.scalar
        word, index = (read_scalar(self.r, operand, "u32", instruction) for operand in instruction.operands)
        bit = o.and_(o.lshr(word, o.and_(index, o.const(31))), o.const(1))
        self.b.store("i32", bit.text, self.b.at(STATE, WAVE["vskip"].offset), 4)

    def _getreg(self, instruction: Instruction) -> None:
        """MODE, or the die: the other hardware registers say nothing here that code may depend on."""
        name, offset, size = _hardware(instruction, 1)
        o = self.r.scalar
        if name == "HW_REG_MODE":
            value = self.r.word(MODE)
        elif name == "HW_REG_XCC_ID":
            workgroup = self.b.load("i32", self.b.at(STATE, WAVE["workgroup"].offset), 4)
            value = o.and_(Value(workgroup, "i", 32, 1), o.const(_DIES - 1))
        else:
            raise UnsupportedError(f"`{instruction}` reads a hardware register that the simulator does not model.")
        field = o.and_(o.lshr(value, o.const(offset)), o.const((1 << size) - 1))
        self.r.set_word(self._target(instruction), field)

    def _setreg(self, instruction: Instruction) -> None:
        """Part of MODE; the block ends here, and what follows is compiled for the new value."""
        name, offset, size = _hardware(instruction, 0)
        if name != "HW_REG_MODE":
            raise UnsupportedError(f"`{instruction}` writes a hardware register that the simulator does not model.")
        o = self.r.scalar
        mask = o.const(((1 << size) - 1) << offset)
        value = read_scalar(self.r, instruction.operands[1], "u32", instruction)
        kept = o.and_(self.r.word(MODE), o.not_(mask))
        self.r.set_word(MODE, o.or_(kept, o.and_(o.shl(value, o.const(offset)), mask)))

    def _move_relative(self, instruction: Instruction, row: ControlRow) -> None:
        """A move from or to the SGPR that is M0 behind the one that is printed, but no further than the last."""
        target, source = instruction.operands
        moved = source if row.kind == "movrels" else target
        if not isinstance(moved, Reg) or not moved.is_scalar:
            raise UnsupportedError(f"`{instruction}` moves relative to an operand that is not a scalar register.")
        o, r = self.r.scalar, self.r
        r.flush()
        last = SGPR_COUNT - moved.count
        number = o.umin(o.add(r.word(M0), o.const(moved.first)), o.const(last))
        place = self.b.at(r.scalar_pointer(0), o.zext(number, 64).text, 4)
        kind = f"i{32 * moved.count}"
        if row.kind == "movrels":
            value = Value(self.b.load(kind, place, 4), "i", 32 * moved.count, 1)
            (r.set_pair if moved.count == 2 else r.set_word)(self._target(instruction), value)
        else:
            value = read_scalar(r, source, f"b{32 * moved.count}", instruction)
            self.b.store(kind, value.text, place, 4)
            r.forget_scalars(0, SGPR_COUNT)

    def _fault(self, at: int) -> None:
        self.r.module.extern("sim_fault", "void", "ptr", "i32", "i32", "i32", "i64")
        code = f"i32 {FAULTS.index('trap')}"
        self.b.call("void", "sim_fault", f"ptr {STATE}", code, f"i32 {at}", "i32 -1", "i64 0")


def _hardware(instruction: Instruction, position: int) -> tuple[str, int, int]:
    """Name, first bit and bits of the hardware register that an operand names."""
    operand = instruction.operands[position]
    m = _HARDWARE.match(operand.text) if isinstance(operand, Word) else None
    if m is None:
        raise UnsupportedError(f"`{instruction}` names a hardware register in a way the simulator does not model.")
    return m[1], int(m[2] or 0), int(m[3] or 32)


def mode_field(instruction: Instruction) -> tuple[int, int, int | None] | None:
    """For a write of MODE: its first bit, its bits, and the value where that is a constant. None for other writes."""
    name, offset, size = _hardware(instruction, 0)
    value = instruction.operands[1]
    return (offset, size, value.bits if isinstance(value, Imm) else None) if name == "HW_REG_MODE" else None

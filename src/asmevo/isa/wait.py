"""The value of an `s_waitcnt`: parse, print, encode.

Fields of the 16-bit immediate on gfx9 (LLVM `AMDGPUBaseInfo.cpp`): vmcnt in bits 3:0 and 15:14, expcnt in 6:4,
lgkmcnt in 11:8. A field N means "at most N outstanding"; the largest value of a field waits for nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from asmevo.isa.instruction import Instruction
from asmevo.isa.operands import Imm, Word
from asmevo.verdict import InputError

VM_MAX, LGKM_MAX, EXP_MAX = 63, 15, 7
_FIELD = re.compile(r"(vmcnt|lgkmcnt|expcnt)\((0x[0-9a-fA-F]+|\d+)\)")
_MAX = {"vmcnt": VM_MAX, "lgkmcnt": LGKM_MAX, "expcnt": EXP_MAX}


@dataclass(frozen=True, slots=True)
class Wait:
    """What a wait demands: at most so many outstanding operations of each counter."""

    vm: int = VM_MAX
    lgkm: int = LGKM_MAX
    exp: int = EXP_MAX

    @property
    def is_noop(self) -> bool:
        """Waits for nothing."""
        return self.vm >= VM_MAX and self.lgkm >= LGKM_MAX and self.exp >= EXP_MAX

    def both(self, other: Wait) -> Wait:
        """The wait that does what both do."""
        return Wait(min(self.vm, other.vm), min(self.lgkm, other.lgkm), min(self.exp, other.exp))

    def covers(self, other: Wait) -> bool:
        """Whether this wait demands at least what `other` demands."""
        return self.vm <= other.vm and self.lgkm <= other.lgkm and self.exp <= other.exp

    @property
    def immediate(self) -> int:
        """The 16-bit immediate, as the assembler encodes it."""
        return self.vm & 15 | self.exp << 4 | self.lgkm << 8 | (self.vm >> 4) << 14

    @classmethod
    def from_immediate(cls, value: int) -> Wait:
        """Decode the 16-bit immediate."""
        return cls(value & 15 | (value >> 14 & 3) << 4, value >> 8 & 15, value >> 4 & 7)

    def __str__(self) -> str:
        """Assembly text. Fields that wait for nothing are left out, as LLVM prints it."""
        fields = (("vmcnt", self.vm, VM_MAX), ("expcnt", self.exp, EXP_MAX), ("lgkmcnt", self.lgkm, LGKM_MAX))
        shown = [f"{name}({value})" for name, value, limit in fields if value < limit or self.is_noop]
        return f"s_waitcnt {' '.join(shown)}"


def parse_wait(instruction: Instruction) -> Wait:
    """The value of an `s_waitcnt` line: counters by name, or the immediate as a number.

    Raises `InputError` for anything else.
    """
    operand = instruction.operands[0] if len(instruction.operands) == 1 else None
    if instruction.base == "s_waitcnt" and isinstance(operand, Imm):
        return Wait.from_immediate(operand.bits & 0xFFFF)
    text = operand.text if instruction.base == "s_waitcnt" and isinstance(operand, Word) else ""
    values = {m[1]: min(int(m[2], 0), _MAX[m[1]]) for m in _FIELD.finditer(text)}
    if not values or _FIELD.sub("", text).strip(" &,"):
        raise InputError(f"`{instruction}` is not a wait that gfx9 has; use vmcnt, lgkmcnt, expcnt or a number.")
    return Wait(values.get("vmcnt", VM_MAX), values.get("lgkmcnt", LGKM_MAX), values.get("expcnt", EXP_MAX))

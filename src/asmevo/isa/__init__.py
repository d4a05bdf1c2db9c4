"""Registers, operands, instructions, the opcode table and the operator algebra its rows are written in."""

from asmevo.isa.algebra import Algebra
from asmevo.isa.assembler import assemble
from asmevo.isa.decoder import Decoded, Decoder
from asmevo.isa.effects import Effects, bind, effects
from asmevo.isa.instruction import Instruction, parse_instruction
from asmevo.isa.link import linked
from asmevo.isa.llvm import Toolchain
from asmevo.isa.operands import Imm, Off, Operand, Reg, Word, parse_operand
from asmevo.isa.registers import RegSet, names, span, unit_name, units
from asmevo.isa.row import (
    ControlRow,
    Counter,
    CrossLaneRow,
    LaneRow,
    MatrixRow,
    MemoryRow,
    PackedRow,
    Pipe,
    Row,
    ScalarRow,
    Slot,
    Space,
    signature,
)
from asmevo.isa.table import row_of, rows

__all__ = [
    "Algebra",
    "ControlRow",
    "Counter",
    "CrossLaneRow",
    "Decoded",
    "Decoder",
    "Effects",
    "Imm",
    "Instruction",
    "LaneRow",
    "MatrixRow",
    "MemoryRow",
    "Off",
    "Operand",
    "PackedRow",
    "Pipe",
    "Reg",
    "RegSet",
    "Row",
    "ScalarRow",
    "Slot",
    "Space",
    "Toolchain",
    "Word",
    "assemble",
    "bind",
    "effects",
    "linked",
    "names",
    "parse_instruction",
    "parse_operand",
    "row_of",
    "rows",
    "signature",
    "span",
    "unit_name",
    "units",
]

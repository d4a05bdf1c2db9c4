"""The text of additions to the program counter: their literal as an expression that llvm-mc evaluates to the same.

`L7` is line 7, `P3` the address behind line 3, an `s_getpc_b64`. A distance to a line is `L7-P3`, its upper half
`(L7-P3)>>32`; one to a section is left to the linker: `.rodata@rel32@lo+16+(.+4-P3)`, where `.+4` is the literal,
with `@rel32@hi` for the upper half and `@rel64` for all of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from asmevo.codeobject import Section
from asmevo.isa import Instruction, Reg, parse_instruction
from asmevo.program.program import Line, Part

_ADDITION = re.compile(r"(s_addc?_u32|s_add_nc_u64) ([\w\[\]:]+), ([^,]+), ([^,]+)")
_PARTS: dict[str, Part] = {"s_add_u32": "low", "s_addc_u32": "high", "s_add_nc_u64": "whole"}
_SUFFIXES = {"low": "rel32@lo", "high": "rel32@hi", "whole": "rel64"}
_NUMBER = r"(?:[-+](?:0x[0-9a-f]+|\d+))?"
_TO_LINE = re.compile(rf"(\()?([A-Za-z_$][\w$]*)({_NUMBER})-P(\d+)(?(1)\)>>32)")
_TO_SECTION = re.compile(rf"(\S+?)@(rel32@lo|rel32@hi|rel64)({_NUMBER})\+\(\.\+4-P(\d+)\)")


@dataclass(frozen=True, slots=True)
class Symbolic:
    """An addition to the program counter as written."""

    instruction: Instruction
    """With 0 as its literal."""
    place: str
    """Label of a line or name of a section."""
    is_section: bool
    offset: int
    origin: int
    """Number in the label behind the `s_getpc_b64`."""
    part: Part


def parse_symbolic(text: str) -> Symbolic | None:
    """The addition that a text is; None for another instruction, or one with a number."""
    m = _ADDITION.fullmatch(" ".join(text.split()))
    if m is None:
        return None
    for own, other in ((4, 3), (3, 4)):
        operands = {own: "lit64(0x0)" if m[1] == "s_add_nc_u64" else "lit(0x0)", other: m[other]}
        plain = parse_instruction(f"{m[1]} {m[2]}, {operands[3]}, {operands[4]}")
        part = _PARTS[m[1]]
        if (e := _TO_LINE.fullmatch(m[own])) and (e[1] is not None) == (part == "high"):
            return Symbolic(plain, e[2], False, int(e[3] or "0", 0), int(e[4]), part)
        if (e := _TO_SECTION.fullmatch(m[own])) and e[2] == _SUFFIXES[part]:
            return Symbolic(plain, e[1], True, int(e[3] or "0", 0), int(e[4]), part)
    return None


def symbolic_text(line: Line, sections: Sequence[Section]) -> str:
    """The text of a line with a reference."""
    reference, instruction = line.reference, line.instruction
    assert reference is not None
    offset = f"{reference.offset:+}" if reference.offset else ""
    if reference.line is None:
        name, suffix = sections[reference.section].name, _SUFFIXES[reference.part]
        expression = f"{name}@{suffix}{offset}+(.+4-P{reference.origin})"
    else:
        expression = f"L{reference.line}{offset}-P{reference.origin}"
        expression = f"({expression})>>32" if reference.part == "high" else expression
    _, _, rest = instruction.text.partition(" ")
    operands = [o.strip() for o in rest.split(",")]
    own = 1 if not isinstance(instruction.operands[1], Reg) else 2
    operands[own] = expression
    return f"{instruction.mnemonic} {', '.join(operands)}"


def same_registers(a: Instruction, b: Instruction) -> bool:
    """Whether two additions differ in nothing but their constant."""
    return a.mnemonic == b.mnemonic and all(
        x == y or not (isinstance(x, Reg) or isinstance(y, Reg)) for x, y in zip(a.operands, b.operands, strict=True)
    )

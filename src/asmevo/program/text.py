"""Lines of a program from the text of instructions."""

from __future__ import annotations

import re
from dataclasses import replace

from asmevo.isa import Instruction, parse_instruction
from asmevo.isa.encoding import BRANCHES
from asmevo.program.program import Line
from asmevo.verdict import InputError

_LABEL = re.compile(r"L(\d{1,9})")
_COMMENT = re.compile(r"//|/\*|;|\n|\r")


def make_line(line_id: int, text: str) -> Line:
    """A line without words from one instruction's text; a branch names its target as the label `L<line id>`.

    Raises `InputError` for text that cannot be one instruction. Whether it assembles shows when it is rebuilt.
    """
    text = " ".join(text.split())
    if not text or not text[0].isalpha() or ":" in text.split()[0] or _COMMENT.search(text):
        raise InputError(f"`{text}` is not the text of one instruction; give mnemonic and operands only.")
    mnemonic, _, operands = text.partition(" ")
    if mnemonic not in BRANCHES:
        return Line(line_id, parse_instruction(text))
    label = _LABEL.fullmatch(operands)
    if label is None:
        raise InputError(f"`{text}` needs the line it goes to as its operand, as in `{mnemonic} L12`.")
    return Line(line_id, parse_instruction(text), None, int(label[1]))


def retargeted(line: Line, target: int) -> Line:
    """The branch with another target; its words stay, since targets are encoded when it is rebuilt."""
    return replace(line, instruction=branch_to(line.instruction, target), target=target)


def branch_to(instruction: Instruction, target: int) -> Instruction:
    """The branch instruction with the label of a line as its operand."""
    return parse_instruction(f"{instruction.mnemonic} L{target}")

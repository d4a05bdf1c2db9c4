"""Lines of a program from the text of instructions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from asmevo.isa import Instruction, parse_instruction
from asmevo.isa.encoding import BRANCHES
from asmevo.program.program import Line, Program, Reference
from asmevo.program.symbolic import parse_symbolic
from asmevo.verdict import InputError

_LABEL = re.compile(r"L(\d{1,9})")
_COMMENT = re.compile(r"//|/\*|;|\n|\r")


def make_line(line_id: int, text: str) -> Line:
    """A line without words from one instruction's text; a branch names its target as the label `L<line id>`.

    An addition to the program counter may name its place: `s_add_u32 s2, s2, L<line id>-P<id of the s_getpc_b64>`, and
    `s_addc_u32 s3, s3, (L<line id>-P<id>)>>32`.

    Raises `InputError` for text that cannot be one instruction. Whether it assembles shows when it is rebuilt.
    """
    text = " ".join(text.split())
    if not text or not text[0].isalpha() or ":" in text.split()[0] or _COMMENT.search(text):
        raise InputError(f"`{text}` is not the text of one instruction; give mnemonic and operands only.")
    mnemonic, _, operands = text.partition(" ")
    if (written := parse_symbolic(text)) and (place := _LABEL.fullmatch(written.place)) and not written.is_section:
        reference = Reference(written.origin, written.part, int(place[1]), 0, written.offset)
        return Line(line_id, written.instruction, None, None, reference)
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


def redirected(program: Program, lines: Iterable[Line], moved: Mapping[int, int]) -> Program:
    """The program with these lines, in which all that went to a key of `moved` goes to its value.

    That is: branches, addresses relative to the program counter, the entry, and what is kept outside of instructions.
    """
    if not moved:
        return program.with_lines(tuple(lines))
    anchors = {k0: moved.get(line, line) for k0, line in program.anchors.items()}
    for old, new in moved.items():
        if old < program.first_new_id:
            anchors.setdefault(old, new)
    same = program if lines is program.lines else program.with_lines(tuple(lines))
    changed = list(same.lines)
    for i in (*same.jumps, *same.referring):
        changed[i] = _redirected(changed[i], moved)
    entry = moved.get(program.entry, program.entry)
    return replace(program, lines=tuple(changed), entry=entry, anchors=anchors)


def _redirected(line: Line, moved: Mapping[int, int]) -> Line:
    if line.target is not None and line.target in moved:
        return retargeted(line, moved[line.target])
    reference = line.reference
    if reference is None or reference.line is None or reference.line not in moved or reference.offset:
        return line
    return replace(line, reference=replace(reference, line=moved[reference.line]))

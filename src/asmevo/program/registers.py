"""Registers that a program uses against what its kernel's descriptor grants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from asmevo.codeobject import Descriptor
from asmevo.codeobject.registers import granted_registers
from asmevo.isa import Instruction, Reg
from asmevo.isa.limits import NUMBERED
from asmevo.isa.registers import AGPR_BASE, SGPR_COUNT, UNNUMBERED_SGPRS, VGPR_BASE
from asmevo.program.program import Line, Program
from asmevo.program.recover import recover
from asmevo.program.resources import ResourceError
from asmevo.verdict import UnsupportedError


@dataclass(frozen=True, slots=True)
class Overflow:
    """A register that the descriptor does not grant."""

    file: str
    """`v`, `a` or `s`."""
    number: int
    granted: int
    """Registers of the file that are granted."""
    line: Line
    """The line that uses it."""

    def __str__(self) -> str:
        return f"`{self.line.instruction}` uses {self.file}{self.number}; the descriptor grants {self.granted}."


def granted(descriptor: Descriptor, target: str) -> dict[str, int]:
    """Register file to the number of registers that instructions may name, whole blocks as the hardware grants them.

    Of the scalar ones, VCC and the other specials take the last that are granted.
    """
    registers = granted_registers(descriptor, target)
    scalar = NUMBERED["s"] if registers.scalar is None else min(SGPR_COUNT, registers.scalar - UNNUMBERED_SGPRS)
    own = registers.accumulation if registers.accumulation < registers.vector else 0
    return {"v": registers.vector - own, "a": registers.accumulation, "s": scalar}


def used(lines: Iterable[Line]) -> dict[str, tuple[int, Line]]:
    """Register file to (registers needed, line that needs them)."""
    result: dict[str, tuple[int, Line]] = {}
    for line in lines:
        for file, count in _uses(line.instruction):
            if file not in result or count > result[file][0]:
                result[file] = (count, line)
    return result


def overflows(k0: Program, program: Program) -> Iterator[Overflow]:
    """Registers beyond the granted ones, except where K0 itself goes as far beyond them and no fewer are granted."""
    target = program.source.target
    before, after = granted(k0.kernel.descriptor, target), granted(program.kernel.descriptor, target)
    allowed = used(own_lines(k0))
    for file, (count, line) in used((*own_lines(program), *_edited(k0, program))).items():
        most = after[file]
        if file in allowed and most >= before[file]:
            most = max(most, allowed[file][0])
        if count > most:
            yield Overflow(file, count - 1, after[file], line)


def refuse_overflow(program: Program) -> None:
    """Raise `ResourceError` when an edit uses registers, or leaves so few, that the kernel is not granted its own."""
    for overflow in overflows(recover(program.source, program.kernel.name), program):
        raise ResourceError(
            f"Line {overflow.line.id}, {str(overflow)[:-1]}; use lower registers, or ask for more in the comment "
            "`resources` or by an edit of resources."
        )


def _edited(k0: Program, program: Program) -> Iterator[Line]:
    """Lines that K0 does not have like that, whether the kernel comes to them or not."""
    for line in program.lines:
        position = k0.position.get(line.id)
        if position is None or k0.lines[position].instruction != line.instruction:
            yield line


def own_lines(program: Program) -> Sequence[Line]:
    """Lines that the kernel comes to; all of the text where it jumps to a computed address.

    Another kernel of the object, which may be granted more, gives this one no allowance.
    """
    try:
        return [line for block in program.blocks for line in program.lines[block.first : block.last]]
    except UnsupportedError:
        return program.lines


@lru_cache(maxsize=1 << 16)
def _uses(instruction: Instruction) -> tuple[tuple[str, int], ...]:
    return tuple(_registers(instruction))


def _registers(instruction: Instruction) -> Iterator[tuple[str, int]]:
    for operand in instruction.operands:
        if not isinstance(operand, Reg):
            continue
        end = operand.first + operand.count
        if operand.first >= AGPR_BASE:
            yield "a", end - AGPR_BASE
        elif operand.first >= VGPR_BASE:
            yield "v", end - VGPR_BASE
        elif end <= SGPR_COUNT:
            yield "s", end

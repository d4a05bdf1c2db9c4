"""Registers that a candidate uses against what its descriptor grants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from asmevo.isa import Instruction, Reg
from asmevo.isa.registers import AGPR_BASE, SGPR_COUNT, UNNUMBERED_SGPRS, VGPR_BASE
from asmevo.program import Line, Program
from asmevo.verdict import Check, Finding, UnsupportedError, Verdict


def resources(k0: Program, candidate: Program) -> Check:
    """No register beyond the granted ones, except where K0 itself goes beyond them."""
    descriptor = candidate.kernel.descriptor
    granted = {
        "v": descriptor.accum_offset,
        "a": max(descriptor.vgpr_alloc - descriptor.accum_offset, 0),
        "s": min(SGPR_COUNT, descriptor.sgpr_alloc - UNNUMBERED_SGPRS),
    }
    before = _highest(_own_lines(k0))
    findings: list[Finding] = []
    used: dict[str, int] = {}
    new = (line for line in candidate.lines if line.id not in k0.position)
    for file, (count, line) in _highest((*_own_lines(candidate), *new)).items():
        used[file] = count
        if count > max(granted[file], before.get(file, (0, 0))[0]):
            text = candidate.line(line).instruction
            message = f"`{text}` uses {file}{count - 1}; the descriptor grants {granted[file]}."
            findings.append(Finding("resources.registers", message, line=line))
    facts = {"used": used, "granted": granted, "lds": candidate.kernel.lds_size}
    return Check("resources", Verdict.REFUTED if findings else Verdict.TESTED, tuple(findings), facts)


def _own_lines(program: Program) -> Sequence[Line]:
    """Lines that the kernel comes to; all of the text where it jumps to a computed address.

    Another kernel of the object, which may be granted more, gives this one no allowance.
    """
    try:
        return [line for block in program.blocks for line in program.lines[block.first : block.last]]
    except UnsupportedError:
        return program.lines


def _highest(lines: Iterable[Line]) -> dict[str, tuple[int, int]]:
    """Register file to (registers needed, line that needs them)."""
    result: dict[str, tuple[int, int]] = {}
    for line in lines:
        for file, count in _uses(line.instruction):
            if count > result.get(file, (0, 0))[0]:
                result[file] = (count, line.id)
    return result


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

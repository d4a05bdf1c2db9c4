"""Registers that a candidate uses against what its descriptor grants."""

from __future__ import annotations

from collections.abc import Iterator

from asmevo.isa import Reg
from asmevo.isa.registers import AGPR_BASE, VGPR_BASE
from asmevo.program import Program
from asmevo.verdict import Check, Finding, Verdict

_SGPRS = 102
"""SGPRs with numbers; the encodings behind them are specials."""


def resources(k0: Program, candidate: Program) -> Check:
    """No register beyond the granted ones, except where K0 itself goes beyond them."""
    descriptor = candidate.kernel.descriptor
    granted = {
        "v": descriptor.accum_offset,
        "a": max(descriptor.vgpr_alloc - descriptor.accum_offset, 0),
        "s": descriptor.sgpr_alloc,
    }
    before = _highest(k0)
    findings: list[Finding] = []
    used: dict[str, int] = {}
    for file, (count, line) in _highest(candidate).items():
        used[file] = count
        if count > max(granted[file], before.get(file, (0, 0))[0]):
            text = candidate.line(line).instruction
            message = f"`{text}` uses {file}{count - 1}; the descriptor grants {granted[file]}."
            findings.append(Finding("resources.registers", message, line=line))
    facts = {"used": used, "granted": granted, "lds": candidate.kernel.lds_size}
    return Check("resources", Verdict.REFUTED if findings else Verdict.TESTED, tuple(findings), facts)


def _highest(program: Program) -> dict[str, tuple[int, int]]:
    """Register file to (registers needed, line that needs them), over reachable code."""
    result: dict[str, tuple[int, int]] = {}
    for file, count, line in _uses(program):
        if count > result.get(file, (0, 0))[0]:
            result[file] = (count, line)
    return result


def _uses(program: Program) -> Iterator[tuple[str, int, int]]:
    for line in program.lines:
        if line.id not in program.block_of:
            continue
        for operand in line.instruction.operands:
            if not isinstance(operand, Reg):
                continue
            end = operand.first + operand.count
            if operand.first >= AGPR_BASE:
                yield "a", end - AGPR_BASE, line.id
            elif operand.first >= VGPR_BASE:
                yield "v", end - VGPR_BASE, line.id
            elif end <= _SGPRS:
                yield "s", end, line.id

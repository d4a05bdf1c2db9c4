"""Registers that a candidate uses against what its descriptor grants."""

from __future__ import annotations

from asmevo.program import Program
from asmevo.program.registers import granted, overflows, own_lines, used
from asmevo.verdict import Check, Finding, Verdict


def resources(k0: Program, candidate: Program) -> Check:
    """No register beyond the granted ones, except where K0 itself goes beyond them."""
    findings = [Finding("resources.registers", str(o), line=o.line.id) for o in overflows(k0, candidate)]
    new = (line for line in candidate.lines if line.id not in k0.position)
    facts = {
        "used": {file: count for file, (count, _) in used((*own_lines(candidate), *new)).items()},
        "granted": granted(candidate.kernel.descriptor, candidate.source.target),
        "lds": candidate.kernel.lds_size,
    }
    return Check("resources", Verdict.REFUTED if findings else Verdict.TESTED, tuple(findings), facts)

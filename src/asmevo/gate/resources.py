"""Registers that a candidate uses against what its descriptor grants, and memory that it asks for against K0's."""

from __future__ import annotations

from collections.abc import Iterator

from asmevo.program import Program
from asmevo.program.registers import granted, overflows, own_lines, used
from asmevo.verdict import Check, Finding, Severity, Verdict


def resources(k0: Program, candidate: Program) -> Check:
    """No register beyond the granted ones, except where K0 itself goes beyond them, and no less LDS or scratch.

    Where a kernel's addresses of LDS and scratch end is for its arguments to say, and launches have few of these.
    """
    findings = [Finding("resources.registers", str(o), line=o.line.id) for o in overflows(k0, candidate)]
    new = (line for line in candidate.lines if line.id not in k0.position)
    facts = {
        "used": {file: count for file, (count, _) in used((*own_lines(candidate), *new)).items()},
        "granted": granted(candidate.kernel.descriptor, candidate.source.target),
        "lds": candidate.kernel.lds_size,
    }
    if findings:
        return Check("resources", Verdict.REFUTED, tuple(findings), facts)
    less = tuple(_less(k0, candidate))
    return Check("resources", Verdict.UNKNOWN if less else Verdict.TESTED, less, facts)


def _less(k0: Program, candidate: Program) -> Iterator[Finding]:
    """Memory of a workgroup or a work-item that is smaller than K0's."""
    for what, before, after in (
        ("LDS", k0.kernel.lds_size, candidate.kernel.lds_size),
        ("scratch", k0.kernel.descriptor.private_size, candidate.kernel.descriptor.private_size),
    ):
        if after < before:
            message = (
                f"The candidate asks for {after} bytes of {what}, K0 for {before}; nothing shows that it needs less."
            )
            yield Finding("resources.less", message, Severity.WARNING)

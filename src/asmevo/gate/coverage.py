"""A changed line that no launch executed is not verified, so the candidate is UNKNOWN, unless its block is proved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from asmevo.gate.changes import Changes, changes
from asmevo.program import Line, Program
from asmevo.prove import BlockProof, selects, selects_by_data, tainted_lines
from asmevo.verdict import Check, Finding, Severity, Verdict


def coverage(
    k0: Program,
    candidate: Program,
    executed: Set[int],
    k0_executed: Set[int],
    proofs: Sequence[BlockProof] = (),
) -> Check:
    """Every edited or moved line of the candidate, every deleted line of K0, and every line that sees a value which may
    differ from K0's, was executed by some launch. Lines of blocks that `proofs` show equal need no launch, but even a
    proof does not stand where nothing ran at all.

    `executed` and `k0_executed` hold positions in the candidate's and in K0's program.
    """
    changed = changes(k0, candidate)
    proved = {proof.block for proof in proofs if proof.proved}
    tainted = tainted_lines(candidate, {p.block: p.differing for p in proofs if not p.proved})
    findings = tuple(_missing(k0, candidate, changed, executed, k0_executed, proved, tainted))
    facts = {
        "edited": len(changed.edited),
        "moved": len(changed.moved),
        "deleted": len(changed.deleted),
        "tainted": len(tainted),
        "lines_executed": len(executed),
        "lines": len(candidate.lines),
    }
    return Check("coverage", Verdict.UNKNOWN if findings else Verdict.TESTED, findings, facts)


def _missing(
    k0: Program,
    candidate: Program,
    changed: Changes,
    executed: Set[int],
    k0_executed: Set[int],
    proved: Set[int],
    tainted: Set[int],
) -> Iterator[Finding]:
    if not executed:
        yield Finding("coverage.nothing", "No launch executed any line of the candidate.", Severity.WARNING)
    for what, positions in (("edited", changed.edited), ("moved", changed.moved)):
        for position in positions:
            line = candidate.lines[position]
            unseen = position not in executed and candidate.block_of.get(line.id) not in proved
            if unseen and not _is_padding(k0, candidate, line):
                yield _finding(what, line)
    for position in changed.deleted:
        line = k0.lines[position]
        if position not in k0_executed and k0.block_of.get(line.id) not in proved:
            yield _finding("deleted", line)
    for position in sorted(tainted - executed):
        message = (
            f"The line `{candidate.lines[position].instruction}` reads a value that may differ from K0's and was "
            "executed by no launch; add one that reaches it."
        )
        yield Finding("coverage.reader", message, Severity.WARNING, candidate.lines[position].id)
    for position in sorted(tainted & executed):
        line = candidate.lines[position]
        block = candidate.blocks[candidate.block_of[line.id]]
        lines = candidate.lines[block.first : block.last]
        if selects(line.instruction) and not selects_by_data(lines, position - block.first):
            message = (
                f"The line `{line.instruction}` selects from a value that may differ from K0's; launches may show one "
                "side only. A proof would be needed."
            )
            yield Finding("coverage.selection", message, Severity.WARNING, line.id)


def _is_padding(k0: Program, candidate: Program, line: Line) -> bool:
    """A nop more that this kernel never comes to: code that grows moves the next kernel, whose entry nops align."""
    is_new = line.id not in k0.position and line.instruction.text == "s_nop 0"
    return is_new and line.id not in candidate.block_of


def _finding(what: str, line: Line) -> Finding:
    message = f"The {what} line `{line.instruction}` was executed by no launch; add one that reaches it."
    return Finding(f"coverage.{what}", message, Severity.WARNING, line.id)

"""The proof stage: changed blocks that compute the same for every input, and what no launch may be trusted to show.

Where a block is not proved, launches judge it. They see much data, but few sizes, addresses and paths, so these are not
left to them: what steers the kernel (a loop bound that is right at the sizes tried, an address that is cut off beyond
the buffers tried, the border of a mask), carries into the high half of an address (0 on every small launch), values of
which a selection may take the other one, and accesses to memory that K0 does not make (a race that happens to win).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from asmevo.isa import Instruction, LaneRow, MemoryRow, Pipe, ScalarRow, effects, names
from asmevo.program import Line, Program
from asmevo.program.fences import same_flow
from asmevo.program.memory import Fence, access, fence
from asmevo.prove import BlockProof, Prover, selects, selects_by_data
from asmevo.verdict import Check, Finding, Severity, UnsupportedError, Verdict


class ProofStage:
    """The stage for candidates of one K0."""

    def __init__(self, k0: Program) -> None:
        self.k0 = k0
        self._prover: Prover | None = None

    def check(self, candidate: Program) -> tuple[Check, tuple[BlockProof, ...]]:
        """PROVED when every changed block is; UNKNOWN where launches could not judge; else TESTED, with the proofs."""
        if not same_flow(self.k0, candidate):
            return _unknown("The candidate's branches differ from K0's, so its blocks cannot be compared."), ()
        try:
            self._prover = self._prover or Prover(self.k0)
            proofs = self._prover.blocks(candidate)
        except UnsupportedError as error:
            return _unknown(str(error)), ()
        findings = tuple(f for proof in proofs if not proof.proved for f in _findings(self.k0, candidate, proof))
        facts = {
            "changed_blocks": [p.block for p in proofs],
            "proved_blocks": [p.block for p in proofs if p.proved],
            "method": "value numbering",
        }
        if findings:
            return Check("proof", Verdict.UNKNOWN, findings, facts), proofs
        proved = all(p.proved for p in proofs)
        return Check("proof", Verdict.PROVED if proved else Verdict.TESTED, (), facts), proofs


def _unknown(message: str) -> Check:
    return Check("proof", Verdict.UNKNOWN, (Finding("proof.unknown", message, Severity.WARNING),))


def _findings(k0: Program, candidate: Program, proof: BlockProof) -> Iterator[Finding]:
    """What keeps an unproved block from being left to the launches."""
    if proof.reason:
        yield Finding("proof.unknown", proof.reason, Severity.WARNING)
        return
    old, new = k0.blocks[proof.block], candidate.blocks[proof.block]
    before, after = k0.lines[old.first : old.last], candidate.lines[new.first : new.last]
    if not proof.same_branch:
        yield _control(before[-1], f"The branch `{before[-1].instruction}` is decided by other values than in K0")
    if proof.steers:
        what = (
            f"{names(proof.steers)} may hold another value than in K0 and reaches a branch, an address or a selection"
        )
        yield _control(before[-1], what)
    for line in after:
        if line.id in proof.steered:
            yield from _steered(line, new=line.id not in k0.position)
    for index, line in enumerate(before):
        if line.id in proof.recomputed and selects(line.instruction) and not selects_by_data(before, index):
            message = f"`{line.instruction}` selects from other values than in K0; launches may show one side only."
            yield Finding("proof.selection", message, Severity.WARNING, line.id)
        if _adds_carry(line) and (line.id in proof.recomputed or line.id not in candidate.position):
            message = f"The line `{line.instruction}` adds a carry and may get another one, which no launch shows."
            yield Finding("proof.carry", message, Severity.WARNING, line.id)
    yield from _lanes(before, after)
    for one, other, what in ((after, before, "added"), (before, after, "removed")):
        yield from _unmatched(one, other, what, _touches_memory)


def _steered(line: Line, *, new: bool) -> Iterator[Finding]:
    """Addresses, masks, carries, lanes that launches with a few sizes and small buffers do not tell apart."""
    how = "is not K0's" if new else "may get another address, mask, carry or lane than in K0"
    message = f"`{line.instruction}` {how}; launches have few of these, so they show little. A proof would be needed."
    yield Finding("proof.steering", message, Severity.WARNING, line.id)


def _lanes(before: Sequence[Line], after: Sequence[Line]) -> Iterator[Finding]:
    """Lines that take values from other lanes than K0's: what they give depends on which lanes are off, and launches
    may never switch one off there."""
    known = {line.id: line.instruction for line in before}
    for line in after:
        old = known.get(line.id)
        if _lanes_of(line.instruction) != (_lanes_of(old) if old else None):
            message = (
                f"`{line.instruction}` and what it stands for do not look at the same lanes; launches may never switch "
                "one off here. A proof would be needed."
            )
            yield Finding("proof.lanes", message, Severity.WARNING, line.id)


def _lanes_of(instruction: Instruction) -> tuple[object, ...] | None:
    """What says which other lanes an instruction takes values from; None where it takes its own."""
    row = effects(instruction).row
    moves = row.pipe is Pipe.LDS and not isinstance(row, MemoryRow)
    if moves or instruction.encoding.endswith("dpp") or "cross_lane" in row.tags:
        return (row.name, *sorted(instruction.modifiers.items()))
    return None


def _control(line: Line, what: str) -> Finding:
    message = f"{what}; launches show only the ways they take."
    return Finding("proof.control", message, Severity.WARNING, line.id)


def _adds_carry(line: Line) -> bool:
    """Whether a carry goes in and one comes out: the row has a 1-bit operand for each lane or SCC on both sides."""
    row = effects(line.instruction).row
    if not isinstance(row, (LaneRow, ScalarRow)):
        return False
    kinds = [(slot.type, slot.is_def) for slot in row.slots]
    return any((kind, True) in kinds and (kind, False) in kinds for kind in ("mask", "scc"))


def _touches_memory(line: Line) -> bool:
    return access(line.instruction) is not None or fence(line.instruction) is not Fence.NONE


def _unmatched(
    lines: Sequence[Line], others: Sequence[Line], what: str, matters: Callable[[Line], bool]
) -> Iterator[Finding]:
    """Accesses and fences of `lines` that `others` do not have."""
    known = {(line.id, line.instruction) for line in others}
    for line in lines:
        if matters(line) and (line.id, line.instruction) not in known and line.target is None:
            message = f"`{line.instruction}` was {what}, and the block is not proved to access memory as K0 does."
            yield Finding("proof.access", message, Severity.WARNING, line.id)

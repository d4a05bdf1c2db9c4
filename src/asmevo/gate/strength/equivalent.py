"""Which admitted faults are none: the only rules by which one is set aside.

1. `proved`: the edit touches no wait, nop, barrier or other fence, and value numbering shows that each changed block
   leaves the same in all registers that anybody reads behind it, in memory, and in the condition of its branch, for
   every input.
2. `redundant wait`: only waits differ, and behind every wait of K0 nothing that is used or that a fence cares about is
   outstanding that was not outstanding in K0: the operations that a wait must prove finished are counted on all
   paths, and the others prove them.
3. `redundant nop`: only nops differ, and no pair of instructions is closer than its spacing rule asks, or than K0
   itself puts that pair of classes.

What is admitted and under none of them has survived.
"""

from __future__ import annotations

from asmevo.edit import apply_all
from asmevo.gate.changes import changes
from asmevo.gate.matching import align
from asmevo.gate.report import Report
from asmevo.gate.strength.kind import Edits
from asmevo.program import Line, Program, control_kind
from asmevo.program.fences import FenceAnalysis
from asmevo.program.hazards import HazardAnalysis, smallest_distances
from asmevo.program.memory import Fence, fence
from asmevo.program.waits import WaitAnalysis
from asmevo.verdict import Verdict

PROVED, WAIT, NOP = "proved", "redundant wait", "redundant nop"


def equivalence(k0: Program, edits: Edits, report: Report) -> str:
    """The name of the rule by which an admitted fault is equivalent; the empty string where none says so."""
    candidate = align(k0, apply_all(k0, edits))
    touched = _touched(k0, candidate)
    if not touched & {"waitcnt", "nop", "fence"}:
        return PROVED if report.verdict is Verdict.PROVED else ""
    if touched == {"waitcnt"}:
        return WAIT if _nothing_owed(k0, candidate) else ""
    if touched == {"nop"}:
        return NOP if _spaced(k0, candidate) else ""
    return ""


def _touched(k0: Program, candidate: Program) -> set[str]:
    """What sorts of lines were edited, moved or deleted."""
    found = changes(k0, candidate)
    lines = [candidate.lines[i] for i in (*found.edited, *found.moved)]
    lines += [k0.lines[i] for i in found.deleted] + [k0.line(x.id) for x in lines if x.id in k0.position]
    sorts: set[str] = set()
    for line in lines:
        kind = control_kind(line.instruction)
        sorts.add(kind if kind in ("waitcnt", "nop") else "fence" if _is_fence(line) else "other")
    return sorts


def _is_fence(line: Line) -> bool:
    return fence(line.instruction) is not Fence.NONE


def _nothing_owed(k0: Program, candidate: Program) -> bool:
    known = {(f.rule, f.line, f.facts["producer"], f.facts["counter"]) for f in WaitAnalysis().run(k0).findings()}
    missing = WaitAnalysis().run(candidate).findings()
    late = FenceAnalysis(k0).findings(candidate)
    return not late and all((f.rule, f.line, f.facts["producer"], f.facts["counter"]) in known for f in missing)


def _spaced(k0: Program, candidate: Program) -> bool:
    analysis = HazardAnalysis(k0.source.target)
    allowed = smallest_distances(analysis.hazards(k0))
    found = smallest_distances(analysis.hazards(candidate))
    return all(distance >= allowed.get(key, 1 << 20) for key, distance in found.items())

"""Which admitted faults are none: the only rules by which one is set aside.

1. `proved`: the edit touches no wait, nop, barrier or other fence, and value numbering shows that each changed block
   leaves the same in all registers that anybody reads behind it, in memory, and in the condition of its branch, for
   every input.
2. `redundant wait`: only waits differ, or a wait and a fence change places, and behind every wait of K0 nothing that is
   used or that a fence cares about is outstanding that was not outstanding in K0: the operations that a wait must prove
   finished are counted on all paths, and the others prove them.
3. `redundant nop`: only nops differ, and no pair of instructions is closer than its spacing rule asks, or than K0
   itself puts that pair of classes.
4. `no NaN`: a test whether one value is NaN, `v_cmp_o_f32 v, v` or `v_cmp_u_f32 v, v`, has in place of one of the two
   a register that holds no NaN in any lane: the last to write it in the block shifts it right by two bits or more, with
   the same EXEC.
5. `dropped half`: an arithmetic shift right by 16 stands for a logical one, or the other way round, and all that reads
   the result in the block, behind a selection too, drops its upper half: `v_perm_b32` with a selector that the block
   gave a constant last.

What is admitted and under none of them has survived.
"""

from __future__ import annotations

import re

from asmevo.edit import Replace, apply_all
from asmevo.gate.changes import changes
from asmevo.gate.matching import align
from asmevo.gate.report import Report
from asmevo.gate.strength.halves import fills_a_dropped_half
from asmevo.gate.strength.kind import Edits
from asmevo.isa import effects
from asmevo.isa.registers import EXEC, VGPR_BASE
from asmevo.program import Line, Program, control_kind
from asmevo.program.fences import FenceAnalysis
from asmevo.program.hazards import HazardAnalysis, smallest_distances
from asmevo.program.memory import Fence, fence
from asmevo.program.waits import WaitAnalysis
from asmevo.verdict import Verdict

PROVED, WAIT, NOP, NO_NAN, HALF = "proved", "redundant wait", "redundant nop", "no NaN", "dropped half"
_SELF_TEST = re.compile(r"(v_cmp_[ou]_f32\S* \S+), (v\d+), \2")
_TEST = re.compile(r"(v_cmp_[ou]_f32\S* \S+), (v\d+), (v\d+)")
_SHIFT = re.compile(r"v_lshrrev_b32_e(?:32|64) v\d+, ([2-9]|[12]\d|3[01]), v\d+")


def equivalence(k0: Program, edits: Edits, report: Report) -> str:
    """The name of the rule by which an admitted fault is equivalent; the empty string where none says so."""
    candidate = align(k0, apply_all(k0, edits))
    touched = _touched(k0, candidate)
    if not touched & {"waitcnt", "nop", "fence"}:
        if report.verdict is Verdict.PROVED:
            return PROVED
        return NO_NAN if _tests_no_nan(k0, edits) else HALF if fills_a_dropped_half(k0, edits) else ""
    if touched == {"waitcnt"} or (touched == {"waitcnt", "fence"} and _only_moved(k0, candidate)):
        return WAIT if _nothing_owed(k0, candidate) else ""
    if touched == {"nop"}:
        return NOP if _spaced(k0, candidate) else ""
    return ""


def _only_moved(k0: Program, candidate: Program) -> bool:
    found = changes(k0, candidate)
    return not found.edited and not found.deleted


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


def _tests_no_nan(k0: Program, edits: Edits) -> bool:
    (edit, *others) = edits
    if others or not isinstance(edit, Replace):
        return False
    at = k0.position[edit.line]
    old, new = _SELF_TEST.fullmatch(k0.lines[at].instruction.text), _TEST.fullmatch(" ".join(edit.text.split()))
    if not old or not new or old[1] != new[1] or old[2] not in new.groups()[1:]:
        return False
    other = int((new[2] if new[3] == old[2] else new[3])[1:])
    block = k0.blocks[k0.block_of[edit.line]]
    for line in reversed(k0.lines[block.first : at]):
        writes = effects(line.instruction).writes
        if writes & 1 << VGPR_BASE + other:
            return _SHIFT.fullmatch(line.instruction.text) is not None
        if writes & EXEC:
            return False
    return False


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

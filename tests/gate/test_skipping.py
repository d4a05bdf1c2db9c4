"""Vector instructions that `s_setvskip` may skip, as AMD's one-stage mixture of experts does with its atomics."""

from __future__ import annotations

import pytest

from asmevo.edit import Edit, Insert, Reorder, Replace, apply_all
from asmevo.gate.static import static_check
from asmevo.program.hazards import HazardAnalysis
from asmevo.program.skipping import is_contained, may_skip
from asmevo.program.waits import WaitAnalysis
from asmevo.verdict import Check, Verdict
from programs import program_from_text

TEXT = """
    s_cbranch_scc1 front
front:
    global_load_dword v2, v0, s[2:3]
    global_load_dword v3, v0, s[2:3] offset:4
    v_add_f32_e32 v4, v5, v5
    v_mul_f32_e32 v6, v5, v5
    s_waitcnt vmcnt(0)
    s_cbranch_scc1 skipping
skipping:
    s_setvskip s20, 0
    global_atomic_add v0, v1, s[4:5]
    s_setvskip 0, 0
    s_cbranch_scc1 behind
behind:
    s_waitcnt vmcnt(0)
    v_add_f32_e32 v7, v2, v3
    global_load_dword v8, v0, s[2:3] offset:8
    global_load_dword v9, v0, s[2:3] offset:12
    v_mul_f32_e32 v10, v4, v6
    s_endpgm
"""


def check(*edits: Edit, text: str = TEXT) -> Check:
    k0 = program_from_text(text)
    return static_check(k0, apply_all(k0, edits))


def rules(found: Check) -> set[str]:
    return {f.rule for f in found.findings}


def test_code_in_front_and_values_behind_may_be_edited():
    assert check().verdict is Verdict.TESTED
    assert check(Reorder((4, 3))).verdict is Verdict.TESTED
    assert check(Reorder((12, 15, 13, 14))).verdict is Verdict.TESTED


@pytest.mark.parametrize(
    "edit",
    [Insert(8, "s_nop 0"), Replace(8, "global_atomic_add v0, v2, s[4:5]"), Insert(3, "s_setvskip s20, 0")],
)
def test_blocks_with_a_switch_have_to_stay(edit: Edit):
    found = check(edit)
    assert found.verdict is Verdict.UNKNOWN and rules(found) == {"static.undecided"}


def test_operations_behind_have_to_keep_their_order():
    found = check(Reorder((14, 13)))
    assert found.verdict is Verdict.UNKNOWN and rules(found) == {"static.undecided"}


def test_an_operation_must_not_fall_behind_where_skipping_begins():
    """Whether a later wait proves it finished depends on how many of the skipped operations were issued."""
    found = check(Replace(5, "s_waitcnt vmcnt(1)"))
    assert found.verdict is Verdict.REFUTED and "wait.fence" in rules(found)


def test_what_may_be_skipped_is_not_counted_as_issued():
    late = TEXT.replace("s_waitcnt vmcnt(0)\n    s_cbranch", "s_nop 0\n    s_cbranch").replace("vmcnt(0)", "vmcnt(1)")
    missing = WaitAnalysis().run(program_from_text(late)).findings()
    assert [(f.rule, f.line, f.facts["producer"]) for f in missing] == [("wait.raw", 12, 2)]
    always = late.replace("s_setvskip s20, 0", "s_nop 0").replace("s_setvskip 0, 0", "s_nop 0")
    assert WaitAnalysis().run(program_from_text(always)).findings() == []


def test_what_may_be_skipped_is_no_wait_state():
    stores = "global_store_dword v0, v1, s[4:5]\n" * 5
    text = f"v_readfirstlane_b32 s9, v2\n{{}}\n{stores}{{}}\nglobal_load_dword v1, v0, s[8:9]\ns_endpgm"

    def distances(on: str, off: str) -> list[int]:
        program = program_from_text(text.format(on, off))
        return [h.distance for h in HazardAnalysis("gfx942").hazards(program) if h.rule.name != "vskip"]

    assert distances("s_setvskip s20, 0", "s_setvskip 0, 0") == [2]
    assert distances("s_nop 0", "s_nop 0") == []


@pytest.mark.parametrize(
    "lines",
    [
        "s_setvskip s20, 0\n    global_atomic_add v0, v1, s[4:5]",
        "s_setvskip s20, 0\n    v_mov_b32_e32 v0, 0\n    s_setvskip 0, 0",
        "s_setvskip s20, 0\n    v_readfirstlane_b32 s9, v0\n    s_setvskip 0, 0",
        "s_setvskip 1, 0\n    s_nop 0",
        "s_setvskip 0, 0\n    s_setvskip 2, 1",
    ],
)
def test_skipping_that_outlives_its_block_or_its_values_is_decided_nowhere(lines: str):
    text = TEXT.replace("s_setvskip s20, 0\n    global_atomic_add v0, v1, s[4:5]\n    s_setvskip 0, 0", lines)
    assert text != TEXT
    found = check(Reorder((4, 3)), text=text)
    assert found.verdict is Verdict.UNKNOWN and rules(found) == {"static.undecided"}


def test_which_lines_may_be_skipped():
    lines = program_from_text(TEXT).lines
    assert may_skip(lines[1:7]) is None and is_contained(lines[1:7])
    assert may_skip(lines[7:11]) == [False, True, False, False] and is_contained(lines[7:11])


SPACED = """
    s_cbranch_scc1 front
front:
    v_readfirstlane_b32 s9, v2
    s_nop 4
    global_load_dword v4, v0, s[8:9]
    s_cbranch_scc1 skipping
skipping:
    v_readfirstlane_b32 s5, v3
    s_setvskip s20, 0
    global_store_dword v0, v1, s[2:3]
    global_store_dword v0, v1, s[2:3] offset:4
    global_store_dword v0, v1, s[2:3] offset:8
    global_store_dword v0, v1, s[2:3] offset:12
    global_atomic_add v0, v1, s[4:5]
    s_setvskip 0, 0
    s_endpgm
"""


def test_what_may_be_skipped_brings_no_other_lines_closer():
    assert check(text=SPACED).verdict is Verdict.TESTED
    found = check(Replace(2, "s_nop 0"), text=SPACED)
    assert found.verdict is Verdict.REFUTED and "hazard.sgpr_vmem" in rules(found)


TWO_WAYS = """
    global_load_dword v2, v0, s[2:3]
    s_cbranch_scc1 other
    s_cbranch_scc0 skip
skip:
    {}
    global_atomic_add v0, v1, s[4:5]
    global_atomic_add v0, v1, s[4:5] offset:4
    {}
    s_branch use
other:
    global_load_dword v5, v0, s[2:3] offset:4
    s_waitcnt vmcnt(1)
    s_nop 0
use:
    s_waitcnt vmcnt({})
    v_add_f32_e32 v7, v2, v2
    s_waitcnt vmcnt(0)
    global_store_dword v0, v7, s[6:7]
    global_store_dword v0, v5, s[6:7] offset:4
    s_endpgm
"""


@pytest.mark.parametrize(
    "text", [TWO_WAYS.format("s_setvskip s20, 0", "s_setvskip 0, 0", 2), TWO_WAYS.format("s_nop 0", "s_nop 0", 3)]
)
def test_a_wait_that_k0_lacks_on_one_way_stays_on_the_other(text: str):
    assert check(text=text).verdict is Verdict.TESTED
    found = check(Reorder((9, 8)), text=text)
    assert found.verdict is Verdict.REFUTED and "wait.unprotected" in rules(found)


@pytest.mark.parametrize(
    "bits", ["(HW_REG_MODE, 28, 1)", "(HW_REG_MODE, 27, 1)", "(HW_REG_MODE, 24, 8)", "(HW_REG_MODE)"]
)
def test_switching_by_the_mode_register_is_not_decided(bits: str):
    text = TEXT.replace("s_setvskip s20, 0", f"s_setreg_b32 hwreg{bits}, s20")
    found = check(Reorder((4, 3)), text=text)
    assert found.verdict is Verdict.UNKNOWN and rules(found) == {"static.undecided"}
    rounding = text.replace(bits, "(HW_REG_MODE, 0, 8)")
    assert check(Reorder((4, 3)), text=rounding).verdict is Verdict.TESTED

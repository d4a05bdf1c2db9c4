"""The rules that set an admitted fault aside."""

import pytest

from asmevo.codeobject import CodeObject
from asmevo.edit import Reorder, Replace
from asmevo.gate import Report
from asmevo.gate.strength.equivalent import equivalence
from asmevo.program import recover
from asmevo.verdict import Check, Verdict
from small_objects import build

TESTED = Report((Check("differential", Verdict.TESTED),))
CODE = """
    v_lshlrev_b32_e32 v1, 2, v0
    {before}
    v_cmp_{test}_f32_e64 s[8:9], v1, v1
    v_cndmask_b32_e64 v3, v1, v2, s[8:9]
    s_endpgm
"""


def rule(before: str, new: str, test: str = "o") -> str:
    """The rule by which the test for NaN may be `new`."""
    program = recover(CodeObject.parse(build(CODE.format(before=before, test=test))))
    (at,) = [x.id for x in program.lines if x.instruction.mnemonic.startswith("v_cmp")]
    return equivalence(program, (Replace(at, new),), TESTED)


@pytest.mark.parametrize("test", ["o", "u"])
@pytest.mark.parametrize("sources", ["v1, v2", "v2, v1"])
def test_a_register_that_was_shifted_right_is_no_nan(test, sources):
    new = f"v_cmp_{test}_f32_e64 s[8:9], {sources}"
    assert rule("v_lshrrev_b32_e32 v2, 16, v2", new, test) == "no NaN"


@pytest.mark.parametrize(
    ("before", "new"),
    [
        ("v_lshrrev_b32_e32 v2, 1, v2", "v_cmp_o_f32_e64 s[8:9], v1, v2"),
        ("v_lshlrev_b32_e32 v2, 16, v2", "v_cmp_o_f32_e64 s[8:9], v1, v2"),
        ("v_mov_b32_e32 v2, v0", "v_cmp_o_f32_e64 s[8:9], v1, v2"),
        ("s_nop 0", "v_cmp_o_f32_e64 s[8:9], v1, v2"),
        ("v_lshrrev_b32_e32 v2, 16, v2\n s_mov_b64 exec, 5", "v_cmp_o_f32_e64 s[8:9], v1, v2"),
        ("v_lshrrev_b32_e32 v2, 16, v2\n v_mov_b32_e32 v2, v0", "v_cmp_o_f32_e64 s[8:9], v1, v2"),
        ("v_lshrrev_b32_e32 v2, 16, v2", "v_cmp_o_f32_e64 s[8:9], v2, v2"),
        ("v_lshrrev_b32_e32 v2, 16, v2", "v_cmp_u_f32_e64 s[8:9], v1, v2"),
        ("v_lshrrev_b32_e32 v2, 16, v2", "v_cmp_o_f32_e64 s[10:11], v1, v2"),
    ],
)
def test_what_may_be_nan_or_is_another_test_survives(before, new):
    assert rule(before, new) == ""


HALVES = """
    s_mov_b32 s8, {selector}
    v_lshrrev_b32_e32 v2, 16, v1
    {between}
    v_cndmask_b32_e64 v3, v4, v2, s[10:11]
    {reader}
    v_mov_b32_e32 v2, 0
    s_endpgm
"""


def half(selector="0x5040100", between="s_nop 0", reader="v_perm_b32 v6, v5, v3, s8"):
    program = recover(CodeObject.parse(build(HALVES.format(selector=selector, between=between, reader=reader))))
    (at,) = [x.id for x in program.lines if x.instruction.mnemonic.startswith("v_lshrrev")]
    return equivalence(program, (Replace(at, "v_ashrrev_i32_e32 v2, 16, v1"),), TESTED)


def test_an_upper_half_that_is_dropped():
    assert half() == "dropped half"
    assert half(selector="0x1000504", reader="v_perm_b32 v6, v3, v5, s8") == "dropped half"


@pytest.mark.parametrize(
    "other",
    [
        {"selector": "0x7060302"},
        {"selector": "0x5040102"},
        {"reader": "v_perm_b32 v6, v3, v5, s8", "selector": "0x7040100"},
        {"selector": "0x50d0100"},
        {"between": "s_mov_b32 s8, 0x7020100"},
        {"between": "s_mov_b32 s8, s9"},
        {"between": "s_mov_b64 exec, 5"},
        {"reader": "v_add_u32_e32 v6, v5, v3"},
        {"between": "v_add_u32_e32 v6, v5, v2"},
        {"reader": "global_store_dword v7, v3, s[4:5]"},
    ],
)
def test_an_upper_half_that_somebody_reads(other):
    assert half(**other) == ""


@pytest.mark.parametrize(
    ("wait", "access", "name"),
    [
        ("vmcnt(8)", "global_load_dword v3, v1, s[4:5]", "redundant wait"),
        ("lgkmcnt(0)", "ds_write_b32 v1, v2", ""),
        ("vmcnt(0)", "global_store_dword v1, v2, s[4:5]", ""),
    ],
)
def test_a_wait_that_crosses_a_barrier(wait, access, name):
    code = f"{access}\n s_waitcnt {wait}\n s_barrier\n s_waitcnt vmcnt(0) lgkmcnt(0)\n v_mov_b32 v4, v3\n s_endpgm"
    program = recover(CodeObject.parse(build(code)))
    assert equivalence(program, (Reorder((2, 1)),), TESTED) == name

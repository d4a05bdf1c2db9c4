"""The rules that set an admitted fault aside."""

import pytest

from asmevo.codeobject import CodeObject
from asmevo.edit import Replace
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

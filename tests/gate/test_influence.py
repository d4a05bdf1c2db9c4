"""Changed results that launches overwrite: executed, and yet shown by nothing."""

import pytest

from asmevo.codeobject import CodeObject
from asmevo.device import IsolatedDevice
from asmevo.edit import Delete, Insert, Replace, apply_all
from asmevo.gate import Gate
from asmevo.launch import Buffer, Field, Launch, Random
from asmevo.program import rebuild, recover
from asmevo.verdict import Verdict
from small_objects import build

HEAD = """
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    s_load_dword s6, s[0:1], 0x8
    v_lshlrev_b32_e32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
    global_load_dword v2, v1, s[4:5]
    s_waitcnt vmcnt(0)
"""
STORE = """
    global_store_dword v1, v4, s[4:5]
    s_endpgm
"""
MASKED = """
    v_xor_b32_e32 v4, 3, v2
    v_cmp_gt_u32_e32 vcc, s6, v0
    s_and_saveexec_b64 s[8:9], vcc
    v_add_u32_e32 v4, 5, v2
    s_mov_b64 exec, s[8:9]
"""
BRANCHED = """
    v_mul_u32_u24_e32 v4, 3, v2
    s_cmp_lt_u32 s6, 64
    s_cbranch_scc1 1f
    v_add_u32_e32 v4, 5, v2
1:
"""
LOOPED = """
    v_mov_b32_e32 v4, v2
    v_mov_b32_e32 v5, 1.0
    s_mov_b32 s7, 0
1:
    v_add_f32_e32 v4, v4, v5
    v_mul_f32_e32 v5, 0.5, v5
    s_add_u32 s7, s7, 64
    s_cmp_lt_u32 s7, s6
    s_cbranch_scc1 1b
"""
EDITS = {
    "lanes that are off": (MASKED, "v_xor", "v_or_b32_e32 v4, 3, v2", 40),
    "lanes that are off, from an unused register": (MASKED, "v_xor", "", 40),
    "the side that is not taken": (BRANCHED, "v_mul", "v_mul_u32_u24_e32 v4, 5, v2", 3),
    "the next turn": (LOOPED, "v_mul", "v_mul_f32_e32 v5, 2.0, v5", 200),
}


def launch(n: int) -> Launch:
    """64 work-items on 64 numbers, of which `n` count."""
    fields = (Field(offset=0, buffer="p"), Field(offset=8, value=n, type="u32"))
    buffer = Buffer("p", "inout", "float32", (64,), Random(1, "normal"))
    return Launch(name=f"n{n}", grid=(1, 1, 1), block=(64, 1, 1), kernarg=fields, buffers=(buffer,))


@pytest.fixture(scope="module")
def device():
    with IsolatedDevice() as one:
        yield one


@pytest.mark.parametrize("case", EDITS)
def test_a_result_that_launches_overwrite_is_unknown_until_one_shows_it(device, case):
    code, begin, text, telling = EDITS[case]
    data = build(HEAD + code + STORE)
    k0 = recover(CodeObject.parse(data))
    (at,) = [x.id for x in k0.lines if x.instruction.text.startswith(begin)]
    edits = (Replace(at, text),) if text else (Delete((at,)),)
    candidate = rebuild(apply_all(k0, edits))
    for given in (edits, None):
        report = Gate(data, [launch(64)], device).examine(candidate, edits=given)
        assert report.verdict is Verdict.UNKNOWN
        assert report.refused_by is not None and report.refused_by.name == "influence"
        assert {f.rule for f in report.refused_by.findings} == {"influence.hidden"}
    both = Gate(data, [launch(64), launch(telling)], device)
    assert both.examine(candidate, edits=edits).verdict is Verdict.REFUTED
    same = (Replace(at, k0.line(at).instruction.text.replace("_e32", "_e64")),)
    shown = both.examine(rebuild(apply_all(k0, same)), edits=same)
    assert shown.verdict.admitted, shown.to_json()


def test_a_register_that_only_the_edited_line_writes(device):
    """The old result is computed by a new line, and the edited one writes what only a way not taken would read."""
    code = BRANCHED.replace("v_add_u32_e32 v4, 5, v2", "v_add_u32_e32 v4, 5, v2\n v_mov_b32_e32 v7, 0")
    data = build(HEAD + "v_mov_b32_e32 v7, 0\n" + code + "v_add_u32_e32 v4, v4, v7\n" + STORE)
    k0 = recover(CodeObject.parse(data))
    (at,) = [x.id for x in k0.lines if x.instruction.text.startswith("v_mul")]
    old = k0.line(at).instruction.text
    edits = (Insert(at, old), Replace(at, "v_mul_u32_u24_e32 v7, 5, v2"))
    report = Gate(data, [launch(64)], device).examine(rebuild(apply_all(k0, edits)), edits=edits)
    assert not report.verdict.admitted, report.to_json()


def test_a_new_line_whose_result_nobody_reads_needs_no_launch(device):
    data = build(HEAD + MASKED + STORE)
    k0 = recover(CodeObject.parse(data))
    (at,) = [x.id for x in k0.lines if x.instruction.text.startswith("v_cmp")]
    edits = (Insert(at, "v_mov_b32_e32 v7, 0"),)
    report = Gate(data, [launch(64)], device).examine(rebuild(apply_all(k0, edits)), edits=edits)
    assert report.verdict.admitted

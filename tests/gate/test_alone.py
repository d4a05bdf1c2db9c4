"""Static rules on one program alone, and what is known of their findings on published kernels."""

from __future__ import annotations

import pytest

from asmevo.codeobject import CodeObject
from asmevo.edit import Delete, Replace, apply_all
from asmevo.gate.alone import content_key, own_findings
from asmevo.gate.known import explanation, known_findings, parse_known
from asmevo.program import recover
from asmevo.verdict import InputError, UnsupportedError
from programs import program_from_text

LATE = """
    buffer_load_dword v1, v9, s[4:7], 0 offen
    buffer_load_dword v2, v9, s[4:7], 0 offen
    s_waitcnt vmcnt({})
    v_mov_b32_e32 v8, v1
    s_endpgm
"""


def test_compiler_made_code_has_nothing(fp8_gemm_bytes: bytes):
    assert own_findings(recover(CodeObject.parse(fp8_gemm_bytes))) == []


def test_all_of_amds_example_is_explained(fmoe_stage1_path, fmoe_stage1_bytes: bytes):
    findings = own_findings(recover(CodeObject.parse(fmoe_stage1_bytes)))
    assert findings, "hand-written code does what a compiler would not"
    assert [f for f in findings if explanation(fmoe_stage1_path.name, f) is None] == []


@pytest.mark.parametrize(("value", "expected"), [(0, []), (1, []), (2, ["wait.raw"])])
def test_a_wait_that_is_too_weak_by_one(value: int, expected: list[str]):
    assert [f.rule for f in own_findings(program_from_text(LATE.format(value)))] == expected


def test_findings_carry_both_instructions_and_whether_a_branch_decides():
    (finding,) = own_findings(program_from_text(LATE.format(2)))
    assert finding.facts["producer_text"].startswith("buffer_load_dword v1")
    assert finding.facts["consumer_text"] == "v_mov_b32_e32 v8, v1"
    assert finding.facts["straight"]
    looped = "v_mov_b32_e32 v9, v1\nloop:\n" + LATE.format(2).replace("s_endpgm", "s_cbranch_scc0 loop\ns_endpgm")
    assert {f.facts["straight"] for f in own_findings(program_from_text(looped))} == {True}
    across = "top:\nv_mov_b32_e32 v9, v1\nds_read_b32 v1, v9\ns_cbranch_scc0 top\ns_endpgm"
    assert {f.facts["straight"] for f in own_findings(program_from_text(across))} == {False}


def test_a_scalar_load_under_way_takes_nothing_from_the_order_of_lds():
    text = """
        s_load_dword s4, s[0:1], 0x0
        ds_read_b32 v1, v9
        ds_read_b32 v2, v9 offset:4
        s_waitcnt lgkmcnt({})
        v_mov_b32_e32 v8, v1
        s_endpgm
    """
    assert own_findings(program_from_text(text.format(1))) == []
    assert [f.rule for f in own_findings(program_from_text(text.format(2)))] == ["wait.raw"]


def test_an_opcode_without_a_row_is_undecided():
    with pytest.raises(UnsupportedError):
        own_findings(program_from_text("v_nonsense_b32 v0, v1\ns_endpgm"))


def test_equal_content_is_recognised(fp8_gemm_bytes: bytes):
    k0 = recover(CodeObject.parse(fp8_gemm_bytes))
    assert content_key(k0) == content_key(recover(CodeObject.parse(fp8_gemm_bytes)))
    barrier = next(line.id for line in k0.lines if line.instruction.base == "s_barrier")
    assert content_key(k0) != content_key(apply_all(k0, (Delete((barrier,)),)))


def test_every_class_says_why_and_whence():
    for known in known_findings():
        assert known.why.split()[0] in {"True", "True.", "True:", "A", "Ways", "LLVM", "The", "Short"}
        assert len(known.why) > 60, known.name
        assert known.source, known.name


def test_an_explanation_holds_for_its_files_and_opcodes_only():
    (finding,) = own_findings(program_from_text(LATE.format(2)))
    assert explanation("fmoe_anything.co", finding) is None
    text = LATE.format(2).replace("v_mov_b32_e32 v8, v1", "v_perm_b32 v8, v1, v1, v1")
    (straight,) = own_findings(program_from_text(text))
    assert explanation("fwd_hd128.co", straight) is None, "nothing but branches excuses it there"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[known]]\nname = "a"\nrule = "b"\nwhy = "c"', "lacks 'source'"),
        ('[[known]]\nname = "a"\nrule = "b"\nwhy = "c"\nsource = "d"\nfile = "e"', "unknown key 'file'"),
        ('[[known]]\nname = "a"\nrule = "b"\nwhy = "c"\nsource = "d"\n' * 2, "one name"),
    ],
)
def test_bad_files_are_refused(text: str, message: str):
    with pytest.raises(InputError, match=message):
        parse_known(text)


def test_replaced_waits_in_amds_example_are_not_explained_away(fmoe_stage1_path, fmoe_stage1_bytes: bytes):
    """Classes are narrow: a wait taken out of the example is no known finding."""
    k0 = recover(CodeObject.parse(fmoe_stage1_bytes))
    wait = next(x for x in k0.lines if "lgkmcnt(0)" in x.instruction.text and x.id in k0.block_of)
    found = own_findings(apply_all(k0, (Replace(wait.id, "s_nop 0"),)))
    assert [f for f in found if explanation(fmoe_stage1_path.name, f) is None]

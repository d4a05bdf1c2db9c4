"""The proof stage: what it proves, and what it does not leave to launches."""

from __future__ import annotations

import pytest

from asmevo.edit import Delete, Insert, Reorder, Replace
from asmevo.gate.coverage import coverage
from asmevo.gate.proof import ProofStage
from asmevo.verdict import Verdict
from programs import program_from_text

K0 = program_from_text("""
    s_mov_b32 s4, 0                             ; 0
    s_mov_b32 s20, 0x42                         ; 1
    s_load_dwordx4 s[8:11], s[0:1], 0x0         ; 2
    s_waitcnt lgkmcnt(0)                        ; 3
loop:
    v_add_u32_e32 v1, v1, v2                    ; 4
    s_add_u32 s8, s8, s5                        ; 5
    s_addc_u32 s9, s9, 0                        ; 6
    v_mul_lo_u32 v3, v3, v2                     ; 7
    s_addk_i32 s4, 0x80                         ; 8
    s_cmp_lt_i32 s4, s6                         ; 9
    s_cbranch_scc1 loop                         ; 10
    s_cmp_eq_u32 s7, 0                          ; 11
    s_cbranch_scc1 cold                         ; 12
    global_store_dword v0, v1, s[8:9]           ; 13
    global_store_dword v0, v3, s[10:11]         ; 14
    s_endpgm                                    ; 15
cold:
    v_mov_b32_e32 v1, s20                       ; 16
    global_store_dword v0, v1, s[8:9]           ; 17
    s_endpgm                                    ; 18
""")
STAGE = ProofStage(K0)


def edited(*edits):
    program = K0
    for edit in edits:
        program, _ = edit.apply(program)
    return program


@pytest.mark.parametrize(
    "edits",
    [(), (Reorder((7, 4, 5, 6)),), (Insert(7, "s_nop 2"),), (Replace(4, "v_add_u32_e64 v1, v1, v2"),)],
    ids=["nothing", "order", "nop", "encoding"],
)
def test_proved(edits):
    check, _ = STAGE.check(edited(*edits))
    assert check.verdict is Verdict.PROVED, check.findings


@pytest.mark.parametrize(
    "rule, edits",
    [
        ("proof.control", (Replace(8, "s_addk_i32 s4, 0x81"),)),
        ("proof.control", (Replace(9, "s_cmp_lt_u32 s4, s6"),)),
        ("proof.control", (Delete((0,)),)),
        ("proof.control", (Insert(9, "s_mov_b32 s6, s5"),)),
        ("proof.carry", (Replace(6, "s_addc_u32 s9, s9, 1"),)),
        ("proof.carry", (Delete((6,)),)),
        ("proof.carry", (Insert(6, "s_cmp_lg_u32 0, 0"),)),
        ("proof.carry", (Replace(5, "s_add_i32 s8, s8, s5"),)),
        ("proof.access", (Replace(14, "global_store_dword v0, v3, s[10:11] offset:4"),)),
        ("proof.access", (Delete((14,)),)),
        ("proof.access", (Insert(14, "s_barrier"),)),
    ],
)
def test_not_left_to_launches(rule, edits):
    check, _ = STAGE.check(edited(*edits))
    assert check.verdict is Verdict.UNKNOWN
    assert rule in {finding.rule for finding in check.findings}
    assert all(finding.message.endswith(".") for finding in check.findings)


def test_other_branches_are_unknown():
    check, _ = STAGE.check(program_from_text("s_endpgm"))
    assert check.verdict is Verdict.UNKNOWN


def test_an_opcode_without_a_row_is_unknown():
    check, _ = STAGE.check(edited(Insert(7, "v_not_an_opcode v1, v2")))
    assert check.verdict is Verdict.UNKNOWN


def covered(program, cold):
    """Coverage when everything ran, or everything but the lines from `cold` on."""
    _, proofs = STAGE.check(program)
    hot = {i for i, line in enumerate(program.lines) if cold or line.id < 16}
    return coverage(K0, program, hot, set(range(19)) if cold else set(range(16)), proofs)


def test_a_value_may_not_change_for_a_reader_that_nothing_executes():
    for change in (Delete((1,)), Replace(1, "s_mov_b32 s20, 0x43"), Insert(2, "s_mov_b32 s20, 7")):
        check = covered(edited(change), cold=False)
        assert check.verdict is Verdict.UNKNOWN
        assert "coverage.reader" in {finding.rule for finding in check.findings}
        assert covered(edited(change), cold=True).verdict is Verdict.TESTED


def test_a_proved_block_needs_no_launch():
    moved = edited(Insert(17, "s_nop 0"))
    _, proofs = STAGE.check(moved)
    assert coverage(K0, moved, set(range(16)), set(range(16)), proofs).verdict is Verdict.TESTED
    assert coverage(K0, moved, set(range(16)), set(range(16))).verdict is Verdict.UNKNOWN


CARRIED = """
    v_mul_lo_u32 v3, v0, s6
    {store}
    s_waitcnt vmcnt(0) lgkmcnt(0)
    s_barrier
    s_cbranch_scc0 out
    {load}
    s_waitcnt vmcnt(0) lgkmcnt(0)
    v_lshlrev_b32_e32 v5, 2, v4
    {use}
out:
    s_endpgm
"""
SPACES = {
    "LDS": ("ds_write_b32 v1, v3", "ds_read_b32 v4, v1"),
    "scratch": ("scratch_store_dword off, v3, off offset:16", "scratch_load_dword v4, off, off offset:16"),
}


@pytest.mark.parametrize("space", SPACES)
def test_what_travels_through_memory_to_an_address_steers(space):
    """Launches with small factors do not tell a 24-bit product from a 32-bit one, wherever the product passes."""
    store, load = SPACES[space]
    for use, steers in (("global_load_dword v6, v5, s[4:5]", True), ("v_add_u32_e32 v6, v5, v5", False)):
        k0 = program_from_text(CARRIED.format(store=store, load=load, use=use))
        candidate, _ = Replace(0, "v_mul_u32_u24_e64 v3, v0, s6").apply(k0)
        check, _ = ProofStage(k0).check(candidate)
        assert check.verdict is (Verdict.UNKNOWN if steers else Verdict.TESTED)
        assert [f.rule for f in check.findings] == ["proof.steering"] * steers

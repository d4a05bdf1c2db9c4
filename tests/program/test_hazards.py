"""Spacing rules at one wait state too few, exactly enough, and one more."""

from __future__ import annotations

import pytest

from asmevo.isa import parse_instruction
from asmevo.isa.roles import wait_states
from asmevo.isa.spacing import CONSUMERS, PRODUCERS, reach, spacing_rules
from asmevo.program.hazards import Hazard, HazardAnalysis, required_states, smallest_distances
from asmevo.verdict import UnsupportedError
from programs import program_from_text

FP8 = "v_mfma_f32_16x16x32_fp8_fp8"
F16 = "v_mfma_f32_32x32x8_f16"
SMALL = "v_mfma_f32_4x4x4_16b_f16"
F32 = "v_mfma_f32_16x16x4_f32"
F64 = "v_mfma_f64_16x16x4_f64"
D4 = f"{FP8} v[4:7], v[0:1], v[2:3], v[4:7]"
D16 = f"{F16} v[16:31], v[0:1], v[2:3], v[16:31]"
FILL = ("s_mov_b32 s90, 0", "v_mov_b32_e32 v250, 0", "s_waitcnt vmcnt(1)", "ds_read_b32 v251, v252")


def hazards(text: str, target: str = "gfx942") -> list[Hazard]:
    return HazardAnalysis(target).hazards(program_from_text(text, target=target))


def rules(text: str, target: str = "gfx942") -> list[tuple[str, int, int]]:
    """(rule, distance, required) of each hazard."""
    return [(h.rule.name, h.distance, h.rule.states) for h in hazards(text, target)]


def apart(first: str, states: int, second: str) -> str:
    between = [FILL[i % len(FILL)] for i in range(states)]
    return "\n".join((first, *between, second, "s_endpgm"))


CASES = [
    # the matrix unit's result
    ("mfma_valu_read", D4, "v_mov_b32_e32 v100, v5", 7, 8),
    ("mfma_valu_read", D16, "v_mov_b32_e32 v100, v31", 11, 12),
    ("mfma_valu_read", D4, "v_rcp_f32_e32 v100, v5", 7, 8),
    ("mfma_valu_read", D4, "v_readfirstlane_b32 s0, v5", 7, 8),
    ("mfma_valu_read", f"{FP8} a[4:7], v[0:1], v[2:3], a[4:7]", "v_accvgpr_read_b32 v100, a7", 7, 8),
    ("mfma_valu_read", f"{SMALL} v[4:7], v[0:1], v[2:3], v[4:7]", "v_mov_b32_e32 v100, v5", 5, 5),
    ("mfma_valu_read", f"{F32} v[4:7], v0, v1, v[4:7]", "v_mov_b32_e32 v100, v5", 10, 10),
    ("mfma_valu_read", f"{F64} v[4:11], v[0:1], v[2:3], v[4:11]", "v_mov_b32_e32 v100, v5", 11, 19),
    ("mfma_mem_read", D4, "buffer_store_dword v5, v100, s[4:7], 0 offen", 7, 8),
    ("mfma_mem_read", D4, "ds_write_b32 v100, v5", 7, 8),
    ("mfma_mem_read", D4, "ds_read_b32 v100, v5", 7, 8),
    ("mfma_mem_read", f"{F64} v[4:11], v[0:1], v[2:3], v[4:11]", "global_store_dword v[100:101], v5, off", 18, 18),
    ("mfma_overwrite", D4, "v_mov_b32_e32 v5, 0", 7, 8),
    ("mfma_overwrite", D4, "ds_read_b32 v5, v100", 7, 8),
    ("mfma_mfma_ab", D4, f"{FP8} v[8:11], v[4:5], v[2:3], v[8:11]", 7, 8),
    ("mfma_mfma_ab", D16, f"{FP8} v[8:11], v[2:3], v[30:31], v[8:11]", 11, 12),
    ("mfma_mfma_c_overlap", D4, f"{F16} v[32:47], v[0:1], v[2:3], v[4:19]", 5, 6),
    ("mfma_mfma_c_overlap", D4, f"{F32} v[32:35], v0, v1, v[6:9]", 5, 6),
    ("mfma_mfma_c_other", D4, f"{FP8.replace('fp8_fp8', 'bf8_bf8')} v[4:7], v[0:1], v[2:3], v[4:7]", 5, 6),
    ("mfma_mfma_c_same", SMALL + " v[4:7], v[0:1], v[2:3], v[4:7]", SMALL + " v[4:7], v[0:1], v[2:3], v[4:7]", 2, 2),
    # its operands
    ("mfma_c_overwrite", f"{FP8} v[8:11], v[0:1], v[2:3], v[4:7]", "v_mov_b32_e32 v5, 0", 3, 3),
    ("mfma_c_overwrite", f"{F16} v[32:47], v[0:1], v[2:3], v[16:31]", "ds_read_b32 v16, v100", 7, 7),
    ("valu_mfma", "v_mov_b32_e32 v1, 0", D4, 2, 2),
    ("valu_mfma", "v_accvgpr_write_b32 a0, v1", f"{FP8} v[4:7], a[0:1], v[2:3], v[4:7]", 2, 2),
    ("exec_mfma", "v_cmpx_eq_u32_e32 vcc, v0, v1", D4, 4, 4),
    ("dgemm_fma64", f"{F64} v[4:11], v[0:1], v[2:3], v[4:11]", "v_fma_f64 v[100:101], v[102:103], 1.0, 1.0", 2, 2),
    # the vector ALU
    ("trans_valu", "v_exp_f32_e32 v1, v0", "v_mul_f32_e32 v2, v1, v1", 1, 1),
    ("partial_valu", "v_cvt_pk_fp8_f32 v1, v2, v3 op_sel:[0,0,1]", "v_mov_b32_e32 v4, v1", 1, 1),
    ("partial_valu", "v_cvt_pk_fp8_f32 v1, v2, v3 op_sel:[0,0,1]", "v_mov_b32_e32 v1, v4", 1, 1),
    (
        "partial_valu",
        "v_and_b32_sdwa v1, v2, v3 dst_sel:BYTE_0 dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD",
        "v_mov_b32_e32 v4, v1",
        1,
        1,
    ),
    ("valu_dpp", "v_mov_b32_e32 v1, 0", "v_mul_f32_dpp v4, v1, v2 row_shl:1 row_mask:0xf bank_mask:0xf", 2, 2),
    ("exec_dpp", "v_cmpx_eq_u32_e32 vcc, v0, v1", "v_mov_b32_dpp v4, v5 row_shl:1 row_mask:0xf bank_mask:0xf", 5, 5),
    ("sgpr_valu", "v_cmp_eq_u32_e64 s[0:1], v0, v1", "v_cndmask_b32_e64 v2, v3, v4, s[0:1]", 2, 2),
    ("sgpr_valu", "v_cmp_eq_u32_e32 vcc, v0, v1", "v_cndmask_b32_e32 v2, v3, v4, vcc", 2, 2),
    ("sgpr_valu", "v_readlane_b32 s4, v0, 3", "v_add_u32_e32 v2, s4, v3", 2, 2),
    ("sgpr_lane_select", "v_readfirstlane_b32 s4, v0", "v_readlane_b32 s5, v1, s4", 4, 4),
    ("exec_lane", "v_cmpx_eq_u32_e32 vcc, v0, v1", "v_readfirstlane_b32 s4, v2", 4, 4),
    ("vgpr_readlane", "v_mov_b32_e32 v1, 0", "v_readlane_b32 s4, v1, 0", 1, 1),
    ("vgpr_readlane", "v_mov_b32_e32 v1, 0", "v_readfirstlane_b32 s4, v1", 1, 1),
    ("vcc_div_fmas", "v_cmp_eq_u32_e32 vcc, v0, v1", "v_div_fmas_f32 v2, v3, v4, v5", 4, 4),
    ("dot_read", "v_dot4_i32_i8 v1, v2, v3, v4", "v_mov_b32_e32 v5, v1", 3, 3),
    ("dot_overwrite", "v_dot4_i32_i8 v1, v2, v3, v4", "v_mov_b32_e32 v1, v5", 3, 3),
    # memory
    ("sgpr_vmem", "v_readfirstlane_b32 s4, v0", "buffer_load_dword v1, v2, s[4:7], 0 offen", 5, 5),
    ("sgpr_vmem", "v_readlane_b32 s9, v0, 1", "buffer_load_dword v1, v2, s[4:7], s9 offen", 5, 5),
    ("sgpr_vmem", "v_readlane_b32 s8, v0, 1", "global_load_dword v1, v2, s[8:9]", 5, 5),
    ("exec_vmem", "v_cmpx_eq_u32_e32 vcc, v0, v1", "global_load_dword v2, v[4:5], off", 5, 5),
    ("wide_store", "global_store_dwordx4 v[0:1], v[4:7], off", "v_mov_b32_e32 v7, 0", 2, 2),
    ("wide_store", "buffer_store_dwordx3 v[4:6], v0, s[4:7], 0 offen", "v_mov_b32_e32 v5, 0", 2, 2),
    ("wide_store", "global_store_dwordx4 v[0:1], v[4:7], off", f"{FP8} v[4:7], v[8:9], v[10:11], 0", 2, 2),
    ("wide_store_soffset", "buffer_store_dwordx4 v[4:7], v0, s[4:7], s9 offen", "v_mov_b32_e32 v5, 0", 1, 1),
    ("m0_use", "s_mov_b32 m0, s4", "buffer_load_dword v9, s[4:7], 0 offen lds", 1, 1),
    ("m0_use", "s_mov_b32 m0, s4", "s_sendmsg sendmsg(MSG_INTERRUPT)", 1, 1),
    ("m0_use", "s_mov_b32 m0, s4", "s_movrels_b32 s9, s10", 1, 1),
    ("m0_use", "s_mov_b32 m0, s4", "s_movreld_b64 s[10:11], s[12:13]", 1, 1),
    ("setreg", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 0", "s_getreg_b32 s0, hwreg(HW_REG_MODE)", 2, 2),
    ("setreg", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 0", "s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s1", 2, 2),
]  # fmt: skip
"""Rule, producer, consumer, wait states that gfx942 and gfx950 need."""


@pytest.mark.parametrize(("name", "first", "second", "gfx942", "gfx950"), CASES)
def test_each_rule_at_its_border(name: str, first: str, second: str, gfx942: int, gfx950: int):
    for target, needed in (("gfx942", gfx942), ("gfx950", gfx950)):
        assert required_states(parse_instruction(first), parse_instruction(second), target) == needed
        for states in range(needed):
            assert (name, states, needed) in rules(apart(first, states, second), target)
        assert rules(apart(first, needed, second), target) == []
        assert rules(apart(first, needed + 1, second), target) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (D4, D4),  # the accumulator is forwarded
        (D4, f"{FP8} v[4:7], v[8:9], v[10:11], 0"),  # matrix over matrix
        (D4, "v_mov_b32_e32 v100, v8"),
        (D4, "v_mov_b32_e32 v0, 0"),  # A and B are read at once
        ("s_mov_b32 s4, 0", "buffer_load_dword v1, v2, s[4:7], 0 offen"),
        ("s_mov_b64 exec, -1", "global_load_dword v2, v[4:5], off"),
        ("s_mov_b64 exec, -1", D4),
        ("s_mov_b64 vcc, 0", "v_cndmask_b32_e32 v2, v3, v4, vcc"),
        ("s_mov_b32 m0, s4", "ds_read_b32 v0, v1"),
        ("s_mov_b32 m0, s4", "v_readlane_b32 s5, v1, m0"),
        ("v_cmp_eq_u32_e32 vcc, v0, v1", "s_cbranch_vccz .end"),
        ("v_cmp_eq_u32_e32 vcc, v0, v1", "s_and_b64 s[0:1], vcc, s[2:3]"),
        ("v_cmpx_eq_u32_e32 vcc, v0, v1", "v_mov_b32_e32 v2, v3"),
        ("v_exp_f32_e32 v1, v0", "v_rcp_f32_e32 v2, v1"),
        ("v_exp_f32_e32 v1, v0", "v_mov_b32_e32 v1, 0"),
        ("v_exp_f32_e32 v1, v0", "ds_write_b32 v2, v1"),
        ("v_cvt_pk_fp8_f32 v1, v2, v3", "v_mov_b32_e32 v4, v1"),
        ("v_pk_mul_f32 v[0:1], v[2:3], v[4:5] op_sel_hi:[1,1]", "v_mov_b32_e32 v6, v0"),
        ("v_mov_b32_e32 v0, 0", "ds_write_b32 v0, v1"),
        ("v_nop", "v_mov_b32_e32 v0, 0"),
        ("ds_read_b32 v1, v9", "v_mov_b32_dpp v4, v1 row_shl:1 row_mask:0xf bank_mask:0xf"),
        ("global_store_dwordx2 v[0:1], v[4:5], off", "v_mov_b32_e32 v5, 0"),
        ("global_store_dwordx4 v[0:1], v[4:7], off", "v_mov_b32_e32 v0, 0"),
        ("ds_write_b128 v0, v[4:7]", "v_mov_b32_e32 v7, 0"),
        ("v_dot4_i32_i8 v1, v2, v3, v4", "v_dot4_i32_i8 v1, v5, v6, v1"),
        ("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 0", "s_getreg_b32 s0, hwreg(HW_REG_STATUS)"),
    ],
)
def test_what_the_hardware_interlocks_needs_no_distance(first: str, second: str):
    assert rules(f"{first}\n{second}\n.end:\ns_endpgm".replace(".end", "end")) == []


def test_g26_the_same_code_may_be_legal_on_one_target_only():
    text = apart(D4, 7, "v_mov_b32_e32 v100, v5")
    assert rules(text, "gfx942") == []
    assert rules(text, "gfx950") == [("mfma_valu_read", 7, 8)]


def test_b18_the_longest_rule_is_looked_for_to_its_full_length():
    """20 wait states on gfx950: a scan of 19 would miss a distance of exactly 19."""
    long = "v_mfma_f32_32x32x4_2b_f16 v[16:47], v[0:1], v[2:3], v[16:47]"
    assert rules(apart(long, 19, "v_mov_b32_e32 v100, v20"), "gfx950") == [("mfma_valu_read", 19, 20)]
    assert rules(apart(long, 20, "v_mov_b32_e32 v100, v20"), "gfx950") == []
    assert rules(apart(long, 18, "v_mov_b32_e32 v100, v20"), "gfx942") == [("mfma_valu_read", 18, 19)]


@pytest.mark.parametrize(("passes", "gfx942", "gfx950"), [(2, 5, 5), (4, 7, 8), (8, 11, 12), (16, 19, 20)])
def test_b20_gfx950_needs_one_more_except_for_two_passes(passes: int, gfx942: int, gfx950: int):
    found = {
        target: {r.states for r in spacing_rules(target) if r.name == "mfma_mfma_ab" and r.producer == f"xdl{passes}"}
        for target in ("gfx942", "gfx950")
    }
    assert found == {"gfx942": {gfx942}, "gfx950": {gfx950}}


def test_b19_an_accumulator_is_not_taken_to_be_forwarded_to_another_opcode():
    other = D4.replace("fp8_fp8", "fp8_bf8")
    assert rules(f"{D4}\n{other}\ns_endpgm") == [("mfma_mfma_c_other", 0, 5)]


@pytest.mark.parametrize(("nop", "states"), [("s_nop 0", 1), ("s_nop 5", 6), ("s_nop 15", 16), ("s_nop 16", 1)])
def test_nops_count_their_operand_plus_one_in_four_bits(nop: str, states: int):
    assert wait_states(parse_instruction(nop)) == states
    expected = [("mfma_valu_read", states, 7)] if states < 7 else []
    assert rules(f"{D4}\n{nop}\nv_mov_b32_e32 v100, v5\ns_endpgm") == expected


def test_b21_nothing_but_the_order_is_trusted():
    """Matrix code written by hand, without a compiler that puts nops in."""
    text = f"{D4}\n{D4.replace('v[4:7]', 'v[8:11]')}\nv_mov_b32_e32 v100, v4\ns_endpgm"
    assert rules(text) == [("mfma_valu_read", 1, 7)]


def test_the_shortest_path_counts():
    text = f"""
        {D4}
        s_cbranch_scc0 join
        s_nop 7
        s_nop 7
    join:
        v_mov_b32_e32 v100, v5
        s_endpgm
    """
    assert rules(text) == [("mfma_valu_read", 1, 7)]


def test_the_back_edge_of_a_loop_counts():
    text = f"""
        v_mov_b32_e32 v100, 0
    loop:
        v_mov_b32_e32 v100, v5
        {{}}
        {D4}
        s_cbranch_scc0 loop
        s_nop 7
        s_endpgm
    """
    assert rules(text.format("s_nop 0")) == [("mfma_valu_read", 1, 7)]
    moved = text.format("s_nop 0").replace("s_cbranch_scc0", "s_nop 5\n s_cbranch_scc0")
    assert rules(moved) == []


def test_a_chain_of_short_blocks_is_followed():
    text = (
        f"{D4}\n"
        + "".join(f"s_cbranch_scc{i % 2} l{i}\nl{i}:\n" for i in range(6))
        + "v_mov_b32_e32 v100, v4\ns_endpgm"
    )
    assert rules(text) == [("mfma_valu_read", 6, 7)]


def test_a_register_written_in_between_no_longer_depends_on_the_first_writer():
    text = "v_readfirstlane_b32 s4, v0\ns_mov_b32 s4, 0\nbuffer_load_dword v1, v2, s[4:7], 0 offen\ns_endpgm"
    assert rules(text) == []


def test_smallest_distances_are_by_pair_of_classes():
    text = "\n".join(
        [apart(D4, n, "v_mov_b32_e32 v100, v5").removesuffix("s_endpgm") for n in (6, 5, 9)]
        + [apart(D16, 8, "v_mov_b32_e32 v100, v30")]
    )
    assert smallest_distances(hazards(text)) == {
        "mfma_valu_read:xdl4:valu_read:overlap": 5,
        "mfma_valu_read:xdl8:valu_read:overlap": 8,
    }


def test_every_rule_has_a_key_of_its_own():
    """An allowance for one rule or pair of classes is none for another."""
    for target in ("gfx942", "gfx950"):
        keys = [rule.key for rule in spacing_rules(target)]
        assert len(keys) == len(set(keys))


def test_rules_are_known_for_two_targets_and_have_sources():
    assert {r.key for r in spacing_rules("gfx942")} < {r.key for r in spacing_rules("gfx950")}
    assert all(r.source and r.producer in PRODUCERS and r.consumer in CONSUMERS for r in spacing_rules("gfx950"))
    assert max(reach("gfx942").values()) == 19
    with pytest.raises(UnsupportedError, match="gfx90a"):
        spacing_rules("gfx90a")

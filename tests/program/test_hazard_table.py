"""Every row of the spacing rules for both targets: text in, finding out, on both sides of the distance."""

from __future__ import annotations

import pytest

from asmevo.isa.spacing import spacing_rules
from asmevo.program.hazards import HazardAnalysis
from asmevo.verdict import UnsupportedError
from programs import program_from_text

TARGETS = ("gfx942", "gfx950")
PRODUCERS = {
    "xdl2": "v_mfma_f32_4x4x4_16b_f16 v[4:7], v[0:1], v[2:3], v[4:7]",
    "xdl4": "v_mfma_f32_16x16x32_fp8_fp8 v[4:7], v[0:1], v[2:3], v[4:7]",
    "xdl8": "v_mfma_f32_32x32x8_f16 v[4:19], v[0:1], v[2:3], v[4:19]",
    "xdl16": "v_mfma_f32_32x32x4_2b_f16 v[4:35], v[0:1], v[2:3], v[4:35]",
    "sgemm2": "v_mfma_f32_4x4x1_16b_f32 v[4:7], v0, v1, v[4:7]",
    "sgemm8": "v_mfma_f32_16x16x4_f32 v[4:7], v0, v1, v[4:7]",
    "sgemm16": "v_mfma_f32_32x32x2_f32 v[4:19], v0, v1, v[4:19]",
    "dgemm4": "v_mfma_f64_4x4x4_4b_f64 v[4:5], v[0:1], v[2:3], v[4:5]",
    "dgemm16": "v_mfma_f64_16x16x4_f64 v[4:11], v[0:1], v[2:3], v[4:11]",
}
VALU = "v_mov_b32_e32 v100, v5"
MEMORY = "global_store_dword v[100:101], v5, off"
OVERWRITE = "v_mov_b32_e32 v5, 0"
AB = "v_mfma_f32_16x16x32_fp8_fp8 v[100:103], v[4:5], v[2:3], v[100:103]"
XDL_C = "v_mfma_f32_16x16x32_fp8_fp8 v[100:103], v[0:1], v[2:3], v[2:5]"
OTHER_C = "v_mfma_f32_16x16x4_f32 v[100:103], v0, v1, v[2:5]"
SAME = "itself"

RESULTS = {
    VALU: {
        "xdl2": (5, 5), "xdl4": (7, 8), "xdl8": (11, 12), "xdl16": (19, 20), "sgemm2": (4, 4), "sgemm8": (10, 10),
        "sgemm16": (18, 18), "dgemm4": (6, 6), "dgemm16": (11, 19),
    },
    MEMORY: {
        "xdl2": (5, 5), "xdl4": (7, 8), "xdl8": (11, 12), "xdl16": (19, 20), "sgemm2": (4, 4), "sgemm8": (10, 10),
        "sgemm16": (18, 18), "dgemm4": (9, 9), "dgemm16": (18, 18),
    },
    OVERWRITE: {
        "xdl2": (5, 5), "xdl4": (7, 8), "xdl8": (11, 12), "xdl16": (19, 20), "sgemm2": (4, 4), "sgemm8": (10, 10),
        "sgemm16": (18, 18), "dgemm4": (6, 6), "dgemm16": (11, 11),
    },
    AB: {
        "xdl2": (5, 5), "xdl4": (7, 8), "xdl8": (11, 12), "xdl16": (19, 20), "sgemm2": (4, 4), "sgemm8": (10, 10),
        "sgemm16": (18, 18), "dgemm4": (6, 6), "dgemm16": (11, 19),
    },
    XDL_C: {
        "xdl2": (3, 4), "xdl4": (5, 6), "xdl8": (9, 10), "xdl16": (17, 18), "sgemm2": (0, 0), "sgemm8": (0, 0),
        "sgemm16": (0, 0), "dgemm4": (0, 0), "dgemm16": (0, 0),
    },
    OTHER_C: {
        "xdl2": (3, 3), "xdl4": (5, 6), "xdl8": (9, 10), "xdl16": (17, 18), "sgemm2": (2, 2), "sgemm8": (8, 8),
        "sgemm16": (16, 16), "dgemm4": (4, 4), "dgemm16": (9, 17),
    },
    SAME: {
        "xdl2": (2, 2), "xdl4": (0, 0), "xdl8": (0, 0), "xdl16": (0, 0), "sgemm2": (2, 2), "sgemm8": (0, 0),
        "sgemm16": (0, 0), "dgemm4": (4, 4), "dgemm16": (0, 0),
    },
}  # fmt: skip
"""Consumer of the result to wait states by producer, on gfx942 and gfx950."""
ACCUMULATORS = {"xdl2": 1, "xdl4": 3, "xdl8": 7, "xdl16": 15, "sgemm8": 0, "dgemm16": 0}
"""Wait states before C, which the matrix unit still reads, may be overwritten."""

CMPX = "v_cmpx_eq_u32_e32 vcc, v0, v1"
DPP = "row_shl:1 row_mask:0xf bank_mask:0xf"
OTHERS = {
    "VALU to matrix": ("v_mov_b32_e32 v1, 0", PRODUCERS["xdl4"], 2),
    "VALU to C": ("v_mov_b32_e32 v7, 0", PRODUCERS["xdl4"], 2),
    "EXEC to matrix": (CMPX, PRODUCERS["xdl4"], 4),
    "f64 matrix to any f64 multiply-add": (PRODUCERS["dgemm4"], "v_fma_f64 v[90:91], v[92:93], 1.0, 1.0", 2),
    "transcendental": ("v_rsq_f32_e32 v1, v0", "v_add_f32_e32 v2, v1, v1", 1),
    "SDWA read": (
        "v_and_b32_sdwa v1, v2, v3 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD", VALU
        .replace("v5", "v1"), 1,
    ),
    "high half of VOP3": ("v_add_u16_e64 v1, v2, v3 op_sel:[0,0,1]", "v_mov_b32_e32 v4, v1", 1),
    "high half of a conversion": ("v_cvt_pk_bf8_f32 v1, v2, v3 op_sel:[0,0,1]", "v_mov_b32_e32 v4, v1", 1),
    "DPP source": ("v_mov_b32_e32 v1, 0", f"v_add_f32_dpp v4, v1, v2 {DPP}", 2),
    "DPP other operand": ("v_mov_b32_e32 v2, 0", f"v_add_f32_dpp v4, v1, v2 {DPP}", 2),
    "EXEC to DPP": (CMPX, f"v_mov_b32_dpp v4, v5 {DPP}", 5),
    "SGPR to VALU": ("v_readlane_b32 s4, v0, 3", "v_add_u32_e32 v2, s4, v3", 2),
    "carry to carry": ("v_add_co_u32_e32 v1, vcc, v2, v3", "v_addc_co_u32_e32 v4, vcc, 0, v5, vcc", 2),
    "SGPR to the value of v_writelane": ("v_readlane_b32 s4, v0, 3", "v_writelane_b32 v2, s4, 0", 2),
    "EXEC as an operand": (CMPX, "v_cndmask_b32_e64 v2, v3, v4, exec", 2),
    "lane select of v_readlane": ("v_readfirstlane_b32 s4, v0", "v_readlane_b32 s5, v1, s4", 4),
    "lane select of v_writelane": ("v_readfirstlane_b32 s4, v0", "v_writelane_b32 v1, 0, s4", 4),
    "EXEC to v_readlane": (CMPX, "v_readlane_b32 s4, v2, 0", 4),
    "EXEC to v_writelane": (CMPX, "v_writelane_b32 v2, 0, 0", 4),
    "VGPR to v_readlane": ("v_mov_b32_e32 v1, 0", "v_readlane_b32 s4, v1, 0", 1),
    "VCC to v_div_fmas": ("v_cmp_eq_u32_e32 vcc, v0, v1", "v_div_fmas_f64 v[2:3], v[4:5], v[6:7], v[8:9]", 4),
    "dot to VALU": ("v_dot4_i32_i8 v1, v2, v3, v4", "v_mov_b32_e32 v5, v1", 3),
    "dot to memory": ("v_dot4_i32_i8 v1, v2, v3, v4", "ds_write_b32 v9, v1", 3),
    "dot to A of its own opcode": ("v_dot4_i32_i8 v1, v2, v3, v4", "v_dot4_i32_i8 v5, v1, v3, v4", 3),
    "dot to C of its own opcode": ("v_dot4_i32_i8 v1, v2, v3, v4", "v_dot4_i32_i8 v1, v2, v3, v1", 0),
    "dot overwritten": ("v_dot4_i32_i8 v1, v2, v3, v4", "v_mov_b32_e32 v1, v5", 3),
    "dot overwritten by a load": ("v_dot4_i32_i8 v1, v2, v3, v4", "ds_read_b32 v1, v5", 3),
    "SGPR to a descriptor": ("v_readfirstlane_b32 s4, v0", "buffer_load_dword v1, v2, s[4:7], 0 offen", 5),
    "SGPR to LDS-DMA": ("v_readfirstlane_b32 s4, v0", "buffer_load_dword v2, s[4:7], 0 offen lds", 5),
    "EXEC to memory": (CMPX, "global_load_dword v2, v[4:5], off", 5),
    "EXEC to LDS": (CMPX, "ds_read_b32 v2, v4", 0),
    "wide store": ("global_store_dwordx3 v[0:1], v[4:6], off", "v_mov_b32_e32 v6, 0", 2),
    "wide flat store": ("flat_store_dwordx4 v[0:1], v[4:7]", "v_mov_b32_e32 v6, 0", 2),
    "wide compare and swap": ("global_atomic_cmpswap_x2 v[0:1], v[4:7], off", "v_mov_b32_e32 v6, 0", 2),
    "narrow store": ("global_store_dwordx2 v[0:1], v[4:5], off", "v_mov_b32_e32 v5, 0", 0),
    "wide store overwritten by a load": ("global_store_dwordx4 v[0:1], v[4:7], off", "ds_read_b32 v6, v8", 0),
    "wide store with soffset": ("buffer_store_dwordx4 v[4:7], v0, s[4:7], s9 offen", "v_mov_b32_e32 v5, 0", 1),
    "M0 to LDS-DMA": ("s_mov_b32 m0, s4", "global_load_lds_dword v[0:1], off", 1),
    "M0 to addtid": ("s_mov_b32 m0, s4", "ds_read_addtid_b32 v1", 1),
    "setreg to getreg": ("s_setreg_b32 hwreg(HW_REG_MODE), s0", "s_getreg_b32 s1, hwreg(HW_REG_MODE)", 2),
    "VSKIP by s_setvskip": ("s_setvskip s0, 0", "v_mov_b32_e32 v0, 0", 2),
    "VSKIP to memory": ("s_setvskip s0, 0", "ds_read_b32 v1, v5", 2),
    "VSKIP to s_getreg": ("s_setvskip s0, 0", "s_getreg_b32 s1, hwreg(HW_REG_MODE)", 2),
    "VSKIP to scalars": ("s_setvskip s0, 0", "s_mov_b32 s1, 0", 0),
}  # fmt: skip
"""Producer, consumer and wait states, equal on both targets."""


def short(first: str, states: int, second: str, target: str) -> list[int]:
    """Wait states that each finding asks for."""
    between = "".join(f"s_mov_b32 s{90 + i % 8}, 0\n" for i in range(states))
    program = program_from_text(f"{first}\n{between}{second}\ns_endpgm", target=target)
    return [h.rule.states for h in HazardAnalysis(target).hazards(program)]


def exactly(first: str, second: str, needed: int, target: str) -> None:
    """Found at one state too few, by the rule with the longest distance, and not at the distance itself."""
    assert short(first, needed, second, target) == []
    if needed:
        assert needed in short(first, needed - 1, second, target)


@pytest.mark.parametrize("consumer", RESULTS)
@pytest.mark.parametrize("producer", PRODUCERS)
def test_results_of_the_matrix_unit(producer: str, consumer: str):
    first = PRODUCERS[producer]
    second = first if consumer == SAME else consumer
    if producer == "dgemm4" and consumer in (XDL_C, OTHER_C):
        second = consumer.replace("v[2:5]", "v[4:7]")
    for target, needed in zip(TARGETS, RESULTS[consumer][producer], strict=True):
        exactly(first, second, needed, target)


@pytest.mark.parametrize("producer", ACCUMULATORS)
def test_accumulators_that_are_still_read(producer: str):
    head, _, accumulator = PRODUCERS[producer].rpartition(", ")
    first = head.replace(accumulator, "v[120:151]" if producer == "xdl16" else "v[120:135]", 1)
    first = {
        "xdl2": "v_mfma_f32_4x4x4_16b_f16 v[120:123], v[0:1], v[2:3]",
        "xdl4": "v_mfma_f32_16x16x32_fp8_fp8 v[120:123], v[0:1], v[2:3]",
        "sgemm8": "v_mfma_f32_16x16x4_f32 v[120:123], v0, v1",
        "dgemm16": "v_mfma_f64_16x16x4_f64 v[120:127], v[0:1], v[2:3]",
    }.get(producer, first)
    for target in TARGETS:
        exactly(f"{first}, {accumulator}", OVERWRITE, ACCUMULATORS[producer], target)


@pytest.mark.parametrize("name", OTHERS)
def test_other_rows(name: str):
    first, second, needed = OTHERS[name]
    for target in TARGETS:
        exactly(first, second, needed, target)


@pytest.mark.parametrize(
    "text",
    [
        "v_mov_b32_e32 v2, src_vccz",
        "v_mov_b32_e32 v2, src_execz",
        "s_rfe_b64 s[0:1]",
        "v_permlane32_swap_b32_e32 v0, v1",
    ],
)
def test_what_is_not_known_is_undecided(text: str):
    """Wait states that these need are not counted: whoever uses them gets no verdict at all."""
    with pytest.raises(UnsupportedError):
        short("s_nop 0", 0, text, "gfx950")


def test_each_rule_is_met_by_some_row():
    pairs = [(first, first if second == SAME else second) for first in PRODUCERS.values() for second in RESULTS]
    pairs += [(first, second) for first, second, _ in OTHERS.values()]
    met = set[str]()
    for first, second in pairs:
        program = program_from_text(f"{first}\n{second}\ns_endpgm")
        met |= {h.rule.name for h in HazardAnalysis("gfx942").hazards(program)}
    elsewhere = {"mfma_c_overwrite", "mfma_mfma_c_other"}
    """In another test of this file and in `test_hazards`."""
    assert met | elsewhere == {rule.name for rule in spacing_rules("gfx942")}

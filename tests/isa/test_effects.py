"""What instructions read and write, on hand-written lines of every shape."""

from __future__ import annotations

from pathlib import Path

import pytest

from asmevo.codeobject import CodeObject
from asmevo.isa import Counter, Decoder, MatrixRow, MemoryRow, effects, names, parse_instruction, row_of
from asmevo.verdict import UnsupportedError

GOLDEN = """
s_add_u32 s60, s61, 1                         | s61                            | s60, scc
s_addc_u32 s45, 0, s45                        | s45, scc                       | s45, scc
s_mul_i32 s60, s66, s68                       | s66, s68                       | s60
s_addk_i32 s80, 0x80                          | s80                            | s80, scc
s_cselect_b32 s61, 1, 4                       | scc                            | s61
s_cmp_lt_u32 s60, s81                         | s60, s81                       | scc
s_cmpk_gt_i32 s22, 0x7f                       | s22                            | scc
s_cmov_b32 s1, s2                             | s1, s2, scc                    | s1
s_bitset1_b32 s1, 5                           | s1                             | s1
s_mov_b64 exec, s[36:37]                      | s36, s37                       | exec_lo, exec_hi
s_and_saveexec_b64 s[20:21], vcc              | vcc_lo, vcc_hi, exec_lo, exec_hi | s20, s21, exec_lo, exec_hi, scc
s_bfm_b64 exec, s18, 0                        | s18                            | exec_lo, exec_hi
s_ff1_i32_b64 s32, s[24:25]                   | s24, s25                       | s32
s_cbranch_scc0 label                          | scc                            |
s_cbranch_vccnz label                         | vcc_lo, vcc_hi                 |
s_cbranch_execz 12                            | exec_lo, exec_hi               |
s_branch 56                                   |                                |
s_waitcnt vmcnt(0) lgkmcnt(0)                 |                                |
s_barrier                                     |                                |
s_endpgm                                      |                                |
s_getpc_b64 s[4:5]                            |                                | s4, s5
s_setvskip s20, 0                             | s20, mode                      | mode
s_set_gpr_idx_on s40, gpr_idx(DST)            | s40, m0, mode                  | m0, mode
s_set_gpr_idx_off                             | mode                           | mode
s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), 0xf0 | mode                       | mode
s_getreg_b32 s0, hwreg(HW_REG_XCC_ID)         | mode                           | s0
s_sendmsg sendmsg(MSG_INTERRUPT)              | m0                             |
s_memtime s[0:1]                              |                                | s0, s1
s_load_dwordx4 s[4:7], s[0:1], 0x58           | s0, s1                         | s4, s5, s6, s7
s_load_dword s9, s[2:3], s4 offset:0x10       | s2, s3, s4                     | s9
s_store_dword s84, s[56:57], s86 glc          | s56, s57, s84, s86             |
s_atomic_inc s80, s[40:41], s93               | s40, s41, s80, s93             |
s_atomic_inc s80, s[40:41], s93 glc           | s40, s41, s80, s93             | s80
v_add_u32_e32 v4, 64, v5                      | exec, v5                       | v4
v_add_u32_e64 v23, v22, s60                   | s60, exec, v22                 | v23
v_fma_f32 v72, v8, -v4, |s3|                  | s3, exec, v4, v8               | v72
v_fmac_f32_e32 v64, v56, v224                 | exec, v56, v64, v224           | v64
v_fmaak_f32 v0, v1, v2, 0x40490fdb            | exec, v1, v2                   | v0
v_cndmask_b32_e32 v1, v2, v3, vcc             | vcc, exec, v2, v3              | v1
v_cndmask_b32_e64 v1, v2, v3, s[46:47]        | s46, s47, exec, v2, v3         | v1
v_add_co_u32_e32 v0, vcc, v1, v2              | exec, v1, v2                   | vcc, v0
v_addc_co_u32_e32 v0, vcc, v1, v2, vcc        | vcc, exec, v1, v2              | vcc, v0
v_addc_co_u32_e64 v0, s[4:5], v1, v2, s[6:7]  | s6, s7, exec, v1, v2           | s4, s5, v0
v_cmp_gt_i32_e32 vcc, s14, v88                | s14, exec, v88                 | vcc
v_cmp_u_f32_e64 s[46:47], v72, v72            | exec, v72                      | s46, s47
v_cmp_eq_u64_e64 s[46:47], v[2:3], s[4:5]     | s4, s5, exec, v2, v3           | s46, s47
v_cmpx_lt_f32_e32 vcc, v0, v1                 | exec, v0, v1                   | vcc, exec
v_mad_u64_u32 v[2:3], s[16:17], v4, v16, 0    | exec, v4, v16                  | s16, s17, v2, v3
v_lshl_add_u64 v[6:7], s[2:3], 0, v[8:9]      | s2, s3, exec, v8, v9           | v6, v7
v_pk_mul_f32 v[4:5], v[72:73], s[78:79] op_sel_hi:[1,0] | s78, s79, exec, v72, v73 | v4, v5
v_pk_fma_f32 v[4:5], v[6:7], v[8:9], 0 op_sel:[0,1,1] op_sel_hi:[1,1,0] | exec, v6, v7, v8, v9 | v4, v5
v_pk_mov_b32 v[36:37], v[2:3], v[4:5] op_sel:[0,1] | exec, v2, v3, v4, v5     | v36, v37
v_div_scale_f32 v0, vcc, v1, v2, v3           | exec, v1, v2, v3               | vcc, v0
v_div_fmas_f32 v0, v1, v2, v3                 | vcc, exec, v1, v2, v3          | v0
v_cvt_pk_fp8_f32 v72, v73, v74                | exec, v72, v73, v74            | v72
v_cvt_pk_fp8_f32 v72, v73, v74 op_sel:[0,0,1] | exec, v72, v73, v74            | v72
v_mad_legacy_u16 v0, v1, v2, v3               | exec, v1, v2, v3               | v0
v_mad_u16 v0, v1, v2, v3                      | exec, v0, v1, v2, v3           | v0
v_cvt_pk_f32_fp8_sdwa v[38:39], v92 src0_sel:WORD_0 | exec, v92                | v38, v39
v_and_b32_sdwa v60, v56, v58 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:DWORD | exec, v56, v58 | v60
v_cvt_f16_f32_sdwa v12, v13 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD | exec, v12, v13 | v12
v_cvt_f16_f32_sdwa v12, v13 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:DWORD | exec, v13 | v12
v_mul_f32_dpp v4, v24, v49 row_newbcast:0 row_mask:0xf bank_mask:0xf | exec, v4, v24, v49 | v4
v_mov_b32_dpp v9, v8 row_shl:8 row_mask:0xf bank_mask:0xf bound_ctrl:1 | exec, v8 | v9
v_mov_b32_dpp v9, v8 row_shl:8 row_mask:0x3 bank_mask:0xf bound_ctrl:1 | exec, v8, v9 | v9
v_swap_b32 v0, v1                             | exec, v0, v1                   | v0, v1
v_readlane_b32 s82, v3, s4                    | s4, v3                         | s82
v_readfirstlane_b32 s7, v3                    | exec, v3                       | s7
v_writelane_b32 v16, s20, 0                   | s20, v16                       | v16
v_accvgpr_write_b32 a143, v3                  | exec, v3                       | a143
v_accvgpr_read_b32 v13, a37                   | exec, a37                      | v13
v_mbcnt_lo_u32_b32 v3, -1, 0                  | exec                           | v3
v_nop                                         |                                |
v_mfma_f32_16x16x32_fp8_fp8 v[8:11], a[0:1], v[2:3], 0 | v2, v3, a0, a1        | v8, v9, v10, v11
v_mfma_f64_4x4x4_4b_f64 a[0:1], v[8:9], v[10:11], a[2:3] | v8, v9, v10, v11, a2, a3 | a0, a1
ds_read_b64 v[6:7], v2 offset:8               | exec, v2                       | v6, v7
ds_read2st64_b64 v[48:51], v89 offset1:8      | exec, v89                      | v48, v49, v50, v51
ds_write2_b32 v99, v6, v2 offset1:8           | exec, v2, v6, v99              |
ds_read_u16_d16_hi v0, v1                     | exec, v0, v1                   | v0
ds_add_rtn_u32 v5, v1, v2                     | exec, v1, v2                   | v5
ds_cmpst_b32 v1, v2, v3                       | exec, v1, v2, v3               |
ds_bpermute_b32 v0, v1, v2                    | exec, v1, v2                   | v0
ds_read_addtid_b32 v0                         | m0, exec                       | v0
buffer_load_dwordx4 a[112:115], v70, s[24:27], 0 offen | s24, s25, s26, s27, exec, v70 | a112, a113, a114, a115
buffer_load_dword v0, v[2:3], s[8:11], s1 idxen offen | s1, s8, s9, s10, s11, exec, v2, v3 | v0
buffer_load_dword v4, s[8:11], s3 offen lds   | s3, s8, s9, s10, s11, m0, exec, v4 |
buffer_load_dword off, s[8:11], s3 lds        | s3, s8, s9, s10, s11, m0, exec |
buffer_load_short_d16 v9, off, s[8:11], 0     | s8, s9, s10, s11, exec, v9     | v9
buffer_store_dwordx2 v[92:93], v17, s[88:91], 0 offen | s88, s89, s90, s91, exec, v17, v92, v93 |
buffer_atomic_pk_add_f16 v9, v7, s[32:35], 0 idxen | s32, s33, s34, s35, exec, v7, v9 |
buffer_atomic_add v0, v2, s[8:11], 0 offen sc0 | s8, s9, s10, s11, exec, v0, v2 | v0
global_load_dwordx4 v[6:9], v[34:35], off     | exec, v34, v35                 | v6, v7, v8, v9
global_load_dword v7, v56, s[44:45]           | s44, s45, exec, v56            | v7
global_store_dwordx2 v[54:55], v[0:1], off    | exec, v0, v1, v54, v55         |
global_atomic_add_f32 v6, v72, s[8:9]         | s8, s9, exec, v6, v72          |
global_atomic_cmpswap v8, v[6:7], v[8:9], off sc0 | exec, v6, v7, v8, v9       | v8
global_load_lds_dword v[0:1], off             | m0, exec, v0, v1               |
flat_load_dword v0, v[2:3] offset:8           | exec, v2, v3                   | v0
flat_atomic_add v0, v[2:3], v4 sc0            | exec, v2, v3, v4               | v0
scratch_load_dword v0, off, s2                | s2, exec                       | v0
scratch_store_dword v0, v1, s3                | s3, exec, v0, v1               |
buffer_wbl2 sc1                               |                                |
buffer_inv sc0 sc1                            |                                |
"""


def spelled(text: str) -> set[str]:
    """`exec` and `vcc` stand for both halves."""
    found = {name.strip() for name in text.split(",") if name.strip()}
    for pair in ("exec", "vcc"):
        if pair in found:
            found = found - {pair} | {f"{pair}_lo", f"{pair}_hi"}
    return found


LINES = [line.rsplit("|", 2) for line in GOLDEN.strip().splitlines()]


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[0].strip())
def test_reads_and_writes(line: list[str]) -> None:
    text, reads, writes = line
    found = effects(parse_instruction(text.strip()))
    assert spelled(names(found.reads)) == spelled(reads)
    assert spelled(names(found.writes)) == spelled(writes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("v_unheard_of_b32 v0, v1", "no row"),
        ("v_add_u32_e32 v0, v1", "fewer operands"),
        ("v_add_u32_e32 v0, v1, v2, v3", "more operands"),
        ("v_add_u32_e32 v[0:1], v1, v2", "operand of 2 registers"),
        ("v_mfma_f32_16x16x32_fp8_fp8 v[8:9], a[0:1], v[2:3], 0", "operand of 2 registers"),
        ("v_mov_b32_e32 v0, src_vccz", "does not know the operand"),
    ],
)
def test_forms_the_table_does_not_know_are_refused(text: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        effects(parse_instruction(text))


@pytest.mark.parametrize(
    ("text", "counters"),
    [
        ("buffer_load_dword v4, s[8:11], 0 offen lds", {Counter.VM}),
        ("global_load_lds_dword v0, s[2:3]", {Counter.VM}),
        ("global_store_dwordx2 v[54:55], v[0:1], off", {Counter.VM}),
        ("flat_store_dword v[2:3], v4", {Counter.VM, Counter.LGKM}),
        ("scratch_load_dword v0, off, s2", {Counter.VM}),
        ("ds_write_b32 v0, v1", {Counter.LGKM}),
        ("ds_bpermute_b32 v0, v1, v2", {Counter.LGKM}),
        ("s_load_dword s0, s[2:3], 0x0", {Counter.LGKM}),
        ("s_memtime s[0:1]", {Counter.LGKM}),
        ("s_sendmsg sendmsg(MSG_INTERRUPT)", {Counter.LGKM}),
        ("buffer_wbl2 sc1", {Counter.VM}),
        ("v_mov_b32_e32 v0, v1", set()),
        ("v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], 0", set()),
        ("s_barrier", set()),
    ],
)
def test_wait_counters(text: str, counters: set[Counter]) -> None:
    assert set(row_of(parse_instruction(text)).counters) == counters


def test_tags_that_hazards_and_fences_look_for() -> None:
    def tags(text: str) -> frozenset[str]:
        return row_of(parse_instruction(text)).tags

    for name in ("exp", "log", "rcp", "rsq", "sqrt", "sin", "cos", "rcp_iflag"):
        assert "trans" in tags(f"v_{name}_f32_e32 v0, v1")
    assert "trans" not in tags("v_mul_f32_e32 v0, v1, v2")
    assert {"barrier", "fence"} <= tags("s_barrier")
    for text in ("s_setvskip s20, 0", "s_set_gpr_idx_off", "s_getpc_b64 s[0:1]", "s_sendmsg sendmsg(MSG_INTERRUPT)"):
        assert "fence" in tags(text)
    assert "fence" not in tags("s_sleep 1") | tags("s_nop 0") | tags("s_waitcnt vmcnt(0)") | tags("s_setprio 1")
    assert "cache" in tags("buffer_inv sc1") & tags("buffer_wbl2 sc1")
    for text, wide in (
        ("global_store_dwordx4 v0, v[2:5], s[2:3]", True),
        ("buffer_store_dwordx3 v[0:2], v4, s[8:11], 0 offen", True),
        ("global_store_dwordx2 v0, v[2:3], s[2:3]", False),
        ("global_atomic_cmpswap_x2 v0, v[2:5], s[2:3]", True),
        ("global_atomic_cmpswap v0, v[2:3], s[2:3]", False),
        ("ds_write_b128 v0, v[2:5]", False),
    ):
        assert ("wide_store" in tags(text)) == wide, text
    assert "lane_select" in tags("v_readlane_b32 s0, v1, s2") & tags("v_writelane_b32 v1, s0, s2")
    assert "lane_read" in tags("v_readlane_b32 s0, v1, s2") & tags("v_readfirstlane_b32 s0, v1")


@pytest.mark.parametrize(
    ("name", "shape", "passes", "tag"),
    [
        ("v_mfma_f32_16x16x32_fp8_fp8", (16, 16, 32, 1), 4, "xdl"),
        ("v_mfma_f32_32x32x16_fp8_bf8", (32, 32, 16, 1), 8, "xdl"),
        ("v_mfma_i32_16x16x32_i8", (16, 16, 32, 1), 4, "xdl"),
        ("v_mfma_f32_32x32x4_2b_bf16", (32, 32, 4, 2), 16, "xdl"),
        ("v_mfma_f32_4x4x4_16b_f16", (4, 4, 4, 16), 2, "xdl"),
        ("v_mfma_f32_16x16x8_xf32", (16, 16, 8, 1), 4, "xdl"),
        ("v_mfma_f32_32x32x1_2b_f32", (32, 32, 1, 2), 16, "sgemm"),
        ("v_mfma_f64_16x16x4_f64", (16, 16, 4, 1), 8, "dgemm"),
    ],
)
def test_matrix_rows(name: str, shape: tuple[int, ...], passes: int, tag: str) -> None:
    row = row_of(parse_instruction(name))
    assert isinstance(row, MatrixRow)
    assert (row.m, row.n, row.k, row.blocks) == shape
    assert row.passes == passes and tag in row.tags


def test_memory_rows_know_their_sizes() -> None:
    def row(text: str) -> MemoryRow:
        found = row_of(parse_instruction(text))
        assert isinstance(found, MemoryRow)
        return found

    assert (row("ds_read2st64_b64 v[0:3], v4").size, row("ds_read2st64_b64 v[0:3], v4").elements) == (8, 2)
    assert row("ds_write2st64_b32 v0, v1, v2").stride == 64 and row("ds_write2_b32 v0, v1, v2").stride == 1
    assert row("buffer_load_sbyte v0, off, s[0:3], 0").extend == "sign"
    assert row("s_load_dwordx16 s[0:15], s[16:17], 0x0").size == 64


@pytest.mark.parametrize("kernel", ["fmoe_stage1_path", "fp8_gemm_path"])
def test_every_instruction_of_the_two_kernels_binds(kernel: str, request: pytest.FixtureRequest) -> None:
    path: Path = request.getfixturevalue(kernel)
    decoded = Decoder("gfx942").decode(CodeObject.parse(path.read_bytes()).text_bytes)
    assert len(decoded) > 500
    for found in decoded:
        effects(parse_instruction(found.text))

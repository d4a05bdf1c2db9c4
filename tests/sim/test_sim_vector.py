"""Forms of VALU instructions: modifiers, SDWA, DPP, op_sel, packed, carries, masks; against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from asmevo.verdict import UnsupportedError
from sim_kernels import lanes

U32 = NDArray[np.uint32]
ODD = 0x5555_AAAA_F0F0_1234
"""An EXEC mask without a pattern in groups of sixteen lanes."""


def rng() -> np.random.Generator:
    return np.random.default_rng(17)


def words(n: int = 1) -> list[U32]:
    g = rng()
    return [g.integers(0, 1 << 32, 64, dtype=np.uint32) for _ in range(n)]


def floats(n: int = 1) -> list[NDArray[np.float32]]:
    g = rng()
    return [(g.standard_normal(64) * 8).astype(np.float32) for _ in range(n)]


def active_lanes(mask: int) -> NDArray[np.bool_]:
    return np.array([bool(mask >> i & 1) for i in range(64)])


@pytest.mark.parametrize("mask", [(1 << 64) - 1, ODD, 1, 1 << 63])
def test_inactive_lanes_keep_their_value(mask: int) -> None:
    a, b = words(2)
    (got,) = lanes("v_xor_b32_e32 v40, v10, v11", [a, b], active=mask)
    np.testing.assert_array_equal(got, np.where(active_lanes(mask), a ^ b, 0))


def test_source_modifiers_clamp_and_omod() -> None:
    a, b = floats(2)
    code = """
        v_add_f32_e64 v40, -v10, |v11|
        v_mul_f32_e64 v41, v10, 0.5 clamp
        v_fma_f32 v42, v10, v11, -1.0 mul:4
        v_max_f32_e64 v43, -|v10|, s20
        v_add_f32_e64 v44, v10, v11 div:2
    """
    got = lanes(code, [a, b], 5, scalars=[int(np.float32(-2.5).view(np.uint32))], mode=0x1C0).view(np.float32)
    np.testing.assert_array_equal(got[0], -a + np.abs(b))
    np.testing.assert_array_equal(got[1], np.clip(a * np.float32(0.5), 0, 1))
    fused = (a.astype(np.float64) * b - 1).astype(np.float32)
    np.testing.assert_array_equal(got[2], fused * np.float32(4))
    np.testing.assert_array_equal(got[3], np.maximum(-np.abs(a), np.float32(-2.5)))
    np.testing.assert_array_equal(got[4], (a + b) * np.float32(0.5))


@pytest.mark.parametrize("kind", ["u32", "i32", "u16", "i16"])
def test_clamp_of_integers_saturates(kind: str) -> None:
    a, b = words(2)
    a[:4], b[:4] = [0, 1, 0x7FFF, 0x80008000], [1, 2, 0x7FFF, 0xFFFF7FFF]
    bits, rev = int(kind[1:]), kind[0] == "u"
    code = f"v_add_{kind} v40, v10, v11 clamp\nv_sub_{kind} v41, v10, v11 clamp"
    code += f"\nv_subrev_{kind} v42, v10, v11 clamp" if rev else ""
    packed = bits == 16
    code += f"\nv_pk_add_{kind} v43, v10, v11 clamp\nv_pk_sub_{kind} v44, v10, v11 clamp" if packed else ""
    got = lanes(code, [a, b], 5)
    x, y = (v.view(f"{'uint' if rev else 'int'}{bits}").astype(np.int64).reshape(64, -1) for v in (a, b))
    info = np.iinfo(f"{'uint' if rev else 'int'}{bits}")

    def want(exact: np.ndarray) -> np.ndarray:
        return np.clip(exact, info.min, info.max).astype(info.dtype)

    for row, exact in zip(got, (x + y, x - y, *([y - x] if rev else [])), strict=False):
        low = row.view(info.dtype).reshape(64, -1)[:, 0]
        np.testing.assert_array_equal(low, want(exact)[:, 0])
    for row, exact in zip(got[3:], (x + y, x - y), strict=True):
        if packed:
            np.testing.assert_array_equal(row.view(info.dtype).reshape(64, 2), want(exact))


def test_clamp_of_a_product_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="clamp"):
        lanes("v_mad_u32_u24 v40, v10, v11, v10 clamp", words(2))


@pytest.mark.parametrize("dx10", [True, False])
def test_clamp_of_nan_follows_dx10_clamp(dx10: bool) -> None:
    a = np.full(64, np.nan, np.float32)
    (got,) = lanes("v_mul_f32_e64 v40, v10, 1.0 clamp", [a], dx10=dx10).view(np.float32)
    assert np.all(got == 0) if dx10 else np.all(np.isnan(got))


def test_denormals_follow_the_descriptor() -> None:
    tiny = np.full(64, 1e-40, np.float32)
    code = "v_add_f32_e32 v40, v10, v10\nv_mul_f32_e32 v41, 0.5, v10\nv_mov_b32_e32 v42, v10"
    kept = lanes(code, [tiny], 3).view(np.float32)
    flushed = lanes(code, [tiny], 3, flush=True).view(np.float32)
    np.testing.assert_array_equal(kept[0], tiny + tiny)
    assert np.all(flushed[:2] == 0)
    np.testing.assert_array_equal(flushed[2], tiny)  # a move is no arithmetic


def test_flushing_spares_f64_and_f16() -> None:
    code = """
        v_cvt_f64_u32_e32 v[44:45], v10
        v_ldexp_f64 v[44:45], v[44:45], s20
        v_add_f64 v[40:41], v[44:45], v[44:45]
        v_add_f16_e32 v42, v11, v11
    """
    one = np.ones(64, np.uint32)
    half = np.full(64, 3, np.uint32)  # a denormal f16
    got = lanes(code, [one, half], 3, flush=True, scalars=[-1070])
    value = (got[0].astype(np.uint64) | got[1].astype(np.uint64) << np.uint64(32)).view(np.float64)
    assert np.all(value == 2.0**-1069)
    assert np.all(got[2] == 6)


def test_nan_results_do_not_depend_on_the_order_of_operands() -> None:
    a, b = (np.full(64, v, np.uint32) for v in (0xFF812345, 0x7FC00777))
    half, other = (np.full(64, v, np.uint32) for v in (0xFE017E02, 0x7E03FE04))
    code = """
        v_add_f32_e32 v40, v10, v11
        v_add_f32_e32 v41, v11, v10
        v_fma_f32 v42, v10, 1.0, v11
        v_pk_add_f16 v43, v12, v13
        v_pk_mul_f32 v[44:45], v[10:11], v[10:11] op_sel:[1,0] op_sel_hi:[0,1]
        v_add_f64 v[46:47], v[14:15], v[14:15]
        v_mov_b32_e32 v48, v10
        v_add_f32_e32 v49, v10, v11
        v_xor_b32_e32 v49, 1, v49
    """
    got = lanes(code, [a, b, half, other, a, np.full(64, 0xFFF00001, np.uint32)], 10)
    assert np.all(got[[0, 1, 2, 4, 5]] == 0x7FC00000) and np.all(got[3] == 0x7E007E00)
    assert np.all(got[6] == 0) and np.all(got[7] == 0x7FF80000)
    assert np.all(got[8] == 0xFF812345) and np.all(got[9] == 0x7FC00001)


def test_constants_take_the_width_of_the_operand() -> None:
    code = """
        v_add_f16_e32 v40, 1.0, v10
        v_add_u16_e32 v41, -1, v11
        v_lshlrev_b64 v[42:43], 4, -2
        v_mov_b32_e32 v44, 0.15915494
        v_add_f64 v[46:47], 1.0, 4.0
    """
    half = np.full(64, np.float16(2.5).view(np.uint16), np.uint32)
    got = lanes(code, [half, np.full(64, 7, np.uint32)], 8)
    assert np.all(got[0] == np.float16(3.5).view(np.uint16))
    assert np.all(got[1] == 6)
    assert np.all(got[2] == 0xFFFFFFE0) and np.all(got[3] == 0xFFFFFFFF)
    assert np.all(got[4] == 0x3E22F983)
    assert np.all((got[6].astype(np.uint64) | got[7].astype(np.uint64) << np.uint64(32)).view(np.float64) == 5.0)


def test_sdwa_selects_and_unused_bits() -> None:
    a, b = words(2)
    code = """
        v_add_u32_sdwa v40, v10, v11 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:BYTE_2
        v_add_u32_sdwa v41, sext(v10), v11 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_3 src1_sel:DWORD
        v_mov_b32_e32 v42, v11
        v_and_b32_sdwa v42, v10, v10 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0 src1_sel:DWORD
        v_and_b32_sdwa v43, v10, v10 dst_sel:WORD_0 dst_unused:UNUSED_SEXT src0_sel:DWORD src1_sel:DWORD
        v_lshlrev_b32_sdwa v44, v11, v10 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:WORD_1
    """
    got = lanes(code, [a, b], 5)
    np.testing.assert_array_equal(got[0], (a >> 16) + (b >> 16 & 0xFF))
    np.testing.assert_array_equal(got[1], (a >> 24).astype(np.int8).astype(np.int32).view(np.uint32) + b)
    np.testing.assert_array_equal(got[2], (b & 0xFFFF00FF) | (a & 0xFF) << 8)
    np.testing.assert_array_equal(got[3], (a & 0xFFFF).astype(np.int16).astype(np.int32).view(np.uint32))
    np.testing.assert_array_equal(got[4], ((a >> 16) << (b & 31)) << 16 & 0xFFFFFFFF)


def moved(
    source: U32, from_lane: list[int], old: U32, *, zero: bool, mask: int, rows: int = 15, banks: int = 15
) -> U32:
    """DPP as the ISA text has it, lane by lane; -1 has no source."""
    out = old.copy()
    for n in range(64):
        if not (mask >> n & 1 and rows >> (n // 16) & 1 and banks >> (n % 16 // 4) & 1):
            continue
        there = from_lane[n] >= 0 and mask >> from_lane[n] & 1
        if there or zero:
            out[n] = source[from_lane[n]] if there else 0
    return out


def in_row(n: int, to: int) -> int:
    return n - n % 16 + to if 0 <= to < 16 else -1


DPP = {
    "quad_perm:[1,0,3,3]": [(n & ~3) + (1, 0, 3, 3)[n & 3] for n in range(64)],
    "row_shl:3": [in_row(n, n % 16 + 3) for n in range(64)],
    "row_shr:5": [in_row(n, n % 16 - 5) for n in range(64)],
    "row_ror:7": [in_row(n, (n % 16 - 7) % 16) for n in range(64)],
    "row_mirror": [in_row(n, 15 - n % 16) for n in range(64)],
    "row_half_mirror": [n - n % 8 + 7 - n % 8 for n in range(64)],
    "row_newbcast:6": [in_row(n, 6) for n in range(64)],
    "row_bcast:15": [n - n % 16 - 1 if n >= 16 else -1 for n in range(64)],
    "row_bcast:31": [31 if n >= 32 else -1 for n in range(64)],
    "wave_shr:1": [n - 1 for n in range(64)],
    "wave_shl:1": [n + 1 if n < 63 else -1 for n in range(64)],
    "wave_ror:1": [(n - 1) % 64 for n in range(64)],
    "wave_rol:1": [(n + 1) % 64 for n in range(64)],
}


@pytest.mark.parametrize("pattern", DPP)
@pytest.mark.parametrize("mask", [(1 << 64) - 1, ODD])
def test_dpp(pattern: str, mask: int) -> None:
    a, b = words(2)
    code = f"""
        v_mov_b32_e32 v40, v11
        v_mov_b32_e32 v41, v11
        v_mov_b32_e32 v42, v10
        v_mov_b32_dpp v40, v10 {pattern} row_mask:0xf bank_mask:0xf
        v_mov_b32_dpp v41, v10 {pattern} row_mask:0xa bank_mask:0x6 bound_ctrl:0
        v_add_u32_dpp v42, v42, v42 {pattern} row_mask:0xf bank_mask:0xf bound_ctrl:0
    """
    got = lanes(code, [a, b], 3, active=mask)
    on = active_lanes(mask)
    before = np.where(on, b, 0).astype(np.uint32)
    source = DPP[pattern]
    np.testing.assert_array_equal(got[0], moved(a, source, before, zero=False, mask=mask))
    np.testing.assert_array_equal(got[1], moved(a, source, before, zero=True, mask=mask, rows=0xA, banks=6))
    own = np.where(on, a, 0).astype(np.uint32)
    np.testing.assert_array_equal(got[2], np.where(on, moved(own, source, own, zero=True, mask=mask) + own, 0))


def test_reduction_by_dpp_sums_a_wave() -> None:
    """The tree that compilers emit, with the moved register as the result."""
    a = np.arange(64, dtype=np.uint32) * 3 + 1
    steps = [f"row_shr:{n} row_mask:0xf bank_mask:0xf bound_ctrl:0" for n in (1, 2, 4, 8)]
    steps += ["row_bcast:15 row_mask:0xa bank_mask:0xf", "row_bcast:31 row_mask:0xc bank_mask:0xf"]
    code = "v_mov_b32_e32 v40, v10\n" + "\n".join(f"v_add_u32_dpp v40, v40, v40 {s}" for s in steps)
    # each step adds the moved value to the own one
    (got,) = lanes(code, [a])
    assert got[63] == a.sum()


def test_op_sel_and_16_bit_results() -> None:
    a, b = words(2)
    code = """
        v_mov_b32_e32 v40, -1
        v_add_u16_e32 v40, v10, v11
        v_mov_b32_e32 v41, -1
        v_mad_u16 v41, v10, v11, 3 op_sel:[1,0,0,0]
        v_mov_b32_e32 v42, -1
        v_mad_u16 v42, v10, v11, v10 op_sel:[0,1,1,1]
    """
    got = lanes(code, [a, b], 3)
    np.testing.assert_array_equal(got[0], (a + b) & 0xFFFF)
    np.testing.assert_array_equal(got[1], (((a >> 16) * (b & 0xFFFF) + 3) & 0xFFFF) | 0xFFFF0000)
    np.testing.assert_array_equal(got[2], ((a & 0xFFFF) * (b >> 16) + (a >> 16)) << 16 | 0xFFFF)


def test_packed_f32_chooses_registers_of_pairs() -> None:
    a, b, c, d = floats(4)
    code = """
        v_pk_add_f32 v[40:41], v[10:11], v[12:13]
        v_pk_mul_f32 v[42:43], v[10:11], v[12:13] op_sel:[1,0] op_sel_hi:[0,1]
        v_pk_fma_f32 v[44:45], v[10:11], s[20:21], v[12:13] op_sel_hi:[1,0,1] neg_lo:[1,0,0] neg_hi:[0,0,1]
        v_pk_mov_b32 v[46:47], v[10:11], v[12:13] op_sel:[1,0]
    """
    s = np.array([1.5, -3.0], np.float32)
    got = lanes(code, [a, b, c, d], 8, scalars=[int(v) for v in s.view(np.uint32)]).view(np.float32)

    def fma(x: NDArray[np.float32], y: np.float32, z: NDArray[np.float32]) -> NDArray[np.float32]:
        return (x.astype(np.float64) * y + z).astype(np.float32)

    want = [a + c, b + d, b * c, a * d, fma(-a, s[0], c), fma(b, s[0], -d), b, c]
    for row, expected in zip(got, want, strict=True):
        np.testing.assert_array_equal(row, expected)


def test_packed_16_bit_halves_and_constants() -> None:
    g = rng()
    a, b = (g.standard_normal((64, 2)).astype(np.float16) for _ in range(2))
    code = """
        v_pk_add_f16 v40, v10, v11
        v_pk_mul_f16 v41, v10, v11 op_sel:[1,0] op_sel_hi:[0,1] neg_hi:[1,0]
        v_pk_add_f16 v42, v10, 2.0 op_sel_hi:[1,0]
        v_pk_add_u16 v43, v10, v11
    """
    got = lanes(code, [a.view(np.uint32)[:, 0], b.view(np.uint32)[:, 0]], 4)
    half = got.view(np.float16).reshape(4, 64, 2)
    np.testing.assert_array_equal(half[0], a + b)
    np.testing.assert_array_equal(half[1], np.stack([a[:, 1] * b[:, 0], -a[:, 0] * b[:, 1]], axis=1))
    np.testing.assert_array_equal(half[2], a + np.float16(2))
    np.testing.assert_array_equal(got[3].view(np.uint16).reshape(64, 2), a.view(np.uint16) + b.view(np.uint16))


def test_mixed_precision_fma() -> None:
    g = rng()
    a = g.standard_normal((64, 2)).astype(np.float16)
    (b,) = floats(1)
    code = """
        v_fma_mix_f32 v40, v10, v11, -v11 op_sel:[1,0,0] op_sel_hi:[1,0,0]
        v_mov_b32_e32 v41, -1
        v_fma_mixlo_f16 v41, v10, v10, v11 op_sel_hi:[1,1,0]
        v_mov_b32_e32 v42, -1
        v_fma_mixhi_f16 v42, |v11|, v11, 1.0
    """
    got = lanes(code, [a.view(np.uint32)[:, 0], b], 3)
    x, y = a.astype(np.float64), b.astype(np.float64)
    np.testing.assert_array_equal(got[0].view(np.float32), (x[:, 1] * y - y).astype(np.float32))
    low = (x[:, 0] * x[:, 0] + y).astype(np.float32).astype(np.float16).view(np.uint16)
    np.testing.assert_array_equal(got[1], low.astype(np.uint32) | 0xFFFF0000)
    high = (np.abs(y) * y + 1).astype(np.float32).astype(np.float16).view(np.uint16)
    np.testing.assert_array_equal(got[2], high.astype(np.uint32) << 16 | 0xFFFF)


@pytest.mark.parametrize("mask", [(1 << 64) - 1, ODD])
def test_carry_chain_adds_64_bit_numbers(mask: int) -> None:
    a, b, c, d = words(4)
    code = """
        v_add_co_u32_e32 v40, vcc, v10, v12
        v_addc_co_u32_e32 v41, vcc, v11, v13, vcc
        v_sub_co_u32_e64 v42, s[30:31], v10, v12
        v_subb_co_u32_e64 v43, s[32:33], v11, v13, s[30:31]
        v_mov_b32_e32 v44, s30
        v_mov_b32_e32 v45, s31
    """
    got = lanes(code, [a, b, c, d], 6, active=mask).astype(np.uint64)
    x, y = a | b.astype(np.uint64) << np.uint64(32), c | d.astype(np.uint64) << np.uint64(32)
    on = active_lanes(mask)
    np.testing.assert_array_equal((got[0] | got[1] << np.uint64(32))[on], (x + y)[on])
    np.testing.assert_array_equal((got[2] | got[3] << np.uint64(32))[on], (x - y)[on])
    borrow = sum(1 << i for i in range(64) if on[i] and a[i] < c[i])  # inactive lanes give 0
    assert int(got[4][on][0]) | int(got[5][on][0]) << 32 == borrow


@pytest.mark.parametrize("mask", [(1 << 64) - 1, ODD])
def test_compare_select_and_mask_arithmetic(mask: int) -> None:
    a, b = words(2)
    code = """
        v_cmp_lt_u32_e32 vcc, v10, v11
        v_cmp_gt_i32_e64 s[30:31], v10, 0
        s_and_b64 s[32:33], vcc, s[30:31]
        v_cndmask_b32_e64 v40, v10, v11, s[32:33]
        v_cndmask_b32_e32 v41, v11, v10, vcc
        s_not_b64 vcc, vcc
        v_cndmask_b32_e32 v42, v11, v10, vcc
        v_cndmask_b32_e64 v43, 0, -1, s[30:31]
    """
    got = lanes(code, [a, b], 4, active=mask)
    on = active_lanes(mask)
    less, positive = a < b, a.view(np.int32) > 0
    wanted = [np.where(less & positive, b, a), np.where(less, a, b), np.where(less, b, a)]
    wanted.append(np.where(positive, np.uint32(0xFFFFFFFF), np.uint32(0)))
    for row, want in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(row[on], want[on])
        assert not row[~on].any()


def test_lane_access_and_permutes() -> None:
    a, b = words(2)
    code = """
        v_readlane_b32 s30, v10, 37
        s_mov_b32 s31, 70
        v_readlane_b32 s32, v11, s31
        v_mov_b32_e32 v40, s30
        v_mov_b32_e32 v41, s32
        v_mov_b32_e32 v42, v10
        v_writelane_b32 v42, s32, 5
        v_add_u32_e32 v43, 1, v10
        v_readfirstlane_b32 s33, v43
        v_mov_b32_e32 v44, s33
        v_sub_u32_e32 v45, 63, v0
        v_lshlrev_b32_e32 v45, 2, v45
        ds_bpermute_b32 v46, v45, v10
        ds_permute_b32 v47, v45, v11
        ds_swizzle_b32 v48, v10 offset:swizzle(SWAP,4)
        s_waitcnt lgkmcnt(0)
        v_mbcnt_lo_u32_b32 v49, -1, 0
        v_mbcnt_hi_u32_b32 v49, -1, v49
    """
    got = lanes(code, [a, b], 10)
    assert np.all(got[0] == a[37]) and np.all(got[1] == b[6])
    written = a.copy()
    written[5] = b[6]
    np.testing.assert_array_equal(got[2], written)
    assert np.all(got[4] == a[0] + 1)
    np.testing.assert_array_equal(got[6], a[::-1])
    np.testing.assert_array_equal(got[7], b[::-1])
    np.testing.assert_array_equal(got[8], a[np.arange(64) ^ 4])
    np.testing.assert_array_equal(got[9], np.arange(64))


def test_permutes_of_some_lanes() -> None:
    a, _ = words(2)
    mask = 0xFF0F
    code = """
        v_xor_b32_e32 v45, 8, v0
        v_lshlrev_b32_e32 v45, 2, v45
        ds_bpermute_b32 v40, v45, v10
        v_readfirstlane_b32 s30, v45
        v_mov_b32_e32 v41, s30
        ds_swizzle_b32 v42, v10 offset:swizzle(SWAP,8)
        s_waitcnt lgkmcnt(0)
    """
    got = lanes(code, [a], 3, active=mask)
    lane = np.arange(64)
    on = active_lanes(mask)
    want = np.where(on & on[lane ^ 8], a[lane ^ 8], 0)
    np.testing.assert_array_equal(got[0], want)
    np.testing.assert_array_equal(got[2], want)
    assert np.all(got[1][on] == 32)


def test_a_long_run_of_dependent_code() -> None:
    """More than one block without a branch, values alive across the cut."""
    a, b = words(2)
    code = ["v_mov_b32_e32 v40, v10", "v_mov_b32_e32 v41, v11"]
    x, y = a.copy(), b.copy()
    for i in range(200):
        code.append(f"v_add_u32_e32 v40, v40, v41\nv_xor_b32_e32 v41, 0x{i:x}, v40\nv_mul_lo_u32 v41, v41, v40")
        x = x + y
        y = (x ^ np.uint32(i)) * x
    got = lanes("\n".join(code), [a, b], 2)
    np.testing.assert_array_equal(got[0], x)
    np.testing.assert_array_equal(got[1], y)


@pytest.mark.parametrize("mask", [(1 << 64) - 1, ODD])
def test_registers_indexed_by_m0(mask: int) -> None:
    a, b, c = words(3)
    code = """
        v_mov_b32_e32 v40, 7
        v_mov_b32_e32 v41, 7
        v_mov_b32_e32 v42, 7
        s_mov_b32 s30, 2
        s_set_gpr_idx_on s30, gpr_idx(SRC0)
        v_add_u32_e32 v40, v10, v11
        s_set_gpr_idx_off
        s_set_gpr_idx_on 1, gpr_idx(DST)
        v_sub_u32_e32 v40, v10, v11
        v_writelane_b32 v41, s30, 9
        s_set_gpr_idx_off
        v_mov_b32_e32 v43, m0
        s_set_gpr_idx_on 1, gpr_idx(SRC0,SRC1)
        v_xor_b32_e32 v44, v10, v11
        s_set_gpr_idx_off
    """
    got = lanes(code, [a, b, c], 5, active=mask)
    on = active_lanes(mask)
    np.testing.assert_array_equal(got[0], np.where(on, c + b, 0))
    np.testing.assert_array_equal(got[1], np.where(on, a - b, 0))
    seven = np.where(on, np.uint32(7), np.uint32(0))
    seven[9] = 2  # v_writelane ignores EXEC
    np.testing.assert_array_equal(got[2], seven)
    assert np.all(got[3][on] == 0x8001)
    np.testing.assert_array_equal(got[4], np.where(on, b ^ c, 0))


@pytest.mark.parametrize("mask", [(1 << 64) - 1, ODD])
def test_comparisons_that_write_exec(mask: int) -> None:
    a, b = words(2)
    code = """
        v_cmpx_lt_u32_e32 vcc, v10, v11
        v_mov_b32_e32 v40, 5
        s_mov_b64 s[30:31], exec
        v_cmpx_gt_u32_e64 s[32:33], v10, 17
        v_mov_b32_e32 v40, 6
        s_mov_b64 exec, -1
        v_mov_b32_e32 v41, vcc_lo
        v_mov_b32_e32 v42, s30
        v_mov_b32_e32 v43, s33
    """
    a[::5] = 3
    got = lanes(code, [a, b], 4, active=mask)
    on = active_lanes(mask) & (a < b)
    both = on & (a > 17)
    np.testing.assert_array_equal(got[0], np.where(both, 6, np.where(on, 5, 0)))
    low = sum(1 << i for i in range(32) if on[i])
    assert np.all(got[1] == low) and np.all(got[2] == low)
    assert np.all(got[3] == sum(1 << i for i in range(32) if both[32 + i]))

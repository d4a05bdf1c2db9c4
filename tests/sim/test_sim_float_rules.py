"""Number rules: the float fields of MODE, as the descriptor gives them and as code changes them on its way."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from asmevo.program import recover
from asmevo.sim import Executable
from asmevo.verdict import UnsupportedError
from sim_kernels import Grid, block_cache, kernel, lanes, run

PLAIN = 0x0F0
"""MODE with all denormals kept, nearest even, neither DX10_CLAMP nor IEEE."""
IEEE, DX10 = 0x200, 0x100
F32 = NDArray[np.float32]


def directed(value: Fraction, way: int) -> np.float32:
    """A rational as an f32, by MODE.FP_ROUND."""
    near = np.float32(float(value))  # of doubles, which these rationals are: rounded once
    if way == 0 or Fraction(float(near)) == value:
        return near
    low = near if Fraction(float(near)) < value else np.nextafter(near, np.float32(-np.inf))
    high = np.nextafter(low, np.float32(np.inf))
    return {1: high, 2: low, 3: low if value > 0 else high}[way]


def samples(seed: int) -> F32:
    g = np.random.default_rng(seed)
    return (g.standard_normal(64) * np.exp2(g.integers(-6, 6, 64))).astype(np.float32)


def bits(*values: int) -> F32:
    return np.resize(np.array(values, np.uint32), 64).view(np.float32)


@pytest.mark.parametrize("way", [0, 1, 2, 3])
def test_f32_rounds_as_its_field_says(way: int) -> None:
    a, b, c = samples(1), samples(2), samples(3)
    code = """
        v_add_f32_e32 v40, v10, v11
        v_mul_f32_e32 v41, v10, v11
        v_fma_f32 v42, v10, v11, v12
        v_cvt_f32_i32_e32 v43, v10
        v_pk_add_f32 v[44:45], v[10:11], v[12:13]
    """
    got = lanes(code, [a, b, c, c], 6, mode=PLAIN | way).view(np.float32)
    for i, (x, y, z) in enumerate(zip(*(map(Fraction, map(float, v)) for v in (a, b, c)), strict=True)):
        number = Fraction(int(a.view(np.int32)[i]))
        assert got[:, i].tolist() == [directed(r, way) for r in (x + y, x * y, x * y + z, number, x + z, y + z)], i


@pytest.mark.parametrize("way", [0, 1, 2, 3])
def test_f64_and_f16_round_as_theirs_says(way: int) -> None:
    """1/3 in each direction in f64; 1 plus half a step in f16."""
    code = """
        v_cvt_f64_f32_e32 v[40:41], v10
        v_mul_f64 v[40:41], v[40:41], s[20:21]
        v_add_f16_e32 v42, 1.0, v11
        v_cvt_f16_f32_e32 v43, v12
        v_add_f32_e32 v44, v10, v12
        v_fma_f16 v45, v13, v13, v13
    """
    third = np.float64(1 / 3).view(np.uint64)
    thirds = [int(third) & 0xFFFFFFFF, int(third) >> 32]
    three, half_step = np.full(64, 3, np.float32), np.full(64, np.float16(2.0**-11).view(np.uint16), np.uint32)
    odd = np.full(64, 1 + 3 * 2.0**-12, np.float32)
    fraction = np.full(64, np.float16(1 + 2.0**-10).view(np.uint16), np.uint32)
    got = lanes(code, [three, half_step, odd, fraction], 6, scalars=thirds, mode=PLAIN | way << 2)
    product = (got[0].astype(np.uint64) | got[1].astype(np.uint64) << np.uint64(32)).view(np.float64)
    below = np.nextafter(np.float64(1), 0)  # 3 * fl(1/3) = 1 - 2**-54
    assert np.all(product == {0: 1.0, 1: 1.0, 2: below, 3: below}[way])
    one, next_ = (int(np.float16(x).view(np.uint16)) for x in (1.0, 1 + 2.0**-10))
    assert np.all(got[2] == {0: one, 1: next_, 2: one, 3: one}[way])
    assert np.all(got[3] == {0: next_, 1: next_, 2: one, 3: one}[way])
    assert np.all(got[4].view(np.float32) == np.float32(3) + odd)  # f32 keeps its own rounding
    exact = Fraction(1025, 1024) ** 2 + Fraction(1025, 1024)
    step = Fraction(2, 1024)
    down, up = exact // step * step, (exact // step + 1) * step
    nearest = down if exact - down < up - exact else up
    want = np.float16(float({0: nearest, 1: up, 2: down, 3: down}[way])).view(np.uint16)
    assert np.all(got[5] == want)


@pytest.mark.parametrize("field", [0, 1, 2, 3])
def test_f32_denormals_on_either_side(field: int) -> None:
    """0 flushes both, 1 results, 2 operands, 3 nothing."""
    tiny, small = bits(1, 0x80000001, 0x007FFFFF), np.full(64, 2.0**-126, np.float32)
    code = """
        v_mul_f32_e32 v40, 2.0, v10
        v_mul_f32_e32 v41, 0.5, v11
        v_mul_f32_e32 v42, 0x7b000000, v10
        v_mul_f32_e32 v43, 1.0, v11
    """
    got = lanes(code, [tiny, small], 4, mode=field << 4).view(np.float32)
    operands, results = ((False, False), (True, False), (False, True), (True, True))[field]
    zero = np.copysign(np.float32(0), tiny)
    doubled = tiny + tiny if operands else zero
    denormal = (np.abs(doubled) < 2.0**-126) & (doubled != 0)
    want = np.where(denormal & (not results), np.copysign(np.float32(0), doubled), doubled)
    np.testing.assert_array_equal(got[0].view(np.uint32), want.astype(np.float32).view(np.uint32))
    np.testing.assert_array_equal(got[1], np.float32(2.0**-127) if results else np.float32(0))
    large = np.float32(np.uint32(0x7B000000).view(np.float32))
    np.testing.assert_array_equal(got[2], tiny * large if operands else zero)
    np.testing.assert_array_equal(got[3], small)


@pytest.mark.parametrize("field", [0, 3])
def test_f64_and_f16_denormals(field: int) -> None:
    half = np.full(64, 3, np.uint32)
    code = """
        v_cvt_f64_u32_e32 v[44:45], v10
        v_ldexp_f64 v[44:45], v[44:45], s20
        v_mul_f64 v[40:41], v[44:45], 0.5
        v_add_f16_e32 v42, v11, v11
        v_pk_add_f16 v43, v12, v12
        v_mul_f32_e32 v44, 0.5, v13
    """
    packed, small = np.full(64, 0x00038003, np.uint32), np.full(64, 2.0**-126, np.float32)
    got = lanes(code, [np.ones(64, np.uint32), half, packed, small], 5, scalars=[-1022], mode=0x030 | field << 6)
    product = (got[0].astype(np.uint64) | got[1].astype(np.uint64) << np.uint64(32)).view(np.float64)
    assert np.all(product == (2.0**-1023 if field else 0))
    assert np.all(got[2] == (6 if field else 0))
    assert np.all(got[3] == (0x00068006 if field else 0x00008000))
    assert np.all(got[4].view(np.float32) == 2.0**-127)


@pytest.mark.parametrize("ieee", [True, False])
def test_minimum_of_a_signalling_nan(ieee: bool) -> None:
    """With IEEE it is a quiet NaN, without the other operand; a quiet NaN is passed over in both."""
    signalling, quiet, one = bits(0x7F800001, 0xFFBFFFFF), bits(0x7FC00001), bits(0x3F800000)
    code = """
        v_min_f32_e32 v40, v10, v12
        v_max_f32_e32 v41, v12, v10
        v_max_f32_e32 v42, v11, v12
        v_add_f32_e32 v43, v11, v12
        v_min_f32_e32 v43, v43, v12
        v_max_f32_e32 v44, v10, v10
    """
    got = lanes(code, [signalling, quiet, one], 5, mode=PLAIN | (IEEE if ieee else 0)).view(np.float32)
    assert np.all(np.isnan(got[:2])) if ieee else np.all(got[:2] == 1)
    assert np.all(got[2:4] == 1) and np.all(np.isnan(got[4]))
    assert np.all(got[4].view(np.uint32) & 0x00400000)


@pytest.mark.parametrize(("mode", "scaled"), [(0x0C0, True), (0x0F0, False), (0x0D0, True), (0x2C0, False)])
def test_output_modifiers_need_flushed_results_and_no_ieee(mode: int, scaled: bool) -> None:
    a = bits(0x40400000, 0x80000000)
    got = lanes("v_add_f32_e64 v40, v10, v10 mul:4\nv_mul_f32_e64 v41, 1.0, v10 div:2", [a], 2, mode=mode)
    if scaled:
        np.testing.assert_array_equal(got[0], bits(0x41C00000, 0).view(np.uint32))  # 24, and -0 becomes +0
        np.testing.assert_array_equal(got[1], bits(0x3FC00000, 0).view(np.uint32))
    else:
        np.testing.assert_array_equal(got[0], bits(0x40C00000, 0x80000000).view(np.uint32))


CHANGES = """
    v_add_f32_e32 v40, v10, v11
    s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1
    v_add_f32_e32 v41, v10, v11
    s_getreg_b32 s30, hwreg(HW_REG_MODE, 0, 10)
    v_mov_b32_e32 v44, s30
    s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0
    v_add_f32_e32 v42, v12, v12
    s_setreg_b32 hwreg(HW_REG_MODE, 0, 10), s29
    v_add_f32_e32 v43, v12, v12
"""


def test_code_changes_its_mode_on_the_way_and_restores_it() -> None:
    one, little, tiny = np.ones(64, np.float32), np.full(64, 2.0**-30, np.float32), bits(3)
    got = lanes("s_getreg_b32 s29, hwreg(HW_REG_MODE, 0, 10)" + CHANGES, [one, little, tiny], 5, mode=PLAIN)
    assert np.all(got[0].view(np.float32) == 1) and np.all(got[1].view(np.float32) == np.nextafter(np.float32(1), 2))
    assert np.all(got[2] == 0) and np.all(got[3] == 6)
    assert np.all(got[4] == (PLAIN | 1))


def test_waves_in_different_modes_take_turns() -> None:
    """One wave changes its mode before a barrier, the other does not; each keeps its own behind it."""
    code = """
        v_and_b32_e32 v0, 0x3ff, v0
        v_readfirstlane_b32 s10, v0
        v_mov_b32_e32 v2, 0x30800000
        s_cmp_eq_u32 s10, 0
        s_cbranch_scc1 2
        s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1
        s_barrier
        v_add_f32_e32 v3, 1.0, v2
        v_lshlrev_b32_e32 v1, 2, v0
        global_store_dword v1, v3, s[0:1] offset:2048
        s_nop 0
    """
    image, execution = run(code, grid=Grid(block=(128, 1, 1)), mode=PLAIN)
    assert execution.status == "done", execution
    got = image.words(2048, 128, np.float32)
    assert np.all(got[:64] == 1) and np.all(got[64:] == np.nextafter(np.float32(1), 2))


def test_a_mode_that_was_not_foreseen_is_a_finding() -> None:
    code = "s_movk_i32 s10, 0x3\ns_setreg_b32 hwreg(HW_REG_MODE, 0, 2), s10\nv_add_f32_e32 v1, v2, v3"
    _, execution = run(code, mode=PLAIN)
    assert execution.status == "fault" and execution.fault is not None
    assert execution.fault.rule == "sim.mode" and "s_setreg_b32" in execution.fault.message


@pytest.mark.parametrize(
    "code", ["s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1", "s_setreg_imm32_b32 hwreg(HW_REG_STATUS, 0, 1), 1"]
)
def test_other_fields_are_refused(code: str) -> None:
    with pytest.raises(UnsupportedError, match=r"MODE|hardware register"):
        Executable.build(recover(kernel(code)), block_cache())

"""Two instructions as one: which there are, when it may be, and that nothing else is computed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategy_kit import context, lines, outcomes, results, shown

from asmevo.isa import parse_instruction
from asmevo.isa.evaluate import evaluate
from asmevo.isa.table import rows
from asmevo.strategies.combine import Combine
from asmevo.strategies.fusion import fused
from sim_kernels import lanes

STORE = "global_store_dword v[40:41], v{}, off"


@pytest.mark.parametrize(
    ("first", "second", "one"),
    [
        ("v_add_u32_e32 v1, v2, v3", "v_add_u32_e32 v4, s1, v1", "v_add3_u32 v4, v2, v3, s1"),
        ("v_lshlrev_b32_e32 v1, 2, v3", "v_add_u32_e32 v4, s1, v1", "v_lshl_add_u32 v4, v3, 2, s1"),
        ("v_add_u32_e32 v1, v2, v3", "v_lshlrev_b32_e32 v4, 2, v1", "v_add_lshl_u32 v4, v2, v3, 2"),
        ("v_lshlrev_b32_e32 v1, v2, v3", "v_or_b32_e32 v4, v1, v5", "v_lshl_or_b32 v4, v3, v2, v5"),
        ("v_and_b32_e32 v1, 15, v3", "v_or_b32_e32 v4, v1, v5", "v_and_or_b32 v4, 15, v3, v5"),
        ("v_or_b32_e32 v1, v2, v3", "v_or_b32_e32 v4, v1, v5", "v_or3_b32 v4, v2, v3, v5"),
        ("v_xor_b32_e32 v1, v2, v3", "v_add_u32_e32 v4, v1, v5", "v_xad_u32 v4, v2, v3, v5"),
        ("v_mul_u32_u24_e32 v1, v2, v3", "v_add_u32_e32 v4, v1, v5", "v_mad_u32_u24 v4, v2, v3, v5"),
        ("v_lshrrev_b32_e32 v1, 8, v3", "v_and_b32_e32 v4, 0xff, v1", "v_bfe_u32 v4, v3, 8, 8"),
        ("v_max_i32_e32 v1, v2, v3", "v_max_i32_e32 v4, v5, v1", "v_max3_i32 v4, v2, v3, v5"),
        ("v_min_f32_e32 v1, v2, v3", "v_min_f32_e32 v4, v1, v5", "v_min3_f32 v4, v2, v3, v5"),
        ("s_lshl_b32 s1, s2, 3", "s_add_u32 s4, s1, 0x1000", "s_lshl3_add_u32 s4, s2, 0x1000"),
        ("s_lshl_b32 s1, s2, 3", "v_add_u32_e32 v4, s1, v5", "v_lshl_add_u32 v4, s2, 3, v5"),
        ("s_not_b32 s1, s2", "s_and_b32 s4, s5, s1", "s_andn2_b32 s4, s5, s2"),
        ("s_mov_b32 s1, 0x80", "v_mov_b32_e32 v4, s1", "v_mov_b32_e32 v4, 0x80"),
        ("v_mov_b32_e32 v1, s3", "v_mul_f32_e32 v4, v1, v5", "v_mul_f32_e32 v4, s3, v5"),
        # a sum of floats depends on its order, and so does a NaN that min and max pass over
        ("v_add_f32_e32 v1, v2, v3", "v_add_f32_e32 v4, v1, v5", None),
        ("v_mul_f32_e32 v1, v2, v3", "v_add_f32_e32 v4, v1, v5", None),
        ("v_min_f32_e32 v1, v2, v3", "v_min_f32_e32 v4, v5, v1", None),
        ("v_min_f32_e32 v1, v2, v3", "v_min_f32_e64 v4, -v1, v5", None),
        ("v_max_u32_e32 v1, v2, v3", "v_max_i32_e32 v4, v1, v5", None),
        # no literal, and one scalar register
        ("v_and_b32_e32 v1, 0xff0, v3", "v_or_b32_e32 v4, v1, v5", None),
        ("v_add_u32_e32 v1, s2, v3", "v_add_u32_e32 v4, s1, v1", None),
        ("v_add_u32_e32 v1, s2, v3", "v_add_u32_e32 v4, s2, v1", "v_add3_u32 v4, s2, v3, s2"),
        ("s_mov_b32 s1, 0x80", "s_add_u32 s4, s1, 0x90", None),
        ("v_accvgpr_read_b32 v1, a3", "v_mul_f32_e32 v4, v1, v5", None),
        # not all of a result, or more
        ("v_add_u32_e32 v1, v2, v3", "v_lshlrev_b64 v[4:5], 2, v[0:1]", None),
        ("v_add_u32_e64 v1, v2, v3 clamp", "v_add_u32_e32 v4, v1, v5", None),
        ("v_add_u32_e32 v1, v2, v3", "v_add_u32_sdwa v4, v1, v5 dst_sel:DWORD src0_sel:BYTE_0 src1_sel:DWORD", None),
    ],
)  # fmt: skip
def test_what_does_the_work_of_two(first: str, second: str, one: str | None) -> None:
    assert fused(parse_instruction(first), parse_instruction(second)) == one


@given(st.integers(0, 31), st.integers(1, 32), st.integers(0, (1 << 32) - 1))
def test_bit_fields(offset: int, width: int, value: int) -> None:
    mask = (1 << width) - 1
    shift, cut = f"v_lshrrev_b32_e32 v1, {offset}, v3", f"v_and_b32_e32 v4, {mask:#x}, v1"
    text = fused(parse_instruction(shift), parse_instruction(cut))
    if text is not None:
        assert text == f"v_bfe_u32 v4, v3, {offset}, {width}"
        assert evaluate(rows()["v_bfe_u32"], value, offset, width) == (value >> offset & mask,)
    assert (text is None) == (width == 32)


def test_all_readers_take_it_over() -> None:
    text = f"""
        v_lshlrev_b32_e32 v1, 2, v2
        v_add_u32_e32 v5, s4, v1
        v_add_u32_e32 v6, s5, v1
        {STORE.format(5)}
        {STORE.format(6)}
        s_endpgm
    """
    expected = lines(f"""
        v_lshl_add_u32 v5, v2, 2, s4
        v_lshl_add_u32 v6, v2, 2, s5
        {STORE.format(5)}
        {STORE.format(6)}
        s_endpgm
    """)
    assert list(results(Combine(), text).values()) == [expected]


@pytest.mark.parametrize(
    "between",
    [
        "v_mov_b32_e32 v2, 0",  # what it reads changes
        "global_load_dword v2, v[40:41], off",
        "s_mov_b64 exec, s[4:5]",  # other lanes
        "v_sub_f32_e32 v9, v9, v1",  # another reader
        "v_mov_b32_e32 v8, v1\ns_nop 0\nv_mov_b32_e32 v2, v8",
    ],
)
def test_what_must_stay(between: str) -> None:
    text = f"v_lshlrev_b32_e32 v1, 2, v2\n{between}\nv_add_u32_e32 v5, s4, v1\n"
    text += f"{STORE.format(5)}\n{STORE.format(9)}\n{STORE.format(2)}\ns_endpgm"
    assert not [note for note in results(Combine(), text) if "v_lshlrev_b32_e32 v1, 2, v2" in note and "add" in note]


@pytest.mark.parametrize("special", ["exec_hi", "m0", "exec_lo"])
def test_what_is_read_without_being_named_stays(special: str) -> None:
    text = f"s_mov_b32 {special}, -1\nv_mov_b32_e32 v5, 0\nds_write_b32 v5, v5\nv_add_u32_e32 v6, {special}, v5\n"
    text += f"buffer_load_dword v5, s[0:3], 0 offen lds\ns_waitcnt vmcnt(0)\n{STORE.format(6)}\ns_endpgm"
    assert not [note for note in results(Combine(), text) if special in note]


def test_results_that_are_read_elsewhere_stay() -> None:
    text = f"v_lshlrev_b32_e32 v1, 2, v2\nv_add_u32_e32 v5, s4, v1\n{STORE.format(5)}\n"
    assert not results(Combine(), text + STORE.format(1) + "\ns_endpgm")
    assert not results(Combine(), text + "s_cbranch_scc0 end\n" + STORE.format(1) + "\nend:\ns_endpgm")
    assert results(Combine(), text + "s_cbranch_scc0 end\n" + STORE.format(2) + "\nend:\ns_endpgm")


def test_a_carry_that_is_read_keeps_the_sum() -> None:
    text = "s_lshl_b32 s4, s5, 2\ns_add_u32 s6, s4, s7\n{}v_mov_b32_e32 v5, s6\nv_add_u32_e32 v5, s8, v5\n"
    text += STORE.format(5) + "\ns_endpgm"
    assert any("s_lshl2_add_u32 s6, s5, s7" in found for found in results(Combine(), text.format("")).values())
    carried = results(Combine(), text.format("s_addc_u32 s8, s8, 0\n"))
    assert not any("s_lshl2_add_u32 s6, s5, s7" in found for found in carried.values())


VECTORS = tuple(f"v{n}" for n in range(40, 45))
SCALARS = tuple(f"s{n}" for n in range(20, 23))
CONSTANTS = ("0", "1", "2", "5", "15", "-1", "0xff", "0xffff", "0x1234567")
SHORT = ("add_u32", "sub_u32", "lshlrev_b32", "lshrrev_b32", "ashrrev_i32", "and_b32", "or_b32", "xor_b32",
         "mul_u32_u24", "mul_i32_i24", "min_u32", "max_u32", "min_i32", "max_i32", "min_f32", "max_f32")  # fmt: skip
vector = st.builds(
    "v_{}_e32 {}, {}, {}".format,
    st.sampled_from(SHORT),
    st.sampled_from(VECTORS),
    st.sampled_from((*VECTORS, *SCALARS, *CONSTANTS)),
    st.sampled_from(VECTORS),
)
move = st.builds("v_mov_b32_e32 {}, {}".format, st.sampled_from(VECTORS), st.sampled_from((*SCALARS, *CONSTANTS)))
scalar = st.builds(
    "s_{} {}, {}, {}".format,
    st.sampled_from(("add_u32", "lshl_b32", "and_b32", "xor_b32", "mul_i32")),
    st.sampled_from(SCALARS),
    st.sampled_from(SCALARS),
    st.sampled_from((*SCALARS, *CONSTANTS)),
)
VALUES = np.random.default_rng(5).integers(0, 1 << 32, (5, 64), dtype=np.uint32)
VALUES[:, :16] %= 40
VALUES[:, 16:24] = 0x7FC00000 + np.arange(8, dtype=np.uint32)


def executed(body: list[str]) -> bytes:
    begin = [f"v_mov_b32_e32 v{40 + n}, v{10 + n}" for n in range(5)]
    end = [f"v_mov_b32_e32 v{45 + n}, s{20 + n}" for n in range(3)]
    code = "\n".join((*begin, *body, *end))
    return lanes(code, list(VALUES), outputs=8, active=0xFFF0FFFFFFFFFF0F, scalars=(3, 0x80000001, 77)).tobytes()


@settings(max_examples=8, deadline=None)
@given(st.lists(st.one_of(vector, vector, vector, move, scalar), min_size=8, max_size=30))
def test_nothing_else_is_computed(body: list[str]) -> None:
    """Each proposal assembles, and the simulator gives the same with it in every lane."""
    stores = [f"global_store_dword v[50:51], v{40 + n}, off" for n in range(5)]
    scalars = [f"v_mov_b32_e32 v{45 + n}, s{20 + n}\nglobal_store_dword v[50:51], v{45 + n}, off" for n in range(3)]
    where = context("\n".join((*body, *stores, *scalars, "s_endpgm")))
    wanted: bytes | None = None
    for _, after in list(outcomes(Combine(), where))[:2]:
        wanted = wanted or executed(body)
        rest = shown(after)
        changed = rest[: rest.index(stores[0])]
        assert executed(changed) == wanted, changed

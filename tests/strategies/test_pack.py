"""Packed operations: which pairs there are, when they pay, and that nothing else is computed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategy_kit import context, lines, outcomes, results, shown

from asmevo.isa import assemble, parse_instruction
from asmevo.strategies.pack import Pack
from asmevo.strategies.pairs import paired, pairings
from sim_kernels import lanes

STORE = "global_store_dwordx2 v[40:41], v[{}], off"


@pytest.mark.parametrize(
    ("low", "high", "pair"),
    [
        ("v_add_f32_e32 v0, v2, v4", "v_add_f32_e32 v1, v3, v5", "v_pk_add_f32 v[0:1], v[2:3], v[4:5]"),
        ("v_mul_f32_e32 v0, s2, v4", "v_mul_f32_e32 v1, s2, v5",
         "v_pk_mul_f32 v[0:1], s[2:3], v[4:5] op_sel_hi:[0,1]"),
        ("v_mul_f32_e32 v0, s3, v5", "v_mul_f32_e32 v1, s2, v4",
         "v_pk_mul_f32 v[0:1], s[2:3], v[4:5] op_sel:[1,1] op_sel_hi:[0,0]"),
        ("v_fma_f32 v0, v2, -v7, v4", "v_fma_f32 v1, v3, v7, -v5",
         "v_pk_fma_f32 v[0:1], v[2:3], v[6:7], v[4:5] op_sel:[0,1,0] neg_lo:[0,1,0] neg_hi:[0,0,1]"),
        ("v_fmac_f32_e32 v0, v2, v4", "v_fmac_f32_e32 v1, v3, v5", "v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[0:1]"),
        ("v_fmac_f32_e32 v0, v2, v4", "v_fma_f32 v1, v3, v5, v0",
         "v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[0:1] op_sel_hi:[1,1,0]"),
        ("v_mov_b32_e32 v0, v2", "v_mov_b32_e32 v1, v3", "v_mov_b64_e32 v[0:1], v[2:3]"),
        ("v_mov_b32_e32 v0, s2", "v_mov_b32_e32 v1, s3", "v_mov_b64_e32 v[0:1], s[2:3]"),
        ("v_mov_b32_e32 v0, v3", "v_mov_b32_e32 v1, v2", None),
        ("v_mov_b32_e32 v0, 0", "v_mov_b32_e32 v1, 0", None),
        ("v_mov_b32_e32 v1, v2", "v_mov_b32_e32 v2, v3", None),
        ("v_add_f32_e32 v1, v2, v4", "v_add_f32_e32 v2, v3, v5", None),
        ("v_add_f32_e32 v0, v3, v4", "v_add_f32_e32 v1, v4, v5", None),
        ("v_add_f32_e32 v0, v2, v4", "v_mul_f32_e32 v1, v3, v5", None),
        ("v_add_f32_e32 v0, v2, v4", "v_add_f32_e32 v2, v3, v5", None),
        ("v_add_f32_e64 v0, |v2|, v4", "v_add_f32_e64 v1, v3, v5", None),
        ("v_add_f32_e64 v0, v2, v4 clamp", "v_add_f32_e64 v1, v3, v5 clamp", None),
        ("v_add_f32_e64 v0, v2, v4 mul:2", "v_add_f32_e64 v1, v3, v5 mul:2", None),
        ("v_add_f32_e32 v0, 1.0, v4", "v_add_f32_e32 v1, 1.0, v5", None),
        ("v_fma_f32 v0, s2, v4, v6", "v_fma_f32 v1, s2, v5, s8", None),
        ("v_mul_f32_e32 v0, vcc_lo, v4", "v_mul_f32_e32 v1, vcc_hi, v5", None),
    ],
)  # fmt: skip
def test_pairs(low: str, high: str, pair: str | None) -> None:
    assert paired(parse_instruction(low), parse_instruction(high)) == pair
    if pair is not None:
        assert assemble([pair], "gfx942")


def test_two_become_one_where_the_later_stands_or_the_earlier() -> None:
    text = f"""
        v_mul_f32_e32 v0, v2, v4
        v_exp_f32_e32 v8, v9
        v_mul_f32_e32 v1, v3, v5
        v_exp_f32_e32 v9, v8
        {STORE.format("0:1")}
        {STORE.format("8:9")}
        s_endpgm
    """
    packed = "v_pk_mul_f32 v[0:1], v[2:3], v[4:5]"
    (found,) = results(Pack(), text).values()
    assert found[:3] == lines(f"v_exp_f32_e32 v8, v9\n{packed}\nv_exp_f32_e32 v9, v8")
    (found,) = results(Pack(), text.replace("v_exp_f32_e32 v8, v9", "v_exp_f32_e32 v8, v0")).values()
    assert found[:2] == lines(f"{packed}\nv_exp_f32_e32 v8, v0")


@pytest.mark.parametrize("between", ["v_exp_f32_e32 v3, v0", "s_mov_b64 exec, s[4:5]"])
def test_no_pair_across(between: str) -> None:
    text = f"v_mul_f32_e32 v0, v2, v4\n{{}}\nv_mul_f32_e32 v1, v3, v5\n{STORE.format('0:1')}\n"
    text += f"{STORE.format('2:3')}\ns_endpgm"
    assert results(Pack(), text.format("v_exp_f32_e32 v2, v0"))
    assert not results(Pack(), text.format(between))


def test_no_pair_when_one_needs_the_other() -> None:
    assert not results(Pack(), f"v_mul_f32_e32 v0, v2, v4\nv_mul_f32_e32 v1, v0, v5\n{STORE.format('0:1')}\ns_endpgm")


def test_between_matrix_instructions_it_does_not_pay() -> None:
    mfma = "v_mfma_f32_16x16x32_fp8_fp8 v[{0}:{1}], v[24:25], v[26:27], v[{0}:{1}]"
    matrix = [mfma.format(first, first + 3) for first in (8, 12, 16, 20)]
    single = ["v_mul_f32_e32 v0, v2, v4", "v_mul_f32_e32 v1, v3, v5"]
    end = [STORE.format("0:1"), *(STORE.format(f"{n}:{n + 1}") for n in range(8, 24, 2)), "s_endpgm"]
    body = [matrix[0], *single, *matrix[1:], "s_nop 15", *end]
    assert pairings(context("\n".join(body)).lines)
    assert not results(Pack(), "\n".join(body))
    assert results(Pack(), "\n".join((*single, *end)))


def test_long_runs_between_matrix_instructions_are_tried_alone() -> None:
    mfma = "v_mfma_f32_16x16x32_fp8_fp8 v[{0}:{1}], v[24:25], v[26:27], v[{0}:{1}]"
    short = [f"v_mul_f32_e32 v{n}, v{n}, v{n}" for n in (0, 1)]
    long = [f"v_add_f32_e32 v{n}, v{n}, v{n}" for n in (*range(16), *range(16))]
    end = ["s_nop 15", *(STORE.format(f"{n}:{n + 1}") for n in range(0, 24, 2)), "s_endpgm"]
    body = [mfma.format(16, 19), *short, mfma.format(20, 23), *long, *end]
    notes = list(results(Pack(), "\n".join(body)))
    assert notes[0] == "16 pairs of instructions packed"
    assert "17 pairs of instructions packed" in notes


VECTORS = tuple(f"v{n}" for n in range(40, 48))
SCALARS = tuple(f"s{n}" for n in range(20, 24))
two = st.builds(
    "v_{}_f32_e32 {}, {}, {}".format,
    st.sampled_from(("add", "mul", "fmac")),
    st.sampled_from(VECTORS),
    st.sampled_from((*VECTORS, *SCALARS)),
    st.sampled_from(VECTORS),
)
signed = st.builds("{}{}".format, st.sampled_from(("", "-")), st.sampled_from(VECTORS))
three = st.builds("v_fma_f32 {}, {}, {}, {}".format, st.sampled_from(VECTORS), signed, signed, signed)
move = st.builds("v_mov_b32_e32 {}, {}".format, st.sampled_from(VECTORS), st.sampled_from((*VECTORS, *SCALARS)))


@st.composite
def neighbours(draw: st.DrawFn) -> list[str]:
    """An instruction, perhaps another one, and the first one on the other registers of its pairs."""
    one = draw(st.one_of(two, three, move))
    other = one
    for name in sorted({*VECTORS, *SCALARS}, key=len):
        other = other.replace(name, f"<{name[0]}{int(name[1:]) ^ 1}>")
    other = other.replace("<", "").replace(">", "")
    return [one, *draw(st.lists(st.one_of(two, three, move), max_size=2)), other]


VALUES = np.random.default_rng(6).normal(size=(8, 64)).astype(np.float32).view(np.uint32)
VALUES[:, :16] &= 0x80FFFFFF  # denormals and tiny numbers
VALUES[:, 16:20] = np.array([0x7F800000, 0xFF800000, 0x80000000, 0], np.uint32)


def executed(body: list[str]) -> bytes:
    begin = [f"v_mov_b32_e32 v{40 + n}, v{10 + n}" for n in range(8)]
    code = "\n".join((*begin, *body))
    scalars = (0x3FC00000, 0xBE000000, 0x40490FDB, 0x00000012)
    return lanes(code, list(VALUES), outputs=8, active=0xFFF0FFFFFFFFFF0F, scalars=scalars).tobytes()


@settings(max_examples=8, deadline=None)
@given(st.lists(neighbours(), min_size=3, max_size=8).map(lambda groups: [line for group in groups for line in group]))
def test_nothing_else_is_computed(body: list[str]) -> None:
    """Each proposal assembles, and the simulator gives the same with it in every lane."""
    stores = [f"global_store_dword v[50:51], v{40 + n}, off" for n in range(8)]
    where = context("\n".join((*body, *stores, "s_endpgm")))
    wanted: bytes | None = None
    for _, after in list(outcomes(Pack(), where))[:2]:
        wanted = wanted or executed(body)
        rest = shown(after)
        changed = rest[: rest.index(stores[0])]
        assert executed(changed) == wanted, changed

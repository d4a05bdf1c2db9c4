"""Arithmetic with other roundings, proposed where it was allowed only."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from strategy_kit import context_of, lines, outcomes, results

from asmevo.codeobject import CodeObject
from asmevo.program import recover
from asmevo.strategies import INEXACT, STRATEGIES, strategies_named
from asmevo.strategies.inexact import Inexact
from division import DIVISION

SOFTMAX = Path(__file__).resolve().parents[2] / "benchmarks" / "compiled" / "softmax.hsaco"
STORE = "global_store_dword v[40:41], v{}, off"


def proposed(body: str) -> dict[str, list[str]]:
    return results(Inexact(), f"{body}\ns_endpgm\n")


def test_it_is_in_no_catalogue() -> None:
    assert Inexact.name not in STRATEGIES and list(INEXACT) == [Inexact.name]
    assert list(strategies_named(["waits", Inexact.name])) == ["waits", Inexact.name]


def test_a_division_becomes_a_product_with_the_reciprocal() -> None:
    found = proposed(DIVISION.format(n="v1", d="v2", out=3) + STORE.format(3))
    assert found == {
        "IEEE division to a product with the reciprocal": lines(f"""
            v_rcp_f32_e32 v9, v2
            s_nop 0
            v_mul_f32_e32 v3, v1, v9
            {STORE.format(3)}
            s_endpgm
        """)
    }


def test_a_reciprocal_needs_no_product() -> None:
    (after,) = proposed(DIVISION.format(n="1.0", d="v2", out=3) + STORE.format(3)).values()
    assert after == lines(f"v_rcp_f32_e32 v3, v2\n{STORE.format(3)}\ns_endpgm")


def test_several_divisions_by_one_register_share_its_reciprocal() -> None:
    known = recover(CodeObject.parse(SOFTMAX.read_bytes()))
    note, after = next(outcomes(Inexact(), context_of(known, 1)))
    assert note.startswith("IEEE division, 4 times, ")
    texts = [line.instruction.text for line in after.lines]
    assert [t for t in texts if "v_rcp" in t] == ["v_rcp_f32_e32 v5, v4"]
    assert [t for t in texts if "v_mul_f32_e32" in t] == [f"v_mul_f32_e32 v{n}, v{n}, v5" for n in range(4)]
    assert not any("v_div" in t for t in texts)
    assert len(list(Inexact().propose(context_of(known, 1), random.Random(0)))) == 5


@pytest.mark.parametrize(
    "body",
    [
        DIVISION.format(n="v1", d="v2", out=3).replace("v9, v2, v1", "v9, -v2, v1") + STORE.format(3),
        DIVISION.format(n="v1", d="v2", out=3) + STORE.format(3) + "\n" + STORE.format(9),
        DIVISION.format(n="v1", d="v2", out=3).replace("    v_div_fixup", "    v_mov_b32_e32 v2, 0\n    v_div_fixup")
        + STORE.format(3),
        "v_div_fixup_f32 v3, v9, v2, v1\n" + STORE.format(3),
    ],
)
def test_divisions_of_another_shape_stay(body: str) -> None:
    assert not proposed(body)


@pytest.mark.parametrize(
    ("body", "fused"),
    [
        ("v_mul_f32_e32 v3, v1, v2\nv_add_f32_e32 v3, v3, v4", "v_fma_f32 v3, v1, v2, v4"),
        ("v_mul_f32_e32 v5, v1, v2\nv_add_f32_e32 v3, v4, v5\nv_mov_b32_e32 v5, 0", "v_fma_f32 v3, v1, v2, v4"),
        ("v_mul_f32_e32 v5, v1, v2\nv_add_f32_e32 v3, v5, v3\nv_mov_b32_e32 v5, 0", "v_fmac_f32_e32 v3, v1, v2"),
        ("v_mul_f32_e32 v3, v1, v2\nv_sub_f32_e32 v3, v3, v4", "v_fma_f32 v3, v1, v2, -v4"),
        ("v_mul_f32_e32 v3, v1, v2\nv_sub_f32_e32 v3, v4, v3", "v_fma_f32 v3, -v1, v2, v4"),
    ],
)
def test_product_and_sum_become_one(body: str, fused: str) -> None:
    found = proposed(
        f"{body}\n{STORE.format(3)}\n{STORE.format(5)}" if "v5, 0" in body else f"{body}\n{STORE.format(3)}"
    )
    after = found["product and sum to one fused instruction"]
    assert fused in after and not any(text.startswith(("v_mul", "v_add", "v_sub")) for text in after)


@pytest.mark.parametrize(
    "body",
    [
        "v_mul_f32_e32 v3, v1, v2\nv_add_f32_e32 v5, v3, v4\n" + STORE.format(3),  # the product is needed itself
        "v_mul_f32_e32 v3, v1, v2\nv_mov_b32_e32 v1, 0\nv_add_f32_e32 v3, v3, v4\n" + STORE.format(1),
        "v_mul_f32_e64 v3, v1, v2 clamp\nv_add_f32_e32 v3, v3, v4",
        "v_mul_f32_e32 v3, s1, v2\nv_add_f32_e32 v3, v3, v4",
        "v_mul_f32_e32 v3, v1, v2\nv_add_f32_e32 v3, v3, v3",
        "v_mul_f32_e32 v3, v1, v2\ns_mov_b64 exec, s[2:3]\nv_add_f32_e32 v3, v3, v4",
        "v_mul_u32_u24_e32 v3, v1, v2\nv_add_f32_e32 v3, v3, v4",
    ],
)
def test_what_cannot_be_fused_stays(body: str) -> None:
    assert not proposed(f"{body}\n{STORE.format(3)}")

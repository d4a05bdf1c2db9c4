"""Errors of two approximations that cancel as long as both are off the same way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from asmevo.codeobject import CodeObject
from asmevo.device.simulated import SimDevice
from asmevo.edit import Delete, Insert, Replace, apply_all
from asmevo.gate import Gate
from asmevo.gate.nudge import VARIANTS, nudged
from asmevo.launch import Buffer, Expectation, Field, Launch, Recipe
from asmevo.program import rebuild, recover
from asmevo.verdict import Verdict
from division import DIVISION
from small_objects import build

CODE = f"""
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32_e32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
    global_load_dword v2, v1, s[4:5]
    global_load_dword v3, v1, s[4:5] offset:256
    global_load_dword v4, v1, s[4:5] offset:512
    global_load_dword v15, v1, s[4:5] offset:768
    s_waitcnt vmcnt(0)
    {DIVISION.format(n="v2", d="v3", out=16)}
    {DIVISION.format(n="v4", d="v15", out=17)}
    v_sub_f32_e32 v18, v16, v17
    global_store_dword v1, v18, s[6:7]
    s_endpgm
    s_nop 0
"""
"""y = a / d - b / e"""
K0 = recover(CodeObject.parse(build(CODE)))
FIXUPS = tuple(x.id for x in K0.lines if x.instruction.text.startswith("v_div_fixup"))
DEAD = tuple(x.id for x in K0.lines if x.instruction.text.startswith(("v_div_", "v_rcp", "v_fma", "v_mul_f32")))
STEPS = tuple(n for n in DEAD if n not in FIXUPS)
BY_RECIPROCAL = (
    Insert(FIXUPS[0], ("v_rcp_f32_e32 v6, v3", "s_nop 0")),
    Replace(FIXUPS[0], "v_mul_f32_e32 v16, v2, v6"),
    Insert(FIXUPS[1], ("v_rcp_f32_e32 v6, v15", "s_nop 0")),
    Replace(FIXUPS[1], "v_mul_f32_e32 v17, v4, v6"),
)
MOVES = tuple(1 + off * 2.0**-24 for off in (0, 1, -1))


def _products(x: np.ndarray, reciprocal: np.ndarray) -> list[np.ndarray]:
    """Quotients by way of a reciprocal that is as it should be, moved up and moved down."""
    return [x * (reciprocal.astype(np.float64) * move).astype(np.float32) for move in MOVES]


def cancelling() -> np.ndarray:
    """Rows a, d, b, e of exact quotients, whose difference is exact when both reciprocals are moved alike; the first
    eight are plain quotients, so that bits differ from K0's."""
    r = np.random.default_rng(1)
    d, e = r.choice(np.float32([3, 5, 7, 9, 11, 13]), (2, 20000))
    q = r.integers(2**17, 2**18, 20000)
    less = q - r.integers(1, 9, 20000)
    a, b = (q * d).astype(np.float32), (less * e).astype(np.float32)
    pairs = zip(_products(a, 1 / d), _products(b, 1 / e), strict=True)
    good = np.logical_and.reduce([one - other == q - less for one, other in pairs]) & (d != e)
    found = np.stack([a, d, b, e])[:, good][:, :64].astype(np.float32)
    found[:2, :8] = r.uniform(1, 3, (2, 8))
    found[2, :8] = 0
    return found


@dataclass(frozen=True, kw_only=True)
class DifferenceOfQuotients(Recipe):
    """The exact values of y."""

    name = "test.difference_of_quotients"

    def make_inputs(self):
        return {"x": cancelling().reshape(-1)}

    def launch(self, name: str) -> Launch:
        buffers = (
            Buffer("x", "in", "f32", (256,), self.fill("x"), red_zone=512),
            Buffer("y", "out", "f32", (64,), red_zone=512),
        )
        kernarg = (Field("x", 0, buffer="x"), Field("y", 8, buffer="y"))
        return Launch(name, (1, 1, 1), (64, 1, 1), kernarg, buffers, recipe=self)

    def expectations(self):
        a, d, b, e = self.inputs()["x"].reshape(4, 64).astype(np.float64)
        return (Expectation("y", a / d - b / e, np.full(64, 1e-3)),)


@pytest.mark.parametrize("edits", [BY_RECIPROCAL, (*BY_RECIPROCAL, Delete(STEPS))], ids=["steps left", "steps gone"])
def test_errors_that_cancel_when_moved_alike_are_beyond_the_bound(edits):
    with SimDevice() as device:
        gate = Gate(K0.source.data, [DifferenceOfQuotients().launch("plain")], device, inexact=4.0)
        report = gate.examine(rebuild(apply_all(K0, edits)), K0, edits)
    assert report.verdict is Verdict.REFUTED, report.to_json()
    ratios = {variant: row["ratio"] for variant, row in report.refused_by.facts["errors"]["plain"]["y"].items()}
    assert max(ratios[variant] for variant in ("as computed", "down", "up")) <= 4.0
    assert min(ratios[variant] for variant in ("down and up", "up and down")) > 1000


def test_in_turn_lines_of_k0_go_the_same_way_as_in_k0():
    def moves(program, variant):
        texts = [x.instruction.text for x in recover(CodeObject.parse(nudged(program, variant, K0))).lines]
        return [
            (texts[n].split(maxsplit=1)[1], {"v_mul_f32_e32": "down", "v_fmamk_f32": "up"}[texts[n + 2].split()[0]])
            for n in range(len(texts))
            if texts[n].startswith("v_rcp")
        ]

    candidate = apply_all(K0, BY_RECIPROCAL)
    for variant in VARIANTS:
        first, second = (VARIANTS[variant] * 2)[:2]
        assert moves(K0, variant) == [("v6, v5", first), ("v6, v5", second)]
        own = [("v6, v5", first), ("v6, v3", first), ("v6, v5", second), ("v6, v15", second)]
        assert moves(candidate, variant) == own

"""Results that are K0's only as long as approximations are as good as the simulator makes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from gate_cases import line as line_of

from asmevo.codeobject import CodeObject
from asmevo.device.simulated import SimDevice
from asmevo.edit import Insert, Replace, apply_all
from asmevo.gate import Gate, moving
from asmevo.launch import Buffer, Expectation, Field, Launch, Recipe
from asmevo.program import rebuild, recover
from asmevo.verdict import Verdict
from division import DIVISION
from small_objects import build

CODE = """
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32_e32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
    global_load_dword v2, v1, s[4:5]
    v_mov_b32_e32 v3, 0x40400000
    s_waitcnt vmcnt(0)
    {first}
    {result}
    v_add_u32_e32 v10, 3, v1
    global_store_dword v1, v16, s[6:7]
    global_store_dword v1, v10, s[6:7] offset:256
    s_endpgm
    s_nop 0
"""
"""A result of x, such as x / 3, and 64 integers 256 bytes on."""


@dataclass(frozen=True, kw_only=True)
class Thirds(Recipe):
    """Multiples of 3 whose product with the rounded third is exact, and half of them with its neighbours not."""

    name = "test.thirds"

    def make_inputs(self):
        k = np.arange(1, 1000, dtype=np.float32)
        return {"x": (3 * k)[3 * k * np.float32(1 / 3) == k][:64]}

    def launch(self, name: str) -> Launch:
        buffers = (
            Buffer("x", "in", "f32", (64,), self.fill("x"), red_zone=512),
            Buffer("y", "out", "f32", (128,), red_zone=512),
        )
        kernarg = (Field("x", 0, buffer="x"), Field("y", 8, buffer="y"))
        return Launch(name, (1, 1, 1), (64, 1, 1), kernarg, buffers, recipe=self)

    def expectations(self):
        quotients = Expectation("y", self.inputs()["x"].astype(np.float64) / 3, np.zeros(64))
        return quotients, Expectation("y", np.arange(64.0) * 4 + 3, np.zeros(64), part=(256, "i32"))


@pytest.fixture(scope="module")
def device():
    with SimDevice() as one:
        yield one


THIRD = DIVISION.format(n="v2", d="v3", out=16)


def kernel(first="", result=THIRD):
    return recover(CodeObject.parse(build(CODE.format(first=first, result=result))))


def examined(device, k0, edits, inexact=None):
    gate = Gate(k0.source.data, [Thirds().launch("thirds")], device, inexact=inexact)
    return gate.examine(rebuild(apply_all(k0, edits)), k0, edits)


def without_steps(k0):
    fixup = line_of("v_div_fixup", k0)
    return Insert(fixup, ("v_rcp_f32_e32 v6, v3", "s_nop 0")), Replace(fixup, "v_mul_f32_e32 v16, v2, v6")


def unproved(k0):
    """Equal, since the lowest bits of the other operand are 0, of which the prover knows nothing."""
    return (Replace(line_of("v_add_u32", k0), "v_or_b32_e32 v10, 3, v1"),)


def test_bits_that_only_good_approximations_give_are_unknown(device):
    k0 = kernel()
    report = examined(device, k0, without_steps(k0))
    assert report.verdict is Verdict.UNKNOWN, report.to_json()
    assert report.refused_by.name == "differential"
    (finding,) = report.refused_by.findings
    assert finding.rule == "moved.bytes" and finding.facts["moved"] == "down"
    assert finding.message.endswith("Hardware may show that difference.")


def test_they_are_inexact_results_where_those_are_allowed(device):
    k0 = kernel()
    report = examined(device, k0, without_steps(k0), inexact=4.0)
    assert report.verdict is Verdict.TESTED and 1.0 < report.inexact["largest_ratio"] <= 4.0, report.to_json()


def test_an_edit_that_leaves_approximations_alone_is_tested(device, monkeypatch):
    k0, moved = kernel(), []
    original = moving.nudged
    monkeypatch.setattr(moving, "nudged", lambda *args: moved.append(args[1]) or original(*args))
    report = examined(device, k0, unproved(k0))
    assert report.verdict is Verdict.TESTED and report.inexact is None, report.to_json()
    assert moved == ["down", "down", "up", "up"]


def test_an_approximation_of_unknown_error_in_a_block_that_is_not_proved_is_unknown(device):
    k0 = kernel(first="v_rcp_iflag_f32_e32 v12, v0")
    report = examined(device, k0, unproved(k0))
    assert report.verdict is Verdict.UNKNOWN, report.to_json()
    assert [(f.rule, f.line) for f in report.refused_by.findings] == [
        ("inexact.approximation", line_of("v_rcp_iflag", k0))
    ]
    apart = kernel(first="v_rcp_iflag_f32_e32 v12, v0\ns_branch later\nlater:")
    assert examined(device, apart, unproved(apart)).verdict is Verdict.TESTED


def test_a_k0_that_does_not_run_with_other_approximations_shows_nothing(device):
    # An address that is a little less than the reciprocal says is in front of everything.
    first = """
        v_rcp_f32_e32 v12, v3
        s_nop 0
        v_subrev_f32_e32 v12, 0x3eaaaaab, v12
        v_and_b32_e32 v12, 0x80000000, v12
        v_lshrrev_b32_e32 v12, 2, v12
        global_load_dword v13, v12, s[4:5]
        s_waitcnt vmcnt(0)
    """
    k0 = kernel(first)
    report = examined(device, k0, unproved(k0))
    assert report.verdict is Verdict.UNKNOWN, report.to_json()
    (finding,) = report.refused_by.findings
    assert finding.rule == "inexact.moved" and "moved down a run ends with fault" in finding.message


@pytest.mark.parametrize("way", ["proved", "without approximations"])
def test_proofs_and_programs_without_approximations_need_no_other_run(device, monkeypatch, way):
    monkeypatch.setattr(moving, "nudged", None)
    k0 = kernel() if way == "proved" else kernel(result="v_mul_f32_e32 v16, 2.0, v2")
    edits = (Insert(line_of("v_add_u32", k0), "s_nop 0"),) if way == "proved" else unproved(k0)
    report = examined(device, k0, edits)
    assert report.verdict is (Verdict.PROVED if way == "proved" else Verdict.TESTED), report.to_json()

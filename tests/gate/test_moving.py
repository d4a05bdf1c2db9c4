"""Results that are K0's only as long as approximations are as good as the simulator makes them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from gate_cases import line as line_of

from asmevo.codeobject import CodeObject
from asmevo.device import Status
from asmevo.device.simulated import SimDevice
from asmevo.edit import Insert, Replace, apply_all
from asmevo.gate import Gate, moving
from asmevo.gate.nudge import nudged
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
    v_add_f32_e32 v11, v2, v2
    global_store_dword v1, v16, s[6:7]
    global_store_dword v1, v10, s[6:7] offset:256
    global_store_dword v1, v11, s[6:7] offset:512
    s_endpgm
    s_nop 0
"""
"""A result of x, such as x / 3, 64 integers 256 bytes on, and 2 x 512 bytes on."""


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
            Buffer("y", "out", "f32", (192,), red_zone=512),
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
FLOOR = """
    {rcp}_e32 v6, v3
    s_nop 0
    v_mul_f32_e32 v7, v2, v6
    v_trunc_f32_e32 v7, v7
    v_fma_f32 v8, -v7, v3, v2
    v_cmp_ge_f32_e64 vcc, v8, v3
    v_cndmask_b32_e64 v9, 0, 1.0, vcc
    v_add_f32_e32 v16, v7, v9
"""
"""The floor of x / 3 as compilers divide small integers: one too little is made up for."""
LDS = """
    {write} v1, {value}
    s_waitcnt lgkmcnt(0)
    {read} {value}, v1
    s_waitcnt lgkmcnt(0)
"""
NEXT = "s_branch later\n later:\n"


def kernel(first="", result=THIRD):
    return recover(CodeObject.parse(build(CODE.format(first=first, result=result))))


def examined(device, k0, edits, inexact=None):
    gate = Gate(k0.source.data, [Thirds().launch("thirds")], device, inexact=inexact)
    return gate.examine(rebuild(apply_all(k0, edits)), k0, edits)


def without_steps(k0):
    fixup = line_of("v_div_fixup", k0)
    return Insert(fixup, ("v_rcp_f32_e32 v6, v3", "s_nop 0")), Replace(fixup, "v_mul_f32_e32 v16, v2, v6")


def replaced(k0, **texts):
    """Edits that put other lines for those that begin so."""
    return tuple(Replace(line_of(start, k0), text) for start, text in texts.items())


def integer(k0):
    """Equal, since the lowest bits of the other operand are 0, of which the prover knows nothing."""
    return replaced(k0, v_add_u32="v_or_b32_e32 v10, 3, v1")


def double(k0):
    """Equal for all floats, as is `floor`, and not proved."""
    return replaced(k0, **{"v_add_f32_e32 v11": "v_fma_f32 v11, v2, 1.0, v2"})


def floor(k0):
    return replaced(k0, **{"v_add_f32_e32 v16": "v_fma_f32 v16, v7, 1.0, v9"})


UNREFINED = {"v_fma_f32 v8": "v_mov_b32_e32 v8, 0", "v_div_fmas": "v_mul_f32_e32 v9, v7, v6"}
"""The division of which only the end for quotients at the edges of the range is left."""
WRONG = {
    "the quotient by the reciprocal": (THIRD, without_steps),
    "the division without Newton steps": (THIRD, lambda k0: replaced(k0, **UNREFINED)),
    "in another block than the reciprocal": (
        THIRD.replace("v_div_fmas", f"{NEXT}v_div_fmas"),
        lambda k0: replaced(k0, **UNREFINED),
    ),
    "the floor without its correction": (
        FLOOR.format(rcp="v_rcp_iflag_f32"),
        lambda k0: replaced(k0, **{"v_add_f32_e32 v16": "v_mov_b32_e32 v16, v7"}),
    ),
    "a reciprocal that comes from LDS": (
        FLOOR.format(rcp="v_rcp_f32").replace(
            "v_mul", LDS.format(write="ds_write_b32", read="ds_read_b32", value="v6") + NEXT + "v_mul"
        ),
        lambda k0: replaced(k0, **{"v_add_f32_e32 v16": "v_mov_b32_e32 v16, v7"}),
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_bits_that_only_good_approximations_give_are_unknown(device, case):
    result, edits = WRONG[case]
    k0 = kernel(result=result)
    report = examined(device, k0, edits(k0))
    assert report.verdict is Verdict.UNKNOWN, report.to_json()
    assert report.refused_by.name == "differential"
    (finding,) = report.refused_by.findings
    assert finding.rule == "moved.bytes" and finding.facts["moved"] == "down"
    assert finding.message.endswith("Hardware may show that difference.")


def test_they_are_inexact_results_where_those_are_allowed(device):
    k0 = kernel()
    report = examined(device, k0, without_steps(k0), inexact=4.0)
    assert report.verdict is Verdict.TESTED and 1.0 < report.inexact["largest_ratio"] <= 4.0, report.to_json()


@pytest.fixture
def moved(monkeypatch):
    """The variants in which objects were made, in order."""
    made, original = [], moving.nudged
    monkeypatch.setattr(moving, "nudged", lambda *args: made.append(args[1]) or original(*args))
    return made


@pytest.mark.parametrize("rcp", ["v_rcp_f32", "v_rcp_iflag_f32"])
def test_an_equal_result_of_an_approximation_is_tested(device, moved, rcp):
    k0 = kernel(result=FLOOR.format(rcp=rcp))
    report = examined(device, k0, floor(k0))
    assert report.verdict is Verdict.TESTED and report.inexact is None, report.to_json()
    assert moved == ["down", "down", "up", "up"]


def test_the_same_by_another_line_is_tested(device, moved):
    k0 = kernel(result=FLOOR.format(rcp="v_rcp_f32"))
    again = ("v_rcp_iflag_f32_e32 v12, v3", "s_nop 0", "v_mul_f32_e32 v12, v2, v12")
    same = Insert(line_of("v_trunc_f32", k0), again), *replaced(k0, v_trunc_f32="v_trunc_f32_e32 v7, v12")
    report = examined(device, k0, (*same, *floor(k0)))
    assert report.verdict is Verdict.TESTED and moved == ["down", "down", "up", "up"], report.to_json()


@pytest.mark.parametrize("edits", [integer, double])
@pytest.mark.parametrize("first", ["", "v_sin_f32_e32 v12, v2", "v_rcp_f64_e32 v[12:13], v[2:3]"])
def test_what_meets_no_approximation_needs_no_other_run(device, moved, edits, first):
    k0 = kernel(first)
    report = examined(device, k0, edits(k0))
    assert report.verdict is Verdict.TESTED and moved == [], report.to_json()


def test_proofs_need_no_other_run(device, moved):
    k0 = kernel()
    report = examined(device, k0, (Insert(line_of("v_add_u32", k0), "s_nop 0"),))
    assert report.verdict is Verdict.PROVED and moved == [], report.to_json()


LOG = "v_log_legacy_f32_e32 {0}, {1}\ns_nop 1\n"
MEETINGS = {
    "a changed line depends on it": (LOG.format("v2", "v2"), THIRD, double),
    "it depends on a changed line": ("", FLOOR.format(rcp="v_rcp_f32") + NEXT + LOG.format("v16", "v16"), floor),
    "what depends on both": (
        LOG.format("v12", "v2"),
        FLOOR.format(rcp="v_rcp_f32") + NEXT + "v_max_f32_e32 v16, v16, v12",
        floor,
    ),
    "through LDS": (
        LOG.format("v12", "v2") + LDS.format(write="ds_write_b32", read="ds_read_b32", value="v12") + NEXT,
        FLOOR.format(rcp="v_rcp_f32").replace("v_trunc_f32_e32 v7, v7", "v_max_f32_e32 v7, v7, v12"),
        floor,
    ),
    "where K0 had it": (
        LOG.format("v12", "v2"),
        "v_mul_f32_e32 v12, 0, v12\nv_cvt_u32_f32_e32 v16, v12",
        lambda k0: replaced(k0, v_cvt_u32="v_mov_b32_e32 v16, 0"),
    ),
}


@pytest.mark.parametrize("case", MEETINGS)
def test_an_approximation_of_unknown_error_that_meets_a_change_is_unknown(device, moved, case):
    first, result, edits = MEETINGS[case]
    k0 = kernel(first, result)
    report = examined(device, k0, edits(k0))
    assert report.verdict is Verdict.UNKNOWN and moved == [], report.to_json()
    found = [(f.rule, f.line) for f in report.refused_by.findings]
    assert found == [("inexact.approximation", line_of("v_log_legacy", k0))]


ADDRESS = """
    v_rcp_f32_e32 v12, v3
    s_nop 0
    {off}
    v_and_b32_e32 v12, 0x80000000, v12
    v_lshrrev_b32_e32 v12, 2, v12
    global_load_dword v13, v12, s[4:5]
    s_waitcnt vmcnt(0)
"""
"""An address far from everything where the reciprocal of 3 is another one."""


def test_a_k0_that_runs_with_other_approximations_in_no_way_shows_nothing(device):
    off = "v_xor_b32_e32 v12, 0x3eaaaaab, v12\nv_sub_u32_e32 v12, 0, v12"
    k0 = kernel(ADDRESS.format(off=off), FLOOR.format(rcp="v_rcp_f32"))
    report = examined(device, k0, floor(k0))
    assert report.verdict is Verdict.UNKNOWN, report.to_json()
    (finding,) = report.refused_by.findings
    assert finding.rule == "inexact.moved" and "moved down a run ends with fault" in finding.message


LOWER, HIGHER = "v_subrev_f32_e32 v12, 0x3eaaaaab, v12", "v_sub_f32_e32 v12, 0x3eaaaaab, v12"


@pytest.mark.parametrize(
    ("off", "edits", "verdict"),
    [
        (LOWER, floor, Verdict.TESTED),
        (HIGHER, floor, Verdict.TESTED),
        (HIGHER, WRONG["the floor without its correction"][1], Verdict.UNKNOWN),
    ],
)
def test_ways_in_which_k0_does_not_run_are_left_out(device, moved, off, edits, verdict):
    k0 = kernel(ADDRESS.format(off=off), FLOOR.format(rcp="v_rcp_f32"))
    report = examined(device, k0, edits(k0))
    assert report.verdict is verdict, report.to_json()
    if verdict is Verdict.UNKNOWN:
        assert [f.rule for f in report.refused_by.findings] == ["moved.bytes"]
    else:
        assert moved == (["down", "up", "up"] if off == LOWER else ["down", "down", "up"])


def test_a_device_that_gives_no_answer_shows_nothing_and_is_asked_again(device, monkeypatch):
    k0 = kernel(result=FLOOR.format(rcp="v_rcp_f32"))
    edits = floor(k0)
    gate = Gate(k0.source.data, [Thirds().launch("thirds")], device)
    run, made, lost = device.run, [], []
    monkeypatch.setattr(moving, "nudged", lambda *args: made.append(args) or nudged(*args))

    def forgetful(*args, **more):
        if made and not lost:
            lost.append(args)
            return replace(run(*args, **more), status=Status.TIMEOUT)
        return run(*args, **more)

    monkeypatch.setattr(device, "run", forgetful)
    reports = [gate.examine(rebuild(apply_all(k0, edits)), k0, edits) for _ in range(2)]
    assert [report.verdict for report in reports] == [Verdict.UNKNOWN, Verdict.TESTED], reports[1].to_json()
    assert "ends with timeout" in reports[0].refused_by.findings[0].message

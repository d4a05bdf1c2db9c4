"""Results that may be further from float64 than K0's: what is admitted then, and what still is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pytest
from gate_cases import LAUNCH as BARE
from gate_cases import line as line_of
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo.codeobject import CodeObject
from asmevo.device.simulated import SimDevice
from asmevo.edit import Delete, Insert, Replace, apply_all
from asmevo.gate import Gate, bound_of
from asmevo.gate.inexact import Error
from asmevo.gate.nudge import NUDGES, is_approximation, is_nudged, nudged
from asmevo.launch import POISONS, Buffer, Expectation, Field, Launch, Recipe, build_image
from asmevo.program import rebuild, recover
from asmevo.verdict import UsageError, Verdict
from division import DIVISION
from sim_kernels import lanes
from small_objects import build

CODE = f"""
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32_e32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
    global_load_dword v2, v1, s[4:5]
    s_waitcnt vmcnt(0)
    v_mul_f32_e32 v3, 0.5, v2
    v_mul_f32_e32 v4, v3, v2
    v_add_f32_e32 v4, v4, v2
    {DIVISION.format(n="v2", d="v4", out=9)}
    v_add_u32_e32 v10, 3, v1
    v_cmp_gt_u32_e32 vcc, 48, v0
    s_and_saveexec_b64 s[10:11], vcc
    global_store_dword v1, v9, s[6:7]
    global_store_dword v1, v10, s[6:7] offset:256
    s_endpgm
    s_nop 0
"""
"""y = x / (x * x / 2 + x) for 48 of 64 elements, and 48 integers 256 bytes on."""

K0_BYTES = build(CODE)
K0 = recover(CodeObject.parse(K0_BYTES))


@dataclass(frozen=True, kw_only=True)
class Quotient(Recipe):
    """The exact values of y; `off` makes them wrong by a share."""

    name = "test.quotient"
    special: bool = False
    off: float = 0.0

    def make_inputs(self) -> Mapping[str, np.ndarray]:
        x = np.random.default_rng(4).uniform(1, 3, 64).astype(np.float32)
        if self.special:
            x[:3] = np.nan, np.inf, 0.0
        return {"x": x}

    def launch(self, name: str) -> Launch:
        buffers = (
            Buffer("x", "in", "f32", (64,), self.fill("x"), red_zone=512),
            Buffer("y", "out", "f32", (128,), red_zone=512),
        )
        kernarg = (Field("x", 0, buffer="x"), Field("y", 8, buffer="y"))
        return Launch(name, (1, 1, 1), (64, 1, 1), kernarg, buffers, recipe=self)

    def expectations(self) -> tuple[Expectation, ...]:
        x = self.inputs()["x"][:48].astype(np.float64)
        with np.errstate(invalid="ignore"):
            y = x / (x * x / 2 + x) * (1 + self.off)
        integers = np.arange(48.0) * 4 + 3
        return (
            Expectation("y", y, np.full(48, 1e-6)),
            Expectation("y", integers, np.zeros(48), part=(256, "i32")),
        )


PLAIN = Quotient().launch("plain")
LAUNCHES = (PLAIN, Quotient(special=True).launch("special"))


@pytest.fixture(scope="module")
def device():
    with SimDevice() as one:
        yield one


@pytest.fixture(scope="module")
def strict(device):
    return Gate(K0_BYTES, LAUNCHES, device)


@pytest.fixture(scope="module")
def loose(device):
    return Gate(K0_BYTES, LAUNCHES, device, inexact=4.0)


def made(*edits):
    return rebuild(apply_all(K0, edits))


def line(text):
    return line_of(text, K0)


STEPS = ("v_div_scale", "v_rcp", "v_fma", "v_fmac", "v_mul_f32_e32 v8", "v_div_fmas")
NEWTON = tuple(x.id for x in K0.lines if x.instruction.text.startswith(STEPS))
FIXUP = line("v_div_fixup")


def by_reciprocal(reciprocal="v_rcp_f32_e32 v6, v4", product="v_mul_f32_e32 v9, v2, v6"):
    return Insert(FIXUP, (reciprocal, "s_nop 0")), Replace(FIXUP, product), Delete(NEWTON)


CONTRACTED = (Replace(line("v_add_f32"), "v_fma_f32 v4, v3, v2, v2"), Delete((line("v_mul_f32_e32 v4"),)))


def rules(report):
    return [f.rule for f in report.refused_by.findings] if report.refused_by else []


@pytest.mark.parametrize("edits", [by_reciprocal(), CONTRACTED])
def test_other_roundings_are_refused_unless_they_are_allowed(strict, loose, edits):
    data = made(*edits)
    refused = strict.examine(data, K0, edits)
    assert refused.verdict is Verdict.REFUTED and rules(refused) == ["diff.bytes"] and refused.inexact is None
    report = loose.examine(data, K0, edits)
    assert report.verdict is Verdict.TESTED, report.to_json()
    assert report.inexact["bound"] == 4.0 and 0 < report.inexact["largest_ratio"] <= 4.0
    (finding,) = next(c for c in report.checks if c.name == "differential").findings
    assert finding.message.startswith("INEXACT: ")
    for launch in ("plain", "special"):
        assert set(report.inexact["errors"][launch]["y"]) == {"as computed", "down", "up", "down and up", "up and down"}
    assert loose.certificate(data, edits, report)["checks"] == [
        c.to_json() for c in loose.examine(data, K0, edits).checks
    ]
    assert bound_of(loose.certificate(data, edits, report)) == 4.0


def test_the_errors_are_those_against_float64(loose):
    edits = by_reciprocal()
    row = loose.examine(made(*edits), K0, edits).inexact["errors"]["plain"]["y"]["as computed"]
    x = Quotient().inputs()["x"][:48]
    below = np.float32(0.5) * x * x + x
    exact = Quotient().expectations()[0].values
    for who, y in (("k0", x / below), ("candidate", x * (np.float32(1) / below))):
        error = np.abs(y.astype(np.float64) - exact)
        assert row[who]["mean_relative"] == pytest.approx(error.mean() / exact.mean(), rel=1e-12)
        assert row[who]["worst_ulp"] == pytest.approx((error / np.spacing(exact.astype(np.float32))).max(), rel=1e-12)
    assert row["candidate"]["mean_relative"] > row["k0"]["mean_relative"]


def test_results_of_k0_are_judged_as_without(strict, loose):
    for edits in ((Insert(FIXUP, "s_nop 0"),), (Replace(line("v_add_f32"), "v_add_f32_e32 v4, v2, v4"),)):
        data = made(*edits)
        assert loose.examine(data, K0, edits).to_json() == strict.examine(data, K0, edits).to_json()


def test_beyond_the_bound_is_refused(device):
    edits = by_reciprocal()
    report = Gate(K0_BYTES, LAUNCHES, device, inexact=1.0).examine(made(*edits), K0, edits)
    assert report.verdict is Verdict.REFUTED and set(rules(report)) == {"inexact.bound"}
    assert report.refused_by.facts["largest_ratio"] > 1.0


REFUSED = {
    "a constant that is a little off": (
        (Replace(line("v_mul_f32_e32 v3"), "v_mul_f32_e32 v3, 0x3f000080, v2"),),
        "bound",
    ),
    "another integer": ((Replace(line("v_add_u32"), "v_add_u32_e32 v10, 4, v1"),), "bytes"),
    "another integer beside other roundings": (
        (*by_reciprocal(), Replace(line("v_add_u32"), "v_add_u32_e32 v10, 4, v1")),
        "bytes",
    ),
    "infinity where K0 has NaN": (by_reciprocal(product="v_mul_legacy_f32 v9, v2, v6"), "special"),
    "an approximation of unknown error": (
        (Insert(FIXUP, ("v_rcp_iflag_f32_e32 v6, v4", "s_nop 0")), by_reciprocal()[1], by_reciprocal()[2]),
        "approximation",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_rounding_is_refused(loose, case):
    edits, rule = REFUSED[case]
    report = loose.examine(made(*edits), K0, edits)
    assert not report.verdict.admitted and {r.split(".")[1] for r in rules(report)} == {rule}, report.to_json()


def test_what_lies_beside_the_results_is_compared_as_bytes(device):
    # The integers are no result of this recipe, so one that is another is a byte that differs.
    gate = Gate(K0_BYTES, [Floats().launch("floats")], device, inexact=4.0)
    edits = by_reciprocal()
    assert gate.examine(made(*edits), K0, edits).verdict is Verdict.TESTED
    edits = (*edits, Replace(line("v_add_u32"), "v_add_u32_e32 v10, 4, v1"))
    report = gate.examine(made(*edits), K0, edits)
    assert report.verdict is Verdict.REFUTED and rules(report) == ["diff.bytes"], report.to_json()
    (finding,) = report.refused_by.findings
    assert finding.facts["place"] == "y[64]" and finding.facts["buffers"] == {"x": 0, "y": 48}


@dataclass(frozen=True, kw_only=True)
class Floats(Quotient):
    """The same, which knows nothing of the integers."""

    name = "test.floats"

    def expectations(self):
        return super().expectations()[:1]


def test_a_store_that_k0_does_not_make_is_refused(loose):
    store = line("global_store_dword v1, v9")
    edits = (Insert(store, "global_store_dword v1, v9, s[4:5] offset:64"),)
    report = loose.examine(made(*edits), K0, edits)
    assert report.verdict is Verdict.UNKNOWN and set(rules(report)) == {"order.unmatched_access"}, report.to_json()


def test_a_result_that_no_launch_shows_is_unknown(device):
    # The bound of the maximum may be spoilt without anyone seeing it: with other roundings, too.
    bound = ("v_mov_b32_e32 v11, 0x80000001", "v_max_f32_e32 v9, v9, v11")
    edits = (*by_reciprocal(), Insert(line("v_add_u32"), bound))
    report = Gate(K0_BYTES, [PLAIN], device, inexact=4.0).examine(made(*edits), K0, edits)
    assert report.verdict is Verdict.UNKNOWN and rules(report) == ["influence.hidden"], report.to_json()


def test_a_recipe_that_k0_does_not_agree_with_is_no_reference(device):
    gate = Gate(K0_BYTES, [Quotient(off=1e-4).launch("wrong")], device, inexact=4.0)
    edits = by_reciprocal()
    report = gate.examine(made(*edits), K0, edits)
    assert report.verdict is Verdict.UNKNOWN and rules(report) == ["inexact.reference"]


def test_launches_without_exact_results_and_odd_bounds_are_a_sentence(device):
    with pytest.raises(UsageError, match=r"exact results of every launch, and 'small' cannot .*\.$"):
        Gate(K0_BYTES, [PLAIN, BARE], device, inexact=4.0)
    for bound in (0.5, float("nan"), float("inf"), -1.0):
        with pytest.raises(UsageError, match=r"bound of --allow-inexact"):
            Gate(K0_BYTES, [PLAIN], device, inexact=bound)


FIXED = "    v_div_fixup_f32 v9, v9, v4, v2\n"


def with_result(text, code=CODE):
    """A kernel that leaves another result than the quotient."""
    assert FIXED in code
    return recover(CodeObject.parse(build(code.replace(FIXED, text))))


def _run(device, data, launch=PLAIN):
    obj = CodeObject.parse(data)
    image = build_image(launch, obj, obj.kernel(None), POISONS[0])
    assert device.run(device.load(data, None), launch, image).done
    return image.values("y")[:48].copy()


SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -4.0, 1e38], np.float32)


@dataclass(frozen=True, kw_only=True)
class Special(Quotient):
    """Inputs of which approximations make infinities, zeros and NaN."""

    name = "test.special"

    def make_inputs(self):
        return {"x": np.resize(np.concatenate([SPECIAL, np.linspace(0.5, 3, 37, dtype=np.float32)]), 64)}


@pytest.mark.parametrize(("variant", "sign"), [("down", -1), ("up", 1)])
@pytest.mark.parametrize(
    ("opcode", "ulps"),
    [
        ("v_rcp_f32", 1),
        ("v_rcp_iflag_f32", 1),
        ("v_sqrt_f32", 1),
        ("v_rsq_f32", 2),
        ("v_exp_f32", 2),
        ("v_log_f32", 4),
    ],
)
@pytest.mark.parametrize("encoding", ["e32", "e64"])
def test_moved_approximations_are_off_by_as_much_as_hardware(device, variant, sign, opcode, ulps, encoding):
    program = with_result(f"    {opcode}_{encoding} v9, v2\n    s_nop 0\n")
    launch = Special().launch("special")
    plain, moved = (_run(device, data, launch) for data in (program.source.data, nudged(program, variant, program)))
    plain, moved = plain.view(np.float32), moved.view(np.float32)
    normal = np.isfinite(plain) & (np.abs(plain) >= 2.0**-125)
    assert normal.sum() > 30 and not normal.all()
    np.testing.assert_array_equal(moved.view(np.int32)[~normal], plain.view(np.int32)[~normal])
    off = set((moved.view(np.int32).astype(np.int64) - plain.view(np.int32))[normal] * sign)
    assert off <= ({ulps} if variant == "down" else set(range(ulps + 1))) and ulps in off


@given(st.lists(st.integers(0, 2**32 - 1), min_size=256, max_size=256))
@settings(max_examples=10, deadline=None)
def test_a_moved_float_is_the_next_one(drawn):
    powers = (np.arange(255, dtype=np.uint32) << 23)[:, None]
    edges = (powers + np.array([0, 1, 2, 0x3FFFFF, 0x400000, 0x7FFFFF], np.uint32)).reshape(-1)
    edges = np.concatenate([edges, [0, 1, 2, 0x7FFFFE, 0x7FFFFF, 0x7F800000, 0x7FC00000]]).astype(np.uint32)
    codes = np.concatenate([edges, edges | 0x80000000, np.array(drawn, np.uint32)]).astype(np.uint32)
    for start in range(0, len(codes), 1024):
        x = np.resize(codes[start : start + 1024], 1024).view(np.float32)
        _is_next(x, _moves("down", x), 0.0)
        _is_next(x, _moves("up", x), np.inf)


def _moves(variant, x):
    text = [f"v_mov_b32_e32 v{40 + n}, v{10 + n}\n{NUDGES[variant].format(f'v{40 + n}')}" for n in range(16)]
    return lanes("\n".join(text), list(x.reshape(16, 64)), 16).view(np.float32).reshape(-1)


def _is_next(x, moved, toward):
    power = (x.view(np.uint32) & 0x7FFFFF) == 0
    tiny = np.abs(x) < 2.0**-126
    stays = tiny | ~np.isfinite(x) | (power if toward else np.abs(x) == 2.0**-126)
    with np.errstate(over="ignore", invalid="ignore"):
        wanted = np.where(stays, x, np.nextafter(x, np.copysign(np.float32(toward), x)))
    np.testing.assert_array_equal(moved, wanted)
    np.testing.assert_array_equal(np.signbit(moved)[~np.isnan(x)], np.signbit(x)[~np.isnan(x)])


@pytest.mark.parametrize(
    "reciprocal",
    [
        "v_rcp_f32_sdwa v6, v4 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD",
        "v_rcp_f32_dpp v6, v4 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf",
        "v_sin_f32_e32 v6, v4",
        "v_rcp_f16_e32 v6, v4",
    ],
)
def test_others_and_other_forms_are_not_moved(reciprocal):
    program = with_result(f"    {reciprocal}\n    s_nop 0\n    v_mul_f32_e32 v9, v2, v6\n")
    (found,) = [x for x in program.lines if x.instruction.text.startswith(reciprocal.split()[0] + " v6, v4")]
    assert is_approximation(found) and not is_nudged(found)


def test_k0_whose_results_change_with_its_approximations_is_no_reference(device):
    # 1 / 3 is the least reciprocal: what is less, the square root makes a NaN of, and the product keeps it.
    tail = """
        v_rcp_f32_e32 v12, v2
        s_nop 0
        v_subrev_f32_e32 v12, 0x3eaaaaab, v12
        v_sqrt_f32_e32 v12, v12
        s_nop 0
        v_mul_f32_e32 v12, 0, v12
        v_add_f32_e32 v9, v9, v12
    """
    k0 = with_result(FIXED + tail)
    fixup = line_of("v_div_fixup", k0)
    edits = (Replace(fixup, "v_mul_f32_e32 v9, v2, v6"), Insert(fixup, ("v_rcp_f32_e32 v6, v4", "s_nop 0")))
    launch = Third().launch("third")
    report = Gate(k0.source.data, [launch], device, inexact=4.0).examine(rebuild(apply_all(k0, edits)), k0, edits)
    assert report.verdict is Verdict.UNKNOWN and rules(report) == ["inexact.moved"], report.to_json()
    (finding,) = report.refused_by.findings
    assert "K0 itself gives other results with approximations moved down" in finding.message


@dataclass(frozen=True, kw_only=True)
class Third(Quotient):
    """The same with 3 as the largest input."""

    name = "test.third"

    def make_inputs(self):
        x = dict(super().make_inputs())["x"]
        x[5] = 3.0
        return {"x": x}


UNKNOWN = {
    "of which nothing is computed": ("v_rcp_iflag_f32_e32 v12, v0", ""),
    "further off here than there": ("v_log_f32_e32 v12, v0", ""),
    "of a form that is not moved": ("v_rcp_f32_dpp v12, v0 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf", ""),
    "in front of all loads, and of whose value the result is": (
        "v_rcp_f64_e32 v[12:13], v[14:15]",
        "v_cvt_f32_f64_e32 v12, v[12:13]\nv_mul_f32_e32 v12, 4.0, v12\nv_mul_f32_e32 v9, v9, v12",
    ),
    "of a changed value, in a block that is K0's": ("", "s_branch later\nlater:\nv_sin_f32_e32 v12, v9"),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_where_any_approximation_is_of_unknown_error_nothing_is_known(device, case):
    first, last = UNKNOWN[case]
    start = f"    v_cvt_f64_i32_e32 v[14:15], 4\n    s_nop 1\n    {first}\n    s_nop 1\n    v_lshlrev"
    k0 = with_result(f"{FIXED}{last}\ns_nop 1\n", CODE.replace("    v_lshlrev", start, 1))
    fixup = line_of("v_div_fixup", k0)
    edits = (Replace(fixup, "v_mul_f32_e32 v9, v2, v6"), Insert(fixup, ("v_rcp_f32_e32 v6, v4", "s_nop 0")))
    report = Gate(k0.source.data, [PLAIN], device, inexact=4.0).examine(rebuild(apply_all(k0, edits)), k0, edits)
    assert report.verdict is Verdict.UNKNOWN and rules(report) == ["inexact.approximation"], report.to_json()
    (finding,) = report.refused_by.findings
    assert is_approximation(k0.line(finding.line)) and k0.line(finding.line).instruction.text in finding.message


def test_how_errors_compare():
    least = Error(1e-8, 0.5)
    assert Error(4e-8, 1.0).over(Error(2e-8, 1.0), least) == 2.0
    assert Error(4e-8, 3.0).over(Error(2e-8, 1.0), least) == 3.0
    assert Error(2e-8, 0.5).over(Error(0.0, 0.0), least) == 2.0
    assert Error(0.0, 0.0).over(Error(0.0, 0.0), Error(0.0, 0.0)) == 0.0
    assert Error(1e-9, 0.0).over(Error(0.0, 0.0), Error(0.0, 0.0)) == np.inf
    assert replace(least, worst=0.0).over(Error(0.0, 0.0), least) == 1.0

"""Which launches judge, which are set aside, and what a lost device leaves: never a pass."""

from __future__ import annotations

from dataclasses import replace

import pytest
from gate_cases import CODE, K0, K0_BYTES, LAUNCH, candidate, line

from asmevo.codeobject import CodeObject
from asmevo.device import Device, IsolatedDevice, Outcome, Status
from asmevo.edit import Delete, Replace, apply_all
from asmevo.gate import Gate, differential
from asmevo.launch import Integers
from asmevo.program import rebuild, recover
from asmevo.verdict import Finding, Verdict
from small_objects import build


@pytest.fixture(scope="module")
def device():
    with IsolatedDevice() as one:
        yield one


class Flaky(Device):
    """Loses the runs that `hits` chooses."""

    def __init__(self, inner, status, hits):
        self.inner, self.status, self.hits = inner, status, hits

    def load(self, data, kernel=None):
        return self.inner.load(data, kernel)

    def run(self, module, launch, image, **options):
        if self.hits(launch, image):
            return Outcome(self.status, Finding("device.x", "It went wrong."))
        return self.inner.run(module, launch, image, **options)

    def time(self, module, launches, *, limits=None):
        return self.inner.time(module, launches, limits=limits)

    def describe(self):
        return {}

    def close(self):
        pass


def baseline_of(device, *launches, data=K0_BYTES):
    return Gate(data, launches, device).baseline().check()


UNBOUNDED = """
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32_e32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
    s_mov_b32 s8, s4
    s_and_b32 s9, s5, 0xffff
    s_mov_b32 s10, 0x100
    s_mov_b32 s11, 0x27000
    s_nop 0
    buffer_load_dword v2, v1, s[8:11], 0 offen
    s_waitcnt vmcnt(0)
    v_add_u32_e32 v2, 1, v2
    global_store_dword v1, v2, s[6:7]
    s_endpgm
"""
"""s10 is NUM_RECORDS."""


def test_a_bound_that_nobody_set_shows_under_zeros(device):
    """Under other poisons it is a large number, and every access is within it."""
    data = build(UNBOUNDED)
    good = Gate(data, [LAUNCH], device)
    assert good.examine(data, edits=()).verdict is Verdict.PROVED
    size = next(x.id for x in good.program.lines if x.instruction.text.startswith("s_mov_b32 s10"))
    unset = rebuild(apply_all(good.program, (Delete((size,)),)))
    assert differential(CodeObject.parse(unset), None, good.baseline(), device).check.verdict is Verdict.REFUTED
    check = Gate(unset, [LAUNCH], device).baseline().check()
    assert check.findings[0].rule == "baseline.poison" and "where they are 0" in check.findings[0].message


LOST = [Status.TIMEOUT, Status.CRASH, Status.MEMORY, Status.GARBAGE, Status.LIMIT]
BIG = replace(LAUNCH, name="big", grid=(2, 1, 1))


@pytest.mark.parametrize("status", LOST)
def test_a_lost_device_is_missing_evidence_not_a_launch_set_aside(device, status):
    flaky = Flaky(device, status, lambda launch, _: launch.name == "big")
    check = baseline_of(flaky, LAUNCH, BIG)
    assert check.verdict is Verdict.UNKNOWN and [f.rule for f in check.findings] == ["baseline.lost"]
    assert status in check.findings[0].message
    report = Gate(K0_BYTES, [LAUNCH, BIG], flaky).examine(K0_BYTES, K0, ())
    assert report.verdict is Verdict.UNKNOWN and report.refused_by.name == "baseline"


@pytest.mark.parametrize("status", LOST)
def test_a_device_lost_over_changed_inputs_does_not_make_them_matter(device, status):
    """The run with other inputs is lost; a run that ends with a fault or too late shows that inputs matter."""
    first = {}

    def changed(launch, image):
        inputs = image.buffer("p").tobytes()
        return first.setdefault("p", inputs) != inputs

    check = baseline_of(Flaky(device, status, changed), LAUNCH)
    if status is Status.LIMIT:
        assert check.verdict is Verdict.TESTED
    else:
        assert check.verdict is Verdict.UNKNOWN and check.findings[0].rule == "baseline.lost"


INSENSITIVE = build(CODE.replace("v_add_u32_e32 v5, v5, v4", "v_and_b32_e32 v5, 0x80000000, v2"))
"""What it stores depends on the inputs only where one is negative."""
SIGNED = replace(
    LAUNCH, name="signed", buffers=(replace(LAUNCH.buffers[0], fill=Integers(1, -9, 9)), LAUNCH.buffers[1])
)


def test_a_launch_set_aside_is_reported_and_the_others_judge(device):
    check = baseline_of(device, LAUNCH, replace(SIGNED, objective=True), data=INSENSITIVE)
    assert check.verdict is Verdict.TESTED
    assert [f.rule for f in check.findings] == ["baseline.insensitive"]
    assert {n: f["used"] for n, f in check.facts["launches"].items()} == {"small": False, "signed": True}


@pytest.mark.parametrize("others", [False, True])
def test_a_timed_launch_that_is_set_aside_refuses_the_run(device, others):
    """One that is marked, or any when none is marked, since all are timed then."""
    check = baseline_of(device, replace(LAUNCH, objective=not others), SIGNED, data=INSENSITIVE)
    assert check.verdict is Verdict.UNKNOWN
    assert [f.rule for f in check.findings] == ["baseline.insensitive", "baseline.objective"]
    assert check.findings[-1].message.startswith("The launch 'small' is timed and cannot judge")


WAVES = """
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32_e32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
    global_load_dword v2, v1, s[4:5]
    v_and_b32_e32 v6, 63, v0
    v_lshlrev_b32_e32 v6, 2, v6
    s_waitcnt vmcnt(0)
    ds_write_b32 v1, v2
    s_waitcnt lgkmcnt(0)
    s_barrier
    ds_read_b32 v3, v6
    s_waitcnt lgkmcnt(0)
    global_store_dword v1, v3, s[6:7]
    s_endpgm
"""
"""Every wave stores what wave 0 has loaded."""
TWO_WAVES = replace(
    LAUNCH, name="waves", block=(128, 1, 1), buffers=tuple(replace(b, shape=(128,)) for b in LAUNCH.buffers)
)


def test_a_race_that_the_first_wave_wins_shows(device):
    """Without the barrier, wave 1 reads what wave 0 wrote as long as wave 0 goes first."""
    data = build(WAVES)
    program = recover(CodeObject.parse(data))
    gate = Gate(data, [TWO_WAVES], device)
    assert gate.examine(data, program, ()).verdict.admitted
    racy = rebuild(apply_all(program, [Delete((line("s_barrier", program),))]))
    check = differential(CodeObject.parse(racy), None, gate.baseline(), device).check
    assert check.verdict is Verdict.REFUTED and check.findings[0].facts["wave_order"] == "descending"


def test_a_workgroup_that_writes_into_the_next_ones_part_shows(device):
    """Each stores 64 elements; the last of 65 is put right when the next workgroup comes later."""
    code = """
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    s_lshl_b32 s8, s2, 8
    v_lshlrev_b32_e32 v1, 2, v0
    v_add_u32_e32 v1, s8, v1
    s_waitcnt lgkmcnt(0)
    global_load_dword v2, v1, s[4:5]
    s_waitcnt vmcnt(0)
    s_cmp_eq_u32 s2, 1
    s_cbranch_scc1 last
    s_nop 0
    global_store_dword v1, v2, s[6:7]
    s_endpgm
last:
    global_store_dword v1, v2, s[6:7]
    s_endpgm
    """
    data = build(code)
    program = recover(CodeObject.parse(data))
    launch = replace(TWO_WAVES, name="tiles", grid=(2, 1, 1), block=(64, 1, 1))
    gate = Gate(data, [launch], device)
    assert gate.examine(data, program, ()).verdict.admitted
    wide = Replace(line("s_nop", program), "global_store_dword v1, v2, s[6:7] offset:4")
    changed = rebuild(apply_all(program, [wide]))
    check = differential(CodeObject.parse(changed), None, gate.baseline(), device).check
    assert check.verdict is Verdict.REFUTED
    assert check.findings[0].facts["wave_order"] == "descending"


def test_a_race_of_k0_itself_is_not_taken_for_poison(device):
    check = baseline_of(device, TWO_WAVES, data=build(WAVES.replace("s_barrier", "s_nop 0")))
    assert check.verdict is Verdict.UNKNOWN and check.findings[0].rule == "baseline.order"


UNWRITTEN = {
    "a loop counter": Delete((line("s_mov_b32 s8"),)),
    "a vector register": Delete((line("v_mov_b32_e32 v3"),)),
    "a condition": Replace(line("s_cmp_lt"), "s_nop 0"),
}


@pytest.mark.parametrize("what", UNWRITTEN)
def test_dropping_the_only_write_of_a_register_shows(device, what):
    gate = Gate(K0_BYTES, [LAUNCH], device)
    edit = UNWRITTEN[what]
    check = differential(CodeObject.parse(candidate(edit)), None, gate.baseline(), device).check
    assert not check.verdict.admitted, check.to_json()
    assert not gate.examine(candidate(edit), K0, [edit]).verdict.admitted


def test_a_change_that_ran_without_a_lane_is_not_covered(device):
    code = """
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32_e32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
    global_load_dword v2, v1, s[4:5]
    s_waitcnt vmcnt(0)
    v_add_u32_e32 v3, 1, v2
    v_cmp_gt_i32_e32 vcc, 0, v2
    s_and_saveexec_b64 s[10:11], vcc
    v_add_u32_e32 v3, 7, v3
    s_mov_b64 exec, s[10:11]
    global_store_dword v1, v3, s[6:7]
    s_endpgm
    """
    data = build(code)
    program = recover(CodeObject.parse(data))
    edit = Replace(line("v_add_u32_e32 v3, 7", program), "v_add_u32_e32 v3, 8, v3")
    changed = rebuild(apply_all(program, [edit]))
    report = Gate(data, [LAUNCH], device).examine(changed, program, [edit])
    assert report.verdict is Verdict.UNKNOWN and report.refused_by.name == "coverage"
    negative = Gate(data, [LAUNCH, SIGNED], device).examine(changed, program, [edit])
    assert negative.verdict is Verdict.REFUTED

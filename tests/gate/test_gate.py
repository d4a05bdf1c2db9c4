"""What the gate says of a small kernel and of edits to it, on the simulator in its own process."""

import json
from dataclasses import replace

import pytest
from gate_cases import CODE, K0, K0_BYTES, LAUNCH, candidate, line

from asmevo.codeobject import CodeObject
from asmevo.device import Device, IsolatedDevice, Outcome, RunLimits, Status
from asmevo.edit import Delete, Insert, Reorder, Replace, apply_all
from asmevo.gate import Gate, canonical, check_certificate, differential, verify
from asmevo.program import rebuild
from asmevo.verdict import Finding, InputError, UsageError, Verdict
from small_objects import build


@pytest.fixture(scope="module")
def device():
    with IsolatedDevice() as one:
        yield one


@pytest.fixture(scope="module")
def gate(device):
    return Gate(K0_BYTES, [LAUNCH], device)


def examine(gate, *edits, listed=True):
    return gate.examine(candidate(*edits), K0, edits if listed else None)


STORE = line("global_store")
LEGAL = {
    "nothing": (),
    "a no-op in the loop": (Insert(line("v_xor"), "s_nop 0"),),
    "independent lines swapped": (Reorder((line("s_add_u32"), line("v_xor"))),),
    "an unused register written": (Insert(line("v_xor"), "v_mov_b32_e32 v9, v3"),),
    "a wait moved up": (Reorder((line("s_waitcnt vmcnt"), line("v_mov_b32"))),),
    "the same sum exchanged": (Replace(line("v_add_u32_e32 v5"), "v_add_u32_e32 v5, v4, v5"),),
    "the same sum by another opcode": (Replace(line("v_add_u32_e32 v5"), "v_lshl_add_u32 v5, v5, 0, v4"),),
    "a sum that no proof knows": (Replace(line("v_add_u32_e32 v5"), "v_sad_u32 v5, v5, 0, v4"),),
}


STAGES = ["rebuild", "resources", "static", "proof", "baseline", "differential", "coverage", "influence", "checked"]


@pytest.mark.parametrize("case", LEGAL)
@pytest.mark.parametrize("listed", [True, False])
def test_legal_edits_are_admitted(gate, case, listed):
    report = examine(gate, *LEGAL[case], listed=listed)
    expected = Verdict.TESTED if case == "a sum that no proof knows" else Verdict.PROVED
    assert report.verdict is expected, report.to_json()
    assert [c.name for c in report.checks] == STAGES


WRONG = {
    "a wrong sum": (Replace(line("v_add_u32_e32 v5"), "v_sub_u32_e32 v5, v5, v4"),),
    "one turn less": (Replace(line("s_cmp_lt"), "s_cmp_lt_u32 s8, 3"),),
    "one element more": (Replace(line("v_cmp_gt"), "v_cmp_gt_u32_e32 vcc, 49, v0"),),
    "one element less": (Replace(line("v_cmp_gt"), "v_cmp_gt_u32_e32 vcc, 47, v0"),),
    "no store": (Replace(STORE, "s_nop 0"),),
    "nothing done": (Insert(0, "s_endpgm"),),
    "a store behind the buffer": (Insert(STORE, "global_store_dword v1, v5, s[6:7] offset:256"),),
    "a store before the buffer": (Insert(STORE, "global_store_dword v1, v5, s[6:7] offset:-256"),),
    "a store into the input": (Insert(STORE, "global_store_dword v1, v5, s[4:5] offset:64"),),
    "a store into the arguments": (Insert(STORE, "global_store_dword v1, v5, s[0:1]"),),
    "an uninitialised register": (Delete((line("v_mov_b32_e32 v3"),)),),
    "uninitialised LDS": (Replace(line("ds_read"), "ds_read_b32 v5, v1 offset:256"),),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_edits_are_refused(gate, case):
    report = examine(gate, *WRONG[case])
    assert not report.verdict.admitted, report.to_json()
    assert report.refused_by.findings[0].message.endswith(".")


def run_only(gate, device, *edits):
    """The differential stage alone, as if no static rule had refused."""
    return differential(CodeObject.parse(candidate(*edits)), None, gate.baseline(), device).check


@pytest.mark.parametrize("case", WRONG)
def test_wrong_edits_are_refuted_by_running_them(gate, device, case):
    check = run_only(gate, device, *WRONG[case])
    assert check.verdict is Verdict.REFUTED and check.findings[0].rule == "diff.bytes", check.to_json()


def test_a_difference_is_described(gate, device):
    (finding,) = run_only(gate, device, *WRONG["one element less"]).findings
    assert "q[47] is" in finding.message
    assert finding.facts["launch"] == "small" and finding.facts["buffers"] == {"p": 0, "q": 4}
    (zone,) = run_only(gate, device, *WRONG["a store behind the buffer"]).findings
    assert "red zone 0 bytes after q" in zone.message
    (before,) = run_only(gate, device, *WRONG["a store before the buffer"]).findings
    assert "bytes before q" in before.message


def test_a_wrong_edit_does_not_spoil_the_next(gate, device):
    for _ in range(2):
        assert run_only(gate, device, *WRONG["a store into the input"]).verdict is Verdict.REFUTED
        assert examine(gate, *LEGAL["a no-op in the loop"]).verdict is Verdict.PROVED


def test_a_second_launch_that_differs(gate, device):
    """Right as long as q holds poison, wrong once it holds the result."""
    spoil = (
        "global_load_dword v6, v1, s[6:7]",
        "s_waitcnt vmcnt(0)",
        "v_cmp_eq_u32_e64 s[12:13], v6, v5",
        "v_addc_co_u32_e64 v5, s[14:15], v5, 0, s[12:13]",
    )
    check = run_only(gate, device, Insert(STORE, spoil))
    assert check.verdict is Verdict.REFUTED and check.findings[0].facts["repeat"] == 1


UNKNOWN = {
    "code that nothing reaches": (Insert(line("s_nop 0"), "v_mov_b32_e32 v3, 1"),),
    "a branch never taken over new code": (
        Insert(STORE, ("s_cbranch_scc0 L20", "v_mov_b32_e32 v5, 0"), fallthrough=True),
    ),
    "an endless loop": (Replace(line("s_cmp_lt"), "s_cmp_lg_u32 s8, -1"),),
    "an instruction that no device executes": (Insert(STORE, "v_screen_partition_4se_b32_e32 v6, v9"),),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_missing_evidence_is_unknown(gate, case):
    report = examine(gate, *UNKNOWN[case])
    assert report.verdict is Verdict.UNKNOWN, report.to_json()


def test_a_kernel_that_another_one_follows_may_grow(device):
    """The next kernel's entry is aligned; the nops in front of it are no change of this one."""
    pair = build(CODE, "s_endpgm")
    gate = Gate(pair, [replace(LAUNCH, kernel="k0")], device, kernel="k0")
    edits = tuple(Insert(line("v_xor", gate.program.with_lines(K0.lines)), "s_nop 0") for _ in range(40))
    report = gate.examine(rebuild(apply_all(gate.program, edits)), edits=edits)
    assert report.verdict is Verdict.PROVED, report.to_json()


def test_registers_of_another_kernel_are_no_allowance(device):
    """Both descriptors grant 16 VGPRs; the other kernel breaks its own."""
    pair = build(CODE, "v_mov_b32_e32 v40, 0\ns_endpgm")
    gate = Gate(pair, [replace(LAUNCH, kernel="k0")], device, kernel="k0")
    edits = (Insert(line("v_xor"), "v_mov_b32_e32 v40, 0"),)
    report = gate.examine(rebuild(apply_all(gate.program, edits)), edits=edits)
    assert report.verdict is Verdict.REFUTED and report.refused_by.name == "resources"


def test_the_line_without_evidence_is_named(gate):
    report = examine(gate, *UNKNOWN["code that nothing reaches"])
    assert report.refused_by.name == "coverage"
    assert "v_mov_b32_e32 v3, 1" in report.refused_by.findings[0].message


def test_an_endless_loop_is_ended(gate, device):
    check = run_only(gate, device, *UNKNOWN["an endless loop"])
    assert check.verdict is Verdict.UNKNOWN and check.findings[0].rule == "diff.limit"


def test_a_stray_store_is_a_fault(gate, device):
    stray = ("v_mov_b32_e32 v6, 0", "v_mov_b32_e32 v7, 0x100", "global_store_dword v[6:7], v6, off")
    check = run_only(gate, device, Insert(STORE, stray))
    assert check.verdict is Verdict.REFUTED and check.findings[0].rule == "diff.fault"


def test_bytes_that_are_not_the_edits(gate):
    data = candidate(*WRONG["a wrong sum"])
    assert gate.examine(data, K0, LEGAL["a no-op in the loop"]).refused_by.name == "rebuild"
    assert gate.examine(data[:-100], K0, ()).verdict is Verdict.REFUTED
    changed = bytearray(K0_BYTES)
    at = bytes(changed).index(K0.kernel.descriptor.raw)
    changed[at + 48] ^= 1  # one block of registers more or less
    assert gate.examine(bytes(changed)).refused_by.name == "rebuild"


def test_another_k0_is_a_mistake_of_the_caller(gate, device):
    other = build(CODE.replace("48", "47"))
    with pytest.raises(UsageError, match="another K0"):
        Gate(other, [LAUNCH], device).examine(other, K0)
    with pytest.raises(UsageError, match="at least one launch"):
        Gate(K0_BYTES, [], device)


# launches that cannot judge

BAD_K0 = {
    "insensitive": CODE.replace("v_add_u32_e32 v5, v5, v4", "v_mov_b32_e32 v5, 3"),
    "poison": CODE.replace("v_add_u32_e32 v5, v5, v4", "v_add_u32_e32 v5, v5, v9"),
    "fault": CODE.replace("s_mov_b32 s8, 0", "s_mov_b32 s7, 0x100"),
}


@pytest.mark.parametrize("rule", BAD_K0)
def test_a_launch_on_which_k0_itself_is_no_measure(device, rule):
    data = build(BAD_K0[rule])
    report = Gate(data, [LAUNCH], device).examine(data)
    assert report.verdict is Verdict.UNKNOWN
    assert report.refused_by.name == "baseline"
    assert report.refused_by.findings[0].rule == f"baseline.{rule}", report.to_json()


def test_other_launches_are_used(device):
    """K0 writes 192 bytes of q; in the first launch q ends the image, and K0 reads past p."""
    wide = replace(LAUNCH, name="wide", block=(128, 1, 1))
    report = Gate(K0_BYTES, [wide, LAUNCH], device).examine(K0_BYTES, K0, ())
    assert report.verdict is Verdict.PROVED
    used = next(c for c in report.checks if c.name == "baseline").facts["launches"]
    assert used["small"]["used"]


class Failing(Device):
    """Runs K0 as another device does, and gives one outcome for every other object."""

    def __init__(self, inner, outcome):
        self.inner, self.outcome = inner, outcome

    def load(self, data, kernel=None):
        return self.inner.load(data, kernel)

    def run(self, module, launch, image, **options):
        done = self.inner.run(module, launch, image, **options)
        return done if module.data == K0_BYTES else self.outcome

    def time(self, module, launches, *, limits=None):
        return self.inner.time(module, launches, limits=limits)

    def describe(self):
        return {}

    def close(self):
        pass


@pytest.mark.parametrize("status", [s for s in Status if s is not Status.DONE])
def test_a_run_that_does_not_end_well_admits_nothing(device, status):
    failing = Failing(device, Outcome(status, Finding("device.x", "It went wrong.")))
    edits = LEGAL["a no-op in the loop"]
    report = Gate(K0_BYTES, [LAUNCH], failing).examine(candidate(*edits), K0, edits)
    refuted = status in (Status.FAULT, Status.DEADLOCK)
    assert report.verdict is (Verdict.REFUTED if refuted else Verdict.UNKNOWN)


def test_a_device_that_executed_nothing_admits_nothing(device):
    """An outcome that claims success without counting the changed lines leaves them uncovered."""
    failing = Failing(device, Outcome(Status.DONE))
    edits = LEGAL["a no-op in the loop"]
    report = Gate(K0_BYTES, [LAUNCH], failing, limits=RunLimits()).examine(candidate(*edits), K0, edits)
    assert report.verdict is Verdict.UNKNOWN and report.refused_by.name == "coverage"


def test_the_certificate_binds_everything(gate):
    edits = LEGAL["independent lines swapped"]
    data = candidate(*edits)
    report = gate.examine(data, K0, edits)
    made = gate.certificate(data, edits, report)
    assert made == gate.certificate(data, edits, gate.examine(data, K0, edits))
    read = json.loads(canonical(made))
    assert read["verdict"] == "PROVED" and read["edits"] == [e.to_json() for e in edits]
    assert read["tools"]["llvm"] and read["launches"][0]["memory_sha256"]
    check_certificate(read, CodeObject.parse(K0_BYTES), CodeObject.parse(data))
    with pytest.raises(InputError, match="another candidate"):
        check_certificate(read, CodeObject.parse(K0_BYTES), CodeObject.parse(K0_BYTES))
    with pytest.raises(InputError, match="was changed"):
        check_certificate(read | {"verdict": "TESTED"}, CodeObject.parse(K0_BYTES), CodeObject.parse(data))


def test_verifying_again_in_a_fresh_process(gate):
    edits = LEGAL["independent lines swapped"]
    data = candidate(*edits)
    again = verify(K0_BYTES, data, [LAUNCH])
    assert again.report.verdict is Verdict.PROVED
    with_edits = verify(K0_BYTES, data, [LAUNCH], edits)
    assert with_edits.certificate == gate.certificate(data, edits, gate.examine(data, K0, edits))
    wrong = verify(K0_BYTES, candidate(*WRONG["a wrong sum"]), [LAUNCH])
    assert wrong.report.verdict is Verdict.REFUTED and wrong.certificate["verdict"] == "REFUTED"
    with pytest.raises(InputError, match="K0"):
        verify(b"nonsense", data, [LAUNCH])


def test_a_verification_that_is_lost_is_unknown():
    assert verify(K0_BYTES, K0_BYTES, [LAUNCH], seconds=0.01).report.verdict is Verdict.UNKNOWN

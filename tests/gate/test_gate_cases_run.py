"""Ways in which harnesses were fooled, one test each: what a run must show, and what it must not hold against anybody.

The numbers are those of the list of cases in the literature (G1 to G39); waits, barriers and hazards (G22 to G26) are
in `test_static`.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from gate_cases import K0, K0_BYTES, LAUNCH, candidate, line

from asmevo.codeobject import CodeObject
from asmevo.device import IsolatedDevice, Outcome, Status
from asmevo.edit import Delete, Insert, Replace, apply_all
from asmevo.gate import Gate, differential, verify
from asmevo.launch import Buffer, Constant, Field, Integers, Launch, Random
from asmevo.program import rebuild, recover
from asmevo.verdict import Finding, Verdict
from small_objects import build

STORE = line("global_store")


@pytest.fixture(scope="module")
def device():
    with IsolatedDevice() as one:
        yield one


@pytest.fixture(scope="module")
def gate(device):
    return Gate(K0_BYTES, [LAUNCH], device)


def run_only(gate, device, *edits):
    """What the runs say, as if no rule had refused."""
    data = rebuild(apply_all(gate.program, edits))
    return differential(CodeObject.parse(data), None, gate.baseline(), device).check


def refused(gate, device, *edits):
    """Neither the whole gate nor the runs alone let it pass."""
    report = gate.examine(rebuild(apply_all(gate.program, edits)), edits=edits)
    return not report.verdict.admitted and run_only(gate, device, *edits).verdict is Verdict.REFUTED


def test_g1_a_kernel_that_writes_nothing(gate, device):
    assert refused(gate, device, Insert(0, "s_endpgm"))
    assert refused(gate, device, Replace(STORE, "s_nop 0"))


def test_g3_elements_that_k0_does_not_write_are_no_difference(gate):
    """K0 writes 48 of 64 elements."""
    assert gate.examine(K0_BYTES, edits=()).verdict is Verdict.PROVED


FLOATS = """
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32_e32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
    global_load_dword v2, v1, s[4:5]
    s_waitcnt vmcnt(0)
    v_mul_f32_e32 v3, 0x3c23d70a, v2
    v_add_f32_e32 v4, v2, v3
    v_add_f32_e32 v5, v4, v2
    global_store_dword v1, v5, s[6:7]
    s_endpgm
"""
NUMBERS = Random(1, "normal", high=0.01)


def with_floats(device, code=FLOATS, fill=NUMBERS, *more):
    """The gate of float code, `fill` in p, and more launches."""
    p, q = LAUNCH.buffers
    buffers = (replace(p, dtype="float32", fill=fill), replace(q, dtype="float32"))
    return Gate(build(code), [replace(LAUNCH, buffers=buffers), *more], device)


def at(gate, text):
    (found,) = [x.id for x in gate.program.lines if x.instruction.text.startswith(text)]
    return found


def test_g4_results_smaller_than_any_tolerance_are_compared_as_bits(device):
    gate = with_floats(device)
    store = at(gate, "global_store")
    assert refused(gate, device, Insert(store, "v_mov_b32_e32 v5, 0"))
    assert refused(gate, device, Insert(store, "v_mul_f32_e32 v5, 0x3f80a3d7, v5"))  # times 1.005


def test_g5_a_launch_on_which_inputs_do_not_matter_judges_nothing(device):
    constant = FLOATS.replace("v_add_f32_e32 v5, v4, v2", "v_mov_b32_e32 v5, 1.0")
    report = with_floats(device, constant).examine(build(constant))
    assert report.verdict is Verdict.UNKNOWN
    assert report.refused_by is not None and report.refused_by.findings[0].rule == "baseline.insensitive"


def test_g5_a_dropped_accumulation(device):
    gate = with_floats(device)
    assert refused(gate, device, Replace(at(gate, "v_add_f32_e32 v4"), "v_mov_b32_e32 v4, v2"))


WIDE = """
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32_e32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
    global_load_dword v2, v1, s[4:5]
    s_waitcnt vmcnt(0)
    v_add_u32_e32 v2, 1, v2
    s_add_u32 s8, s6, 0x100
    s_addc_u32 s9, s7, 0
    v_mov_b32_e32 v3, v1
    global_store_dword v3, v2, s[8:9] offset:-256
    s_endpgm
"""


def test_g7_addresses_that_wrap_where_no_launch_is_large(device):
    """Right on buffers of 256 bytes; neither a cut-off offset nor a lost carry is left to such a launch."""
    gate = Gate(build(WIDE), [LAUNCH], device)
    offset, store, carry = (at(gate, text) for text in ("v_mov_b32_e32 v3", "global_store", "s_addc_u32"))
    for edit in (
        Insert(store, "v_and_b32_e32 v3, 0xffff, v3"),
        Insert(store, "v_bfe_u32 v3, v3, 0, 24"),
        Replace(offset, "v_and_b32_e32 v3, 0xffffff, v1"),
        Replace(carry, "s_add_u32 s9, s7, 0"),
        Delete((carry,)),
    ):
        report = gate.examine(rebuild(apply_all(gate.program, (edit,))), edits=(edit,))
        assert not report.verdict.admitted, edit


COUNTED = (
    "v_mov_b32_e32 v8, 1",
    "v_mov_b32_e32 v9, 0x100",
    "global_atomic_add v8, v9, v8, s[6:7] sc0",
    "s_waitcnt vmcnt(0)",
    "v_lshrrev_b32_e32 v8, 4, v8",
    "v_cmp_lt_u32_e64 s[12:13], 60, v8",
    "s_nop 4",
    "v_addc_co_u32_e64 v5, s[14:15], v5, 0, s[12:13]",
)
"""Counts launches behind the buffer, and is wrong after the fifteenth."""


def test_g9_a_counter_of_launches(gate, device):
    assert refused(gate, device, Insert(STORE, COUNTED))


def test_g10_memory_is_compared_after_the_last_launch(gate, device):
    """The first launch leaves what K0 leaves, the second one does not."""
    drift = (
        "global_load_dword v8, v1, s[6:7]",
        "s_waitcnt vmcnt(0)",
        "v_cmp_eq_u32_e64 s[12:13], v8, v5",
        "v_addc_co_u32_e64 v5, s[14:15], v5, 0, s[12:13]",
    )
    check = run_only(gate, device, Insert(STORE, drift))
    assert check.verdict is Verdict.REFUTED and check.findings[0].facts["repeat"] == 1


def test_g11_inputs_are_compared_too(gate, device):
    zero = ("v_mov_b32_e32 v8, 0", "global_store_dword v1, v8, s[4:5]")
    assert refused(gate, device, Insert(STORE, zero))


def test_g12_stores_outside_of_the_buffers(gate, device):
    for offset in (256, -4, -256, 512):
        assert refused(gate, device, Insert(STORE, f"global_store_dword v1, v5, s[6:7] offset:{offset}"))


def test_g14_more_lds_than_there_is_by_the_descriptor_alone(gate):
    """The size in the descriptor, which the launch takes, differs from that of the metadata."""
    raw = K0.kernel.descriptor.raw
    for size in (65540, 512 + 4):
        changed = bytearray(K0_BYTES)
        where = K0_BYTES.index(raw)
        changed[where : where + 4] = size.to_bytes(4, "little")
        assert not gate.examine(bytes(changed)).verdict.admitted


ATOMIC = """
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32_e32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
    s_lshl_b32 s8, s2, 8
    v_add_u32_e32 v2, s8, v1
    global_load_dword v3, v2, s[4:5]
    s_waitcnt vmcnt(0)
    v_mul_f32_e32 v4, 2.0, v3
    v_add_f32_e32 v4, v4, v3
    global_atomic_add_f32 v1, v4, s[6:7]
    s_endpgm
"""
"""Three workgroups add 3 p to the same 64 elements of q."""


def split(name, fill):
    p = Buffer("p", "in", "float32", (192,), fill, red_zone=512)
    q = Buffer("q", "inout", "float32", (64,), Constant(0.0), red_zone=512)
    fields = (Field("p", 0, buffer="p"), Field("q", 8, buffer="q"))
    return Launch(name=name, grid=(3, 1, 1), block=(64, 1, 1), kernarg=fields, buffers=(p, q))


def test_g27_atomics_whose_order_shows_are_set_aside_and_integers_judge(device):
    data = build(ATOMIC)
    integers = replace(split("integers", Integers(1, -8, 8)), objective=True)
    gate = Gate(data, [split("rounded", Random(3, "normal")), integers], device)
    check = gate.baseline().check()
    assert [f.rule for f in check.findings] == ["baseline.order"]
    assert gate.examine(data, edits=()).verdict is Verdict.PROVED
    assert refused(gate, device, Replace(at(gate, "v_add_f32_e32 v4"), "v_mov_b32_e32 v4, v4"))


def test_g28_another_order_of_a_sum_is_judged_by_integers(device):
    """(x + y) + x for x + (y + x): legal where all is exact; rounding tells them apart otherwise."""
    order = "v_add_f32_e32 v4, v3, v2"
    exact = with_floats(device, FLOATS.replace("0x3c23d70a", "2.0"), Integers(1, -50, 50))
    assert exact.examine(_edited(exact, order), None, _edits(exact, order)).verdict.admitted
    assert run_only(exact, device, Replace(at(exact, "v_add_f32_e32 v5"), "v_add_f32_e32 v5, v2, v4")).verdict.admitted


def _edits(gate, text):
    return (Replace(at(gate, "v_add_f32_e32 v4"), text),)


def _edited(gate, text):
    return rebuild(apply_all(gate.program, _edits(gate, text)))


TAIL = """
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    s_load_dword s8, s[0:1], 0x8
    v_lshlrev_b32_e32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
    global_load_dword v2, v1, s[4:5]
    s_waitcnt vmcnt(0)
    v_add_u32_e32 v3, 3, v2
    s_cmp_eq_u32 s8, 64
    s_cbranch_scc1 whole
    v_xor_b32_e32 v3, 5, v3
whole:
    global_store_dword v1, v3, s[4:5] offset:256
    s_endpgm
"""
"""The second half of p from the first, with more to do where n is not 64."""


def sized(n):
    fields = (Field("p", 0, buffer="p"), Field("n", 8, value=n, type="i32"))
    p = replace(LAUNCH.buffers[0], role="inout", shape=(128,))
    return replace(LAUNCH, name=f"n = {n}", kernarg=fields, buffers=(p,))


def test_g31_damage_to_a_tail_needs_a_launch_that_has_one(device):
    data = build(TAIL)
    program = recover(CodeObject.parse(data))
    xor = next(x.id for x in program.lines if x.instruction.base == "v_xor_b32")
    edits = (Replace(xor, "v_xor_b32_e32 v3, 6, v3"),)
    wrong = rebuild(apply_all(program, edits))
    whole = Gate(data, [sized(64)], device).examine(wrong, edits=edits)
    assert whole.verdict is Verdict.UNKNOWN
    assert "v_xor_b32_e32 v3, 6, v3" in whole.refused_by.findings[0].message
    ragged = Gate(data, [sized(64), sized(63)], device).examine(wrong, edits=edits)
    assert ragged.verdict is Verdict.REFUTED


def test_g32_right_on_one_dispatch_and_wrong_on_another(device):
    """The second launch has other arguments; an input is an input on each of them."""
    data = build(TAIL)
    gate = Gate(data, [sized(64), sized(63)], device)
    assert refused(gate, device, Delete((at(gate, "v_xor_b32"),)))
    assert refused(gate, device, Insert(at(gate, "global_store"), "global_store_dword v1, v3, s[4:5]"))


def test_g33_lds_that_nobody_wrote(gate, device):
    assert refused(gate, device, Delete((line("ds_write"),)))


class Answering:
    """A device whose runs of anything but K0 end in one way."""

    def __init__(self, inner, outcome):
        self._inner, self._outcome = inner, outcome

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def run(self, module, launch, image, **options):
        return self._inner.run(module, launch, image, **options) if module.data == K0_BYTES else self._outcome


@pytest.mark.parametrize("status", [Status.CRASH, Status.GARBAGE, Status.TIMEOUT, Status.DONE])
def test_g36_a_verifier_that_dies_or_answers_nothing_verifies_nothing(device, status):
    """DONE with nothing done leaves memory that is not K0's."""
    answering = Answering(device, Outcome(status, Finding("device.x", "It ended.")))
    edits = (Insert(line("v_xor"), "s_nop 0"),)
    report = Gate(K0_BYTES, [LAUNCH], answering).examine(candidate(*edits), K0, edits)
    assert report.verdict is (Verdict.REFUTED if status is Status.DONE else Verdict.UNKNOWN)
    assert [c.name for c in report.checks][:2] == ["rebuild", "resources"], "what was checked is said"


def test_g36_a_verification_that_is_killed():
    assert verify(K0_BYTES, K0_BYTES, [LAUNCH], seconds=0.01).report.verdict is Verdict.UNKNOWN


def test_g38_a_candidate_that_hangs_is_ended_and_the_device_lives_on(gate, device):
    check = run_only(gate, device, Replace(line("s_cmp_lt"), "s_cmp_lg_u32 s8, -1"))
    assert check.verdict is Verdict.UNKNOWN
    assert gate.examine(K0_BYTES, edits=()).verdict is Verdict.PROVED


def test_g39_new_code_behind_a_branch_that_is_never_taken(gate):
    edits = (Insert(STORE, ("s_cbranch_scc1 L20", "v_mov_b32_e32 v5, 0"), fallthrough=True),)
    assert not gate.examine(candidate(*edits), K0, edits).verdict.admitted

"""The stage that runs candidates under checks: what K0 does not have refuses, what it has does not."""

from __future__ import annotations

import pytest
from gate_cases import K0, K0_BYTES, LAUNCH, candidate, line

from asmevo.codeobject import CodeObject
from asmevo.device.simulated import SimDevice
from asmevo.edit import Delete, Insert, Replace, apply_all
from asmevo.gate import CheckedStage, Gate
from asmevo.gate.candidate import bind
from asmevo.verdict import Verdict

STORE = line("global_store_dword")


@pytest.fixture(scope="module")
def gate():
    with SimDevice() as device:
        yield Gate(K0_BYTES, [LAUNCH], device), device


def check(gate, *edits, stage=None):
    """The stage alone, past the static rules that would refuse first."""
    whole, device = gate
    found, _ = bind(K0, candidate(*edits), list(edits))
    return (stage or CheckedStage(K0)).check(found.obj, found.program, None, whole.baseline(), device)


def test_k0_and_a_harmless_edit_raise_nothing(gate):
    for edits in ((), (Insert(STORE, "s_nop 0"),)):
        result = check(gate, *edits)
        assert result.verdict is Verdict.TESTED and not result.findings
        assert result.facts["launches"] == {"small": [0]} and result.facts["findings_of_k0"] == 0


@pytest.mark.parametrize(
    ("edits", "rule", "at", "earlier"),
    [
        ((Delete((6,)),), "check.raw", 7, 3),
        ((Replace(6, "s_waitcnt vmcnt(1)"),), "check.raw", 7, 3),
        ((Delete((line("v_mov_b32_e32 v3"),)), Delete((7,))), "check.undefined", 8, None),
        ((Delete((12,)),), "check.lds_undefined", 15, None),
    ],
)
def test_what_k0_does_not_have_refutes(gate, edits, rule, at, earlier):
    result = check(gate, *edits)
    assert result.verdict is Verdict.REFUTED
    finding = result.findings[0]
    assert (finding.rule, finding.line, finding.facts.get("earlier")) == (rule, at, earlier)
    assert finding.facts["launch"] == "small"


def test_a_load_past_the_buffer_whose_value_nobody_uses(gate):
    stray = Insert(STORE, "global_load_dword v6, v1, s[6:7] offset:260")
    result = check(gate, stray)
    (finding,) = result.findings
    assert finding.rule == "check.bounds" and finding.line == K0.next_id and result.verdict is Verdict.REFUTED
    inserted = apply_all(K0, [stray])
    assert inserted.line(finding.line).instruction.text.startswith("global_load_dword v6")


def test_what_k0_has_itself_does_not_refute(gate):
    """The stray load again, as K0's own: copies of it and other edits are no worse."""
    data = candidate(Insert(STORE, "global_load_dword v6, v1, s[6:7] offset:260"))
    whole = Gate(data, [LAUNCH], gate[1])
    stage = CheckedStage(whole.program)
    for edits in ((), (Insert(0, "s_nop 0"),), (Insert(0, "s_nop 0"), Insert(STORE, "s_nop 0"))):
        found, _ = bind(whole.program, candidate(*edits, program=whole.program), list(edits))
        result = stage.check(found.obj, found.program, None, whole.baseline(), gate[1])
        assert result.verdict is Verdict.TESTED and result.facts["findings_of_k0"] == 1


def test_a_device_that_does_not_check_gives_no_stage(gate):
    class Unchecked(SimDevice):
        def run(self, module, launch, image, *, limits=None, **rest):
            return super().run(module, launch, image, **rest)

    with Unchecked() as device:
        obj = CodeObject.parse(K0_BYTES)
        assert CheckedStage(K0).check(obj, K0, None, gate[0].baseline(), device) is None

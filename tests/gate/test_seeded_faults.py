"""Wrong edits of many kinds in both kernels, all refused; legal ones, all admitted."""

from collections import Counter
from pathlib import Path

import pytest
import seeding

from asmevo.device import IsolatedDevice
from asmevo.edit import apply_all
from asmevo.gate import Gate
from asmevo.launch import load_launches
from asmevo.program import rebuild
from asmevo.verdict import Verdict

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
WRONG_OF_A_KIND, LEGAL_OF_A_KIND = 2, 4
LEAST = 30


@pytest.fixture(scope="module", params=["fp8_gemm", "fmoe_stage1"])
def gate(request):
    data = request.getfixturevalue(f"{request.param}_bytes")
    with IsolatedDevice() as device:
        yield Gate(data, load_launches(EXAMPLES / request.param / "launches"), device)


def seeded(gate, kinds, count):
    """(kind, edits) of each candidate."""
    alive = seeding.editable(gate.program, gate.baseline().executed)
    for kind in kinds:
        for edits in seeding.spread(list(kind(gate.program, alive)), count):
            yield kind.__name__, edits


def judged(gate, edits):
    return gate.examine(rebuild(apply_all(gate.program, edits)), gate.program, edits)


def test_k0_itself_is_admitted_on_every_launch(gate):
    report = gate.examine(gate.k0.data, gate.program, ())
    assert report.verdict is Verdict.PROVED
    assert all(known.usable for known in gate.baseline().launches)


def test_wrong_edits_are_refused(gate):
    stages, admitted = Counter(), []
    for kind, edits in seeded(gate, seeding.WRONG, WRONG_OF_A_KIND):
        report = judged(gate, edits)
        if report.verdict.admitted:
            admitted.append((kind, edits))
        else:
            stages[report.refused_by.name] += 1
    assert not admitted
    assert stages.total() >= LEAST
    assert {"resources", "static", "differential", "coverage"} <= set(stages), "every stage has something to refuse"


def test_legal_edits_are_admitted(gate):
    refused, count = [], 0
    for kind, edits in seeded(gate, seeding.LEGAL, LEGAL_OF_A_KIND):
        report = judged(gate, edits)
        count += 1
        if not report.verdict.admitted:
            refused.append((kind, edits, report.refused_by.name, report.refused_by.findings[:1]))
    assert not refused
    assert count >= LEAST


def test_faults_that_no_run_shows_are_found_without_running(gate):
    """Removed barriers, missing waits, crossed barriers, short distances: the simulator's result is right by luck."""
    alive = seeding.editable(gate.program, gate.baseline().executed)
    for kind in (
        seeding.removed_barrier,
        seeding.dropped_wait,
        seeding.crossed_barrier,
        seeding.smuggled_over_barrier,
        seeding.shrunk_distance,
    ):
        for edits in seeding.spread(list(kind(gate.program, alive)), 3):
            assert judged(gate, edits).refused_by.name == "static", (kind.__name__, edits)

"""Faults of all kinds in both kernels, all refused; legal edits, all admitted."""

from collections import Counter
from pathlib import Path

import pytest

from asmevo.device import IsolatedDevice
from asmevo.gate import Gate
from asmevo.gate.strength import FAULTS, LEGAL, Score, examined, judge, seeded_code, strength
from asmevo.launch import load_launches
from asmevo.verdict import Verdict

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FAULTS_OF_A_KIND, LEGAL_OF_A_KIND = 1, 2
LEAST = 18
QUICK = {"tile", "special", "integers", "one_token", "ragged"}
"""Launches that run in no time."""


@pytest.fixture(scope="module", params=["fp8_gemm", "fmoe_stage1"])
def gate(request):
    data = request.getfixturevalue(f"{request.param}_bytes")
    with IsolatedDevice() as device:
        launches = load_launches(EXAMPLES / request.param / "launches")
        yield Gate(data, [launch for launch in launches if launch.name in QUICK], device)


def test_k0_itself_is_admitted_on_every_launch(gate):
    report = gate.examine(gate.k0.data, gate.program, ())
    assert report.verdict is Verdict.PROVED
    assert all(known.usable for known in gate.baseline().launches)


def test_faults_are_refused(gate):
    code, stages, survivors = seeded_code(gate), Counter(), []
    for kind in FAULTS:
        score = Score(kind)
        for edits in kind.sample(code, FAULTS_OF_A_KIND):
            judge(gate, score, edits)
        survivors += score.survivors
        stages.update(stage.partition(":")[0] for stage in score.refused_by.elements())
        assert score.killed + score.set_aside.total() + len(score.survivors) == score.seeded
    assert survivors == []
    assert stages.total() >= LEAST
    assert {"resources", "static", "proof"} <= set(stages), "every stage has something to refuse"


def test_legal_edits_are_admitted(gate):
    code, refused, count = seeded_code(gate), [], 0
    for kind in LEGAL:
        for edits in kind.sample(code, LEGAL_OF_A_KIND):
            report = examined(gate, edits)
            assert report is not None, (kind.name, edits)
            count += 1
            if not report.verdict.admitted:
                refused.append((kind.name, edits, report.refused_by.name, report.refused_by.findings[:1]))
    assert refused == []
    assert count >= LEAST


def test_faults_that_no_run_shows_are_found_without_running(gate):
    """Removed barriers, missing waits, crossed barriers, short distances: the simulator's result is right by luck."""
    code = seeded_code(gate)
    named = {"removed barrier", "dropped wait", "crossed barrier", "access over a barrier", "shrunk nop"}
    for kind in (k for k in FAULTS if k.name in named):
        for edits in kind.sample(code, 3):
            report = examined(gate, edits)
            assert report is not None
            assert report.refused_by is not None and report.refused_by.name == "static", (kind.name, edits)


def test_strength_counts_and_advises(gate):
    if gate.program.kernel.name != "fp8_block_scaled_gemm":
        pytest.skip("one kernel suffices for the sums")
    said = []
    found = strength(gate, 1, said.append)
    value = found.to_json()
    assert value["seeded"] == sum(kind["seeded"] for kind in value["kinds"].values()) > 15
    assert value["killed"] + value["set_aside"] + len(found.scores[0].survivors) <= value["seeded"]
    assert 0 <= value["rate_of_all"] <= value["rate"] <= 1
    assert len(value["kinds"]) >= 15
    assert value["cache_bits"]["seeded"] == 1, "scored apart"
    assert len(said) == len(FAULTS) + 1
    assert all(sentence.endswith(".") for sentence in found.advice)

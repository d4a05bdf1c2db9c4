from __future__ import annotations

import json
from itertools import pairwise

from timing_kit import launch_of, loop, traces_of

from asmevo.timing import CAUSES, chip, prepare, timeline
from programs import program_from_text

MI300X = chip("mi300x")
BODY = ["ds_read_b64 v[100:101], v110", "s_waitcnt lgkmcnt(0)", "v_exp_f32_e32 v1, v100"]


def test_every_issue_is_a_slice_on_the_track_of_its_wave() -> None:
    program = program_from_text(loop(BODY), lds_size=0)
    prepared = prepare(program, launch_of(waves=8), traces_of(program, 3, waves=8), MI300X)
    replayed = prepared.replay(MI300X, events=10_000)
    trace = timeline(replayed)
    slices = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    issues = [e for e in slices if e["cat"] == "issue"]
    assert len(issues) == replayed.run.count.sum() == len(replayed.run.events)
    assert {e["pid"] for e in slices} == {0, 1, 2, 3} and len({e["tid"] for e in slices}) == 8
    waits = [e for e in slices if e["cat"] == "stall"]
    assert {e["name"] for e in waits} <= {cause.value for cause in CAUSES} and "lgkmcnt" in {e["name"] for e in waits}
    for wave in range(8):
        times = [(e["ts"], e["dur"]) for e in slices if e["tid"] == wave]
        assert times == sorted(times)
        assert all(a + d <= b + 1e-9 for (a, d), (b, _) in pairwise(times))
    assert trace["otherData"]["source"] == "modelled"
    assert len(json.dumps(trace)) > 1000


def test_only_as_many_events_as_asked_for_and_the_same_time() -> None:
    program = program_from_text(loop(BODY), lds_size=0)
    prepared = prepare(program, launch_of(), traces_of(program, 3), MI300X)
    none, few = prepared.replay(MI300X), prepared.replay(MI300X, events=7)
    assert (len(none.run.events), len(few.run.events)) == (0, 7)
    assert none.run.cycles == few.run.cycles

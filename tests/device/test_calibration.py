"""Files of rocprofv3 and the dispatches in them, times of launches, and the clock that they give."""

import json
import sqlite3
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo.codeobject import CodeObject
from asmevo.device.calibration import (
    Measured,
    Subject,
    Told,
    calibrate,
    dispatches_of,
    fit_clocks,
    join,
    measured_of,
    moves,
    own_times,
)
from asmevo.device.conformance import ADD_ONE, launch_of
from asmevo.device.counters import Reading, read_rows, written_names
from asmevo.device.simulated import SimDevice
from asmevo.timing import chip
from asmevo.verdict import InputError, UsageError
from profiler_files import COUNTERS, ROCM_7, ROCM_62, ROCM_63, ROCPD, trace_row, write_counters, write_trace
from small_objects import build

BUSY = """
    s_movk_i32 s4, {trips}
1:
    v_exp_f32_e32 v1, v0
    v_exp_f32_e32 v2, v0
    v_exp_f32_e32 v3, v0
    s_sub_u32 s4, s4, 1
    s_cmp_lg_u32 s4, 0
    s_cbranch_scc1 1b
    s_endpgm
"""
"""Depends on the clock alone, but for the launch overhead."""
MATRICES = BUSY.replace("v_exp_f32_e32 v1, v0", "v_mfma_f32_16x16x32_fp8_fp8 v[4:7], v[8:9], v[10:11], v[4:7]")
"""The same at the clock of 8-bit matrix types."""
ONE = ("k0", (256, 1, 1), (64, 1, 1), 1000, 11_000)


def named(launch, name):
    return replace(launch, name=name)


@pytest.mark.parametrize("head", [ROCM_62, ROCM_63, ROCM_7, ROCPD])
def test_kernel_traces_of_all_versions_say_the_same(tmp_path, head):
    agent = "4" if head in (ROCM_62, ROCM_63) else '"Agent 4"'
    one, two = read_rows(write_trace(tmp_path / "x_kernel_trace.csv", [ONE, ONE], head, agent))
    assert (one.kernel, one.counter, one.agent, one.nanoseconds) == ("k0", "", "Agent 4", 10_000)
    assert (one.grid, one.block) == ((256, 1, 1), (64, 1, 1))
    assert (one.dispatch, two.dispatch) == (1, 2)


def test_the_database_and_the_json_say_what_the_traces_say(tmp_path):
    (wanted,) = read_rows(write_trace(tmp_path / "t.csv", [ONE]))
    with sqlite3.connect(tmp_path / "t.db") as connection:
        columns = "guid, dispatch_id, name, start, end, grid_x, grid_y, grid_z, workgroup_x, workgroup_y, workgroup_z"
        connection.execute(f"CREATE TABLE kernels ({columns}, agent_log_index)")
        row = ("g", 1, "k0", 1000, 11_000, 256, 1, 1, 64, 1, 1, 4)
        connection.execute(f"INSERT INTO kernels VALUES ({','.join('?' * 12)})", row)
    connection.close()
    record = {
        "start_timestamp": 1000,
        "end_timestamp": 11_000,
        "dispatch_info": {
            "agent_id": {"handle": 99},
            "dispatch_id": 1,
            "kernel_id": 5,
            "grid_size": {"x": 256, "y": 1, "z": 1},
            "workgroup_size": {"x": 64, "y": 1, "z": 1},
        },
    }
    tool = {
        "agents": [{"id": {"handle": 99}, "logical_node_id": 4}],
        "kernel_symbols": [{"kernel_id": 5, "kernel_name": "k0"}],
        "buffer_records": {"kernel_dispatch": [record]},
    }
    (tmp_path / "t.json").write_text(json.dumps({"rocprofiler-sdk-tool": [tool]}))
    for name in ("t.db", "t.json"):
        assert [replace(row, process="") for row in read_rows(tmp_path / name)] == [wanted]


@pytest.mark.parametrize(
    "content, words",
    [
        (ROCM_7.replace('"Grid_Size_Y",', ""), "the column Grid_Size_Y is missing"),
        (ROCM_7.replace('"End_Timestamp",', ""), "the column End_Timestamp is missing"),
        (ROCM_7 + '"KERNEL_DISPATCH","Agent 4",1,0,7,1,5,"k0",1,1000,11', "damaged in line 2"),
        (ROCM_7 + trace_row(ROCM_7, 1, ONE) + '"KERNEL_DISPATCH","Agent 4', "unexpected end of data"),
        (ROCM_7 + trace_row(ROCM_7, 1, ("k0", (256, 1, 1), (64, 1, 1), -5, 11)), "damaged in line 2"),
        (ROCM_7 + trace_row(ROCM_7, 1, ("", (256, 1, 1), (64, 1, 1), 5, 11)), "damaged in line 2"),
        (ROCM_7 + trace_row(ROCM_7, 1, ("k0", (256, 1, 1), (64, 1, 1), 5, 1 << 64)), "damaged in line 2"),
        (ROCM_7 + trace_row(ROCM_7, 1, ONE).replace(",11000,", f",{'9' * 5000},"), "damaged in line 2"),
        (COUNTERS.replace('"Dispatch_Id",', ""), "the column Dispatch_Id is missing"),
    ],
)  # fmt: skip
def test_bad_traces_are_named(tmp_path, content, words):
    (tmp_path / "bad.csv").write_text(content)
    with pytest.raises(InputError, match=words) as caught:
        read_rows(tmp_path / "bad.csv")
    assert str(tmp_path) in str(caught.value)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("traces")


@settings(max_examples=60, deadline=None)
@given(at=st.integers(0, 700), junk=st.text(max_size=5))
def test_a_trace_with_damage_is_read_or_refused(folder, at, junk):
    path = folder / "damaged.csv"
    whole = write_trace(path, [ONE] * 3).read_text()
    path.write_text(whole[:at] + junk + whole[at + len(junk) :], encoding="utf-8")
    try:
        rows = read_rows(path)
    except InputError as error:
        assert str(error).endswith(".")
    else:
        assert all(row.begin >= 0 and row.end >= 0 and row.kernel for row in rows)


def test_names_that_a_profiler_may_have_written():
    mangled = "_ZN2ns12_GLOBAL__N_14gemmIfEEvPT_"
    assert written_names("gemm", ["gemm.kd", "gemm2"]) == ["gemm.kd"]
    assert written_names(mangled, [mangled + ".kd", "void ns::gemm<float>(float*)"]) == [mangled + ".kd"]
    assert written_names(mangled, ["void ns::(anonymous namespace)::gemm<float>(float*) [clone .kd]"])
    assert len(written_names(mangled, ["void gemm<float>(float*)", "void gemm<double>(double*)"])) == 2
    assert written_names("_Z4gemmPf", ["gemm(float*)"]) == ["gemm(float*)"]
    assert written_names("_Z4gemmPf", ["gemm"]) == ["gemm"]
    assert written_names("gemm", ["a::gemm(int)", "gemms"]) == []


def seen(kernel="k0", groups=4, begin=0, took=10_000, agent="Agent 4"):
    sizes = {"grid": (64 * groups, 1, 1), "block": (64, 1, 1)}
    return Reading(begin, kernel, begin=begin, end=begin + took, agent=agent, **sizes)


def test_dispatches_find_their_launch_or_are_listed():
    launches = [(named(launch_of(4), "four"), "k0"), (named(launch_of(8), "eight"), "k0")]
    other = replace(seen(begin=5), block=(128, 1, 1))
    joined = join(
        dispatches_of([seen(begin=9), seen(begin=1), seen("k1", begin=2), seen(groups=16, begin=3), other,
                       seen(groups=8, begin=4), seen(begin=6, took=0), seen(begin=7, took=-20),
                       replace(seen(begin=8), grid=())]),
        launches,
    )  # fmt: skip
    assert [d.row.begin for d in joined.found["four"]] == [1, 9]
    assert [d.row.begin for d in joined.found["eight"]] == [4]
    assert joined.agent == "Agent 4"
    assert {(one.kernel, one.dispatches, one.reason) for one in joined.left} == {
        ("k1", 1, "no launch is of this kernel"),
        ("k0", 1, "no launch has these sizes"),
        ("k0", 2, "it has no time: its end is not after its begin"),
        ("k0", 1, "the file does not say its sizes"),
    }
    assert sum(one.dispatches for one in joined.left) == 6


def test_launches_that_look_alike_get_nothing():
    launches = [(named(launch_of(4), "a"), "k0"), (named(launch_of(4), "b"), "k0")]
    joined = join(dispatches_of([seen()]), launches)
    assert not joined.found
    assert joined.left[0].reason == "the launches a, b are alike in kernel and sizes"
    instances = [seen("void f<float>(float*)"), seen("void f<int>(int*)", begin=5)]
    joined = join(dispatches_of(instances), [(launch_of(4), "_Z1fIfEvPT_")])
    assert not joined.found and "does not tell which of" in joined.left[0].reason


def test_one_gpu_at_a_time():
    rows = dispatches_of([seen(), seen(begin=5, agent="Agent 5")])
    launches = [(launch_of(4), "k0")]
    with pytest.raises(UsageError, match=r"ran on Agent 4 and Agent 5.*--agent"):
        join(rows, launches)
    joined = join(rows, launches, "Agent 5")
    assert [d.row.agent for d in joined.found["conformance"]] == ["Agent 5"] and joined.agent == "Agent 5"
    assert joined.left[0].reason == "it ran on Agent 4"
    with pytest.raises(UsageError, match="'Agent 4', 'Agent 5'"):
        join(rows, launches, "Agent 6")


def test_a_counted_dispatch_is_known_in_the_trace_of_its_run_as_well(tmp_path):
    """Its time is not used: counting makes it longer."""
    counts = write_counters(tmp_path / "c.csv", [(ONE, {"SQ_WAVES": 4.0, "SQ_BUSY_CYCLES": 9.0})])
    trace = write_trace(tmp_path / "t.csv", [ONE, ("k0", (256, 1, 1), (64, 1, 1), 20_000, 27_000)])
    first, second = dispatches_of([*read_rows(counts), *read_rows(trace)])
    assert first.counters == {"SQ_WAVES": 4.0, "SQ_BUSY_CYCLES": 9.0} and first.row.grid == (256, 1, 1)
    assert not second.counted
    assert measured_of([first, second]).microseconds == 7.0
    assert measured_of([first]) is None


def times(spans):
    return measured_of(dispatches_of([seen(begin=100_000 * i, took=span) for i, span in enumerate(spans)]))


def test_times_are_medians_without_the_first_and_whatever_outliers():
    rng = np.random.default_rng(5)
    spans = [10_000 + int(noise) for noise in rng.normal(0, 100, 80)]
    spans[0], spans[30] = 90_000, 2_000_000
    found = times(spans)
    assert found.samples == 79 and found.warm_up == 1 and not found.uneven
    assert found.microseconds == pytest.approx(10.0, rel=0.01)
    assert 9.8 < found.low < 10.0 < found.high < 10.2
    few = times([9_000, 10_000, 10_010])
    assert few.samples == 2 and few.low is None and few.high is None


def test_times_of_two_launches_of_the_same_sizes_are_uneven():
    found = times([10_000] * 20 + [14_000] * 20)
    assert found.uneven and found.low is None


@pytest.fixture(scope="module")
def busy():
    """Three launches that the clock decides, and one that is over before the launch overhead, on mi300x."""
    obj = CodeObject.parse(build(*(BUSY.format(trips=n) for n in (400, 600, 900, 2))))
    launches = [replace(named(launch_of(4 + i), f"l{i}"), kernel=f"k{i}") for i in range(4)]
    with SimDevice() as model:
        yield model, obj, launches


def measured_on(other, model, obj, launches, factor=1.0):
    """Rows with the times that the model has for another chip."""
    rows = []
    for launch in launches:
        time = model.prepared(model.load(obj.data, launch.kernel), launch).replay(chip(other)).microseconds
        rows += [
            seen(launch.kernel, launch.workgroups, begin=10**9 * len(rows) + i, took=round(1000 * factor * time))
            for i in range(9)
        ]
    return rows


def test_times_of_the_model_at_another_clock_give_that_clock(busy):
    model, obj, launches = busy
    found = calibrate(model, obj, launches, measured_on("mi300x[clock_ghz=1.43]", *busy), {})
    (fit,) = found.clocks
    assert fit.parameter == "clock_ghz" and fit.table == 2.1
    assert fit.ghz == pytest.approx(1.43, rel=1e-3) and fit.low <= fit.ghz <= fit.high and not fit.reason
    assert "show in its time" in fit.launches[3].reason and fit.launches[3].sensitivity < 0.1
    assert found.fitted.clock_ghz == 1.43 and chip(found.fitted.name) == found.fitted
    assert found.error[0] > 0.2 and found.error[1] < 1e-3
    assert [one.ratio for one in found.launches][:3] == pytest.approx([1.4] * 3, rel=0.1)
    assert all(move.told is not Told.MOVES for move in found.moves)
    assert not found.missing and not found.left and found.told


def test_a_number_that_is_wrong_is_told_from_one_that_does_not_matter(busy):
    """Here the launch overhead; memory plays no part in these kernels."""
    model, obj, launches = busy
    short = launches[3:] + launches[:2]
    subjects = [
        Subject(one.name, ready, ready.replay(chip("mi300x[launch_us=5.9]")).microseconds)
        for one in short
        for ready in [model.prepared(model.load(obj.data, one.kernel), one)]
    ]
    told = {move.name: move for move in moves(subjects, model.chip)}
    assert told["launch_us"].told is Told.MOVES and told["launch_us"].end == 6.0
    assert told["launch_us"].error_at_end < told["launch_us"].error
    assert told["hbm_bytes_per_s"].told is Told.SILENT
    assert moves(subjects[:2], model.chip) == ()


@pytest.mark.parametrize(
    "factor, words", [(0.01, "measured faster than 4 GHz explain"), (100.0, "measured slower than 0.3 GHz explain")]
)
def test_times_that_no_clock_explains(busy, factor, words):
    model, obj, launches = busy
    found = calibrate(model, obj, launches[:3], measured_on("mi300x", model, obj, launches[:3], factor), {})
    assert not found.told and found.fitted is model.chip
    assert found.clocks[0].ghz is None and "0 of 3 launches" in found.clocks[0].reason
    assert {own.reason for own in found.clocks[0].launches} == {f"it was {words}"}


def test_two_launches_are_too_few_and_launches_that_disagree_are_named(busy):
    model, obj, launches = busy
    rows = measured_on("mi300x[clock_ghz=1.5]", model, obj, launches[:3])
    found = calibrate(model, obj, launches[:3], [row for row in rows if row.kernel != "k1"], {})
    assert not found.told and "2 of 2 launches tell" in found.clocks[0].reason and found.missing == ("l1",)
    odd = [replace(row, end=row.begin + 2 * row.nanoseconds) if row.kernel == "k1" else row for row in rows]
    assert "disagree" in calibrate(model, obj, launches[:3], odd, {}).clocks[0].reason


def test_counters_stand_beside_the_model_and_tell_the_clock_of_their_run(busy, tmp_path):
    model, obj, launches = busy
    counted = {
        "SQ_WAVES": 4.0,
        "SQ_INSTS_VALU": 3.0 * 400 * 4,
        "SQ_LDS_BANK_CONFLICT": 7.0,
        "TCC_HIT_sum": 1.0,
        "GRBM_GUI_ACTIVE": 8 * 2e4,
    }
    reads = {"TCC_EA0_RDREQ_sum": 10.0, "TCC_EA0_RDREQ_32B_sum": 4.0, "TCC_BUBBLE_sum": 2.0}
    file = write_counters(tmp_path / "c.csv", [(ONE, counted | reads)])
    (one,) = calibrate(model, obj, launches, read_rows(file), {}).launches
    assert one.measured is None and one.ratio is None
    assert one.counted_ghz == pytest.approx(2e4 / 10_000)  # clocks of a die in 10 us
    pairs = {pair.name: pair for pair in one.counters}
    assert pairs["SQ_WAVES"].ratio == 1.0 and pairs["SQ_INSTS_VALU"].ratio == pytest.approx(1.0)
    assert pairs["SQ_LDS_BANK_CONFLICT"].modelled == 0.0 and pairs["TCC_HIT_sum"].modelled is None
    assert pairs["bytes of TCC_EA0_RDREQ"].counted == 2 * 128 + 4 * 64 + 4 * 32
    assert pairs["GRBM_GUI_ACTIVE"].modelled == pytest.approx(8 * 2100 * one.modelled)


def test_memory_instructions_by_direction(tmp_path):
    obj, launch = CodeObject.parse(build(ADD_ONE, vgprs=24, private=64)), launch_of(4)
    counts = {"SQ_INSTS_VMEM_RD": 4.0, "SQ_INSTS_VMEM_WR": 4.0, "FETCH_SIZE": 1.0, "WRITE_SIZE": 1.0}
    with SimDevice() as model:
        rows = read_rows(write_counters(tmp_path / "c.csv", [(ONE, counts)]))
        (one,) = calibrate(model, obj, [launch], rows, {}).launches
    assert {pair.name: pair.ratio for pair in one.counters if pair.name in counts} == dict.fromkeys(counts, 1.0)


def test_times_of_asmevo_itself(busy, tmp_path):
    model, obj, launches = busy
    path = tmp_path / "p.json"
    facts = [
        {"launch": one.name, "measured": {"microseconds": 20.0 + i, "samples": 9}} for i, one in enumerate(launches)
    ]
    path.write_text(json.dumps({"launches": facts}))
    own = own_times(path)
    assert own["l1"] == Measured(21.0, None, None, 9, 0)
    found = calibrate(model, obj, launches[:1], [], {"l0": own["l0"]})
    assert found.launches[0].measured.microseconds == 20.0 and found.launches[0].counters == ()
    with pytest.raises(UsageError, match="'l1' was measured and is not given"):
        calibrate(model, obj, launches[:1], [], {"l1": own["l1"]})
    with pytest.raises(UsageError, match="timed by two files"):
        calibrate(model, obj, launches[:1], [seen("k0", 4)], {"l0": own["l0"]})
    with pytest.raises(UsageError, match="Two launches have the name 'l0'"):
        calibrate(model, obj, [launches[0], launches[0]], [], {})


@pytest.mark.parametrize(
    "measured",
    [
        None,
        {},
        {"microseconds": 0.0, "samples": 3},
        {"microseconds": -1, "samples": 3},
        {"microseconds": True, "samples": 3},
        {"microseconds": 10**400, "samples": 3},
        {"microseconds": "1_0", "samples": 3},
        {"microseconds": 1.0, "samples": True},
        {"microseconds": 1.0, "samples": 2.5},
    ],
)
def test_own_times_that_are_none(tmp_path, measured):
    (tmp_path / "p.json").write_text(json.dumps({"launches": [{"launch": "a", "measured": measured}]}))
    with pytest.raises(InputError, match=r"p\.json has (no measured times|the time)"):
        own_times(tmp_path / "p.json")
    (tmp_path / "q.json").write_text("[1]")
    again = {"launch": "a", "measured": {"microseconds": 1.0, "samples": 3}}
    (tmp_path / "p.json").write_text(json.dumps({"launches": [again, again]}))
    with pytest.raises(InputError, match=r"p\.json times a launch twice"):
        own_times(tmp_path / "p.json")
    assert own_times(tmp_path / "q.json") is None and own_times(tmp_path / "none") is None


def test_fits_are_apart_by_clock(busy):
    """What is wrong with the clock of one width of matrix type says nothing of that without matrices."""
    model, *others = busy
    matrices = CodeObject.parse(build(*(MATRICES.format(trips=n) for n in (400, 600, 900))))
    launches = [replace(named(launch_of(4 + i), f"m{i}"), kernel=f"k{i}") for i in range(3)]
    truth = chip("mi300x[clock_ghz_8=1.5]")
    subjects = [
        Subject(one.name, ready, ready.replay(truth).microseconds)
        for obj, some in ((matrices, launches), others)
        for one in some[:3]
        for ready in [model.prepared(model.load(obj.data, one.kernel), one)]
    ]
    plain, narrow = fit_clocks(subjects, model.chip)
    assert (plain.parameter, narrow.parameter) == ("clock_ghz", "clock_ghz_8")
    assert [[own.launch for own in fit.launches] for fit in (plain, narrow)] == [["l0", "l1", "l2"], ["m0", "m1", "m2"]]
    assert plain.ghz == pytest.approx(model.chip.clock_ghz, rel=1e-3)
    assert narrow.table == model.chip.clock_ghz_8 != 1.5 and narrow.ghz == pytest.approx(1.5, rel=1e-3)
    assert fit_clocks([], model.chip) == ()


def test_bank_conflicts_of_all_ports_are_modelled(tmp_path):
    """Each half of a wave reads four dwords of one bank: three passes more than one, of two clocks on its port."""
    code = (
        "v_lshlrev_b32_e32 v1, 7, v0\nv_and_b32_e32 v1, 0x180, v1\nds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)\ns_endpgm"
    )
    rows = read_rows(write_counters(tmp_path / "c.csv", [(ONE, {"SQ_LDS_BANK_CONFLICT": 40.0})]))
    with SimDevice() as model:
        (one,) = calibrate(model, CodeObject.parse(build(code)), [launch_of(4)], rows, {}).launches
    (pair,) = [pair for pair in one.counters if pair.name == "SQ_LDS_BANK_CONFLICT"]
    assert pair.modelled == 4 * 2 * 3 * 2

"""`asmevo calibrate`, and `--chip` with a file."""

import json
from dataclasses import replace

import pytest

from asmevo.device.conformance import launch_of
from asmevo.device.simulated import SimDevice
from asmevo.launch import save_launch
from asmevo.timing import chip
from profiler_files import ROCM_7, write_counters, write_trace
from small_objects import build

CODE = """
    s_movk_i32 s4, 500
1:
    v_exp_f32_e32 v1, v0
    v_exp_f32_e32 v2, v0
    s_sub_u32 s4, s4, 1
    s_cmp_lg_u32 s4, 0
    s_cbranch_scc1 1b
    s_endpgm
"""


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """An object, launches of it, and a kernel trace with the times of a chip at 1.5 GHz."""
    folder, data = tmp_path_factory.mktemp("calibrate"), build(CODE)
    (folder / "k0.co").write_bytes(data)
    seen = []
    with SimDevice("mi308x[clock_ghz=1.5]") as model:
        for groups in (4, 5, 6):
            launch = replace(launch_of(groups), name=f"g{groups}")
            save_launch(launch, folder / "l")
            time = model.time(model.load(data), [launch]).launches[0].microseconds
            spans = [(10**8 * groups + 10**6 * i, round(1000 * time)) for i in range(8)]
            seen += [("k0.kd", (64 * groups, 1, 1), (64, 1, 1), begin, begin + took) for begin, took in spans]
    seen += [("__amd_rocclr_fillBufferAligned", (256, 1, 1), (256, 1, 1), 1, 2)]
    write_trace(folder / "t_kernel_trace.csv", seen)
    write_counters(folder / "c.csv", [(seen[0], {"SQ_WAVES": 4.0, "TCC_HIT_sum": 0.0})])
    return folder


def arguments(given, *measured):
    return ("calibrate", given / "k0.co", "-l", given / "l", *(word for path in measured for word in ("-m", path)))


def test_a_clock_is_fitted_written_and_used(given, runs, tmp_path):
    out = tmp_path / "lab.toml"
    trace, counts = given / "t_kernel_trace.csv", given / "c.csv"
    text = runs(*arguments(given, trace, counts), "--chip", "mi308x", "-o", out)
    assert "modelled for mi308x, measured on Agent 4" in text
    assert "clock_ghz: 1.5 GHz" in text and "over 3 launches; it was 1.59" in text
    assert "__amd_rocclr_fillBufferAligned" in text and "no launch is of this kernel" in text
    assert f"written: {out}, for --chip" in text
    words = out.read_text()
    assert words.startswith("# Clocks by `asmevo calibrate`") and "\n[clock_ghz]\nvalue = 1.5\n" in words
    facts = json.loads(runs("profile", given / "k0.co", "-l", given / "l", "--chip", out, "--summary", "--json"))
    estimate = facts["launches"][0]["estimate"]
    assert estimate["clock_ghz"] == 1.5 and chip(estimate["chip"]).clock_ghz == 1.5
    again = json.loads(runs(*arguments(given, trace), "--chip", out, "--json"))
    assert again["median_error"] < 1e-3 and again["file"] is None
    assert [clock["parameter"] for clock in again["clocks"]] == ["clock_ghz"]
    assert again["unmatched"][0]["dispatches"] == 1 and again["missing"] == []
    assert {one["launch"]: one["measured"]["samples"] for one in again["launches"]} == {"g4": 7, "g5": 7, "g6": 7}


def test_without_a_clock_nothing_is_written(given, runs, tmp_path):
    out = tmp_path / "lab.toml"
    text = runs(*arguments(given, given / "c.csv"), "-o", out, code=3)
    assert "no clock is told" in text and "counted only" in text and "TCC_HIT_sum" in text
    assert "launches without a dispatch: g5, g6" in text and not out.exists()
    facts = json.loads(runs(*arguments(given, given / "c.csv"), "--json", code=3))
    assert facts["fitted_chip"] is None and facts["median_error"] is None
    assert {pair["name"]: pair["modelled"] for pair in facts["launches"][0]["counters"]}["TCC_HIT_sum"] is None


def test_bad_files_and_bad_chips_are_one_sentence(given, fails, tmp_path):
    bad, two = tmp_path / "bad.csv", tmp_path / "two.csv"
    bad.write_text(ROCM_7 + '"KERNEL_DISPATCH","Agent 4"\n')
    lines = (given / "t_kernel_trace.csv").read_text()
    two.write_text(lines + lines.partition("\n")[2].replace("Agent 4", "Agent 5"))
    toml = tmp_path / "lab.toml"
    toml.write_text('base = "mi300x"\nclock_ghz = 2100\n')
    assert "damaged in line 2" in fails(4, *arguments(given, bad))
    assert "cannot be read" in fails(4, *arguments(given, tmp_path / "none.csv"))
    assert "choose by --agent" in fails(2, *arguments(given, two))
    assert "There is no dispatch on 'GPU 9'" in fails(2, *arguments(given, two), "--agent", "GPU 9")
    assert "give a number in GHz" in fails(4, *arguments(given, two), "--chip", toml)
    assert "cannot be read" in fails(4, *arguments(given, two), "--chip", tmp_path / "none.toml")
    assert "There is no chip 'mi999x'" in fails(2, *arguments(given, two), "--chip", "mi999x")
    assert "--measured" in fails(2, "calibrate", given / "k0.co", "-l", given / "l")


def test_a_single_cold_dispatch_is_said(given, runs, tmp_path):
    head, *rows = (given / "t_kernel_trace.csv").read_text().splitlines(keepends=True)
    one, out = tmp_path / "one.csv", tmp_path / "lab.toml"
    one.write_text("".join([head, *rows[:24:8]]))
    text = runs(*arguments(given, one), "--chip", "mi308x", "-o", out)
    assert "cold: g4, g5, g6; the first dispatch is the only one" in text and "clock_ghz: 1.5 GHz" in text
    assert "# Only a cold first dispatch was measured of g4, g5, g6" in out.read_text()
    facts = json.loads(runs(*arguments(given, one), "--chip", "mi308x", "--json"))
    assert [one["measured"]["cold"] for one in facts["launches"]] == [True] * 3
    one.write_text("".join([head, *rows]))
    text = runs(*arguments(given, one), "--chip", "mi308x", "-o", out)
    assert "cold:" not in text and "cold" not in out.read_text()


def test_foreign_names_are_printed_readable_and_cut(given, runs, tmp_path):
    head, *rows = (given / "t_kernel_trace.csv").read_text().splitlines(keepends=True)
    other = tmp_path / "other.csv"
    other.write_text("".join([head, rows[0].replace("k0.kd", "n\x1b[31m\u202e\n" + "N" * 5000)]))
    counts = tmp_path / "c.csv"
    counts.write_text((given / "c.csv").read_text().replace("TCC_HIT_sum", "T\x9b31m" + "T" * 5000))
    text = runs(*arguments(given, other, counts), code=3)
    assert "n?[31m??NNN" in text and "T?31mTTT" in text and "\x1b" not in text and "\x9b" not in text
    assert max(map(len, text.splitlines())) < 200

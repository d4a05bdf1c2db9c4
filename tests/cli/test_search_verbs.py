"""`optimize`, `resume` and `show` on the real chain, with small budgets; interruption in a process of its own."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from asmevo.cli.main import run
from asmevo.cli.workers import Executor, cluster
from asmevo.codeobject import CodeObject

LAUNCH = Path(__file__).resolve().parents[2] / "examples" / "fp8_gemm" / "launches" / "tile.toml"

ADMITTED = ("PROVED", "TESTED")


def environment() -> dict[str, str]:
    """This process's, with the package findable where it is not installed."""
    return dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, fp8_gemm_path: Path) -> Path:
    """The folder of a run of three candidates."""
    folder = tmp_path_factory.mktemp("runs") / "gemm"
    command = ["optimize", str(fp8_gemm_path), "-l", str(LAUNCH), "-n", "3", "-j", "1", "--quiet", "--out", str(folder)]
    assert run(command) == 0
    return folder


def test_a_run_leaves_a_drop_in_object_and_its_certificate(finished, fp8_gemm_bytes):
    data = (finished / "best.co").read_bytes()
    cert = json.loads((finished / "certificate.json").read_text())
    assert data != fp8_gemm_bytes
    assert cert["candidate"]["sha256"] == hashlib.sha256(data).hexdigest()
    assert cert["verdict"] in ADMITTED and cert["edits"]
    old, new = CodeObject.parse(fp8_gemm_bytes), CodeObject.parse(data)
    assert [s.name for s in old.symbols] == [s.name for s in new.symbols]
    assert old.kernels[0].args == new.kernels[0].args
    assert old.kernels[0].descriptor.kernarg_size == new.kernels[0].descriptor.kernarg_size
    assert old.e_flags == new.e_flags


def test_the_summary_says_modelled_with_chip_and_clock(finished):
    facts = json.loads((finished / "summary.json").read_text())
    assert (facts["source"], facts["chip"], facts["clock_ghz"]) == ("modelled", "mi300x", 2.1)
    assert facts["best_microseconds"] < facts["k0_microseconds"]


def test_the_result_verifies_against_its_certificate(runs, finished, fp8_gemm_path):
    files = (finished / "best.co", "-c", finished / "certificate.json")
    assert runs("verify", fp8_gemm_path, *files).splitlines()[-1] in ADMITTED


def test_show_prints_attempts_and_lineage(runs, finished):
    text = runs("show", finished)
    assert re.search(r"commit 1 \(attempt \d, \w+\): (PROVED|TESTED), modelled ", text)
    assert "@@ block " not in text
    assert re.search(r"^ +1 +0  \w+ +(PROVED|TESTED|REFUTED|UNKNOWN) ", text, re.MULTILINE), "each attempt has a row"
    assert "modelled for mi300x at 2.1 GHz" in text
    facts = json.loads(runs("show", finished, "--json"))
    assert facts["lineage"][0]["us"] < facts["k0_us"] and facts["source"] == "modelled"
    assert [one["attempt"] for one in facts["tried"]] == list(range(1, facts["attempts"] + 1))


def test_show_prints_one_attempt_or_the_difference_on_demand(runs, fails, finished):
    won = json.loads(runs("show", finished, "--json"))["lineage"][0]["attempt"]
    one, difference = runs("show", finished, "--attempt", str(won)), runs("show", finished, "--diff")
    assert re.search(r"^verdict  (PROVED|TESTED), modelled ", one, re.MULTILINE) and "check    differential: " in one
    for text in (one, difference):
        assert "@@ block " in text and "\n+" in text and "\n-" in text
    assert fails(4, "show", finished, "--attempt", "99").count("no attempt 99") == 1
    assert "leave out --diff" in fails(2, "show", finished, "--attempt", "1", "--diff")


def test_resume_goes_on_with_a_larger_budget(runs, finished):
    lines = [json.loads(line) for line in runs("resume", finished, "-n", "4", "-j", "1", "--json-lines").splitlines()]
    assert lines[0]["kind"] == "start"
    assert lines[-1]["attempts"] == 4 and not lines[-1]["interrupted"]
    assert lines[-1]["source"] == "modelled" and lines[-1]["chip"] == "mi300x"


def test_show_prints_what_was_written(runs, finished):
    facts = json.loads(runs("show", finished, "--json"))
    assert facts["result"]["sha256"] == hashlib.sha256((finished / "best.co").read_bytes()).hexdigest()
    assert "result (attempt" in runs("show", finished)


def test_a_run_of_other_tools_is_not_gone_on_with(fails, finished, monkeypatch):
    monkeypatch.setattr("asmevo.search.session.tools", lambda: {"llvm": "21.0.0"})
    assert "21.0.0 now" in fails(2, "resume", finished)


def test_a_fork_goes_on_from_an_earlier_attempt(runs, finished, tmp_path):
    places = (finished, "--at", "1", "--out", tmp_path / "fork")
    done = json.loads(runs("fork", *places, "-n", "2", "-j", "1", "--json", "--quiet"))
    assert done["attempts"] == 2
    before, after = (json.loads(runs("show", folder, "--json")) for folder in (finished, tmp_path / "fork"))
    assert after["strategies"].keys() <= before["strategies"].keys(), "the same seed goes the same way"


def test_a_run_replays(runs, finished):
    facts = json.loads(runs("replay", finished, "--json"))
    assert facts["same"] and facts["attempts"] >= 3 and facts["rebuilt"] > 3


def test_what_paid_is_tried_on_another_object(runs, finished, tmp_path, fp8_gemm_path):
    files = ("transfer", finished, fp8_gemm_path, "-l", LAUNCH, "-n", "1", "--out", tmp_path, "--json", "--quiet")
    (found,) = json.loads(runs(*files))["runs"]
    assert found["attempts"] == 1 and found["verdict"] in ADMITTED
    assert found["best_microseconds"] < found["k0_microseconds"], "the same kernel has the same gain"


def test_a_folder_that_is_taken(fails, finished, fp8_gemm_path):
    sentence = fails(2, "optimize", fp8_gemm_path, "-l", LAUNCH, "-n", "1", "--out", finished)
    assert "already holds a run" in sentence


@pytest.mark.parametrize("verb", ["show", "resume"])
def test_a_folder_without_a_run(fails, tmp_path, verb):
    assert "holds no run" in fails(4, verb, tmp_path)


def test_a_damaged_run(fails, tmp_path):
    (tmp_path / "run.sqlite").write_bytes(b"no database" * 100)
    fails(4, "show", tmp_path)


@pytest.mark.parametrize("budget", [("-n", "-1"), ("-t", "-1"), ("-n", "many")])
def test_budgets_that_make_no_sense(fails, tmp_path, fp8_gemm_path, budget):
    fails(2, "optimize", fp8_gemm_path, "-l", LAUNCH, *budget, "--out", tmp_path / "new")


def test_an_address_that_nothing_uses_is_refused(fails, monkeypatch, tmp_path, finished, fp8_gemm_path):
    k0, out = ("optimize", fp8_gemm_path, "-l", LAUNCH, "-n", "1", "--out", tmp_path / "new"), tmp_path / "fork"
    for words in (k0, ("resume", finished), ("fork", finished, "--at", "1", "--out", out)):
        assert "add --executor ray" in fails(2, *words, "--ray-address", "host:6379")
    for address in (f"{'a' * 64}:1", "h\nh:1", "\x1b[31mh:1", "h\xfc:1"):
        words = *k0, "--executor", "ray", "--ray-address", address
        assert "is no address of a Ray cluster" in fails(2, *words)
    monkeypatch.setenv("RAY_ADDRESS", "h h:1")
    assert cluster(Executor.PROCESSES, None, "sim") is None
    assert "'h h:1' is no address" in fails(2, *k0, "--executor", "ray")


def test_an_interrupted_run_resumes(runs, tmp_path, fp8_gemm_path):
    """Ctrl-C after the first candidate: exit code 130, nothing but progress printed, and the run goes on."""
    folder = tmp_path / "run"
    command = [
        sys.executable,
        "-m",
        "asmevo",
        "optimize",
        fp8_gemm_path,
        "-l",
        LAUNCH,
        "-n",
        "500",
        "-j",
        "1",
        "--json-lines",
    ]
    with subprocess.Popen(
        [*map(str, command), "--out", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        for line in process.stdout:
            if json.loads(line)["kind"] != "start":
                break
        process.send_signal(signal.SIGINT)
        *_, last = process.stdout
        assert process.stderr.read() == ""
    assert process.returncode == 130
    summary = json.loads(last)
    assert summary["interrupted"] and 1 <= summary["attempts"] < 500
    done = json.loads(runs("resume", folder, "-n", str(summary["attempts"] + 1), "-j", "1", "--json", "--quiet"))
    assert done["attempts"] == summary["attempts"] + 1 and not done["interrupted"]

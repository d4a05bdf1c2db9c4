"""`--allow-inexact`: found with it, said in words, and refused without it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from asmevo.cli.main import run

SOFTMAX = Path(__file__).resolve().parents[2] / "benchmarks" / "compiled" / "softmax.hsaco"
LAUNCHES = """
[[launch]]
name = "small"
recipe = "triton.softmax"
arguments = {rows = 1, columns = 1008}
[[launch]]
name = "timed"
recipe = "triton.softmax"
objective = true
arguments = {rows = 16, columns = 1024}
"""


@pytest.fixture(scope="module")
def launches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("launches") / "softmax.toml"
    path.write_text(LAUNCHES)
    return path


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, launches: Path) -> tuple[Path, str]:
    """The folder of a run of one candidate."""
    folder = tmp_path_factory.mktemp("runs") / "softmax"
    command = ["optimize", str(SOFTMAX), "-l", str(launches), "-n", "1", "-q", "--allow-inexact", "4", "--json"]
    assert run([*command, "-j", "1", "--out", str(folder)]) == 0
    return folder, (folder / "certificate.json").read_text()


def test_a_faster_softmax_is_called_inexact_wherever_it_is_told_of(runs, found):
    folder, certificate = found
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["verdict"] == "TESTED" and summary["speedup"] > 1.001
    assert 1.0 < summary["inexact"]["largest_ratio"] <= summary["inexact"]["bound"] == 4.0
    cert = json.loads(certificate)
    assert cert["verdict"] == "TESTED" and cert["inexact"]["largest_ratio"] == summary["inexact"]["largest_ratio"]
    assert "INEXACT: results are not K0's" in runs("show", folder, "--attempt", 1)
    assert json.loads(runs("show", folder, "--json"))["settings"]["inexact"] == 4.0


def test_a_check_needs_the_bound_and_gives_the_same_figures(runs, fails, found, launches, tmp_path):
    folder, certificate = found
    files = (SOFTMAX, folder / "best.co", "-c", folder / "certificate.json")
    for option in ((), ("--allow-inexact", "5")):
        assert "give --allow-inexact 4 to check it" in fails(2, "verify", *files, *option)
    again = tmp_path / "again.json"
    told = runs("verify", *files, "--allow-inexact", "4", "-o", again).splitlines()
    assert told[-1] == "TESTED" and any("INEXACT" in line for line in told)
    assert json.loads(again.read_text())["checks"] == json.loads(certificate)["checks"]
    assert runs("verify", SOFTMAX, folder / "best.co", "-l", launches, code=1).splitlines()[-1] == "REFUTED"


def test_launches_must_give_exact_results(fails, tmp_path):
    launch = tmp_path / "launch.toml"
    launch.write_text(
        'grid = [1]\nblock = [256]\n[[kernarg]]\noffset = 0\nbuffer = "x"\n'
        '[[buffer]]\nname = "x"\nrole = "in"\ndtype = "f32"\nshape = [64]\nfill = {kind = "zeros"}\n'
    )
    words = fails(2, "optimize", SOFTMAX, "-l", launch, "--out", tmp_path / "run", "--allow-inexact", "4", "-q")
    assert "needs the exact results of every launch, and 'launch' cannot" in words
    words = fails(2, "optimize", SOFTMAX, "-l", launch, "--out", tmp_path / "run", "--allow-inexact", "0.5", "-q")
    assert "inexact is 0.5; it must be at least 1" in words

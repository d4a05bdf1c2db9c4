"""`--allow-inexact`: found with it, said in words, and refused without it."""

from __future__ import annotations

import json
import re
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest

from asmevo.cli.main import run
from asmevo.cli.progress import watching
from asmevo.search import Settings, Update
from asmevo.verdict import Verdict

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
def made(tmp_path_factory: pytest.TempPathFactory, launches: Path) -> tuple[Path, str, str]:
    """The folder of a run of one candidate, and what was printed to both streams."""
    folder = tmp_path_factory.mktemp("runs") / "softmax"
    command = ["optimize", str(SOFTMAX), "-l", str(launches), "-n", "1", "--allow-inexact", "4", "-j", "1"]
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        assert run([*command, "--out", str(folder)]) == 0
    return folder, out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def found(made: tuple[Path, str, str]) -> tuple[Path, str]:
    """The folder of that run, and its certificate."""
    return made[0], (made[0] / "certificate.json").read_text()


def test_a_faster_softmax_is_called_inexact_wherever_it_is_told_of(runs, found):
    folder, certificate = found
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["verdict"] == "TESTED" and summary["speedup"] > 1.001
    assert 1.0 < summary["inexact"]["largest_ratio"] <= summary["inexact"]["bound"] == 4.0
    cert = json.loads(certificate)
    assert cert["verdict"] == "TESTED" and cert["inexact"]["largest_ratio"] == summary["inexact"]["largest_ratio"]
    assert "INEXACT: results are not K0's" in runs("show", folder, "--attempt", 1)
    shown = json.loads(runs("show", folder, "--json"))
    assert shown["settings"]["inexact"] == 4.0
    short = {key: summary["inexact"][key] for key in ("bound", "largest_ratio")}
    assert [f["inexact"] for f in (shown["lineage"][0], shown["result"], shown["tried"][0])] == [short] * 3
    text = runs("show", folder)
    assert re.search(r"^commit 1 \(attempt 1, inexact\): TESTED INEXACT, modelled", text, re.M)
    assert re.search(r"^result \(attempt 1\): TESTED INEXACT, modelled", text, re.M)
    assert re.search(r"^ *1 +0 +inexact +TESTED INEXACT\b", text, re.M)
    assert re.search(r"^verdict  TESTED INEXACT, ", runs("show", folder, "--attempt", 1), re.M)


def test_the_summary_and_the_line_of_a_commit_say_it(made):
    _, out, err = made
    assert re.search(r"^attempt 1: modelled .* against K0\) INEXACT  inexact: ", err, re.M)
    assert re.search(r"^INEXACT +results differ from K0's", out, re.M)


def test_the_steps_of_a_search_without_it_say_nothing_of_it(capsys):
    step = Update("commit", 1, "waits", "note", Verdict.TESTED, 1.0, 2.0, 1.0, "modelled", 1, 1, {}, 0.0)
    with watching("mi300x", Settings(), quiet=False, json_lines=True) as tell:
        tell(step)
        tell(replace(step, inexact=True))
    plain, other = map(json.loads, capsys.readouterr().out.splitlines())
    assert "inexact" not in plain and other == {**plain, "inexact": True}


def test_a_check_needs_the_bound_and_gives_the_same_figures(runs, fails, found, launches, tmp_path):
    folder, certificate = found
    files = (SOFTMAX, folder / "best.co", "-c", folder / "certificate.json")
    for option in ((), ("--allow-inexact", "5")):
        assert "INEXACT: it admits results with up to 4 times K0's error; give --allow-inexact 4" in fails(
            2, "verify", *files, *option
        )
    again = tmp_path / "again.json"
    told = runs("verify", *files, "--allow-inexact", "4", "-o", again).splitlines()
    assert told[-1] == "TESTED" and any("INEXACT" in line for line in told)
    assert json.loads(again.read_text())["checks"] == json.loads(certificate)["checks"]
    assert runs("verify", SOFTMAX, folder / "best.co", "-l", launches, code=1).splitlines()[-1] == "REFUTED"


@pytest.mark.parametrize("reverify", [(), ("--reverify",)])
def test_it_is_installed_with_its_bound_only_and_called_inexact(runs, fails, found, tmp_path, reverify):
    folder, _ = found
    place = tmp_path / "hsa" / "softmax.hsaco"
    place.parent.mkdir()
    place.write_bytes(SOFTMAX.read_bytes())
    command = ("install", folder / "certificate.json", "--into", place.parent, *reverify)
    for option in ((), ("--allow-inexact", "5")):
        assert "INEXACT: it admits results with up to 4 times" in fails(2, *command, *option)
        assert place.read_bytes() == SOFTMAX.read_bytes()
    told = runs(*command, "--allow-inexact", "4")
    assert "TESTED INEXACT (up to 4 times K0's error) for softmax on mi300x" in told
    assert place.read_bytes() == (folder / "best.co").read_bytes()
    assert "TESTED INEXACT (up to 4 times K0's error) on mi300x" in runs("status", place.parent)
    assert json.loads(runs("status", place.parent, "--json"))["entries"][0]["inexact"] == 4.0
    runs("rollback", place.parent)
    assert place.read_bytes() == SOFTMAX.read_bytes()


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

"""`run`, `profile` and `verify`: what they print, and launches and objects they must refuse."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from asmevo.codeobject import CodeObject

ROOT = Path(__file__).resolve().parents[2]
LAUNCHES = ROOT / "examples" / "fp8_gemm" / "launches"
SPELLED = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "launch.md").read_text(), re.DOTALL)[1]
ADMITTED = ("PROVED", "TESTED")
VERBS = ["run", "profile", "optimize"]
REFUSED = "v_screen_partition_4se_b32_e32 v2, v1"
"""An instruction that assembles and that the simulator does not execute."""


@pytest.fixture
def spelled(tmp_path: Path):
    """A launch file with replacements in the spelled-out example of the documents."""

    def write(*changes: tuple[str, str]) -> Path:
        text = SPELLED
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        path = tmp_path / "launch.toml"
        path.write_text(text)
        return path

    return write


def edited(runs, k0: Path, folder: Path, change) -> Path:
    """K0 with its listing changed, rebuilt."""
    text = runs("recover", k0)
    (folder / "k.s").write_text(change(text))
    assert (folder / "k.s").read_text() != text
    runs("rebuild", k0, folder / "k.s", "-o", folder / "candidate.co")
    return folder / "candidate.co"


def with_refused_instruction(runs, k0: Path, folder: Path) -> Path:
    """K0 with one instruction that the simulator does not execute, on every path."""
    return edited(runs, k0, folder, lambda text: re.sub(r"v_mov_b32_e32 v\d+, 0 [^\n]*", REFUSED, text, count=1))


def test_run_compares_with_numpy_and_saves_results(runs, tmp_path, fp8_gemm_path):
    arguments = ("run", fp8_gemm_path, "-l", LAUNCHES / "tile.toml", "-l", LAUNCHES / "tiny.toml")
    facts = json.loads(runs(*arguments, "--out", tmp_path, "--json").splitlines()[-1])
    assert facts["verdict"] == "TESTED"
    assert [launch["launch"] for launch in facts["launches"]] == ["tile", "tiny"]
    assert all(launch["references"][0]["within"] and launch["instructions"] > 0 for launch in facts["launches"])
    assert np.load(tmp_path / "tile.c.npy").shape == (64, 128)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["tile.c.npy", "tiny.c.npy"]


def test_launches_of_a_known_kernel(runs, fails, tmp_path, fmoe_stage1_path, fp8_gemm_path):
    facts = json.loads(runs("launches", fmoe_stage1_path, "--out", tmp_path / "l", "--json"))
    assert facts["recipe"] == "aiter.fmoe_stage1"
    assert [Path(file).name for file in facts["files"]] == ["one.json", "ragged.json", "several.json"]
    one = json.loads(runs("run", fmoe_stage1_path, "-l", tmp_path / "l" / "one.json", "--json"))
    assert one["verdict"] == "TESTED"
    assert "No recipe" in fails(3, "launches", fp8_gemm_path, "--out", tmp_path / "m")


def test_run_says_when_a_result_is_wrong(runs, tmp_path, fp8_gemm_path):
    """Exit code 1: the object is one whose last product is lost."""

    def drop_last_product(text: str) -> str:
        before, _, after = text.rpartition("v_mfma_")
        return f"{before}s_nop 0\n{after.partition(chr(10))[2]}"

    wrong = edited(runs, fp8_gemm_path, tmp_path, drop_last_product)
    assert "DIFFERS" in runs("run", wrong, "-l", LAUNCHES / "tile.toml", code=1)


def test_a_checked_run_finds_a_dropped_wait_and_nothing_without_it(runs, tmp_path, fp8_gemm_path):
    assert "checked: nothing late" in runs("run", fp8_gemm_path, "-l", LAUNCHES / "tiny.toml", "--checked")
    hasty = edited(
        runs, fp8_gemm_path, tmp_path, lambda t: re.sub(r"s_waitcnt vmcnt\(0\)[^\n]*", "s_nop 0", t, count=1)
    )
    facts = json.loads(runs("run", hasty, "-l", LAUNCHES / "tiny.toml", "--checked", "--json", code=1))
    assert facts["verdict"] == "REFUTED"
    assert facts["launches"][0]["findings"][0]["rule"] == "check.raw"


def test_profile_names_windows_instructions_chip_and_clock(runs, fp8_gemm_path):
    text = runs("profile", fp8_gemm_path, "-l", LAUNCHES / "tile.toml")
    assert "modelled" in text and "mi300x at 2.1 GHz" in text
    assert re.search(r"^block \d+\.\.\d+ ", text, re.MULTILINE)
    assert "v_mfma_f32_16x16x32_fp8_fp8" in text
    assert "v_mfma" not in runs("profile", fp8_gemm_path, "-l", LAUNCHES / "tile.toml", "--summary")
    facts = json.loads(runs("profile", fp8_gemm_path, "-l", LAUNCHES / "tile.toml", "--json"))
    assert facts["launches"][0]["estimate"]["source"] == "modelled"


class TestVerify:
    def test_a_harmless_edit_and_its_certificate(self, runs, tmp_path, fp8_gemm_path):
        candidate = edited(
            runs, fp8_gemm_path, tmp_path, lambda t: re.sub(r"^(L\d+:)$", r"\1\n\ts_nop 0", t, count=2, flags=re.M)
        )
        cert = tmp_path / "certificate.json"
        launches = ("-l", LAUNCHES / "tile.toml", "-l", LAUNCHES / "ragged.toml")
        text = runs("verify", fp8_gemm_path, candidate, *launches, "-o", cert)
        assert text.splitlines()[-1] in ADMITTED
        assert json.loads(cert.read_text())["candidate"]["sha256"] == CodeObject.parse(candidate.read_bytes()).sha256
        again = json.loads(runs("verify", fp8_gemm_path, candidate, "--certificate", cert, "--json"))
        assert again["note"] == f"{cert} is of these two objects; its edits and 2 launches are checked again."
        assert again["verdict"] in ADMITTED
        assert [c["name"] for c in again["checks"]][-1] == "checked"

    def test_a_dropped_wait_is_refuted_with_its_line(self, runs, tmp_path, fp8_gemm_path):
        candidate = edited(
            runs, fp8_gemm_path, tmp_path, lambda t: re.sub(r"s_waitcnt vmcnt\(0\)[^\n]*", "s_nop 0", t, count=1)
        )
        text = runs("verify", fp8_gemm_path, candidate, "-l", LAUNCHES / "tile.toml", code=1)
        assert "REFUTED  static" in text and "wait.raw" in text
        assert text.splitlines()[-1] == "REFUTED"

    def test_an_edit_that_no_launch_reaches_is_unknown(self, runs, tmp_path, fp8_gemm_path):
        """The preload entry at the front is skipped by a device that preloads, so nothing executes these lines."""
        text = runs("recover", fp8_gemm_path)
        tail = text.rstrip().splitlines()[-2]  # the last line says that it is the end
        candidate = edited(runs, fp8_gemm_path, tmp_path, lambda t: t.replace(tail, "\ts_nop 3"))
        result = runs("verify", fp8_gemm_path, candidate, "-l", LAUNCHES / "tile.toml", code=3)
        assert "UNKNOWN  coverage" in result

    def test_a_certificate_of_something_else(self, runs, fails, tmp_path, fp8_gemm_path):
        cert = tmp_path / "certificate.json"
        runs("verify", fp8_gemm_path, fp8_gemm_path, "-l", LAUNCHES / "tile.toml", "-o", cert)
        text = cert.read_text()
        cert.write_text(text.replace('"TESTED"', '"REFUTED"', 1))
        assert "was changed" in fails(4, "verify", fp8_gemm_path, fp8_gemm_path, "-c", cert)
        cert.write_text("{")
        assert "not JSON" in fails(4, "verify", fp8_gemm_path, fp8_gemm_path, "-c", cert)
        cert.write_text("[" * 100_000)
        assert "not JSON" in fails(4, "verify", fp8_gemm_path, fp8_gemm_path, "-c", cert)
        cert.write_text("[]")
        assert "not a certificate" in fails(4, "verify", fp8_gemm_path, fp8_gemm_path, "-c", cert)
        cert.write_text("{}")
        fails(4, "verify", fp8_gemm_path, fp8_gemm_path, "-c", cert)

    def test_nothing_to_check_on(self, fails, fp8_gemm_path):
        assert "--launch" in fails(2, "verify", fp8_gemm_path, fp8_gemm_path)

    def test_a_truncated_candidate(self, fails, tmp_path, fp8_gemm_path):
        (tmp_path / "c.co").write_bytes(fp8_gemm_path.read_bytes()[:5000])
        fails(4, "verify", fp8_gemm_path, tmp_path / "c.co", "-l", LAUNCHES / "tile.toml")

    def test_a_launch_on_which_k0_is_no_measure(self, runs, spelled, fp8_gemm_path):
        small = spelled(('dtype = "bf16"\nshape = [64, 128]', 'dtype = "bf16"\nshape = [8, 128]'))
        text = runs("verify", fp8_gemm_path, fp8_gemm_path, "-l", small, code=3)
        assert "baseline.overrun" in text and "red zone 0 bytes after c" in text


@pytest.mark.parametrize("verb", VERBS)
class TestLaunchesThatDoNotFit:
    def refused(self, fails, tmp_path, verb, k0, launch, code=4) -> str:
        more = ("--out", tmp_path / "new") if verb != "profile" else ()
        return fails(code, verb, k0, "-l", launch, *more)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (("offset = 80\n", "offset = 84\n"), "kernarg segment"),
            (("offset = 44\n", "offset = 42\n"), "overlaps"),
            (('offset = 32\nbuffer = "b_scale"', "offset = 36\nvalue = 1"), "gives nothing for the pointer"),
            (("block = [256, 1, 1]", "block = [512, 1, 1]"), "work-items"),
            (("dynamic_lds = 24576", "dynamic_lds = 70000"), "LDS"),
            (('name = "spelled"', 'name = "spelled"\nkernel = "other"'), "no kernel 'other'"),
            (('buffer = "a_scale"', 'buffer = "a_scales"'), "does not exist"),
            (('fill = {kind = "constant"', 'fill = {kind = "constants"'), "constants"),
            (("grid = [1, 1, 1]", "grid = [0, 1, 1]"), "grid"),
            (("grid = [1, 1, 1]", "grids = [1, 1, 1]"), "grids"),
            (("grid = [1, 1, 1]", "grid = [1, 1"), "not valid TOML"),
        ],
    )
    def test_wrong_fields(self, fails, tmp_path, spelled, fp8_gemm_path, verb, change, words):
        assert words in self.refused(fails, tmp_path, verb, fp8_gemm_path, spelled(change))

    def test_a_data_file_that_is_too_short(self, fails, tmp_path, spelled, fp8_gemm_path, verb):
        (tmp_path / "b.bin").write_bytes(bytes(100))
        launch = spelled(('fill = {kind = "constant", value = 0.01}', 'fill = {kind = "file", path = "s.bin"}'))
        assert "s.bin" in self.refused(fails, tmp_path, verb, fp8_gemm_path, launch)
        (tmp_path / "s.bin").write_bytes(bytes(3))
        assert "holds 3 bytes" in self.refused(fails, tmp_path, verb, fp8_gemm_path, launch)

    def test_no_launch_there(self, fails, tmp_path, fp8_gemm_path, verb):
        (tmp_path / "empty").mkdir()
        assert "absent.toml" in self.refused(fails, tmp_path, verb, fp8_gemm_path, tmp_path / "absent.toml")
        assert "no launch file" in self.refused(fails, tmp_path, verb, fp8_gemm_path, tmp_path / "empty")

    def test_an_instruction_that_is_not_executed(self, runs, fails, tmp_path, fp8_gemm_path, verb):
        k0 = with_refused_instruction(runs, fp8_gemm_path, tmp_path)
        sentence = self.refused(fails, tmp_path, verb, k0, LAUNCHES / "tile.toml", code=3)
        assert REFUSED in sentence and "simulator" in sentence


@pytest.mark.parametrize("verb", ["run", "optimize"])
def test_no_llvm_and_old_llvm(fails, tmp_path, monkeypatch, fp8_gemm_path, verb, old_llvm):
    arguments = (verb, fp8_gemm_path, "-l", LAUNCHES / "tile.toml", "--out", tmp_path / "new")
    monkeypatch.setenv("ASMEVO_LLVM", "/nowhere")
    assert "No LLVM 22" in fails(5, *arguments)
    monkeypatch.setenv("ASMEVO_LLVM", str(old_llvm))
    assert "14.0.6" in fails(5, *arguments)


def test_run_with_a_buffer_that_is_too_small(capsys, tmp_path, spelled, fp8_gemm_path):
    """The result of the run is printed as well, so stdout is not empty here."""
    from asmevo.cli.main import run

    small = spelled(('dtype = "bf16"\nshape = [64, 128]', 'dtype = "bf16"\nshape = [8, 128]'))
    assert run(["run", str(fp8_gemm_path), "-l", str(small)]) == 4
    (sentence,) = capsys.readouterr().err.splitlines()
    assert "buffer that is too small" in sentence and "after c" in sentence


def test_optimize_with_a_buffer_that_is_too_small(fails, tmp_path, spelled, fp8_gemm_path):
    small = spelled(('dtype = "bf16"\nshape = [64, 128]', 'dtype = "bf16"\nshape = [8, 128]'))
    assert "after c" in fails(3, "optimize", fp8_gemm_path, "-l", small, "--out", tmp_path / "new")


def test_unknown_chip(fails, tmp_path, fp8_gemm_path):
    arguments = (fp8_gemm_path, "-l", LAUNCHES / "tile.toml", "--chip", "mi999")
    assert "mi300x" in fails(2, "profile", *arguments)
    assert "mi300x" in fails(2, "optimize", *arguments, "--out", tmp_path / "new")


def test_coverage_lists_what_is_not_executed(runs, tmp_path, fp8_gemm_path):
    k0 = with_refused_instruction(runs, fp8_gemm_path, tmp_path)
    facts = json.loads(runs("coverage", k0, "--json", code=3))
    assert facts["without_row"] == {} and list(facts["not_executed"]) == [REFUSED]
    assert REFUSED in runs("coverage", k0, code=3)
    text = runs("coverage", fp8_gemm_path)
    assert "every one has a row" in text and "executes all of it" in text

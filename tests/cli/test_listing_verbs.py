"""`recover` and `rebuild`: the round trip through files, edits, and every way they must refuse."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from asmevo.codeobject import CodeObject
from asmevo.program import recover
from small_objects import build

KERNELS = ["fp8_gemm_path", "fmoe_stage1_path"]


@pytest.fixture
def k0(request: pytest.FixtureRequest) -> Path:
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("k0", KERNELS, indirect=True)
def test_round_trip_through_files_is_identical(runs, tmp_path, k0):
    runs("recover", k0, "-o", tmp_path / "k.s")
    assert "identical to K0" in runs("rebuild", k0, tmp_path / "k.s", "-o", tmp_path / "k.co")
    assert (tmp_path / "k.co").read_bytes() == k0.read_bytes()


def test_a_register_that_is_not_granted_stops_it_before_anything_is_written(runs, fails, tmp_path):
    k0, text, out = tmp_path / "k.co", tmp_path / "k.s", tmp_path / "new.co"
    k0.write_bytes(build("v_mov_b32 v9, 0\n s_endpgm"))
    listing = runs("recover", k0)
    for old, new, named in (("v9, 0", "v255, 0", "uses v255"), ("vgprs 16", "vgprs 8", "uses v9")):
        assert old in listing
        text.write_text(listing.replace(old, new))
        assert named in fails(4, "rebuild", k0, text, "-o", out)
        assert not out.exists()


@pytest.mark.parametrize("k0", KERNELS, indirect=True)
def test_an_instruction_in_a_loop(runs, tmp_path, k0):
    """Insert at a loop head: the branches over it still reach their lines."""
    text = runs("recover", k0)
    at = re.findall(r"s_cbranch_\w+ (L\d+)\b", text)[-1]
    (tmp_path / "k.s").write_text(text.replace(f"\n{at}:", f"\n{at}:\n\ts_nop 0"))
    facts = json.loads(runs("rebuild", k0, tmp_path / "k.s", "-o", tmp_path / "k.co", "--json"))
    before, after = (
        recover(CodeObject.parse(k0.read_bytes())),
        recover(CodeObject.parse((tmp_path / "k.co").read_bytes())),
    )
    assert not facts["identical"]
    assert facts["check"]["verdict"] == "TESTED" and facts["check"]["findings"] == []
    assert len(after.lines) == len(before.lines) + 1
    texts = [line.instruction.text for line in before.lines if line.target is None]
    edited = [line.instruction.text for line in after.lines if line.target is None]
    where = next(i for i, (a, b) in enumerate(zip(texts, edited, strict=False)) if a != b)
    assert edited == [*texts[:where], "s_nop 0", *texts[where:]]


def test_recover_prints_the_listing_or_one_json_object_with_it(runs, fp8_gemm_path):
    text = runs("recover", fp8_gemm_path)
    facts = json.loads(runs("recover", fp8_gemm_path, "--json"))
    assert facts["instructions"] == 1491 and facts["blocks"] > 1 and facts["listing"] == text
    assert text.startswith("// kernel: fp8_block_scaled_gemm")


def test_code_that_calls_is_recovered_without_blocks(runs, tmp_path):
    """A call leaves the graph of blocks open; text and edits do not need it."""
    k0 = tmp_path / "call.co"
    k0.write_bytes(build("s_swappc_b64 s[30:31], s[4:5]\n s_endpgm"))
    assert "an unknown number of blocks" in runs("recover", k0, "-o", tmp_path / "call.s")
    assert json.loads(runs("recover", k0, "--json"))["blocks"] is None
    assert "identical to K0" in runs("rebuild", k0, tmp_path / "call.s", "-o", tmp_path / "out.co")


def test_the_kernel_of_a_listing_is_the_named_one(runs, fails, tmp_path):
    k0, listing = tmp_path / "two.co", tmp_path / "k1.s"
    k0.write_bytes(build("s_endpgm", "s_endpgm"))
    runs("recover", k0, "--kernel", "k1", "-o", listing)
    out = ("-o", tmp_path / "out.co")
    assert "nosuch" in fails(4, "rebuild", k0, listing, "--kernel", "nosuch", *out)
    assert "of the kernel k1, not of k0" in fails(2, "rebuild", k0, listing, "--kernel", "k0", *out)
    assert "identical to K0" in runs("rebuild", k0, listing, "--kernel", "k1", *out)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text + "\tv_no_such_opcode v1\n", "v_no_such_opcode"),
        (lambda text: text.replace("s_branch L61", "s_branch L99999"), "L99999"),
        (lambda text: text.replace("--gfx942", "--gfx90a"), "gfx90a"),
        (lambda text: text.replace("fp8_block_scaled_gemm:", "renamed:"), "fp8_block_scaled_gemm"),
        (lambda text: text + "\t.data\n", ".data"),
    ],
)
def test_listings_that_cannot_be_rebuilt(fails, runs, tmp_path, fp8_gemm_path, change, words):
    (tmp_path / "k.s").write_text(change(runs("recover", fp8_gemm_path)))
    assert words in fails(4, "rebuild", fp8_gemm_path, tmp_path / "k.s", "-o", tmp_path / "k.co")


@pytest.mark.parametrize("output", ["k.co", "k.s", "link.s"])
def test_an_input_is_not_written_over(runs, fails, tmp_path, output):
    k0, listing = tmp_path / "k.co", tmp_path / "k.s"
    k0.write_bytes(build("v_mov_b32 v9, 0\n s_endpgm"))
    runs("recover", k0, "-o", listing)
    (tmp_path / "link.s").symlink_to(listing)
    before = k0.read_bytes(), listing.read_bytes()
    assert "is an input of this command" in fails(2, "rebuild", k0, listing, "-o", tmp_path / output)
    assert (k0.read_bytes(), listing.read_bytes()) == before


def test_a_listing_that_is_no_text(fails, tmp_path, fp8_gemm_path):
    assert "not a text file" in fails(4, "rebuild", fp8_gemm_path, fp8_gemm_path, "-o", tmp_path / "k.co")


def test_the_listing_of_another_object(fails, runs, tmp_path, fp8_gemm_path, fmoe_stage1_path):
    runs("recover", fmoe_stage1_path, "-o", tmp_path / "k.s")
    fails(4, "rebuild", fp8_gemm_path, tmp_path / "k.s", "-o", tmp_path / "k.co")


class TestFullDisk:
    def test_device(self, fails, fp8_gemm_path):
        assert "no space left" in fails(5, "recover", fp8_gemm_path, "-o", "/dev/full")

    @pytest.mark.parametrize("call", ["fsync", "replace"])
    def test_while_writing(self, fails, monkeypatch, tmp_path, fp8_gemm_path, call):
        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(*((os, "fsync") if call == "fsync" else (Path, "replace")), full)
        (tmp_path / "k.s").write_text("before")
        assert "no space left" in fails(5, "recover", fp8_gemm_path, "-o", tmp_path / "k.s")
        assert (tmp_path / "k.s").read_text() == "before"

    def test_standard_output(self, fp8_gemm_path):
        """In a process of its own: the text is flushed when it ends."""
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [sys.executable, "-m", "asmevo", "recover", fp8_gemm_path],
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        assert done.returncode == 5
        assert done.stderr.count("\n") == 1 and "no space left" in done.stderr

    def test_reader_that_goes_away(self, fp8_gemm_path):
        with subprocess.Popen(
            [sys.executable, "-m", "asmevo", "recover", fp8_gemm_path], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            assert process.stdout is not None and process.stderr is not None
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode == 5


def test_a_folder_in_the_way(fails, tmp_path, fp8_gemm_path):
    (tmp_path / "k.s").mkdir()
    assert "k.s" in fails(5, "recover", fp8_gemm_path, "-o", tmp_path / "k.s")

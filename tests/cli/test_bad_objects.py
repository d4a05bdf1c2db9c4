"""Objects and tools that cannot be used: one sentence, the right exit code, no file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

MACHINE = 48
"""Offset of e_flags in a 64-bit ELF header; its low byte is the target."""


def damaged(data: bytes, at: int, value: int) -> bytes:
    return data[:at] + bytes([value]) + data[at + 1 :]


@pytest.fixture
def foreign() -> bytes:
    """An ELF file for this machine, not for a GPU."""
    return Path("/proc/self/exe").read_bytes()


@pytest.mark.parametrize("verb", ["inspect", "coverage", "recover"])
class TestObjects:
    def test_missing(self, fails, tmp_path, verb):
        assert "no such file" in fails(4, verb, tmp_path / "absent.co")

    def test_folder(self, fails, tmp_path, verb):
        assert "is a directory" in fails(4, verb, tmp_path)

    def test_empty(self, fails, tmp_path, verb):
        (tmp_path / "k.co").write_bytes(b"")
        assert "k.co" in fails(4, verb, tmp_path / "k.co")

    @pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.9, 0.99])
    def test_truncated(self, fails, tmp_path, fp8_gemm_bytes, verb, share):
        (tmp_path / "k.co").write_bytes(fp8_gemm_bytes[: int(len(fp8_gemm_bytes) * share)])
        assert "k.co" in fails(4, verb, tmp_path / "k.co")

    def test_text(self, fails, tmp_path, verb):
        (tmp_path / "k.co").write_text("v_add_f32 v0, v1, v2\n")
        assert "not an ELF file" in fails(4, verb, tmp_path / "k.co")

    def test_foreign(self, fails, tmp_path, verb, foreign):
        (tmp_path / "k.co").write_bytes(foreign)
        assert "k.co" in fails(4, verb, tmp_path / "k.co")

    def test_another_target(self, fails, tmp_path, fp8_gemm_bytes, verb):
        (tmp_path / "k.co").write_bytes(damaged(fp8_gemm_bytes, MACHINE, 0x41))
        sentence = fails(4, verb, tmp_path / "k.co")
        assert "gfx1100" in sentence and "gfx942" in sentence


@pytest.mark.parametrize("verb", ["coverage", "recover"])
class TestTools:
    """In a process of its own: what a process has decoded once needs no tools."""

    def sentence(self, verb: str, k0: Path, llvm: object) -> str:
        environment = dict(os.environ, ASMEVO_LLVM=str(llvm), PYTHONPATH=os.pathsep.join(p for p in sys.path if p))
        command = [sys.executable, "-m", "asmevo", verb, str(k0)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (5, "", 1)
        assert done.stderr.startswith("asmevo: ")
        return done.stderr

    def test_no_llvm(self, fp8_gemm_path, verb):
        sentence = self.sentence(verb, fp8_gemm_path, "/nowhere")
        assert "No LLVM 22" in sentence and "install the packages llvm-22" in sentence

    def test_old_llvm(self, fp8_gemm_path, verb, old_llvm):
        assert "14.0.6" in self.sentence(verb, fp8_gemm_path, old_llvm)


@pytest.mark.parametrize("verb", ["coverage", "recover"])
def test_a_kernel_that_is_not_there(fails, fp8_gemm_path, verb):
    assert "fp8_block_scaled_gemm" in fails(4, verb, fp8_gemm_path, "--kernel", "nothing")


@pytest.mark.parametrize("arguments", [["inspct"], ["inspect"], ["inspect", "--jsn", "x"], ["inspect", "a", "b"]])
def test_usage(fails, arguments):
    assert "see `asmevo --help`." in fails(2, *arguments).lower()

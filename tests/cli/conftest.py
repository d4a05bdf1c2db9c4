"""Running verbs in this process, and the ways in which they must fail."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from asmevo.cli.main import run

Fails = Callable[..., str]
Runs = Callable[..., str]


@pytest.fixture
def fails(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Fails:
    """Run a command that must fail with a code: one sentence on stderr, no traceback, no new file under tmp_path."""

    def check(code: int, *arguments: object) -> str:
        before = sorted(tmp_path.rglob("*"))
        assert run([str(a) for a in arguments]) == code
        captured = capsys.readouterr()
        lines = captured.err.splitlines()
        assert len(lines) == 1, captured.err
        assert lines[0].startswith("asmevo: ") and lines[0].endswith(".")
        assert "Traceback" not in captured.err
        assert sorted(tmp_path.rglob("*")) == before
        return lines[0]

    return check


@pytest.fixture
def runs(capsys: pytest.CaptureFixture[str]) -> Runs:
    """Run a command that must end with a code (0 unless given) and say nothing on stderr; returns stdout."""

    def check(*arguments: object, code: int = 0) -> str:
        assert run([str(a) for a in arguments]) == code
        captured = capsys.readouterr()
        assert captured.err == ""
        return captured.out

    return check


@pytest.fixture
def old_llvm(tmp_path: Path) -> Path:
    """A folder of tools that say they are LLVM 14."""
    folder = tmp_path / "llvm-14"
    folder.mkdir()
    for name in ("llvm-mc", "llvm-objdump", "ld.lld"):
        tool = folder / name
        tool.write_text("#!/bin/sh\necho 'Debian LLVM version 14.0.6'\n")
        tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    return folder

"""The script of docs/end_to_end.md, line by line: verbs in this process, programs in theirs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")

from asmevo.cli.main import run

ROOT = Path(__file__).resolve().parents[2]
(SCRIPT,) = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "end_to_end.md").read_text(), re.DOTALL)


def test_the_documented_script(tmp_path, monkeypatch, capfd):
    shutil.copy(ROOT / "examples" / "end_to_end" / "program.py", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(str(Path(p).resolve()) for p in sys.path if p))
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    printed: dict[str, str] = {}
    for line in SCRIPT.splitlines():
        words = shlex.split(line)
        settings = dict(os.environ)
        while re.fullmatch(r"[A-Z_]+=\S+", words[0]):
            name, _, value = words.pop(0).partition("=")
            settings[name] = value
        if words[0] == "asmevo":
            assert run(words[1:]) == 0, (line, capfd.readouterr())
        else:
            words[0] = sys.executable if words[0] == "python" else words[0]
            subprocess.run(words, env=settings, check=True)
        printed[line] = capfd.readouterr().out
        if line.startswith("asmevo install"):
            (installed,) = (tmp_path / "override").glob("*/matmul.hsaco")
            assert installed.read_bytes() == (tmp_path / "run" / "best.co").read_bytes()
    (output,) = (text for line, text in printed.items() if " python program.py" in line)
    assert "Overriding kernel with file override/" in output
    assert (tmp_path / "first.txt").read_text().endswith("3 launches\n")
    assert not list((tmp_path / "override").iterdir())
    assert any("installed" in text for line, text in printed.items() if "status" in line)

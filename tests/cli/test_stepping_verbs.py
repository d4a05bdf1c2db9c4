"""`debug` and `compare`: the commands of the documents as written, and what they must refuse."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "debugging.md").read_text()
COMMANDS = re.findall(r"^    (asmevo .*|sed .*)$", TEXT, re.MULTILINE)
VARIABLES = dict(re.findall(r"^    (\w+)=(\S+)$", TEXT, re.MULTILINE))
TINY = ROOT / "examples" / "fp8_gemm" / "launches" / "tiny.toml"


def test_the_commands_of_the_documents_work(runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    shown: dict[str, str] = {}
    for command in COMMANDS:
        for name, value in VARIABLES.items():
            command = command.replace(f"${name}", value)
        if command.startswith("sed"):
            subprocess.run(command, shell=True, check=True)
            continue
        _, *arguments = shlex.split(command)
        shown[arguments[0]] = shown.get(arguments[0], "") + runs(*arguments, code=int(arguments[0] == "compare"))
    assert len(COMMANDS) == 7
    assert (
        "next     200: " in shown["debug"] and "watch: wave 0" in shown["debug"] and "lds:64:16: 0x" in shown["debug"]
    )
    assert "first difference: line 322, execution 0" in shown["compare"]


def test_debug_prints_json(runs, fp8_gemm_path):
    facts = json.loads(runs("debug", fp8_gemm_path, "-l", TINY, "--at", 200, "--json"))
    (stop,) = facts["stops"]
    assert stop["reason"] == "breakpoint" and stop["next"]["line"] == 200 and stop["executed"]["line"] == 199
    assert len(stop["state"]["vgprs"][0]) == 64 and stop["fault"] is None


def test_an_object_does_not_differ_from_itself(runs, fp8_gemm_path):
    facts = json.loads(runs("compare", fp8_gemm_path, fp8_gemm_path, "-l", TINY, "--json"))
    assert facts["first"] is None and facts["workgroup"] is None


@pytest.mark.parametrize(
    ("code", "arguments", "said"),
    [
        (2, (), "--at LINE"),
        (4, ("--at", 99999), "no line 99999"),
        (2, ("--watch", "0x10:4"), "0x10:4"),
        (4, ("--watch", "v700"), "v700"),
        (2, ("--at", 3, "-l", TINY.with_name("tile.toml")), "tile"),
    ],
)
def test_debug_refuses(fails, fp8_gemm_path, code, arguments, said):
    assert said in fails(code, "debug", fp8_gemm_path, "-l", TINY, *arguments)


def test_compare_refuses_what_is_no_object(fails, fp8_gemm_path, tmp_path):
    (tmp_path / "b.co").write_bytes(b"no")
    fails(4, "compare", fp8_gemm_path, tmp_path / "b.co", "-l", TINY)

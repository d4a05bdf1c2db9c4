"""Launches whose data lie in files: commands given in one folder, and again in another one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from asmevo.gate.certificate import digest
from small_objects import LOOP, build

BODY = """
grid = [1, 1, 1]
block = [64, 1, 1]
[[kernarg]]
name = "p"
buffer = "p"
[[kernarg]]
name = "n"
value = 64
[[buffer]]
name = "p"
role = "inout"
dtype = "i32"
shape = [{size}]
fill = {{kind = "file", path = "data/{name}.bin"}}
"""
SIZES = {"small": 64, "large": 1 << 15}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: `k0.co` and two launches, one of which has more data than a certificate holds."""
    (tmp_path / "launches" / "data").mkdir(parents=True)
    for name, size in SIZES.items():
        np.arange(size, dtype=np.int32).tofile(tmp_path / "launches" / "data" / f"{name}.bin")
        (tmp_path / "launches" / f"{name}.toml").write_text(BODY.format(size=size, name=name))
    (tmp_path / "k0.co").write_bytes(build(LOOP))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_certificate_is_verified_from_another_folder(runs, fails, place, monkeypatch):
    runs("verify", "k0.co", "k0.co", "-l", "launches", "-o", "certificate.json")
    assert str(place) not in (place / "certificate.json").read_text()
    monkeypatch.chdir(place / "elsewhere")
    arguments = ("verify", "../k0.co", "../k0.co", "-c", "../certificate.json")
    assert "large.bin" in fails(4, *arguments)
    again = json.loads(runs(*arguments, "-l", "../launches/large.toml", "--json"))
    assert again["verdict"] in ("PROVED", "TESTED")
    used = next(c for c in again["checks"] if c["name"] == "baseline")["facts"]["launches"]
    assert sorted(used) == ["large", "small"]
    (place / "launches" / "data" / "large.bin").write_bytes(bytes(4 << 15))
    sentence = fails(4, *arguments, "-l", "../launches/large.toml")
    assert re.search("'large' has other data than when the certificate was written", sentence)


def test_a_certificate_without_what_it_should_hold(runs, fails, place):
    runs("verify", "k0.co", "k0.co", "-l", "launches/small.toml", "-o", "certificate.json")
    value = json.loads((place / "certificate.json").read_text())
    del value["launches"]
    (place / "certificate.json").write_text(json.dumps(value | {"sha256": digest(value)}))
    assert "lacks 'launches'" in fails(4, "verify", "k0.co", "k0.co", "-c", "certificate.json")


def test_a_run_goes_on_from_another_folder(runs, fails, place, monkeypatch):
    runs("optimize", "k0.co", "-l", "launches", "-n", "1", "--quiet", "--out", "run")
    monkeypatch.chdir(place / "elsewhere")
    runs("resume", "../run", "-n", "2", "--quiet")
    (place / "launches" / "data" / "large.bin").unlink()
    runs("show", "../run")
    assert "large.bin" in fails(4, "resume", "../run", "-n", "3", "--quiet")

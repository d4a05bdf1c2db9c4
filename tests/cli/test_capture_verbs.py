"""Captures with their memory moved, beside what is there already."""

import shutil
from pathlib import Path

import pytest

from asmevo.launch import Field, Launch, load_launches
from asmevo.launch.capture import write_capture
from chasing import OUTPUTS, TABLE, fixed, follow


@pytest.fixture
def captures(tmp_path):
    """Two captures of a kernel, without pointers in memory."""
    for name in ("a", "b"):
        launch = Launch(
            name=name,
            grid=(1, 1, 1),
            block=(64, 1, 1),
            kernarg=(Field(offset=0, value=TABLE, type="u64"), Field(offset=8, value=64, type="i32")),
            buffers=(fixed("x", TABLE, b"12345678"), fixed("y", OUTPUTS, bytes(8))),
        )
        write_capture(tmp_path / "captures" / name, launch, follow())
    return tmp_path / "captures"


def contents(folder):
    return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_captures_are_moved_to_a_new_folder(runs, captures, tmp_path):
    out = tmp_path / "new" / "out"
    assert runs("capture", "relocate", captures, "-o", out).splitlines() == [str(out / "a.json"), str(out / "b.json")]
    assert sorted(p.name for p in out.iterdir()) == ["a", "a.json", "b", "b.json"]
    assert [launch.name for launch in load_launches(out)] == ["a", "b"]


@pytest.mark.parametrize("name", ["b.json", "b"])
def test_nothing_is_written_over(fails, captures, tmp_path, name):
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_text("mine")
    assert f"{out / name} is there already" in fails(4, "capture", "relocate", captures, "-o", out)
    before = contents(captures)
    assert "is there already" in fails(4, "capture", "relocate", captures, "-o", captures)
    assert contents(captures) == before


def test_a_copy_that_fails_leaves_whole_launches(runs, fails, captures, tmp_path, monkeypatch):
    copy = shutil.copyfile

    def full(source: Path, place: Path) -> None:
        copy(source, place)
        if place.parent.name == "b":
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    (tmp_path / "out").mkdir()
    runs("capture", "relocate", captures / "a", "-o", tmp_path / "out")
    assert "free some space" in fails(5, "capture", "relocate", captures / "b", "-o", tmp_path / "out")
    assert [launch.name for launch in load_launches(tmp_path / "out")] == ["a"]


def test_a_folder_that_is_no_capture_is_said_to_be_none(fails, tmp_path):
    (tmp_path / "certificate.json").write_text("{}")
    (tmp_path / "best.co").write_bytes(b"")
    missing, into = tmp_path / "missing", tmp_path / "overrides"
    sentence = fails(4, "install", tmp_path / "certificate.json", "--into", into, "--capture", missing)
    assert f"{missing} is no capture" in sentence
    assert not into.exists()

"""Blobs and whole-or-absent files."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

import pytest

from asmevo.store import Blobs, write_atomic
from asmevo.verdict import EnvironmentError_, InputError


def test_blob_round_trip_and_name(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path / "blobs")
    sha256 = blobs.put(b"kernel")
    assert sha256 == hashlib.sha256(b"kernel").hexdigest()
    assert blobs.get(sha256) == b"kernel"
    assert blobs.put(b"kernel") == sha256
    assert sha256 in blobs
    assert blobs.put(b"") != sha256


def test_damaged_and_missing_blobs_are_refused(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    sha256 = blobs.put(b"kernel")
    blobs.path(sha256).write_bytes(b"kernal")
    with pytest.raises(InputError, match="damaged"):
        blobs.get(sha256)
    blobs.path(sha256).unlink()
    with pytest.raises(InputError, match="missing"):
        blobs.get(sha256)


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "AB" * 32, "ab" * 31])
def test_only_hashes_are_names(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="not a SHA-256"):
        Blobs(tmp_path).get(name)


def test_atomic_write_replaces_whole_files(tmp_path: Path) -> None:
    path = tmp_path / "new" / "best.co"
    write_atomic(path, b"one")
    write_atomic(path, b"two")
    assert path.read_bytes() == b"two"
    assert [p.name for p in path.parent.iterdir()] == ["best.co"]


def test_full_disk_leaves_the_old_file_and_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "best.co"
    write_atomic(path, b"old")

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(EnvironmentError_, match=r"no space left on device; free some space"):
        write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["best.co"]


def test_a_device_that_is_really_full() -> None:
    with pytest.raises(EnvironmentError_, match="Cannot create /dev/null/x"):
        write_atomic(Path("/dev/null/x/best.co"), b"data")

"""Launches that travel with what it takes to find their data again."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from asmevo.launch import BlockScaledGemm, Buffer, Constant, File, Launch, data_folders, laden, portable, restore
from asmevo.launch.portable import EMBEDDED
from asmevo.verdict import InputError

SMALL, LARGE = 64, EMBEDDED + 4
CONTENT = np.arange(1 << 16, dtype=np.uint32).tobytes()


def launch_with(size, folder, offset=4):
    (folder / "data").mkdir(parents=True, exist_ok=True)
    (folder / "data" / "x.bin").write_bytes(CONTENT)
    buffers = (
        Buffer("x", "in", "u32", (size // 4,), File("data/x.bin", offset, str(folder))),
        Buffer("y", "in", "u8", (3,), Constant(1)),
    )
    return Launch("files", (1, 1, 1), (64, 1, 1), (), buffers)


def travelled(launch):
    return json.loads(json.dumps(portable(launch)))


def codes(launch):
    buffer = launch.buffer("x")
    return buffer.fill.codes(buffer.format, buffer.count)


def test_launches_without_files_are_their_values():
    launch = BlockScaledGemm(m=3, n=16, k=128).launch("r")
    assert portable(launch) == launch.to_json() and restore(travelled(launch), (), "here") == launch
    assert data_folders(launch) == ()


def test_small_data_comes_along(tmp_path):
    launch = launch_with(SMALL, tmp_path)
    table = travelled(launch)
    assert str(tmp_path) not in json.dumps(table)
    (tmp_path / "data" / "x.bin").unlink()
    back = restore(table, (), "here")
    assert back == launch and back.digest == launch.digest and portable(back) == table
    assert codes(back).tolist() == list(range(1, 17))


def test_a_laden_launch_needs_no_file(tmp_path):
    launch = launch_with(LARGE, tmp_path)
    whole = pickle.loads(pickle.dumps(laden(launch)))
    (tmp_path / "data" / "x.bin").unlink()
    assert whole == launch and whole.digest == launch.digest
    assert codes(whole).tolist() == list(range(1, LARGE // 4 + 1))
    with pytest.raises(InputError, match="cannot be read"):
        laden(launch)


def test_large_data_is_found_by_its_hash(tmp_path):
    launch = launch_with(LARGE, tmp_path / "old")
    table = travelled(launch)
    assert "base64" not in table["files"][0] and str(tmp_path) not in json.dumps(table)
    assert data_folders(launch) == (tmp_path / "old",)
    (tmp_path / "old").rename(tmp_path / "new")
    back = restore(table, (tmp_path / "absent", tmp_path / "new"), "here")
    assert back == launch and codes(back)[0] == 1 and portable(back) == table


@pytest.mark.parametrize("how", ["absent", "other", "short"])
def test_large_data_that_is_not_there(tmp_path, how):
    table = travelled(launch_with(LARGE, tmp_path))
    place = tmp_path / "data" / "x.bin"
    place.unlink()
    if how != "absent":
        place.write_bytes(CONTENT[::-1] if how == "other" else CONTENT[:LARGE])
    with pytest.raises(InputError, match="is not there"):
        restore(table, (tmp_path,), "here")


def test_tables_that_are_damaged(tmp_path):
    table = travelled(launch_with(SMALL, tmp_path))
    (record,) = table["files"]
    for files, words in (
        ([], "hash of the data of buffer 'x' .* is missing"),
        (3, "list of tables"),
        ([record | {"sha256": "0"}], "another hash"),
        ([record | {"base64": "!"}], "not base64"),
        ([record | {"sha256": 3}], "a string"),
        ([record | {"more": 3}], "'more'"),
    ):
        with pytest.raises(InputError, match=words):
            restore(table | {"files": files}, (Path(),), "here")


def test_a_missing_file_cannot_travel(tmp_path):
    launch = launch_with(SMALL, tmp_path)
    (tmp_path / "data" / "x.bin").unlink()
    with pytest.raises(InputError, match=r"x\.bin cannot be read"):
        portable(launch)

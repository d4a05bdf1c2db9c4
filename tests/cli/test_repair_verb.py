"""`repair`: what it prints and writes, and what it refuses."""

from __future__ import annotations

import json

import pytest

from small_objects import build

HEAD = """
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32_e32 v1, 2, v0
    v_xor_b32_e32 v3, 0x100, v1
    s_waitcnt lgkmcnt(0)
    ds_write_b32 v1, v0
    s_waitcnt lgkmcnt(0)
    s_barrier
    ds_read_b32 v4, v3
    s_waitcnt lgkmcnt(0)
"""
TAIL = """
    v_add_u32_e32 v2, v0, v4
    ds_write_b32 v1, v2
    s_waitcnt lgkmcnt(0)
    s_barrier
    ds_read_b32 v5, v3
    global_load_dword v6, v1, s[4:5]
    s_waitcnt vmcnt(0) lgkmcnt(0)
    v_add_u32_e32 v5, v5, v6
    global_store_dword v1, v5, s[6:7]
    s_endpgm
"""
LAUNCH = """
name = "pair"
grid = [1, 1, 1]
block = [128, 1, 1]
[[kernarg]]
offset = 0
buffer = "p"
[[kernarg]]
offset = 8
buffer = "q"
[[buffer]]
name = "p"
role = "in"
dtype = "int32"
shape = [128]
fill = {kind = "integers", seed = 1, low = 1, high = 1000}
[[buffer]]
name = "q"
role = "out"
dtype = "int32"
shape = [128]
"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "racy.co").write_bytes(build(HEAD + TAIL))
    (tmp_path / "right.co").write_bytes(build(HEAD + "s_barrier\n" + TAIL))
    (tmp_path / "one.co").write_bytes(build(HEAD + "v_mov_b32_e32 v6, 0\n ds_write_b32 v6, v0\n" + TAIL))
    (tmp_path / "pair.toml").write_text(LAUNCH)
    return tmp_path


def test_repair_writes_an_object_that_can_be_verified_and_says_where_the_barrier_is(files, runs):
    racy, launch, out = files / "racy.co", files / "pair.toml", files / "out" / "repaired.co"
    refused = runs("verify", racy, racy, "-l", launch, code=3)
    assert "asmevo repair" in refused
    told = json.loads(runs("repair", racy, "-l", launch, "--out", out, "--json"))
    assert told["verdict"] == "TESTED" and told["output"] == str(out)
    assert [race["lines"] for race in told["races"]] == [[7, 10]]
    (insertion,) = told["insertions"]
    assert (insertion["before"], insertion["instructions"]) == (10, ["s_barrier"])
    assert insertion["passed_by_all_waves"] == "on every path" and insertion["behind_barrier"] == 6
    assert told["times"] == "modelled" and told["repaired_us"] > 0 and told["k0_us"] > 0
    runs("verify", out, out, "-l", launch, code=0)
    text = runs("repair", racy, "-l", launch, "--out", out)
    assert "line 10, `ds_write_b32 v1, v2`, with 7 `ds_read_b32`" in text
    assert "pair: the bytes of K0 when waves run in turns of 1; other bytes than K0 when they run ascending" in text


def test_repair_of_what_has_no_race_writes_nothing(files, runs):
    text = runs("repair", files / "right.co", "-l", files / "pair.toml", "--out", files / "new.co")
    assert text.startswith("no race through LDS was found") and not (files / "new.co").exists()


@pytest.mark.parametrize(
    ("code", "name", "launch", "said"),
    [
        (3, "one.co", "pair.toml", "no place between them"),
        (4, "pair.toml", "pair.toml", "ELF"),
        (4, "absent.co", "pair.toml", "cannot be read"),
        (4, "racy.co", "absent.toml", "absent.toml"),
    ],
)
def test_repair_refuses(files, fails, code, name, launch, said):
    assert said in fails(code, "repair", files / name, "-l", files / launch, "--out", files / "new.co")


def test_repair_needs_a_file_to_write(files, fails):
    assert "--out" in fails(2, "repair", files / "racy.co", "-l", files / "pair.toml")


def test_repair_does_not_write_over_k0(files, fails):
    before = (files / "racy.co").read_bytes()
    assert "is an input" in fails(2, "repair", files / "racy.co", "-l", files / "pair.toml", "--out", files / "racy.co")
    assert (files / "racy.co").read_bytes() == before

"""`asmevo strength` on a kernel of a few lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from small_objects import build

CODE = """
    s_load_dwordx2 s[2:3], s[0:1], 0x0
    v_lshlrev_b32_e32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
    global_load_dword v2, v1, s[2:3]
    s_waitcnt vmcnt(0)
    v_mul_f32_e32 v3, v2, v2
    global_store_dword v1, v3, s[2:3]
    s_endpgm
"""
LAUNCH = """
name = "squares"
grid = [1, 1, 1]
block = [64, 1, 1]
[[kernarg]]
offset = 0
buffer = "p"
[[kernarg]]
offset = 8
value = 1
[[buffer]]
name = "p"
role = "inout"
dtype = "f32"
shape = [64]
fill = {kind = "random", seed = 1, distribution = "normal"}
"""


@pytest.fixture
def kernel(tmp_path: Path) -> tuple[Path, Path]:
    k0, launch = tmp_path / "k.co", tmp_path / "launch.toml"
    k0.write_bytes(build(CODE))
    launch.write_text(LAUNCH)
    return k0, launch


def test_faults_of_a_small_kernel_are_counted(runs, kernel):
    k0, launch = kernel
    found = json.loads(runs("strength", k0, "-l", launch, "--faults", 1, "--json"))
    assert found["enough"] and found["rate"] == 1
    assert found["seeded"] == found["killed"] + found["set_aside"] >= 10
    assert {"dropped wait", "wrong register", "lost store", "swapped dependent lines"} <= found["kinds"].keys()
    assert len(found["kinds"]) >= 15


def test_the_text_has_both_rates_and_names_what_is_absent(runs, kernel):
    k0, launch = kernel
    text = runs("strength", k0, "-l", launch, "--faults", 1)
    assert "No such place in this kernel: " in text and "removed barrier" in text
    assert text.rstrip().endswith("of all.") and "These launches suffice: 100 %" in text


def test_what_cannot_be_measured(fails, kernel, tmp_path):
    k0, launch = kernel
    k0.write_bytes(build(CODE.replace("v_mul_f32_e32 v3, v2, v2", "v_mov_b32_e32 v3, 1.0")))
    assert "nothing can be measured" in fails(3, "strength", k0, "-l", launch)
    fails(2, "strength", k0, "-l", launch, "--faults", 0)
    fails(4, "strength", launch, "-l", launch)

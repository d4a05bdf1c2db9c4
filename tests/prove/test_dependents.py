"""Which lines depend on which."""

from __future__ import annotations

import pytest

from asmevo.codeobject import CodeObject
from asmevo.isa import span
from asmevo.isa.registers import VGPR_BASE
from asmevo.program import recover
from asmevo.prove import dependents
from small_objects import build

V4 = span(VGPR_BASE + 4, 1)
END = "global_store_dword v[0:1], v9, off\ns_endpgm\ns_nop 0"
CASES = {
    "what reads a result": ("v_add_u32 v3, v2, v2\nv_add_u32 v9, v3, v5", {0, 1, 2}),
    "not what reads others": ("v_add_u32 v3, v2, v2\nv_add_u32 v9, v5, v5", {0}),
    "not what reads the register when it holds another value": (
        "v_add_u32 v3, v2, v2\nv_add_u32 v4, v3, v3\nv_mov_b32 v3, 0\nv_add_u32 v9, v3, v5",
        {0, 1},
    ),
    "in lanes that are off, too": (
        "v_add_u32 v3, v2, v2\ns_mov_b64 exec, 1\nv_mov_b32 v3, 0\ns_mov_b64 exec, -1\nv_add_u32 v9, v3, v5",
        {0, 4, 5},
    ),
    "through masks and selections": (
        "v_add_u32 v3, v2, v2\nv_cmp_gt_u32 vcc, v3, v5\nv_cndmask_b32 v9, v5, v6, vcc",
        {0, 1, 2, 3},
    ),
    "in other blocks": ("v_add_u32 v3, v2, v2\ns_branch later\nlater: v_add_u32 v9, v3, v5", {0, 2, 3}),
    "through LDS, as a whole": (
        "v_add_u32 v3, v2, v2\nds_read_b32 v9, v5\nds_write_b32 v6, v3",
        {0, 1, 2, 3},
    ),
    "from LDS where nothing of it is stored": ("v_add_u32 v3, v2, v2\nds_read_b32 v9, v5\nds_write_b32 v6, v5", {0}),
}


@pytest.mark.parametrize("case", CASES)
def test_dependents(case):
    text, expected = CASES[case]
    program = recover(CodeObject.parse(build(f"{text}\n{END}")))
    assert dependents(program, {0}) == expected


def test_registers_that_differ_behind_a_block():
    code = f"v_mov_b32 v4, 1\ns_branch later\nlater: v_add_u32 v3, v4, v4\nv_mov_b32 v9, v3\n{END}"
    program = recover(CodeObject.parse(build(code)))
    assert dependents(program, set(), {0: V4}) == {2, 3, 4}
    assert dependents(program, set(), {1: V4}) == frozenset()

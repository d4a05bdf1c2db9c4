"""A small kernel with a loop, LDS and a masked store, and ways to edit it."""

from __future__ import annotations

from asmevo.codeobject import CodeObject
from asmevo.edit import apply_all
from asmevo.launch import Buffer, Field, Integers, Launch
from asmevo.program import rebuild, recover
from small_objects import build

CODE = """
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32_e32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
    global_load_dword v2, v1, s[4:5]
    s_mov_b32 s8, 0
    v_mov_b32_e32 v3, 0
    s_waitcnt vmcnt(0)
top:
    v_add_u32_e32 v3, v3, v2
    v_xor_b32_e32 v4, v3, v2
    s_add_u32 s8, s8, 1
    s_cmp_lt_u32 s8, 4
    s_cbranch_scc1 top
    ds_write_b32 v1, v3
    s_waitcnt lgkmcnt(0)
    s_barrier
    ds_read_b32 v5, v1
    s_waitcnt lgkmcnt(0)
    v_add_u32_e32 v5, v5, v4
    v_cmp_gt_u32_e32 vcc, 48, v0
    s_and_saveexec_b64 s[10:11], vcc
    global_store_dword v1, v5, s[6:7]
    s_endpgm
    s_nop 0
"""
"""q[i] = 4 p[i] + (4 p[i] ^ p[i]) for i below 48 of 64; the rest of q is never written."""

LAUNCH = Launch(
    name="small",
    grid=(1, 1, 1),
    block=(64, 1, 1),
    kernarg=(Field("p", 0, buffer="p"), Field("q", 8, buffer="q")),
    buffers=(
        Buffer("p", "in", "int32", (64,), Integers(1, 1, 10**6), red_zone=512),
        Buffer("q", "out", "int32", (64,), red_zone=512),
    ),
)

K0_BYTES = build(CODE)
K0 = recover(CodeObject.parse(K0_BYTES))


def line(text, program=K0):
    """Id of the only line that begins with this text."""
    (found,) = [x.id for x in program.lines if x.instruction.text.startswith(text)]
    return found


def candidate(*edits, program=K0):
    """The bytes of K0 with these edits."""
    return rebuild(apply_all(program, edits))

"""Kernels of a few lines in which waves exchange data through LDS, right and wrong."""

from __future__ import annotations

from dataclasses import replace

from asmevo.launch import Buffer, Field, Integers, Launch

HEAD = """
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32_e32 v1, 2, v0
    v_xor_b32_e32 v3, 0x100, v1
    v_readfirstlane_b32 s9, v0
    s_lshr_b32 s9, s9, 6
    s_waitcnt lgkmcnt(0)
    global_load_dword v2, v1, s[4:5]
    s_waitcnt vmcnt(0)
    ds_write_b32 v1, v2
    s_waitcnt lgkmcnt(0)
    s_barrier
"""
"""v2 is p[i], which is in LDS at v1; v3 is the place of the other wave's; s9 the number of the wave."""
TAIL = """
    s_waitcnt lgkmcnt(0)
    s_barrier
    ds_read_b32 v5, v3
    s_waitcnt lgkmcnt(0)
    global_store_dword v1, v5, s[6:7]
    s_endpgm
"""
EXCHANGE = """
    ds_read_b32 v4, v3
    s_waitcnt lgkmcnt(0)
    {between}
    v_add_u32_e32 v2, v2, v4
    ds_write_b32 v1, v2
"""
"""Each wave reads what the other one wrote, and overwrites its own: what the other one may have yet to read."""
RACY = HEAD + EXCHANGE.format(between="s_nop 0") + TAIL
RIGHT = HEAD + EXCHANGE.format(between="s_barrier") + TAIL
UNWAITED = HEAD + "ds_read_b32 v4, v3\n v_add_u32_e32 v2, 1, v2\n ds_write_b32 v1, v2\n" + TAIL
"""The same without a wait between read and write."""
LOOP = (
    HEAD + "s_mov_b32 s8, {turns}\ntop:\n{body} s_sub_u32 s8, s8, 1\n s_cmp_lg_u32 s8, 0\n s_cbranch_scc1 top\n" + TAIL
)
AGAIN = LOOP.format(
    turns="3",
    body="ds_read_b32 v4, v3\n s_waitcnt lgkmcnt(0)\n s_barrier\n ds_write_b32 v1, v4\n s_waitcnt lgkmcnt(0)\n",
)
"""Three turns, and what is read in one may not have been written in the one before."""
BY_WAVE = LOOP.format(turns="s9\n s_add_u32 s8, s8, 1", body=EXCHANGE.format(between="s_nop 0"))
"""The number of turns differs between the waves."""
BOTH = """
    v_xor_b32_e32 v6, 0x200, v1
    ds_read_b32 v4, v3
    ds_read_b32 v6, v6
    s_waitcnt lgkmcnt(0)
    {between}
    v_add_u32_e32 v4, v4, v6
    ds_write_b32 v1, v4
"""
ARMS = (
    HEAD
    + "s_cmp_lt_u32 s9, 2\n s_cbranch_scc0 other\n"
    + BOTH.format(between="s_nop 0")
    + "s_branch join\nother:\n"
    + BOTH.format(between="s_nop 1")
    + "join:\n"
    + TAIL
)
"""Two waves execute one copy of the code and two another one; each reads from both."""
ONE_WRITES = (
    HEAD
    + "s_cmp_eq_u32 s9, 0\n s_cbranch_scc0 other\n ds_write_b32 v1, v0\n s_branch join\n"
    + "other:\n ds_read_b32 v4, v3\njoin:\n"
    + TAIL
)
"""Which of the two comes first, nothing tells."""
LATE = HEAD.replace("s_waitcnt lgkmcnt(0)\n    s_barrier", "s_barrier") + "ds_read_b32 v4, v3\n" + TAIL
"""A barrier with no wait in front of it."""

PAIR = Launch(
    name="pair",
    grid=(1, 1, 1),
    block=(128, 1, 1),
    kernarg=(Field("p", 0, buffer="p"), Field("q", 8, buffer="q")),
    buffers=(
        Buffer("p", "in", "int32", (128,), Integers(1, 1, 10**6), red_zone=512),
        Buffer("q", "out", "int32", (128,), red_zone=512),
    ),
)
FOUR = replace(
    PAIR,
    name="four",
    block=(256, 1, 1),
    dynamic_lds=512,
    buffers=tuple(replace(b, shape=(256,)) for b in PAIR.buffers),
)

"""Waits: relaxed, dropped, split, moved, merged."""

from __future__ import annotations

from strategy_kit import lines, results

from asmevo.strategies.waits import Waits

TWO_LOADS = """
    global_load_dword v0, v[2:3], off
    global_load_dword v1, v[2:3], off
    s_waitcnt vmcnt(0)
    v_mov_b32_e32 v8, v9
    v_mov_b32_e32 v4, v0
    v_mov_b32_e32 v5, v1
    s_endpgm
"""


def test_split_and_moved_to_the_first_need() -> None:
    found = results(Waits(), TWO_LOADS)
    assert found["every wait right before its first need"] == lines("""
        global_load_dword v0, v[2:3], off
        global_load_dword v1, v[2:3], off
        v_mov_b32_e32 v8, v9
        s_waitcnt vmcnt(1)
        v_mov_b32_e32 v4, v0
        s_waitcnt vmcnt(0)
        v_mov_b32_e32 v5, v1
        s_endpgm
    """)


def test_weakest_value_where_it_stands() -> None:
    found = results(Waits(), """
        global_load_dword v0, v[2:3], off
        global_load_dword v1, v[2:3], off
        s_waitcnt vmcnt(0) lgkmcnt(0)
        v_mov_b32_e32 v4, v0
        s_waitcnt vmcnt(0)
        v_mov_b32_e32 v5, v1
        s_waitcnt vmcnt(0)
        s_endpgm
    """)  # fmt: skip
    assert found["weakest value for every wait"] == lines("""
        global_load_dword v0, v[2:3], off
        global_load_dword v1, v[2:3], off
        s_waitcnt vmcnt(1)
        v_mov_b32_e32 v4, v0
        s_waitcnt vmcnt(0)
        v_mov_b32_e32 v5, v1
        s_endpgm
    """)
    assert any(note == "drop a wait for nothing" for note in found)
    assert "`s_waitcnt vmcnt(0) lgkmcnt(0)` relaxed to `s_waitcnt vmcnt(1)`" in found


def test_a_wait_that_a_barrier_needs_stays() -> None:
    text = """
        ds_write_b32 v0, v1
        s_waitcnt lgkmcnt(0)
        s_barrier
        ds_read_b32 v2, v3
        s_waitcnt lgkmcnt(0)
        v_mov_b32_e32 v4, v2
        s_endpgm
    """
    for after in results(Waits(), text).values():
        assert after.index("s_waitcnt lgkmcnt(0)") < after.index("s_barrier")
        assert after.count("s_waitcnt lgkmcnt(0)") == 2


def test_a_duplicate_wait_goes() -> None:
    text = "ds_read_b32 v0, v1\ns_waitcnt lgkmcnt(0)\ns_waitcnt lgkmcnt(0)\nv_mov_b32_e32 v2, v0\ns_endpgm"
    for after in results(Waits(), text).values():
        assert after == lines("ds_read_b32 v0, v1\ns_waitcnt lgkmcnt(0)\nv_mov_b32_e32 v2, v0\ns_endpgm")


def test_two_waits_become_one_where_nothing_starts_in_between() -> None:
    text = """
        global_load_dword v0, v[2:3], off
        ds_read_b32 v1, v9
        s_waitcnt vmcnt(0)
        v_mov_b32_e32 v4, v0
        s_waitcnt lgkmcnt(0)
        v_mov_b32_e32 v5, v1
        s_endpgm
    """
    found = results(Waits(), text)
    assert found["`s_waitcnt lgkmcnt(0)` merged into an earlier wait"] == lines("""
        global_load_dword v0, v[2:3], off
        ds_read_b32 v1, v9
        s_waitcnt vmcnt(0) lgkmcnt(0)
        v_mov_b32_e32 v4, v0
        v_mov_b32_e32 v5, v1
        s_endpgm
    """)
    blocked = text.replace("v_mov_b32_e32 v4, v0", "v_mov_b32_e32 v4, v0\nds_read_b32 v6, v4")
    assert not any("merged" in note for note in results(Waits(), blocked))


def test_the_count_shifts_over_what_starts_in_between() -> None:
    text = """
        global_load_dword v0, v[2:3], off
        global_load_dword v1, v[2:3], off
        s_waitcnt vmcnt(1)
        v_mov_b32_e32 v4, v0
        global_load_dword v6, v[2:3], off
        s_waitcnt vmcnt(1)
        v_mov_b32_e32 v5, v1
        s_endpgm
    """
    assert results(Waits(), text)["`s_waitcnt vmcnt(1)` merged into an earlier wait"][2:4] == lines("""
        s_waitcnt vmcnt(0)
        v_mov_b32_e32 v4, v0
    """)


def test_loop_waits_cover_the_turn_before() -> None:
    """The load at the end of a turn is used on the next one: its wait must stay, whatever the block alone says."""
    text = """
        v_mov_b32_e32 v0, 0
    loop:
        s_waitcnt vmcnt(0)
        v_add_u32_e32 v4, v4, v0
        global_load_dword v0, v[2:3], off
        s_cbranch_scc1 loop
        s_endpgm
    """
    for after in results(Waits(), text, block=1).values():
        assert after.index("s_waitcnt vmcnt(0)") < after.index("v_add_u32_e32 v4, v4, v0")

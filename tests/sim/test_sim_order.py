"""The order of waves, what a wave finds at its start, and which executions of a line count."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from asmevo.program import recover
from asmevo.sim import Execution, WaveOrder
from sim_kernels import Grid, Image, kernel, run

RACE = """
    v_and_b32_e32 v0, 0x3ff, v0
    v_readfirstlane_b32 s6, v0
    s_lshr_b32 s6, s6, 6
    v_mov_b32_e32 v1, 0
    v_mov_b32_e32 v2, s6
    global_store_dword v1, v2, s[0:1] offset:1024
"""
"""Every wave stores its number to one place."""


@pytest.mark.parametrize(("order", "last"), [(WaveOrder.ASCENDING, 2), (WaveOrder.DESCENDING, 0)])
def test_the_last_wave_wins_a_race(order: WaveOrder, last: int) -> None:
    image, execution = run(RACE, grid=Grid((2, 1, 1), (192, 1, 1)), wave_order=order)
    assert execution.status == "done" and image.words(1024, 1)[0] == last
    assert execution.line_counts[0] == 6


@pytest.mark.parametrize(("order", "last"), [(WaveOrder.ASCENDING, 3), (WaveOrder.DESCENDING, 1)])
def test_the_last_workgroup_wins_a_race(order: WaveOrder, last: int) -> None:
    code = "v_mov_b32_e32 v1, 0\n v_mov_b32_e32 v2, s2\n global_store_dword v1, v2, s[0:1] offset:1024"
    image, _ = run(code, grid=Grid((4, 1, 1)), workgroups=[1, 3], wave_order=order)
    assert image.words(1024, 1)[0] == last


def test_lanes_without_a_work_item_have_no_number() -> None:
    code = """
        s_mov_b64 exec, -1
        v_mbcnt_lo_u32_b32 v1, -1, 0
        v_mbcnt_hi_u32_b32 v1, -1, v1
        v_lshlrev_b32_e32 v1, 2, v1
        global_store_dword v1, v0, s[0:1] offset:1024
    """
    image, _ = run(code, Image(poison=0x5A), Grid(block=(10, 2, 1)))
    stored = image.words(1024, 64)
    assert stored[:20].tolist() == [x | y << 10 for y in range(2) for x in range(10)]
    assert (stored[20:] == 0x5A5A5A5A).all()


def test_barriers_hold_in_both_orders() -> None:
    """Wave n reads what wave 3 - n wrote."""
    code = """
        v_and_b32_e32 v0, 0x3ff, v0
        v_lshlrev_b32_e32 v1, 2, v0
        ds_write_b32 v1, v0
        s_waitcnt lgkmcnt(0)
        s_barrier
        v_xor_b32_e32 v3, 0x3fc, v1
        ds_read_b32 v4, v3
        s_waitcnt lgkmcnt(0)
        global_store_dword v1, v4, s[0:1] offset:1024
    """
    images = [run(code, grid=Grid(block=(256, 1, 1)), lds=1024, wave_order=order)[0] for order in WaveOrder]
    np.testing.assert_array_equal(images[0].words(1024, 256), 255 - np.arange(256))
    np.testing.assert_array_equal(images[0].data, images[1].data)


def test_a_fault_names_the_wave_in_both_orders() -> None:
    code = """
        v_and_b32_e32 v0, 0x3ff, v0
        v_readfirstlane_b32 s6, v0
        s_cmp_lg_u32 s6, 64
        s_cbranch_scc1 1f
        s_load_dword s7, s[8:9], 0x0
    1:
    """
    for order in WaveOrder:
        _, execution = run(code, grid=Grid(block=(192, 1, 1)), wave_order=order)
        assert execution.fault is not None and execution.fault.facts["wave"] == 1


def test_workgroup_info_is_an_argument_where_wanted() -> None:
    program = recover(kernel("s_lshl_b32 s6, s5, 0\n v_mov_b32_e32 v1, s5\n global_store_dword v0, v1, s[0:1]"))
    wanted = program.kernel.descriptor.with_(workgroup_info=1)
    program = replace(program, kernel=replace(program.kernel, descriptor=wanted))
    image, _ = run(program, Image(), Grid(block=(1, 1, 1)))
    assert image.words(0, 1)[0] == 1 << 31 | 1


def idle_of(execution: Execution) -> set[int]:
    """Lines that were executed but do not count."""
    return set(execution.line_counts) - execution.lines_active


def test_vector_lines_without_an_active_lane_do_not_count() -> None:
    code = """
        s_mov_b64 s[6:7], exec
        s_mov_b64 exec, 0
        v_mov_b32_e32 v2, 1
        s_mov_b32 s8, 1
        ds_write_b32 v2, v2
        s_mov_b64 exec, 1
        v_mov_b32_e32 v2, 1
        s_mov_b64 exec, s[6:7]
    """
    _, execution = run(code, lds=64)
    assert idle_of(execution) == {2, 4}
    assert {2, 4, 6} <= execution.line_partial and execution.line_counts[4] == 1


def test_one_active_lane_in_one_turn_is_enough() -> None:
    """The last of four turns of the loop has a lane."""
    code = """
        s_mov_b32 s6, 0
    1:
        s_add_u32 s6, s6, 1
        s_cmp_eq_u32 s6, {turn}
        s_cselect_b64 exec, 1, 0
        v_mov_b32_e32 v2, 1
        s_cmp_lt_u32 s6, 4
        s_cbranch_scc1 1b
    """
    assert idle_of(run(code.format(turn=4))[1]) == set()
    assert idle_of(run(code.format(turn=5))[1]) == {4}


def test_skipped_vector_lines_do_not_count() -> None:
    _, execution = run("s_setvskip 1, 0\n v_mov_b32_e32 v2, 1\n s_mov_b32 s6, 1\n s_setvskip 0, 0\n s_nop 0")
    assert idle_of(execution) == {1}

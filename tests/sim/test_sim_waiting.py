"""Workgroups that wait for each other: semaphores finish, deadlocks are named, endless loops are not deadlocks."""

from __future__ import annotations

import os

import numpy as np
import pytest

from asmevo.program import recover
from asmevo.sim import Executable, Execution, Limits, WaveOrder
from asmevo.sim.driver import usable_threads
from sim_kernels import BASE, Grid, Image, block_cache, kernel, run

FLAG, TICKET, RESULT = 1024, 2048, 4096
ORDERS = pytest.mark.parametrize("order", WaveOrder)

POLLS = {
    "scalar": "s_load_dword s8, s[0:1], 0x400 glc\n s_waitcnt lgkmcnt(0)",
    "vector": "global_load_dword v4, v1, s[0:1] offset:1024 sc1\n s_waitcnt vmcnt(0)\n v_readfirstlane_b32 s8, v4",
    "atomic": "global_atomic_or v4, v1, v1, s[0:1] offset:1024 sc0\n s_waitcnt vmcnt(0)\n v_readfirstlane_b32 s8, v4",
    "pause": "s_sleep 1\n s_load_dword s8, s[0:1], 0x400 glc\n s_waitcnt lgkmcnt(0)",
    "plain": "global_load_dword v4, v1, s[0:1] offset:1024\n s_waitcnt vmcnt(0)\n v_readfirstlane_b32 s8, v4",
}
WAIT = """
    v_mov_b32_e32 v1, 0
1:
    {poll}
    s_cmp_lt_u32 s8, {count}
    s_cbranch_scc1 1b
"""
ARRIVE = """
    v_mov_b32_e32 v2, 1
    s_mov_b64 s[10:11], exec
    s_mov_b64 exec, 1
    global_atomic_add v1, v2, s[0:1] offset:1024 sc1
    s_waitcnt vmcnt(0)
    s_mov_b64 exec, s[10:11]
"""
ONE_WAITS = """
    v_mov_b32_e32 v1, 0
    s_cmp_eq_u32 s2, {consumer}
    s_cbranch_scc1 3f
    {arrive}
    s_endpgm
3:
    {wait}
    v_mov_b32_e32 v3, s8
    global_store_dword v1, v3, s[0:1] offset:2048
"""


def waiting(poll: str, consumer: int, count: int) -> str:
    """One workgroup of the grid polls until `count` others have arrived, and stores what it saw."""
    wait = WAIT.format(poll=POLLS[poll], count=count)
    return ONE_WAITS.format(consumer=consumer, arrive=ARRIVE, wait=wait)


@ORDERS
@pytest.mark.parametrize("poll", POLLS)
@pytest.mark.parametrize("consumer", [0, 5])
def test_a_consumer_waits_for_producers_wherever_they_are(poll: str, consumer: int, order: WaveOrder) -> None:
    image, execution = run(waiting(poll, consumer, 5), grid=Grid((6, 1, 1)), wave_order=order)
    assert execution.status == "done", execution.fault
    assert image.words(TICKET, 1)[0] == 5


@ORDERS
def test_several_threads_wait_for_each_other(order: WaveOrder) -> None:
    image, execution = run(waiting("scalar", 0, 40), grid=Grid((41, 1, 1)), wave_order=order, threads=2)
    assert execution.status == "done", execution.fault
    assert image.words(TICKET, 1)[0] == 40


@ORDERS
def test_workgroups_pass_a_baton_against_the_order_of_starts(order: WaveOrder) -> None:
    """Split-K in turns: workgroup n adds its part after n + 1 did; all others are resident and poll meanwhile."""
    code = """
        v_mov_b32_e32 v1, 0
        s_sub_u32 s7, 20, s2
        s_sub_u32 s7, s7, 1
    1:
        s_load_dword s8, s[0:1], 0x400 glc
        s_waitcnt lgkmcnt(0)
        s_cmp_lg_u32 s8, s7
        s_cbranch_scc1 1b
        s_lshl_b32 s9, s7, 2
        v_mov_b32_e32 v2, s2
        v_mov_b32_e32 v3, s9
        global_store_dword v3, v2, s[0:1] offset:2048
        s_add_u32 s8, s8, 1
        v_mov_b32_e32 v4, s8
        global_store_dword v1, v4, s[0:1] offset:1024
    """
    image, execution = run(code, grid=Grid((20, 1, 1)), wave_order=order)
    assert execution.status == "done", execution.fault
    np.testing.assert_array_equal(image.words(TICKET, 20), np.arange(20)[::-1])


@ORDERS
def test_waves_of_a_workgroup_may_poll_lds(order: WaveOrder) -> None:
    code = """
        v_and_b32_e32 v0, 0x3ff, v0
        v_mov_b32_e32 v1, 0
        v_readfirstlane_b32 s6, v0
        s_cmp_lg_u32 s6, 0
        s_cbranch_scc1 2f
        ds_write_b32 v1, v1
        s_waitcnt lgkmcnt(0)
        s_barrier
    1:
        ds_read_b32 v2, v1
        s_waitcnt lgkmcnt(0)
        v_readfirstlane_b32 s7, v2
        s_cmp_eq_u32 s7, 0
        s_cbranch_scc1 1b
        v_mov_b32_e32 v3, s7
        global_store_dword v1, v3, s[0:1] offset:2048
        s_endpgm
    2:
        s_barrier
        v_mov_b32_e32 v2, 7
        ds_write_b32 v1, v2
    """
    image, execution = run(code, grid=Grid(block=(128, 1, 1)), lds=64, wave_order=order)
    assert execution.status == "done" and image.words(TICKET, 1)[0] == 7


def deadlock(execution: Execution) -> dict[int, dict[str, object]]:
    """What the waves of a deadlocked run wait for, by workgroup * 100 + wave."""
    assert execution.status == "deadlock", execution
    assert execution.fault is not None and execution.fault.rule == "sim.deadlock"
    return {w["workgroup"] * 100 + w["wave"]: w for w in execution.fault.facts["waves"]}


@ORDERS
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("poll", ["scalar", "atomic", "pause"])
def test_a_missing_arrival_is_a_deadlock(poll: str, order: WaveOrder, threads: int) -> None:
    _, execution = run(waiting(poll, 2, 6), grid=Grid((6, 1, 1)), wave_order=order, threads=threads)
    waves = deadlock(execution)
    assert set(waves) == {200}
    assert waves[200]["waits"] == "memory" and waves[200]["polls"][0]["address"] == BASE + FLAG
    assert execution.fault is not None
    assert f"0x{BASE + FLAG:x}" in execution.fault.message and "workgroup 2" in execution.fault.message


def test_a_counting_poll_is_a_deadlock_after_a_while() -> None:
    poll = "s_add_u32 s12, s12, 1\n s_memtime s[14:15]\n" + POLLS["scalar"]
    code = waiting("scalar", 0, 6).replace(POLLS["scalar"], poll)
    limits = Limits(instructions=10_000_000, patience=20_000)
    assert set(deadlock(run(code, grid=Grid((6, 1, 1)), limits=limits)[1])) == {0}


def test_workgroups_that_do_not_fit_on_the_chip_are_waited_for_in_vain() -> None:
    code = waiting("scalar", 0, 3)
    limits = Limits(instructions=1_000_000, residents=2)
    assert run(code, grid=Grid((4, 1, 1)), limits=limits)[1].status == "done"  # producers end and make room
    everyone = ARRIVE + WAIT.format(poll=POLLS["scalar"], count=4)
    code = "v_mov_b32_e32 v1, 0\n" + everyone
    assert run(code, grid=Grid((4, 1, 1)))[1].status == "done"
    _, execution = run(code, grid=Grid((4, 1, 1)), limits=limits)
    assert set(deadlock(execution)) == {0, 100}
    assert execution.fault is not None and execution.fault.facts["not_started"] == 2
    assert "2 workgroups have not started" in execution.fault.message


BARRIER = """
    v_and_b32_e32 v0, 0x3ff, v0
    v_mov_b32_e32 v1, 0
    v_readfirstlane_b32 s6, v0
    s_cmp_lg_u32 s6, 64
    s_cbranch_scc1 2f
    {second}
    s_endpgm
2:
    s_barrier
    v_mov_b32_e32 v2, 1
    global_store_dword v1, v2, s[0:1] offset:1024
"""


@ORDERS
def test_a_wave_that_has_ended_does_not_count_at_the_barrier(order: WaveOrder) -> None:
    image, execution = run(BARRIER.format(second="s_nop 0"), grid=Grid(block=(192, 1, 1)), wave_order=order)
    assert execution.status == "done" and image.words(FLAG, 1)[0] == 1


@ORDERS
def test_a_barrier_that_a_polling_wave_never_reaches(order: WaveOrder) -> None:
    """Wave 1 polls for what the others write behind the barrier at which they wait for it."""
    second = WAIT.format(poll=POLLS["scalar"], count=1)
    waves = deadlock(run(BARRIER.format(second=second), grid=Grid(block=(192, 1, 1)), wave_order=order)[1])
    assert [waves[n]["waits"] for n in range(3)] == ["barrier", "memory", "barrier"]
    assert waves[0]["for_waves"] == [1]


def test_an_endless_loop_that_does_not_poll_runs_into_the_limit() -> None:
    assert run("1:\n s_nop 0\n s_branch 1b")[1].status == "limit"
    code = "v_mov_b32_e32 v1, 0\n1:\n global_store_dword v1, v1, s[0:1] offset:1024 sc1\n s_branch 1b"
    assert run(code)[1].status == "limit"


def test_a_lock_that_changes_hands_is_no_deadlock() -> None:
    """Every workgroup takes a lock by exchange, adds 1 without an atomic, and gives it back."""
    code = """
        v_mov_b32_e32 v1, 0
        v_mov_b32_e32 v2, 1
        s_mov_b64 exec, 1
    1:
        global_atomic_swap v4, v1, v2, s[0:1] offset:1024 sc0
        s_waitcnt vmcnt(0)
        v_readfirstlane_b32 s8, v4
        s_cmp_lg_u32 s8, 0
        s_cbranch_scc1 1b
        global_load_dword v5, v1, s[0:1] offset:2048 sc1
        s_waitcnt vmcnt(0)
        v_add_u32_e32 v5, 1, v5
        global_store_dword v1, v5, s[0:1] offset:2048 sc1
        s_waitcnt vmcnt(0)
        global_atomic_swap v1, v1, s[0:1] offset:1024
    """
    image, execution = run(code, Image(), Grid((8, 1, 1), (256, 1, 1)), threads=2)
    assert execution.status == "done" and image.words(TICKET, 1)[0] == 32


def test_all_cores_are_used_where_workgroups_cannot_talk() -> None:
    def usable(code: str) -> int:
        return usable_threads(Executable.build(recover(kernel(code)), block_cache()))

    assert usable("global_load_dword v4, v0, s[0:1]\n global_store_dword v0, v4, s[0:1]") == len(
        os.sched_getaffinity(0)
    )
    assert usable("ds_add_u32 v0, v0") == len(os.sched_getaffinity(0))
    for poll in ("scalar", "vector", "atomic", "pause"):
        assert usable("v_mov_b32_e32 v1, 0\n global_store_dword v1, v1, s[0:1]\n" + POLLS[poll]) == 1


@pytest.mark.parametrize("threads", [0, 2, 7])
def test_threads_share_the_grid(threads: int) -> None:
    code = """
        v_and_b32_e32 v0, 0x3ff, v0
        v_lshlrev_b32_e32 v1, 2, v0
        s_lshl_b32 s6, s2, 8
        v_add_u32_e32 v1, s6, v1
        v_mov_b32_e32 v2, s2
        global_store_dword v1, v2, s[0:1] offset:2048
    """
    image, execution = run(code, grid=Grid((50, 1, 1)), threads=threads)
    assert execution.status == "done" and execution.line_counts[0] == 50
    np.testing.assert_array_equal(image.words(2048, 50 * 64), np.repeat(np.arange(50), 64))

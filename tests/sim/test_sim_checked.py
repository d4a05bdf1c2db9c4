"""Checked execution: each kind of fault is found at its instruction, and code without it raises nothing."""

from __future__ import annotations

import numpy as np
import pytest

from asmevo.sim import Checking, Execution, Span
from asmevo.verdict import Finding
from sim_kernels import BASE, SPACE, Grid, Image, run

EVERYWHERE = (Span(BASE, BASE + SPACE),)
FOUR_WAVES = Grid(block=(256, 1, 1))
VM, LGKM = "s_waitcnt vmcnt(0)", "s_waitcnt lgkmcnt(0)"


def checked(
    code: str, *, grid: Grid | None = None, spans: tuple[Span, ...] = EVERYWHERE, **options: object
) -> Execution:
    _, execution = run(code, Image(), grid or Grid(), checking=Checking(spans), **options)  # type: ignore[arg-type]
    assert execution.status == "done", execution.fault
    return execution


def told(execution: Execution) -> list[tuple[str, int | None, object]]:
    """(rule, line, earlier line) of each finding."""
    return [(f.rule, f.line, f.facts.get("earlier")) for f in execution.findings]


# --- results that have not arrived
LANE = "v_and_b32_e32 v0, 0x3ff, v0\n v_lshlrev_b32_e32 v1, 2, v0\n"


@pytest.mark.parametrize(
    ("code", "found"),
    [
        (f"global_load_dword v2, v1, s[0:1]\n {VM}\n v_add_u32_e32 v3, 1, v2", []),
        ("global_load_dword v2, v1, s[0:1]\n v_add_u32_e32 v3, 1, v2", [("check.raw", 3, 2)]),
        ("global_load_dword v2, v1, s[0:1]\n v_mov_b32_e32 v2, 1", [("check.waw", 3, 2)]),
        (f"global_load_dword v2, v1, s[0:1]\n {LGKM}\n v_add_u32_e32 v3, 1, v2", [("check.raw", 4, 2)]),
        # vector memory arrives in order
        (
            "global_load_dword v2, v1, s[0:1]\n global_load_dword v3, v1, s[0:1]\n s_waitcnt vmcnt(1)\n"
            "v_mov_b32_e32 v4, v2\n v_mov_b32_e32 v5, v3",
            [("check.raw", 6, 3)],
        ),
        ("global_load_dword v2, v1, s[0:1]\n global_load_dword v2, v1, s[0:1] offset:4", []),
        # a store counts, too
        (
            "global_load_dword v2, v1, s[0:1]\n global_store_dword v1, v0, s[0:1] offset:1024\n s_waitcnt vmcnt(1)\n"
            "v_mov_b32_e32 v4, v2",
            [],
        ),
        # scalar loads arrive in any order
        (
            "s_load_dword s9, s[0:1], 0x0\n s_load_dword s10, s[0:1], 0x4\n s_waitcnt lgkmcnt(1)\n s_mov_b32 s11, s9",
            [("check.raw", 5, 2)],
        ),
        (f"s_load_dwordx4 s[8:11], s[0:1], 0x0\n {LGKM}\n s_mov_b32 s12, s11", []),
        ("s_load_dwordx4 s[8:11], s[0:1], 0x0\n s_mov_b32 s12, s11", [("check.raw", 3, 2)]),
        ("s_load_dword s9, s[0:1], 0x0\n s_cmp_eq_u32 s9, 0\n s_cbranch_scc1 1f\n s_nop 0\n1:", [("check.raw", 3, 2)]),
        # LDS arrives in order, also behind a scalar load
        (
            "ds_write_b32 v1, v0\n ds_read_b32 v2, v1\n ds_read_b32 v3, v1\n s_waitcnt lgkmcnt(1)\n"
            "v_mov_b32_e32 v4, v2\n v_mov_b32_e32 v5, v3",
            [("check.raw", 7, 4)],
        ),
        # across queues an overwritten result is in doubt
        (f"ds_write_b32 v1, v0\n ds_read_b32 v2, v1\n global_load_dword v2, v1, s[0:1]\n {VM}", [("check.waw", 4, 3)]),
        # a move between lanes counts like LDS
        ("ds_bpermute_b32 v2, v1, v0\n v_mov_b32_e32 v3, v2", [("check.raw", 3, 2)]),
        (f"ds_bpermute_b32 v2, v1, v0\n {LGKM}\n v_mov_b32_e32 v3, v2", []),
        # sources are read at issue
        (f"global_store_dword v1, v0, s[0:1]\n v_mov_b32_e32 v0, 7\n {VM}", []),
        # flat counts in both
        ("v_mov_b32_e32 v3, s1\n v_add_co_u32_e32 v2, vcc, s0, v1\n flat_load_dword v4, v[2:3]\n"
         f"{VM}\n v_mov_b32_e32 v5, v4", [("check.raw", 6, 4)]),
        ("v_mov_b32_e32 v3, s1\n v_add_co_u32_e32 v2, vcc, s0, v1\n flat_load_dword v4, v[2:3]\n"
         f"{VM} {LGKM.removeprefix('s_waitcnt ')}\n v_mov_b32_e32 v5, v4", []),
    ],
)  # fmt: skip
def test_results_count_as_late_as_the_waits_allow(code: str, found: list[object]) -> None:
    assert told(checked(LANE + code, lds=256)) == found


def test_a_wait_in_an_earlier_block_counts_and_a_missing_one_shows_through_a_loop() -> None:
    loop = """
        s_mov_b32 s8, 3
        v_mov_b32_e32 v2, 0
    1:
        v_add_u32_e32 v3, v0, v2
        {wait}
        global_load_dword v2, v1, s[0:1]
        s_sub_u32 s8, s8, 1
        s_cmp_lg_u32 s8, 0
        s_cbranch_scc1 1b
    """
    # the load of one turn is used by the next one
    assert told(checked(LANE + loop.format(wait="s_nop 0"))) == [("check.raw", 4, 6)]
    moved = loop.replace("v_add_u32_e32 v3, v0, v2\n        {wait}", f"{VM}\n        v_add_u32_e32 v3, v0, v2")
    assert told(checked(LANE + moved)) == []


def test_what_is_late_is_poison() -> None:
    code = (
        LANE
        + "global_load_dword v2, v1, s[0:1]\n v_add_u32_e32 v3, 0, v2\n global_store_dword v1, v3, s[0:1] offset:1024"
    )
    image = Image(poison=0x5A)
    image, _ = run(code, image, checking=Checking(EVERYWHERE))
    assert (image.words(1024, 64) == 0x5A5A5A5A).all()


# --- registers nobody wrote
@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("s_add_u32 s9, s20, 1", [("check.undefined", 0, None)]),
        ("v_mov_b32_e32 v5, v7", []),
        ("v_add_u32_e32 v5, v7, v0", [("check.undefined", 0, None)]),
        ("v_pk_add_f16 v5, v7, v0", []),
        ("ds_write_b32 v4, v0", [("check.undefined", 0, None)]),
        ("v_mov_b32_e32 v4, 0\n ds_write_b32 v4, v5", [("check.undefined", 1, None)]),
        ("v_mov_b32_e32 v4, 0\n global_load_dword v5, v4, s[6:7]", [("check.undefined", 1, None)]),
        ("s_cbranch_vccnz 1f\n s_nop 0\n1:", [("check.undefined", 0, None)]),
        ("v_cmp_eq_u32_e32 vcc, 0, v0\n s_cbranch_vccnz 1f\n s_nop 0\n1:", []),
        ("s_mov_b32 s20, 1\n s_branch 1f\n s_nop 0\n1:\n s_add_u32 s9, s20, s2", []),
    ],
)
def test_registers_that_nobody_wrote(code: str, found: list[object]) -> None:
    scalars = Image()
    scalars.words(0, 2)[:] = [BASE & 0xFFFFFFFF, BASE >> 32]
    execution = run(code, scalars, lds=4096, checking=Checking(EVERYWHERE))[1]
    assert [t for t in told(execution) if t[0] == "check.undefined"] == found


# --- LDS
EXCHANGE = """
    v_and_b32_e32 v0, 0x3ff, v0
    v_lshlrev_b32_e32 v1, 2, v0
    ds_write_b32 v1, v0
    {complete}
    {barrier}
    v_xor_b32_e32 v3, {other}, v1
    ds_read_b32 v4, v3
    {arrived}
    global_store_dword v1, v4, s[0:1] offset:1024
"""
"""Each wave reads what another wave wrote; with `other` below 0x100, what it wrote itself."""
READ, WRITE = 6, 2


def exchange(complete: str = LGKM, barrier: str = "s_barrier", arrived: str = LGKM, other: str = "0x3fc") -> Execution:
    code = EXCHANGE.format(complete=complete, barrier=barrier, arrived=arrived, other=other)
    return checked(code, grid=FOUR_WAVES, lds=1024)


def test_an_exchange_through_lds() -> None:
    assert told(exchange()) == []
    assert told(exchange(arrived="s_nop 0")) == [("check.raw", 8, READ)]
    assert ("check.lds_race", READ, WRITE) in told(exchange(complete="s_nop 0"))
    races = told(exchange(barrier="s_nop 0"))
    assert ("check.lds_race", READ, WRITE) in races and ("check.lds_race", WRITE, READ) in races
    assert told(exchange(complete="s_nop 0", barrier="s_nop 0", other="0xfc")) == []


def test_a_finding_names_wave_lane_and_address() -> None:
    finding = exchange(complete="s_nop 0").findings[0]
    assert dict(finding.facts) == {"workgroup": 0, "wave": 0, "lane": 0, "address": 0x3FC, "other": 3, "earlier": WRITE}
    assert "ds_read_b32 v4, v3" in finding.message and "0x3fc" in finding.message


REUSE = """
    v_and_b32_e32 v0, 0x3ff, v0
    v_lshlrev_b32_e32 v1, 2, v0
    ds_write_b32 v1, v0
    s_waitcnt lgkmcnt(0)
    s_barrier
    v_xor_b32_e32 v3, 0x3fc, v1
    ds_read_b32 v4, v3
    {before}
    s_barrier
    ds_write_b32 v1, {value}
    s_waitcnt lgkmcnt(0)
"""
"""A read whose place is written behind a barrier."""


@pytest.mark.parametrize(
    ("before", "value", "found"),
    [
        (LGKM, "v1", []),
        ("s_nop 0", "v1", [("check.lds_race", 9, 6)]),
        ("s_nop 0", "v0", []),  # what is there already
    ],
)
def test_a_read_must_have_finished_before_its_place_is_written(before: str, value: str, found: list[object]) -> None:
    assert told(checked(REUSE.format(before=before, value=value), grid=FOUR_WAVES, lds=1024)) == found


def test_lds_that_nobody_wrote() -> None:
    code = LANE + "ds_write_b32 v1, v0 offset:256\n ds_read_b64 v[2:3], v1 offset:252\n s_waitcnt lgkmcnt(0)"
    execution = checked(code, lds=1024)
    assert told(execution) == [("check.lds_undefined", 3, None)]
    assert execution.findings[0].facts["address"] == 252 and execution.findings[0].facts["lane"] == 0
    assert told(checked(LANE + f"ds_write_b16 v1, v0\n ds_read_b32 v2, v1\n {LGKM}", lds=256)) != []
    halves = LANE + f"ds_write_b16 v1, v0\n ds_write_b16 v1, v0 offset:2\n ds_read_b32 v2, v1\n {LGKM}"
    assert told(checked(halves, lds=256)) == []


def test_flat_stores_write_lds() -> None:
    code = (
        LANE
        + f"""
        s_mov_b64 s[6:7], src_shared_base
        v_mov_b32_e32 v3, s7
        v_mov_b32_e32 v2, v1
        flat_store_dword v[2:3], v0
        s_waitcnt vmcnt(0) lgkmcnt(0)
        ds_read_b32 v4, v1{{offset}}
        {LGKM}
    """
    )
    assert told(checked(code.format(offset=""), lds=512)) == []
    assert told(checked(code.format(offset=" offset:4"), lds=512)) == [("check.lds_undefined", 7, None)]


def test_waves_may_write_the_same_value_or_other_halves_and_use_atomics() -> None:
    same = "v_mov_b32_e32 v1, 0\n v_mov_b32_e32 v2, 5\n ds_write_b32 v1, v2\n s_waitcnt lgkmcnt(0)"
    assert told(checked(same, grid=FOUR_WAVES, lds=64)) == []
    own = LANE + "v_mov_b32_e32 v2, 0\n ds_write_b32 v2, v0\n s_waitcnt lgkmcnt(0)"
    assert told(checked(own, grid=FOUR_WAVES, lds=64)) == [("check.lds_race", 3, 3)]
    halves = """
        v_and_b32_e32 v0, 0x3ff, v0
        v_and_b32_e32 v1, 63, v0
        v_lshrrev_b32_e32 v2, 6, v0
        v_lshlrev_b32_e32 v1, 2, v1
        v_lshl_add_u32 v1, v2, 1, v1
        ds_write_b16 v1, v0
    """
    assert told(checked(halves, grid=Grid(block=(128, 1, 1)), lds=256)) == []
    count = """
        v_mov_b32_e32 v1, 0
        ds_write_b32 v1, v1
        s_waitcnt lgkmcnt(0)
        s_barrier
        ds_add_u32 v1, v0
    """
    assert told(checked(count, grid=FOUR_WAVES, lds=64)) == []


DMA = """
    v_and_b32_e32 v0, 0x3ff, v0
    v_lshlrev_b32_e32 v1, 2, v0
    v_mov_b32_e32 v5, 0
    s_mov_b32 m0, 0
    global_load_lds_dword v1, s[0:1]
    {wait}
    ds_read_b32 v2, v1
    s_waitcnt lgkmcnt(0)
"""


def test_lds_dma_is_waited_for_by_vmcnt() -> None:
    assert told(checked(DMA.format(wait=VM), lds=256)) == []
    assert told(checked(DMA.format(wait=LGKM), lds=256)) == [("check.lds_pending", 6, 4)]


# --- global memory
def test_bounds_are_those_of_buffers() -> None:
    code = (
        LANE + "global_load_dword v2, v1, s[0:1] offset:1024\n s_waitcnt vmcnt(0)\n"
        "global_store_dword v1, v2, s[0:1] offset:2048"
    )
    buffers = (Span(BASE + 1024, BASE + 1280), Span(BASE + 2048, BASE + 2304))
    assert told(checked(code, spans=buffers)) == []
    execution = checked(code, spans=(Span(BASE + 1024, BASE + 1276), buffers[1]))
    assert told(execution) == [("check.bounds", 2, None)]
    assert execution.findings[0].facts["lane"] == 63 and execution.findings[0].facts["address"] == BASE + 1276
    assert told(checked(code, spans=(buffers[0], Span(BASE + 2048, BASE + 2304, writable=False)))) == [
        ("check.bounds", 4, None)
    ]
    assert told(checked("s_load_dwordx2 s[8:9], s[0:1], 0x3fc\n s_waitcnt lgkmcnt(0)", spans=buffers)) == [
        ("check.bounds", 0, None)
    ]


STORES = "v_mov_b32_e32 v1, 0\n v_mov_b32_e32 v2, {value}\n {store}"


@pytest.mark.parametrize(
    ("value", "store", "found"),
    [
        ("s2", "global_store_dword v1, v2, s[0:1] offset:1024", [("check.global_race", 2, None)]),
        ("5", "global_store_dword v1, v2, s[0:1] offset:1024", []),
        ("s2", "global_atomic_add v1, v2, s[0:1] offset:1024", []),
        ("s2", "global_atomic_add v3, v1, v2, s[0:1] offset:512 sc0\n s_waitcnt vmcnt(0)\n"
               "global_store_dword v1, v2, s[0:1] offset:1024", []),
    ],
)  # fmt: skip
def test_workgroups_must_not_store_different_values_to_one_place(value: str, store: str, found: list[object]) -> None:
    assert told(checked(STORES.format(value=value, store=store), grid=Grid((3, 1, 1)))) == found


def test_findings_repeat_and_do_not_flood() -> None:
    def once() -> list[Finding]:
        return list(exchange(complete="s_nop 0", barrier="s_nop 0").findings)

    assert once() == once() and len(once()) < 10


def test_a_checked_run_computes_the_same() -> None:
    images = [
        run(EXCHANGE.format(complete=LGKM, barrier="s_barrier", arrived=LGKM, other="0x3fc"), Image(), FOUR_WAVES,
            lds=1024, checking=checking)[0]
        for checking in (None, Checking(EVERYWHERE))
    ]  # fmt: skip
    np.testing.assert_array_equal(images[0].data, images[1].data)

"""Changes whose effect on time is certain by construction."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from timing_kit import FakeTrace, loop, replayed, timed

from asmevo.timing import chip
from asmevo.timing.traffic import MemoryView
from programs import program_from_text

ADD = "v_add_f32_e32 v{0}, v{1}, v{2}"
LOAD = "buffer_load_dwordx4 v[0:3], v200, s[4:7], 0 offen"
WAIT = "s_waitcnt vmcnt(0)"


def adds(count: int, first: int = 20) -> list[str]:
    """Instructions that do not depend on each other."""
    return [ADD.format(first + i, 100, 101) for i in range(count)]


def cycles(lines: list[str], **kwargs: int) -> float:
    return timed("\n".join([*lines, "s_endpgm"]), **{"waves": 1, **kwargs}).cycles


@pytest.mark.parametrize("n", [0, 1, 7, 15])
def test_a_nop_costs_its_wait_states(n: int) -> None:
    assert cycles([*adds(2), f"s_nop {n}", *adds(2)]) - cycles(adds(4)) == 4 * (n + 1)


def test_a_sleep_costs_64_clocks_a_unit() -> None:
    assert cycles(["s_sleep 2"]) - cycles(["s_nop 0"]) == 128


def test_a_load_hoisted_over_work_hides_it() -> None:
    late = cycles([*adds(60), LOAD, WAIT, *adds(4, 0)])
    early = cycles([LOAD, *adds(60), WAIT, *adds(4, 0)])
    assert late - early == pytest.approx(60 * 4, abs=4)


@settings(max_examples=25, deadline=None)
@given(before=st.integers(0, 30), moved=st.integers(0, 30))
def test_a_wait_placed_later_is_not_slower(before: int, moved: int) -> None:
    early = cycles([LOAD, *adds(before), WAIT, *adds(moved, 60)])
    late = cycles([LOAD, *adds(before), *adds(moved, 60), WAIT])
    assert late <= early


def test_a_weaker_wait_is_faster_when_the_last_load_is_not_needed() -> None:
    body = [LOAD, *adds(200), "buffer_load_dwordx4 v[4:7], v200, s[4:7], 0 offen"]
    assert cycles([*body, "s_waitcnt vmcnt(1)", *adds(5)]) + 500 < cycles([*body, "s_waitcnt vmcnt(0)", *adds(5)])


def test_a_wait_for_lgkm_does_not_wait_for_vector_memory() -> None:
    text = [LOAD, "ds_read_b32 v8, v9"]
    work = ["v_exp_f32_e32 v9, v8"] * 50
    lgkm, vm = (cycles([*text, f"s_waitcnt {name}(0)", *work]) for name in ("lgkmcnt", "vmcnt"))
    assert lgkm < 900 < 1400 < vm


def test_more_resident_workgroups_hide_latency() -> None:
    body = loop([LOAD, WAIT, *adds(40, 0)])
    few = timed(body, 20, workgroups=304 * 8, vgpr_alloc=512)
    many = timed(body, 20, workgroups=304 * 8, vgpr_alloc=128)
    assert (few.occupancy.workgroups, many.occupancy.workgroups) == (1, 4)
    assert many.cycles < 0.5 * few.cycles
    assert many.cycles >= many.bounds.value


def test_more_waves_do_not_speed_up_a_full_matrix_pipe() -> None:
    mfma = [
        f"v_mfma_f32_16x16x32_fp8_fp8 v[{4 * i}:{4 * i + 3}], v[100:101], v[102:103], v[{4 * i}:{4 * i + 3}]"
        for i in range(16)
    ]
    one, two = timed(loop(mfma * 4), 20, waves=4), timed(loop(mfma * 4), 20, waves=8)
    assert two.cycles == pytest.approx(2 * one.cycles, rel=0.05)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_fewer_instructions_of_one_wave_are_not_slower(data: st.DataObject) -> None:
    ops = st.sampled_from(
        [
            "v_add_f32_e32 v1, v2, v3", "v_mul_f32_e32 v2, v1, v1", "v_exp_f32_e32 v3, v2", "s_mov_b32 s2, s3",
            "v_mfma_f32_16x16x32_fp8_fp8 v[4:7], v[10:11], v[12:13], v[4:7]", "v_mov_b32_e32 v9, v4", "s_nop 2",
            "ds_read_b128 v[16:19], v1", "s_waitcnt lgkmcnt(0)", LOAD, "s_waitcnt vmcnt(1)",
            "v_readfirstlane_b32 s4, v1", "s_add_u32 s5, s4, 1",
        ]
    )  # fmt: skip
    lines = data.draw(st.lists(ops, min_size=2, max_size=40))
    removed = data.draw(st.integers(0, len(lines) - 1))
    shorter = [line for i, line in enumerate(lines) if i != removed]
    dropped = lines[removed]
    if dropped.startswith(("ds_", "buffer_")):  # then a later wait for N may wait for an older one
        shorter = [line for line in shorter if not line.startswith("s_waitcnt")]
        lines = [line for line in lines if not line.startswith("s_waitcnt")]
    assert cycles(shorter) <= cycles(lines)


def test_a_dependent_chain_waits_and_independent_work_does_not() -> None:
    chain = ["v_exp_f32_e32 v1, v1"] * 4
    assert cycles([*chain, *adds(1)]) == cycles([f"v_exp_f32_e32 v{i}, v9" for i in range(4)] + adds(1))
    mixed = ["v_readfirstlane_b32 s4, v1", "s_add_u32 s5, s4, 1"]
    independent = ["v_readfirstlane_b32 s4, v1", "s_add_u32 s5, s6, 1"]
    assert cycles([*mixed, "s_nop 0"]) - cycles([*independent, "s_nop 0"]) == 12


@pytest.mark.parametrize(("first", "expected"), [("s_nop 0", 70 * 16 + 700), ("s_setprio 3", 70 * 16)])
def test_a_wave_with_priority_overtakes_older_ones(first: str, expected: int) -> None:
    """The younger wave of each SIMD ends with a load: going first, it waits for it while the older one works."""
    older, younger = ["v_exp_f32_e32 v1, v9"] * 50, ["v_exp_f32_e32 v2, v9"] * 20
    lines = ["s_branch younger", *older, "s_endpgm", "younger:", first, *younger, LOAD, WAIT, "s_endpgm"]
    program = program_from_text("\n".join(lines), lds_size=0)
    middle = 1 + len(older) + 1
    runs = [[(0, 1), (1, middle)], [(0, 1), (middle, len(program.lines))]]
    traces = [FakeTrace(0, w, np.array(runs[w // 4], np.int32)) for w in range(8)]
    assert replayed(program, traces, chip("mi300x"), MemoryView(683, 64.0, 1 << 20)).cycles == pytest.approx(
        expected, rel=0.05
    )


def test_taken_branches_cost_a_refetch() -> None:
    taken = cycles(["s_branch next", "next:", "s_mov_b32 s2, 0"])
    not_taken = cycles(["s_mov_b32 s3, 0", "s_mov_b32 s2, 0"])
    assert taken == not_taken  # the target follows, so nothing has to be fetched
    assert timed(loop("s_nop 0"), 11, waves=1).cycles - timed(loop("s_nop 0"), 1, waves=1).cycles == 10 * (24 + 12)


def test_waves_meet_at_a_barrier() -> None:
    """Every wave waits for the slowest: here all are alike, so a barrier costs little, and no counter is drained."""
    with_barrier = cycles([*adds(10), "s_barrier", *adds(10)], waves=4)
    without = cycles([*adds(10), "s_nop 0", *adds(10)], waves=4)
    assert 0 < with_barrier - without <= 24
    drained = timed("\n".join([LOAD, "s_barrier", *["v_exp_f32_e32 v9, v8"] * 100, "s_endpgm"]), waves=4)
    assert drained.cycles < 1700


def test_the_counter_of_vector_memory_is_full_at_64() -> None:
    small = "buffer_load_ubyte v0, v200, s[4:7], 0 offen"
    jump = cycles([small] * 66) - cycles([small] * 64)
    assert jump > 100
    assert cycles([small] * 64) - cycles([small] * 62) < 20

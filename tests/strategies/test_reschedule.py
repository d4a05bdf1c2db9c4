"""Orders: dependences respected, loads early, waits and nops placed anew."""

from __future__ import annotations

import random
import re
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategy_kit import context, outcomes, results, shown

from asmevo.strategies.bench import Bench
from asmevo.strategies.improve import climb, random_move
from asmevo.strategies.nudge import Nudge
from asmevo.strategies.placement import spaced, with_waits
from asmevo.strategies.reschedule import Reschedule
from asmevo.strategies.schedule import heights, list_schedule, perturbed
from asmevo.strategies.task import free_task, pinned_task

MFMA = "v_mfma_f32_16x16x32_fp8_fp8"
LATE_LOAD = f"""
    {MFMA} v[0:3], v[8:9], v[10:11], 0
    {MFMA} v[4:7], v[8:9], v[10:11], 0
    {MFMA} v[0:3], v[12:13], v[10:11], v[0:3]
    {MFMA} v[4:7], v[12:13], v[10:11], v[4:7]
    global_load_dword v20, v[22:23], off
    s_waitcnt vmcnt(0)
    v_add_u32_e32 v21, v20, v24
    s_nop 5
    v_mul_f32_e32 v25, v0, v0
    v_mul_f32_e32 v26, v4, v4
    s_endpgm
"""


def schedules(text: str, block: int = 0) -> list[list[str]]:
    where = context(text, block)
    bench = Bench(where, partial(free_task, pin_memory=False), fetch=False)
    height = heights(bench.task)
    found = []
    for seed in range(5):
        order = list_schedule(bench.task, perturbed(height, random.Random(seed), 8.0 * seed))
        assert bench.task.is_order(order)
        items = with_waits(where.analyses, where.block, bench.task.ids(order))
        assert items is not None
        result = spaced(where.analyses, {block: items})
        assert result is not None
        found.append(shown(result[0]))
    return found


def test_the_load_goes_first_and_its_wait_stays_in_front_of_the_use() -> None:
    first = schedules(LATE_LOAD)[0]
    assert first[0] == "global_load_dword v20, v[22:23], off"
    assert first.index("s_waitcnt vmcnt(0)") + 1 == first.index("v_add_u32_e32 v21, v20, v24")


def test_nops_keep_the_matrix_results_away_from_their_readers() -> None:
    """Between the last product into a register and its first plain reader stand 7 wait states (LLVM, xdl 4 passes)."""
    for text in schedules(LATE_LOAD):
        for register, reader in (("v[0:3]", "v_mul_f32_e32 v25, v0, v0"), ("v[4:7]", "v_mul_f32_e32 v26, v4, v4")):
            end = text.index(reader)
            begin = max(i for i, line in enumerate(text[:end]) if line.startswith(f"{MFMA} {register}"))
            states = sum(int(x.split()[1]) + 1 if x.startswith("s_nop") else 1 for x in text[begin + 1 : end])
            assert states >= 7


def test_reschedule_and_nudge_propose_faster_orders_first() -> None:
    for strategy in (Reschedule(), Nudge()):
        note, after = next(outcomes(strategy, context(LATE_LOAD)))
        before, now = map(int, re.findall(r"paced (\d+) to (\d+) clocks", note)[0])
        assert now < before
        assert shown(after).index("global_load_dword v20, v[22:23], off") < 4


def test_nothing_to_gain_nothing_proposed() -> None:
    assert results(Reschedule(), "v_mov_b32_e32 v0, v1\nv_mov_b32_e32 v2, v0\nv_mov_b32_e32 v3, v2\ns_endpgm") == {}
    assert results(Nudge(), "v_mov_b32_e32 v0, v1\ns_endpgm") == {}


def test_a_barrier_keeps_lds_accesses_and_their_waits() -> None:
    text = """
        ds_write_b32 v0, v1
        s_waitcnt lgkmcnt(0)
        s_barrier
        ds_read_b32 v2, v3
        v_add_u32_e32 v10, v11, v12
        v_add_u32_e32 v13, v10, v12
        s_waitcnt lgkmcnt(0)
        v_add_u32_e32 v4, v2, v13
        s_endpgm
    """
    for found in schedules(text):
        write, barrier, read = (found.index(x) for x in ("ds_write_b32 v0, v1", "s_barrier", "ds_read_b32 v2, v3"))
        assert write < barrier < read
        assert "s_waitcnt lgkmcnt(0)" in found[write:barrier]
        assert "s_waitcnt lgkmcnt(0)" in found[read : found.index("v_add_u32_e32 v4, v2, v13")]


def test_unrolled_copies_get_the_same_order() -> None:
    half = """
        v_mov_b32_e32 v{0}, v9
        s_add_u32 s{0}, s9, 1
        global_load_dword v2{0}, v[6:7], off
        s_waitcnt vmcnt(0)
        v_add_u32_e32 v3{0}, v2{0}, v9
    """
    text = f"loop:{half.format(0)} s_cbranch_scc0 out {half.format(1)} s_cbranch_scc1 loop\nout:\ns_endpgm"
    note, after = next(outcomes(Reschedule(), context(text.replace(" s_cbranch", "\ns_cbranch"))))
    found = shown(after)
    assert "paced" in note
    assert found[0] == "global_load_dword v20, v[6:7], off"
    assert found.index("global_load_dword v21, v[6:7], off") == found.index("s_cbranch_scc0 ->12") + 1


def test_pinned_waits_stay_between_what_they_order() -> None:
    text = """
        global_load_dword v0, v[2:3], off
        global_load_dword v1, v[2:3], off
        v_mov_b32_e32 v9, v8
        s_waitcnt vmcnt(1)
        v_mov_b32_e32 v4, v0
        s_waitcnt vmcnt(0)
        v_mov_b32_e32 v5, v1
        s_endpgm
    """
    where = context(text)
    task = pinned_task(where.analyses, where.block)
    for seed in range(30):
        order = list(range(len(task.lines)))
        for _ in range(20):
            order = random_move(task, order, random.Random(seed))
        place = {task.lines[node].id: at for at, node in enumerate(order)}
        assert place[0] < place[1] < place[3] < place[5]
        assert place[3] < place[4] and place[5] < place[6]


REGISTERS = st.integers(0, 5)
INSTRUCTION = st.one_of(
    st.builds("v_add_u32_e32 v{}, v{}, v{}".format, REGISTERS, REGISTERS, REGISTERS),
    st.builds("v_mov_b32_e32 v{}, s{}".format, REGISTERS, REGISTERS),
    st.builds("s_add_u32 s{}, s{}, s{}".format, REGISTERS, REGISTERS, REGISTERS),
    st.builds("ds_read_b32 v{}, v{}".format, REGISTERS, REGISTERS),
    st.builds("ds_write_b32 v{}, v{}".format, REGISTERS, REGISTERS),
    st.just("s_barrier"),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(INSTRUCTION, min_size=3, max_size=10), st.integers(0, 99))
def test_orders_respect_dependences_and_placed_waits_are_right(body: list[str], seed: int) -> None:
    """Waits for everything in front of everything make any body right; orders of it get waits that are right too."""
    text = "\n".join(f"s_waitcnt vmcnt(0) lgkmcnt(0)\n{line}" for line in body) + "\ns_endpgm"
    where = context(text)
    task, rng = free_task(where.analyses, where.block), random.Random(seed)
    order = list_schedule(task, perturbed(heights(task), rng, 50.0))
    order = climb(task, order, lambda order: sum(i * n for i, n in enumerate(order)), rng, 20)
    assert task.is_order(order)
    items = with_waits(where.analyses, where.block, task.ids(order))
    assert items is not None
    result = spaced(where.analyses, {0: items})
    assert result is not None
    assert where.analyses.placer.is_right(result[0])
    assert where.analyses.analyst.too_close(result[0]) == {}
    assert sorted(i for i in items if isinstance(i, int)) == sorted(line.id for line in task.lines)


def test_contents_with_a_missing_wait_are_refused() -> None:
    where = context(LATE_LOAD)
    ids = list(range(11))
    assert spaced(where.analyses, {0: ids}) is not None
    assert spaced(where.analyses, {0: [i for i in ids if i != 5]}) is None  # no wait for the load
    shorter = spaced(where.analyses, {0: [i for i in ids if i != 7]})
    assert shorter is not None  # 4 states are there already, so 3 do
    assert shown(shorter[0])[7] == "s_nop 2" and len(shorter[0].lines) == len(where.program.lines)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_stream_gives_the_same_proposals(seed: int) -> None:
    one, two = (list(outcomes(Reschedule(), context(LATE_LOAD), seed)) for _ in range(2))
    assert [(note, shown(p)) for note, p in one] == [(note, shown(p)) for note, p in two]

"""Pace against clocks counted by hand: 4 a turn, 16 for a 16x16x32 MFMA and 16 more until it can be read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asmevo.isa import parse_instruction
from asmevo.strategies.cost import Cost, Costs
from asmevo.strategies.pace import Pace, late_flags, table_of
from asmevo.timing import chip

CHIP = chip("mi300x")
COSTS = Costs(CHIP)
PACE = Pace(COSTS)
MFMA = "v_mfma_f32_16x16x32_fp8_fp8"


def clocks(text: str, rounds: int = 1, late: list[bool] | None = None) -> int:
    costs = [COSTS.of(parse_instruction(line.strip())) for line in text.strip().splitlines()]
    return PACE.clocks(table_of(costs), np.arange(len(costs)), np.array(late or [False] * len(costs)), rounds)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v_mov_b32_e32 v0, v1\nv_mov_b32_e32 v2, v0", 8),
        (f"{MFMA} v[0:3], v[8:9], v[10:11], 0\n{MFMA} v[4:7], v[8:9], v[10:11], 0", 16 + 4),
        # an accumulation is forwarded: the pipe is the limit
        (f"{MFMA} v[0:3], v[8:9], v[10:11], 0\n{MFMA} v[0:3], v[8:9], v[10:11], v[0:3]", 16 + 4),
        # a vector instruction runs in the shadow, one that reads the result waits for 16 + 16
        (f"{MFMA} v[0:3], v[8:9], v[10:11], 0\nv_mov_b32_e32 v20, v21", 8),
        (f"{MFMA} v[0:3], v[8:9], v[10:11], 0\nv_mov_b32_e32 v20, v0", 32 + 4),
        # a packed one waits for the pipe to be idle and holds it up for 12
        (f"{MFMA} v[0:3], v[8:9], v[10:11], 0\nv_pk_mul_f32 v[20:21], v[22:23], v[24:25]", 16 + 4),
        ("s_nop 4\nv_mov_b32_e32 v0, v1", 20 + 4),
        ("v_exp_f32_e32 v0, v1\nv_exp_f32_e32 v2, v3", 16 + 4),
        # a vector instruction waits for the end of one on f64 elements, of 8 passes
        ("v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], 0\nv_mov_b32_e32 v20, v21", 32 + 4),
        # a scalar reader of what a vector instruction wrote waits longer than a vector one
        ("v_cmp_lt_u32_e32 vcc, v0, v1\nv_cndmask_b32_e32 v2, v3, v4, vcc", 4 + 4),
        ("v_cmp_lt_u32_e32 vcc, v0, v1\ns_mov_b64 s[0:1], vcc", CHIP.sgpr_result_clk + 4),
        ("s_setprio 3\nv_mov_b32_e32 v0, v1", 8),
    ],
)
def test_counted_by_hand(text: str, expected: int) -> None:
    assert clocks(text) == expected


@pytest.mark.parametrize(
    ("text", "lds", "path"),
    [
        ("ds_read_b32 v0, v1", 2 * 256 // CHIP.lds_read_bytes_per_clk, 0),
        ("ds_write_b32 v1, v0", 2 * CHIP.lds_write_clk_1, 0),
        ("ds_add_u32 v1, v0", 2 * (256 // CHIP.lds_read_bytes_per_clk + CHIP.lds_write_clk_1), 0),
        ("buffer_load_dword v0, v1, s[0:3], 0 offen", 0, 4 * 256 // CHIP.l1_bytes_per_clk),
        ("buffer_load_dword v1, s[0:3], 0 offen lds", 0, 4 * CHIP.lds_dma_clk),
    ],
)
def test_shared_units_are_charged_for_the_waves_beside_it(text: str, lds: int, path: int) -> None:
    cost = COSTS.of(parse_instruction(text))
    assert (cost.lds, cost.path) == (lds, path)


def test_waits_follow_the_order_of_the_queue() -> None:
    load = round(CHIP.hbm_latency_ns * CHIP.clock_ghz)
    two = "global_load_dword v0, v[2:3], off\nglobal_load_dword v1, v[2:3], off\n"
    first, both = clocks(two + "s_waitcnt vmcnt(1)"), clocks(two + "s_waitcnt vmcnt(0)")
    assert load < first < both < load + 100
    assert clocks(two + "s_waitcnt vmcnt(2)") == 12
    assert clocks(two + "s_waitcnt lgkmcnt(0)") == 12


def test_a_loop_is_paced_in_its_steady_state() -> None:
    """The load of one turn is used on the next: the first round does not wait for it, the second does."""
    text = "s_waitcnt vmcnt(0)\nv_mov_b32_e32 v1, v0\nglobal_load_dword v0, v[2:3], off"
    assert clocks(text) == 12
    assert clocks(text, rounds=2) > round(CHIP.hbm_latency_ns * CHIP.clock_ghz)


def test_late_instructions_cost_a_turn() -> None:
    text = "v_mov_b32_e32 v0, v1\nv_mov_b32_e32 v2, v3"
    assert clocks(text, late=[False, True]) == clocks(text) + 4
    sizes = np.array([4, 8, 8, 4, 8, 8], np.int64)
    assert late_flags(sizes, 16, 32).tolist() == [False, False, True, False, False, False]
    assert late_flags(sizes, 4, 32).tolist() == [False, False, False, False, True, False]


def test_waits_yet_to_be_placed_cost_their_turn() -> None:
    """Readers of two operations, in order, need two waits; the other way round one does for both."""
    load = [Cost(writes=(1,), counter=1, path=4, result=0), Cost(writes=(2,), counter=1, path=4, result=0)]
    readers = [Cost(reads=(1,)), Cost(reads=(2,))]
    nodes = table_of([*load, *readers])
    none = np.zeros(4, np.bool_)
    forward = PACE.clocks(nodes, np.array([0, 1, 2, 3]), none)
    backward = PACE.clocks(nodes, np.array([0, 1, 3, 2]), none)
    assert forward == backward + 4


@given(st.permutations(range(6)), st.integers(1, 3))
def test_never_less_than_the_issue_turns(order: list[int], rounds: int) -> None:
    texts = ["v_mov_b32_e32 v0, v1", "s_mov_b32 s0, s1", "ds_read_b32 v2, v3", f"{MFMA} v[4:7], v[8:9], v[10:11], 0",
             "global_load_dword v12, v[14:15], off", "s_waitcnt lgkmcnt(0)"]  # fmt: skip
    table = table_of([COSTS.of(parse_instruction(text)) for text in texts])
    late = np.zeros(6, np.bool_)
    paced = PACE.clocks(table, np.array(order), late, rounds)
    assert paced >= 24
    assert paced == PACE.clocks(table, np.array(order), late, rounds)

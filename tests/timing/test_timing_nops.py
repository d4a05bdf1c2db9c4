"""What taking an s_nop out of a kernel does when several waves share a SIMD.

One wave alone is never later for it, and neither is the oldest wave of a SIMD, which goes first in every turn. All of
them together can be, by a little: which wave gets a unit first changes, and with it how well their work fits together.
That is so for every scheduler that takes the oldest that can go (R. L. Graham, Bounds on multiprocessing timing
anomalies, 1969), on hardware as in the model; so the tests below say how little it is.
"""

from __future__ import annotations

import numpy as np
import pytest
from timing_kit import ANYWHERE, loop, replayed, traces_of

from asmevo.timing import chip
from asmevo.timing.encode import encode_program
from asmevo.timing.grid import GridRun, run_grid
from asmevo.timing.layout import EVENTS
from asmevo.timing.plan import Plan
from asmevo.timing.traces import collect
from asmevo.timing.traffic import MemoryView
from programs import program_from_text

ON = chip("mi300x").with_(fetch_bytes=ANYWHERE)
MEMORY = MemoryView(load_latency=683, bytes_per_clk=20.0, inflight=51200)
PRIVATE = [
    "v_add_f32_e32 v1, v2, v3", "v_mul_f32_e32 v2, v1, v1", "v_mov_b32_e32 v9, v4", "s_mov_b32 s2, s3",
    "v_readfirstlane_b32 s4, v1", "s_add_u32 s5, s4, 1",
]  # fmt: skip
"""Nothing that holds a unit beyond the turn in which it issues."""
ALU = [
    *PRIVATE, "v_exp_f32_e32 v3, v2", "v_mfma_f32_16x16x32_fp8_fp8 v[4:7], v[10:11], v[12:13], v[4:7]",
    "v_pk_fma_f32 v[50:51], v[52:53], v[54:55], v[50:51]",
]  # fmt: skip
LDS = [*PRIVATE[:4], "ds_read_b128 v[16:19], v1", "ds_write_b128 v1, v[16:19]", "s_waitcnt lgkmcnt(1)"]
LOADS = [*ALU[:7], "buffer_load_dwordx4 v[24:27], v200, s[4:7], 0 offen", "s_waitcnt vmcnt(1)"]


def seeded(ops: list[str], seed: int) -> tuple[list[str], list[str]]:
    """A kernel with an s_nop somewhere, and the same without."""
    rng = np.random.default_rng(seed)
    lines = [ops[i] for i in rng.integers(0, len(ops), int(rng.integers(8, 40)))]
    at = int(rng.integers(0, len(lines) + 1))
    return [*lines[:at], f"s_nop {int(rng.integers(0, 16))}", *lines[at:]], lines


def issues(lines: list[str], waves: int) -> GridRun:
    """A replay with all its issues."""
    program = program_from_text("\n".join([*lines, "s_endpgm"]), lds_size=0)
    samples = collect(program, traces_of(program, waves=waves))
    return run_grid(encode_program(program, samples.positions, ON), samples, Plan(1, 1, (0,)), MEMORY, EVENTS)


def cycles(lines: list[str], waves: int, trips: int) -> float:
    program = program_from_text(loop([*lines, "s_waitcnt vmcnt(0) lgkmcnt(0)"]), lds_size=0)
    return replayed(program, traces_of(program, trips, waves=waves), ON, MEMORY).cycles


@pytest.mark.parametrize("seed", range(12))
def test_the_oldest_wave_of_a_simd_is_never_later(seed: int) -> None:
    runs = [issues(lines, 16).events for lines in seeded(PRIVATE, seed)]
    ends = [[int(events[events[:, 0] == wave, 5].max()) for wave in range(4)] for events in runs]
    assert all(without < with_nop for with_nop, without in zip(*ends, strict=True))


@pytest.mark.parametrize("waves", [4, 8, 16])
def test_waves_that_fill_a_unit_are_never_later(waves: int) -> None:
    """Vector instructions that do not depend on each other: the port is never free."""
    for seed in range(4):
        with_nop, without = seeded(["v_add_f32_e32 v1, v2, v3", "v_exp_f32_e32 v4, v2"], seed)
        assert issues(without, waves).cycles <= issues(with_nop, waves).cycles


def test_two_waves_that_take_turns_can_be_later() -> None:
    """Without the nop the younger wave finds its turns one later: both want the vector port, then the older ends."""
    lines = ["v_add_f32_e32 v1, v2, v3", "v_add_f32_e32 v1, v2, v3", "s_mov_b32 s2, s3", "v_add_f32_e32 v1, v2, v3"]
    assert issues(lines, 8).cycles - issues([lines[0], "s_nop 0", *lines[1:]], 8).cycles == 4


@pytest.mark.parametrize(
    ("ops", "waves", "most"), [(ALU, 4, 0.0), (ALU, 8, 0.03), (LDS, 4, 0.01), (LDS, 8, 0.05), (LOADS, 8, 0.03)]
)
def test_loops_are_later_by_little_where_they_are(ops: list[str], waves: int, most: float) -> None:
    """Over ten trips, as a share of the time; on the whole they are earlier."""
    pairs = [[cycles(lines, waves, 10) for lines in seeded(ops, seed)] for seed in range(12)]
    later = [without / with_nop - 1 for with_nop, without in pairs]
    assert max(later) <= most
    assert float(np.mean(later)) < 0

"""LDS bank conflicts: from the addresses of lanes to passes, to clocks, to what an estimate says of them."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from timing_kit import ANYWHERE, launch_of, loop, timed, traces_of

from asmevo.isa import parse_instruction
from asmevo.program import recover
from asmevo.sim import Executable, execute
from asmevo.timing import CAUSES, Accesses, Chip, Estimate, chip, estimate, profile, record, render
from asmevo.timing.banks import NO_ACCESS, SCRATCH, extra_passes, kind_of
from benchmarks.timing_lds import group_cells, stride_cells
from programs import program_from_text
from sim_kernels import Grid, Image, block_cache, kernel

CONFLICT = CAUSES.index("lds_conflict")
FULL = (1 << 64) - 1
CROSSED = [
    {0, 1, 2, 3, 20, 21, 22, 23}, {4, 5, 6, 7, 16, 17, 18, 19},
    {8, 9, 10, 11, 28, 29, 30, 31}, {12, 13, 14, 15, 24, 25, 26, 27},
]  # fmt: skip
GROUPS = {
    "ds_read_b32 v1, v2": (1, [{*range(n, n + 32)} for n in (0, 32)]),
    "ds_read_u16 v1, v2": (1, [{*range(n, n + 32)} for n in (0, 32)]),
    "ds_read_b64 v[4:5], v2": (2, [{*range(n, n + 16)} for n in range(0, 64, 16)]),
    "ds_read2_b64 v[4:7], v2": (2, [{*range(n, n + 16)} for n in range(0, 64, 16)]),
    "ds_read_b96 v[4:6], v2": (3, CROSSED + [{n + 32 for n in g} for g in CROSSED]),
    "ds_read_b128 v[4:7], v2": (4, CROSSED + [{n + 32 for n in g} for g in CROSSED]),
    "ds_write_b32 v2, v1": (1, [{*range(n, n + 32)} for n in (0, 32)]),
    "ds_write_b64 v2, v[4:5]": (2, [{*range(n, n + 16)} for n in range(0, 64, 16)]),
    "ds_write_b96 v2, v[4:6]": (3, [{*range(n, n + 8)} for n in range(0, 64, 8)]),
    "ds_write_b128 v2, v[4:7]": (4, [{*range(n, n + 8)} for n in range(0, 64, 8)]),
    "ds_add_u32 v2, v1": (1, [{*range(n, n + 32)} for n in (0, 32)]),
    "ds_add_u64 v2, v[4:5]": (2, [{*range(n, n + 16)} for n in range(0, 64, 16)]),
}
"""Dwords of a lane, and the lanes that are served together."""


def passes(text: str, addresses: list[int], active: int = FULL, offset: int = 0) -> int:
    signed = active - (1 << 64) if active >> 63 else active
    places = np.array(addresses, np.int64) + offset
    return extra_passes(kind_of(parse_instruction(text)), places, signed, np.zeros(SCRATCH, np.int64))


def expected(text: str, addresses: list[int], active: int, offset: int) -> int:
    dwords, groups = GROUPS[text]
    extra = 0
    for group in groups:
        wanted = [(addresses[n] + offset) // 4 + i for n in group if active >> n & 1 for i in range(dwords)]
        if not text.startswith("ds_add"):
            wanted = [*{*wanted}]
        extra += max((sum(w % 32 == bank for w in wanted) for bank in range(32)), default=0)
        extra -= any(active >> n & 1 for n in group)
    return extra


@settings(deadline=None)  # the first call compiles
@given(
    text=st.sampled_from(sorted(GROUPS)),
    start=st.integers(0, 4096),
    stride=st.sampled_from([0, 2, 4, 8, 12, 16, 64, 128, 132, 256, 272]),
    moved=st.dictionaries(st.integers(0, 63), st.integers(0, 65535), max_size=8),
    active=st.one_of(st.just(FULL), st.integers(0, FULL)),
    offset=st.sampled_from([0, 4, 128, 65532]),
)
def test_passes_are_those_of_the_fullest_bank_of_each_group(
    text: str, start: int, stride: int, moved: dict[int, int], active: int, offset: int
) -> None:
    addresses = [moved.get(n, start + stride * n) for n in range(64)]
    assert passes(text, addresses, active, offset) == expected(text, addresses, active, offset)


def test_usual_layouts() -> None:
    row = [4 * n for n in range(64)]
    assert passes("ds_read_b32 v1, v2", row) == 0 == passes("ds_read_b32 v1, v2", [64] * 64)
    assert passes("ds_read_b32 v1, v2", [128 * n for n in range(64)]) == 2 * 31
    assert passes("ds_read_b128 v[4:7], v2", [16 * n for n in range(64)]) == 0
    assert passes("ds_read_b128 v[4:7], v2", [128 * n for n in range(64)]) == 8 * 7
    assert passes("ds_read_b32 v1, v2", [128 * n for n in range(64)], 0) == 0
    assert passes("ds_add_u32 v2, v1", [64] * 64) == 2 * 31


@pytest.mark.parametrize(
    "text",
    [
        "v_add_f32_e32 v1, v2, v3",
        "scratch_load_dword v1, v2, off",
        "s_load_dword s1, s[4:5], 0x0",
        "ds_bpermute_b32 v1, v2, v3",
        "s_nop 0",
    ],
)
def test_other_instructions_are_no_accesses(text: str) -> None:
    assert kind_of(parse_instruction(text)) == NO_ACCESS


def test_published_groups_are_found_through_simulator_and_model() -> None:
    cells = list(group_cells())
    assert len(cells) == 12 and all(c.measured == c.modelled for c in cells)


def test_published_strides_come_out_right() -> None:
    cells = list(stride_cells())
    assert len(cells) == 14
    assert [c.name for c in cells if not c.within] == [c.name for c in cells if c.cause]
    assert sum(bool(c.cause) for c in cells) == 1


COLUMN = """
    v_and_b32_e32 v0, 0x3ff, v0
    v_lshlrev_b32_e32 v1, 7, v0
    s_mov_b32 s6, 0
1:
    ds_read_b32 v2, v1
    s_waitcnt lgkmcnt(0)
    v_lshlrev_b32_e32 v1, 2, v0
    s_add_u32 s6, s6, 1
    s_cmp_lt_u32 s6, 4
    s_cbranch_scc1 1b
    s_mov_b64 exec, 0xff
    ds_write2_b32 v1, v2, v2 offset1:32
"""
READ, WAIT, WRITE = 3, 4, 10


@cache
def column() -> tuple[Executable, Accesses, Estimate]:
    """One wave reads a column of LDS once and rows three times."""
    executable = Executable.build(recover(kernel(COLUMN, lds=16384)), block_cache())
    done = record(executable, Grid(), Image())
    model = chip("mi300x").with_(fetch_bytes=ANYWHERE)
    return (
        executable,
        done.accesses,
        estimate(executable.program, launch_of(waves=1), done.execution.traces, model, done.accesses),
    )


def test_a_recording_counts_passes_and_executions_of_each_instruction() -> None:
    executable, lds, _ = column()
    assert (lds.executions[READ], lds.passes[READ]) == (4, 62)
    assert (lds.executions[WRITE], lds.passes[WRITE]) == (1, 0)
    assert lds.executions.sum() == 5 and lds.passes.sum() == 62
    image, other = Image(), Image()
    recorded = record(executable, Grid(), image).execution
    plain = execute(executable, Grid(), other, trace=True)
    assert recorded.line_counts == plain.line_counts and (image.data == other.data).all()
    assert [t.runs.tolist() for t in recorded.traces] == [t.runs.tolist() for t in plain.traces]


def test_conflicts_are_a_cause_of_their_own_and_are_told() -> None:
    executable, _, e = column()
    assert e.lds_conflict_cycles == 62  # 62 passes of 2 clocks on one of two ports
    assert e.lines.stall[WAIT, CONFLICT] == 124 and e.lines.stall[:, CONFLICT].sum() == 124
    assert e.lines.idle[WAIT, CONFLICT] == 31  # a quarter of the SIMDs waits
    assert e.lines.cycles.sum() + e.tail_cycles == pytest.approx(e.cycles)
    found = profile(executable.program, e)
    assert "lds_conflict" in found.windows[0].idle
    assert "LDS bank conflicts: " in render(found)
    facts = json.loads(json.dumps(found.to_json()))
    assert facts["estimate"]["lds_conflict_cycles"] == 62
    assert any("bank conflicts of the mean" in text for text in facts["estimate"]["assumptions"])


def test_without_addresses_an_estimate_says_so() -> None:
    e = timed("ds_read_b32 v1, v2\ns_waitcnt lgkmcnt(0)\ns_endpgm")
    assert e.lds_conflict_cycles is None and e.to_json()["lds_conflict_cycles"] is None
    assert any("addresses of lanes are not known" in text for text in e.assumptions)


def cycles(text: str, passes: dict[int, int], on: Chip, trips: int = 1, waves: int = 1) -> Estimate:
    """Modelled time when each execution of the positions makes so many extra passes in the mean."""
    program = program_from_text(text, lds_size=0)
    lds = Accesses(*np.zeros((4, len(program.lines)), np.int64))
    for position, extra in passes.items():
        lds.passes[position], lds.executions[position] = extra, trips * waves
    return estimate(program, launch_of(waves=waves), traces_of(program, trips, waves), on, lds)


@pytest.mark.parametrize("waves", [1, 4, 16])
def test_fractions_of_a_clock_are_carried_over(waves: int) -> None:
    """7 passes in 3 trips: 14 clocks in all, whatever a trip's share."""
    on = chip("mi300x").with_(fetch_bytes=ANYWHERE)
    text = loop(["ds_read_b32 v1, v2", "s_waitcnt lgkmcnt(0)", "s_nop 15"])
    free, slow = (cycles(text, {1: n * waves}, on, 3, waves) for n in (0, 7))
    assert slow.lds_conflict_cycles == pytest.approx(7 * waves, rel=0.01) and free.lds_conflict_cycles == 0
    assert slow.bounds.lds == pytest.approx(free.bounds.lds + 7 * waves, rel=0.01)
    assert slow.cycles > free.cycles and free.lines.stall[:, CONFLICT].sum() == 0


@settings(deadline=None, max_examples=25)
@given(
    st.dictionaries(st.sampled_from([1, 2, 4]), st.integers(0, 200), max_size=3),
    st.integers(1, 8),
    st.integers(1, 4),
)
def test_conflicts_never_make_it_faster_and_all_time_is_shared_out(
    passes: dict[int, int], waves: int, trips: int
) -> None:
    on = chip("mi300x").with_(fetch_bytes=ANYWHERE)
    body = ["ds_read_b128 v[4:7], v1", "ds_write_b32 v1, v2", "v_add_f32_e32 v9, v8, v8", "ds_read_b64 v[10:11], v1"]
    text = loop([*body, "s_waitcnt lgkmcnt(0)"])
    free, e = (cycles(text, p, on, trips, waves) for p in ({}, passes))
    assert e.cycles >= free.cycles
    assert e.lines.cycles.sum() + e.tail_cycles == pytest.approx(e.cycles)
    assert (e.lines.idle >= 0).all() and (e.lines.stall >= 0).all()
    assert (e.lines.stall[:, CONFLICT].sum() > 0) <= any(passes.values())

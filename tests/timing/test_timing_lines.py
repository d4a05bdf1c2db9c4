"""Cache lines of memory accesses: from where lanes lie to lines, to clocks, to what an estimate says of them."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from timing_kit import ANYWHERE, launch_of, loop, traces_of

from asmevo.isa import parse_instruction
from asmevo.program import recover
from asmevo.sim import Executable, execute
from asmevo.timing import Accesses, Chip, Estimate, chip, estimate, profile, record, render
from asmevo.timing.banks import MEMORY_ACCESS, SCRATCH, kind_of, touched_lines
from asmevo.timing.costs import scatter_clocks
from asmevo.timing.shape import shape_of
from benchmarks.timing_lines import line_cells
from programs import program_from_text
from sim_kernels import Grid, Image, block_cache, kernel

FULL = (1 << 64) - 1


def touched(size: int, places: list[int], active: int = FULL) -> tuple[int, int]:
    signed = active - (1 << 64) if active >> 63 else active
    return touched_lines(size, np.array(places, np.int64), signed, np.zeros(SCRATCH, np.int64))


@settings(deadline=None)  # the first call compiles
@given(
    size=st.sampled_from([1, 2, 4, 8, 12, 16]),
    start=st.integers(0, 4096),
    stride=st.sampled_from([0, 1, 2, 4, 8, 16, 20, 64, 128, 132, 4096]),
    moved=st.dictionaries(st.integers(0, 63), st.integers(0, 1 << 40), max_size=8),
    active=st.one_of(st.just(FULL), st.integers(0, FULL)),
)
def test_each_line_counts_once(size: int, start: int, stride: int, moved: dict[int, int], active: int) -> None:
    places = [moved.get(n, start + stride * n) for n in range(64)]
    words = {(places[n] + i) // 4 for n in range(64) if active >> n & 1 for i in range(size)}
    lines = {word // 32 for word in words}
    whole = [line for line in lines if words.issuperset(range(32 * line, 32 * line + 32))]
    assert touched(size, places, active) == (len(lines), len(whole))


def test_usual_layouts() -> None:
    assert touched(4, [4 * n for n in range(64)]) == (2, 2)
    assert touched(16, [16 * n for n in range(64)]) == (8, 8)
    assert touched(16, [16 * n + 64 for n in range(64)]) == (9, 7)
    assert touched(4, [512] * 64) == (1, 0)
    assert touched(4, [128 * n for n in range(64)]) == (64, 0)
    assert touched(4, [0] * 64, 0) == (0, 0)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("global_load_dwordx4 v[4:7], v2, s[4:5]", 16), ("flat_store_dwordx2 v[2:3], v[4:5]", 8),
        ("buffer_load_ubyte v1, v2, s[4:7], 0 offen", 1), ("global_atomic_add v2, v1, s[4:5]", 4),
        ("buffer_load_dword v2, s[4:7], 0 offen lds", 4),
    ],
)  # fmt: skip
def test_vector_instructions_that_use_memory_are_accesses(text: str, size: int) -> None:
    assert kind_of(parse_instruction(text)) == MEMORY_ACCESS + size


CODE = """
    v_and_b32_e32 v0, 0x3ff, v0
    v_lshlrev_b32_e32 v1, 2, v0
    s_mov_b32 s6, 0
1:
    global_load_dword v2, v1, s[0:1]
    v_lshlrev_b32_e32 v1, 7, v0
    s_add_u32 s6, s6, 1
    s_cmp_lt_u32 s6, 3
    s_cbranch_scc1 1b
    s_mov_b32 s8, s0
    s_mov_b32 s9, s1
    s_movk_i32 s10, 0x400
    s_mov_b32 s11, 0x20000
    buffer_load_dwordx2 v[4:5], v1, s[8:11], 0 offen
    v_mov_b32_e32 v6, s0
    v_mov_b32_e32 v7, s1
    flat_load_dword v3, v[6:7]
    s_mov_b64 exec, 3
    global_store_dword v1, v2, s[0:1] offset:60
    s_mov_b64 exec, 0
    global_store_dword v1, v2, s[0:1]
"""
LOOPED, BUFFERED, SAME, STORED, NONE = 3, 12, 15, 17, 19


@cache
def recorded() -> tuple[Executable, Accesses, Estimate]:
    executable = Executable.build(recover(kernel(CODE)), block_cache())
    done = record(executable, Grid(), Image())
    assert done.execution.status == "done"
    model = chip("mi300x").with_(fetch_bytes=ANYWHERE)
    e = estimate(executable.program, launch_of(waves=1), done.execution.traces, model, done.accesses)
    return executable, done.accesses, e


def test_a_recording_counts_lines_of_each_instruction() -> None:
    executable, found, _ = recorded()
    rows = {
        i: (int(found.executions[i]), int(found.lines[i]), int(found.whole_lines[i]))
        for i in found.executions.nonzero()[0]
    }
    assert rows == {
        LOOPED: (3, 2 + 64 + 64, 2), BUFFERED: (1, 8, 0), SAME: (1, 1, 0), STORED: (1, 2, 0), NONE: (1, 0, 0),
    }  # fmt: skip
    assert not found.passes.any()
    image, other = Image(), Image()
    again = record(executable, Grid(), image).execution
    plain = execute(executable, Grid(), other, trace=True)
    assert again.line_counts == plain.line_counts and (image.data == other.data).all()


def test_lines_are_told() -> None:
    executable, _, e = recorded()
    assert e.scatter_cycles == pytest.approx(3 * (130 / 3 - 4) + 6 - 4, abs=0.02)
    assert e.bounds.l1 == pytest.approx(3 * 4 + 8 + 4 + 4 + 4 + e.scatter_cycles)
    found = profile(executable.program, e)
    text = render(found, listing=True)
    assert "lanes apart in memory: " in text and "lines:43.3 (2 would do)" in text
    assert text.count("would do") == 2
    lines = {line["id"]: line["lines"] for line in json.loads(json.dumps(found.to_json()))["lines"]}
    assert lines[executable.program.lines[BUFFERED].id] == 8


def test_an_access_outside_of_memory_is_still_a_fault() -> None:
    code = "v_lshlrev_b32_e32 v1, 28, v0\nglobal_load_dword v2, v1, s[0:1]"
    executable = Executable.build(recover(kernel(code)), block_cache())
    done = record(executable, Grid(), Image())
    assert done.execution.fault is not None and done.execution.fault.rule == "sim.global"
    assert (done.accesses.executions[1], done.accesses.lines[1]) == (1, 1)  # of the lanes inside


def test_published_bandwidths_come_out_right() -> None:
    cells = list(line_cells())
    assert len(cells) == 10
    assert [c.name for c in cells if not c.within] == [c.name for c in cells if c.cause]
    assert sum(bool(c.cause) for c in cells) == 2


@pytest.mark.parametrize(
    ("text", "lines", "whole", "clocks"),
    [
        ("global_load_dword v1, v2, s[4:5]", 2, 2, 0),
        ("global_load_dword v1, v2, s[4:5]", 1, 0, 0),
        ("global_load_dword v1, v2, s[4:5]", 64, 0, 60),
        ("global_load_dwordx4 v[4:7], v2, s[4:5]", 8, 8, 0),
        ("global_load_dwordx4 v[4:7], v2, s[4:5]", 16, 0, 0),
        ("global_load_dwordx4 v[4:7], v2, s[4:5] nt", 8, 8, 0),
        ("global_load_dwordx4 v[4:7], v2, s[4:5] sc0", 9, 7, 0),
        ("global_load_dwordx4 v[4:7], v2, s[4:5] sc1", 9, 7, 4),
        ("global_store_dwordx4 v2, v[4:7], s[4:5]", 8, 8, 0),
        ("global_store_dword v2, v4, s[4:5]", 16, 0, 44),
        ("global_atomic_add v2, v4, s[4:5]", 64, 0, 188),
        ("buffer_load_dword v2, s[4:7], 0 offen lds", 10, 0, 0),
        ("ds_read_b32 v1, v2", 0, 0, 0),
        ("s_load_dword s1, s[4:5], 0x0", 0, 0, 0),
    ],
)
def test_side_by_side_costs_its_bytes_and_apart_its_lines(text: str, lines: int, whole: int, clocks: int) -> None:
    assert scatter_clocks(shape_of(parse_instruction(text)), lines, whole, chip("mi300x")) == clocks


def timed_with(lines: dict[int, tuple[int, int]], waves: int, trips: int, on: Chip) -> Estimate:
    """Modelled time of a loop when the positions touched so many lines, some as a whole, over all their executions."""
    body = ["global_load_dword v4, v1, s[4:5]", "global_store_dword v1, v2, s[4:5]", "v_add_f32_e32 v9, v8, v8"]
    program = program_from_text(loop([*body, "s_waitcnt vmcnt(0)"]), lds_size=0)
    found = Accesses(*np.zeros((4, len(program.lines)), np.int64))
    for position, (touched_, whole) in lines.items():
        found.lines[position], found.whole_lines[position] = touched_, whole
        found.executions[position] = trips * waves
    return estimate(program, launch_of(waves=waves), traces_of(program, trips, waves), on, found)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 500), st.integers(0, 500), st.integers(1, 8), st.integers(1, 4))
def test_lines_never_make_it_faster_and_all_time_is_shared_out(load: int, store: int, waves: int, trips: int) -> None:
    on = chip("mi300x").with_(fetch_bytes=ANYWHERE)
    free, e = (timed_with(lines, waves, trips, on) for lines in ({}, {1: (load, 0), 2: (store, 0)}))
    assert e.cycles >= free.cycles and free.scatter_cycles == 0
    assert e.lines.cycles.sum() + e.tail_cycles == pytest.approx(e.cycles)
    expected = max(0, load - 4 * waves * trips) + max(0, 3 * store - 4 * waves * trips)
    assert e.scatter_cycles == pytest.approx(expected, abs=2 * waves * trips / 256)
    assert e.bounds.l1 == pytest.approx(8 * waves * trips + expected, abs=2 * waves * trips / 256)

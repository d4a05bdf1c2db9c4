from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from timing_kit import FakeTrace, launch_of, loop, runs_of, timed, traces_of

from asmevo.timing import CAUSES, Chip, Estimate, chip, estimate, plan, traces_needed
from asmevo.timing.traces import collect
from asmevo.verdict import InputError, UnsupportedError
from programs import program_from_text

BODY = [
    "buffer_load_dwordx4 v[0:3], v200, s[4:7], 0 offen",
    "ds_read_b128 v[4:7], v201",
    "s_waitcnt vmcnt(0) lgkmcnt(0)",
    "v_mfma_f32_16x16x32_fp8_fp8 v[8:11], v[0:1], v[4:5], v[8:11]",
    "v_exp_f32_e32 v12, v13",
    "s_barrier",
]


def test_the_same_input_gives_the_same_cycles() -> None:
    first, second = (timed(loop(BODY), 30, workgroups=700, vgpr_alloc=128) for _ in range(2))
    assert first.to_json() == second.to_json()
    for name in ("count", "turns", "idle", "stall"):
        assert np.array_equal(getattr(first.lines, name), getattr(second.lines, name))


@settings(max_examples=25, deadline=None)
@given(
    body=st.lists(st.sampled_from(BODY), min_size=1, max_size=12),
    waves=st.integers(1, 8),
    trips=st.integers(1, 6),
    workgroups=st.integers(1, 1500),
)
def test_the_time_of_all_simds_is_shared_out_completely(
    body: list[str], waves: int, trips: int, workgroups: int
) -> None:
    e = timed(loop([*body, "s_waitcnt vmcnt(0) lgkmcnt(0)"]), trips, waves=waves, workgroups=workgroups)
    assert e.lines.cycles.sum() + e.tail_cycles == pytest.approx(e.cycles)
    assert sum(e.heat().values()) <= 1 + 1e-9
    assert e.cycles >= e.bounds.value * 0.999
    assert (e.lines.idle >= 0).all() and (e.lines.stall >= 0).all()
    json.dumps(e.to_json())


def test_an_estimate_says_that_it_is_modelled() -> None:
    e = timed("s_endpgm")
    facts = e.to_json()
    assert (e.source, facts["source"]) == ("modelled", "modelled")
    assert e.clock_status.startswith("assumed") and facts["assumptions"]
    assert e.microseconds == pytest.approx(4.0 + e.cycles / 2.1e3)


@pytest.mark.parametrize("edit", ["", "s_nop 7\n"])
def test_stalls_are_charged_to_the_waiting_line(edit: str) -> None:
    e = timed(f"{edit}buffer_load_dword v1, v200, s[4:7], 0 offen\ns_waitcnt vmcnt(0)\ns_endpgm", waves=1)
    at = next(i for i, line in enumerate(e.code.program.lines) if "vmcnt" in line.instruction.text)
    column = CAUSES.index("vmcnt")
    assert e.lines.stall[at, column] > 600
    assert e.lines.stall[:, column].sum() == e.lines.stall[at, column]
    assert e.lines.stall[:, CAUSES.index("nop")].sum() == (28 if edit else 0)


def test_what_other_waves_hide_is_a_stall_but_not_idle_time() -> None:
    """Two waves of a SIMD alternate on the matrix pipe: each waits, the SIMD does not idle for lack of results."""
    chain = ["v_mfma_f32_16x16x32_fp8_fp8 v[0:3], v[100:101], v[102:103], v[0:3]"] * 40
    two = timed("\n".join([*chain, "s_endpgm"]), waves=8)
    busy = CAUSES.index("mfma")
    assert two.lines.stall.sum() > two.lines.idle.sum()
    assert two.lines.idle[:, busy].sum() > 0.9 * two.lines.idle.sum()


def test_empty_and_foreign_traces_are_errors() -> None:
    program, launch, on = program_from_text("s_endpgm"), launch_of(), chip("mi300x")
    with pytest.raises(InputError, match="no traces"):
        estimate(program, launch, [], on)
    with pytest.raises(InputError, match="is empty"):
        estimate(program, launch, [FakeTrace(0, 0, np.zeros((0, 2), np.int32))], on)
    with pytest.raises(InputError, match="does not fit the program of 1 lines"):
        estimate(program, launch, [FakeTrace(0, 0, np.array([[0, 2]], np.int32))], on)


def test_half_a_workgroup_is_an_error() -> None:
    program = program_from_text("s_barrier\ns_endpgm", lds_size=0)
    with pytest.raises(InputError, match="have 4 waves, and the traces hold another"):
        estimate(program, launch_of(waves=4), traces_of(program, waves=3), chip("mi300x"))


def test_a_wave_that_ends_early_does_not_hold_up_a_barrier() -> None:
    program = program_from_text("s_cbranch_scc1 out\ns_barrier\nout:\ns_endpgm", lds_size=0)
    whole, short = runs_of(program), np.array([[0, 1], [2, 3]], np.int32)
    traces = [FakeTrace(0, 0, short), *(FakeTrace(0, w, whole) for w in (1, 2, 3))]
    e = estimate(program, launch_of(), traces, chip("mi300x"))
    assert e.lines.count.tolist() == [4, 3, 4]
    assert e.cycles < 100


def test_unknown_instructions_and_classes_are_unknown(mi300x: Chip) -> None:
    program = program_from_text("v_warp_speed v1, v2\ns_endpgm", lds_size=0)
    with pytest.raises(UnsupportedError, match="v_warp_speed"):
        estimate(program, launch_of(), traces_of(program), mi300x)
    skipped = [FakeTrace(0, w, np.array([[1, 2]], np.int32)) for w in range(4)]
    assert estimate(program, launch_of(), skipped, mi300x).cycles > 0  # not executed, not needed
    program = program_from_text("v_exp_f32_e32 v1, v2\ns_endpgm", lds_size=0)
    poor = mi300x.with_(classes={k: v for k, v in mi300x.classes.items() if k != "valu_trans"})
    with pytest.raises(UnsupportedError, match="valu_trans"):
        estimate(program, launch_of(), traces_of(program), poor)


@pytest.fixture
def mi300x() -> Chip:
    return chip("mi300x")


def test_occupancy_and_its_limiter() -> None:
    def of(waves: int = 4, **descriptor: int) -> tuple[int, str]:
        o = timed("s_endpgm", waves=waves, **descriptor).occupancy
        return o.workgroups, o.limiter

    assert of(vgpr_alloc=128) == (4, "registers")
    assert of(vgpr_alloc=130) == (3, "registers")
    assert of(vgpr_alloc=32, lds_size=20000) == (3, "lds")
    assert of(vgpr_alloc=32) == (8, "waves")
    assert of(vgpr_alloc=32, waves=2) == (16, "waves")
    with pytest.raises(InputError, match="Not one workgroup"):
        of(lds_size=70000)


def test_workgroups_go_round_the_chip(mi300x: Chip) -> None:
    program = program_from_text("s_endpgm", lds_size=0)
    alike = collect(program, traces_of(program))
    sizes = (1, 304, 305, 608, 609)
    assert [plan.plan(alike, launch_of(n), 1, mi300x).workgroups for n in sizes] == [1, 1, 2, 2, 3]
    assert traces_needed(launch_of(1)) == (0,)
    assert traces_needed(launch_of(8)) == (1, 3, 5, 7)
    assert traces_needed(launch_of(1000), count=2) == (250, 750)


def test_workgroups_that_leave_at_once_make_room(mi300x: Chip) -> None:
    """The first third of a grid works; a compute unit that got one of these does not get as many of the others."""
    body = "v_exp_f32_e32 v1, v2\n" * 2000
    program = program_from_text(f"s_cbranch_scc1 out\n{body}out:\ns_endpgm", lds_size=0)
    whole, short = runs_of(program), np.array([[0, 1], [2001, 2002]], np.int32)
    traces = [FakeTrace(g, w, whole if g < 304 else short) for g in range(4, 912, 8) for w in range(4)]
    samples = collect(program, traces)
    busy = plan.plan(samples, launch_of(912), 1, mi300x)
    assert busy.workgroups == len(busy.samples) == 1
    assert estimate(program, launch_of(912), traces, mi300x).lines.count[1] == 4


def test_rounds_that_are_not_replayed_follow_the_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    def of_24_rounds() -> Estimate:
        return timed(loop(BODY), 10, workgroups=304 * 24, mebibytes=1, vgpr_alloc=128)

    some = of_24_rounds()
    assert (some.replayed, some.workgroups_of_cu) == (12, 24)
    monkeypatch.setattr(plan, "ROUNDS", 6)
    whole = of_24_rounds()
    assert (whole.replayed, whole.workgroups_of_cu) == (24, 24)
    assert some.cycles == pytest.approx(whole.cycles, rel=0.03)
    assert some.lines.count.tolist() == whole.lines.count.tolist()


def test_the_longest_of_the_samples_counts_where_a_unit_gets_one_workgroup() -> None:
    program = program_from_text(loop("v_add_f32_e32 v1, v2, v3"), lds_size=0)
    traces = [FakeTrace(g, w, runs_of(program, trips)) for g, trips in ((0, 5), (9, 500)) for w in range(4)]
    alone = [t for t in traces if t.workgroup == 9]
    launch = launch_of(10)
    both = estimate(program, launch, traces, chip("mi300x"))
    assert both.cycles == estimate(program, launch, alone, chip("mi300x")).cycles
    assert both.sampled == (0, 9)


def test_bandwidth_of_the_chip_limits_a_copy() -> None:
    """A stream of loads over a large buffer runs at the HBM bandwidth of the table, a small footprint does not."""
    load = [f"buffer_load_dwordx4 v[{4 * i}:{4 * i + 3}], v200, s[4:7], 0 offen" for i in range(16)]
    text = loop([*load, "s_waitcnt vmcnt(8)"])
    stream = timed(text, 16, workgroups=304 * 8, mebibytes=4096, vgpr_alloc=128)
    moved = 304 * 8 * 4 * 16 * 16 * 1024
    assert stream.traffic.requested == stream.traffic.hbm == moved
    assert moved / (stream.cycles / 2.1e9) == pytest.approx(4.2e12, rel=0.1)
    reused = timed(text, 16, workgroups=304 * 8, mebibytes=1, vgpr_alloc=128)
    assert reused.cycles < 0.5 * stream.cycles
    assert reused.traffic.hbm == 1 << 20


def test_a_kernel_ends_with_its_last_store() -> None:
    store = timed("buffer_store_dword v1, v200, s[4:7], 0 offen\ns_endpgm", waves=1)
    assert store.cycles > 500


def test_many_empty_workgroups_take_their_dispatch() -> None:
    """2,097,152 empty workgroups took 1011.7 us on MI300X (mgpusim calibration)."""
    e = timed("s_endpgm", workgroups=2_097_152, vgpr_alloc=32)
    assert e.microseconds == pytest.approx(1011.7, rel=0.1)


def test_a_program_of_another_target_is_not_timed(mi300x: Chip) -> None:
    program = program_from_text("s_nop 0\ns_endpgm", target="gfx950")
    with pytest.raises(UnsupportedError, match="mi300x executes gfx942 code and the object is made for gfx950"):
        estimate(program, launch_of(), traces_of(program), mi300x)


def test_samples_stand_for_the_workgroups_that_are_nearest() -> None:
    program = program_from_text("s_endpgm", lds_size=0)
    samples = collect(program, [FakeTrace(g, 0, runs_of(program)) for g in (2, 5, 6, 12)])
    assert samples.nearest(np.arange(16)).tolist() == [0] * 4 + [1] * 2 + [2] * 3 + [3] * 7
    assert samples.shares(16).tolist() == [4, 2, 3, 7]


def test_traffic_counts_each_sample_as_often_as_it_stands_for_workgroups(mi300x: Chip) -> None:
    body = "global_load_dwordx4 v[4:7], v0, s[2:3]\n"
    program = program_from_text(f"s_cbranch_scc1 out\n{body}out:\ns_endpgm", lds_size=0)
    whole, short = runs_of(program), np.array([[0, 1], [2, 3]], np.int32)
    few = estimate(program, launch_of(100, 1), [FakeTrace(g, 0, whole if g < 8 else short) for g in (7, 8, 99)], mi300x)
    all_ = estimate(
        program, launch_of(100, 1), [FakeTrace(g, 0, whole if g < 8 else short) for g in range(100)], mi300x
    )
    assert few.traffic.reads == all_.traffic.reads == 8 * 1024


def test_the_error_of_sampling_follows_from_how_much_the_samples_differ() -> None:
    program = program_from_text("s_nop 0\n" * 7 + "s_endpgm", lds_size=0)
    alike, other = np.array([[0, 8]], np.int32), np.array([[0, 4]], np.int32)
    one = collect(program, [FakeTrace(0, 0, alike)])
    assert one.error(1) == 0.0 and one.error(2) is None
    assert collect(program, [FakeTrace(g, 0, alike) for g in (1, 5)]).error(8) == 0.0
    mixed = collect(program, [FakeTrace(1, 0, alike), FakeTrace(5, 0, other)])
    assert mixed.error(8) == pytest.approx(8**0.5 / 6 * (3 / 4 / 2) ** 0.5)

from __future__ import annotations

import pytest
from timing_kit import launch_of, loop, traces_of

from asmevo.timing import Ensemble, Timeable, chip, comparison_of, prepare
from asmevo.timing.ensemble import draw
from asmevo.verdict import UsageError
from programs import program_from_text

MI300X = chip("mi300x")
LOAD = "buffer_load_dwordx4 v[0:3], v200, s[4:7], 0 offen"
WORK = [f"v_add_f32_e32 v{20 + i}, v100, v101" for i in range(40)]


def timeable(body: list[str], trips: int = 5) -> Timeable:
    program = program_from_text(loop(body), lds_size=0)
    return Timeable(((prepare(program, launch_of(), traces_of(program, trips), MI300X), 1.0),))


def test_a_draw_lies_within_the_ranges_and_repeats() -> None:
    members = draw(MI300X, 7, 20)
    assert members == draw(MI300X, 7, 20) != draw(MI300X, 8, 20)
    uncertain = [name for name in MI300X.parameters if MI300X.range(name)[0] < MI300X.range(name)[1]]
    assert "lds_latency" in uncertain and "hbm_latency_ns" in uncertain
    for name in MI300X.parameters:
        low, high = MI300X.range(name)
        values = [getattr(member, name) for member in members]
        assert low <= min(values) and max(values) <= high
        if name in uncertain and high - low > 20:
            assert min(values) < low + 0.1 * (high - low) and max(values) > high - 0.1 * (high - low)
    ports = {member.classes["valu_mul"].port for member in members}
    assert ports == {4, 8, 12, 16}
    assert all(m.classes["valu_mul"].result >= m.classes["valu_mul"].port for m in members)


def test_what_is_certain_is_faster_on_all_members() -> None:
    """A load hoisted over work that does not need it."""
    late, early = timeable([*WORK, LOAD, "s_waitcnt vmcnt(0)"]), timeable([LOAD, *WORK, "s_waitcnt vmcnt(0)"])
    found = Ensemble(MI300X, seed=1).compare(late, early)
    assert found.faster and found.share_faster == 1.0 and found.pairs == 20
    assert 1.0 < found.low <= found.speedup <= found.high
    back = Ensemble(MI300X, seed=1).compare(early, late)
    assert not back.faster and back.pairs == 2, "two members of 20 that disagree decide"
    assert Ensemble(MI300X, seed=1).compare(early, late, until_decided=False).pairs == 20


def test_what_rests_on_one_constant_is_not_faster() -> None:
    """By the table v_mul_lo_u32 takes one turn, but its range goes to four, and then the adds are faster."""
    multiply = timeable(["v_mul_lo_u32 v1, v2, v3"] * 20)
    adds = timeable(["v_add_u32_e32 v1, v2, v3", "v_add_u32_e32 v4, v2, v3"] * 20)
    found = Ensemble(MI300X, seed=3).compare(adds, multiply, until_decided=False)
    assert found.speedup > 1.02
    assert found.low < 1.0 < found.high and not found.faster
    assert found == Ensemble(MI300X, seed=3).compare(adds, multiply, until_decided=False)
    assert found.to_json()["faster"] is False


def test_an_interval_leaves_out_a_twentieth_on_either_side() -> None:
    speedups = [1.0 + i / 100 for i in range(20)]
    found = comparison_of("measured", 1.1, speedups, 20)
    assert (found.low, found.high, found.share_faster) == (1.01, 1.18, 0.95)
    assert found.faster and not comparison_of("measured", 1.1, [0.9, *speedups[:-1]], 20).faster


def test_an_empty_ensemble_is_an_error() -> None:
    with pytest.raises(UsageError, match="at least 1"):
        Ensemble(MI300X, size=0)

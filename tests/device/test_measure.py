"""The measurement protocol on planted machines: what is claimed, what is not, and what is not believed."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo.device.measure import (
    Cache,
    Claim,
    LeastTime,
    Plan,
    Sample,
    Series,
    Spending,
    compare,
    control,
    interval,
    log_evidence,
)
from asmevo.device.measure.blocks import Block
from asmevo.device.measure.evidence import decided, log_growth, units
from asmevo.verdict import UsageError
from benchmarks import timing_protocol
from benchmarks.planted_machine import QUIET, ROUGH, PlantedBench, Trouble

EQUAL, FASTER = (100.0, 100.0), (100.0, 98.0)


def bench(times, seed=0, trouble=QUIET, **more):
    return PlantedBench(times, np.random.default_rng([seed, 1]), trouble, **more)


def judged(planted, seed=0, **more):
    return compare(planted, more.pop("spending", Spending()), np.random.default_rng([seed, 2]), **more)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(0.0, 1.0, allow_subnormal=False), min_size=1, max_size=8))
def test_the_bets_are_fair_whatever_the_sizes(sizes):
    """Over all outcomes of the coins the evidence is 1 on average: exactly, for any sizes of the ratios."""
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=len(sizes))))
    mean = np.exp(log_evidence(signs * np.array(sizes))).mean(axis=0)
    assert np.allclose(mean, 1.0, atol=1e-9)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(-1000, 1000).map(lambda n: n / 1000), min_size=1, max_size=30))
def test_evidence_block_by_block_is_that_of_all_at_once(found):
    ratios = np.array(found)
    series = Series(bench(EQUAL), Cache.COLD, np.random.default_rng(0))
    for ratio in found:
        pair = (Sample(1.0), Sample(1.0))
        series.add(Block((Sample(math.exp(ratio)), Sample(math.exp(ratio))), pair))
    assert np.allclose(series.ratios, ratios, atol=1e-12)
    assert np.allclose([series.evidence, series.against], [log_evidence(ratios)[-1], log_evidence(-ratios)[-1]])


def test_the_risks_of_all_confirmations_stay_below_the_total():
    spending = Spending(0.01)
    assert sum(spending.next() for _ in range(10_000)) < 0.01
    assert Spending(0.01, used=1).next() == pytest.approx(0.01 / 6)
    with pytest.raises(UsageError):
        Spending(1.5)


@pytest.mark.parametrize("trouble", [QUIET, ROUGH, Trouble(spikes=0.05), Trouble(throttling=0.01, throttled=0.3)])
def test_two_percent_are_found_in_trouble(trouble):
    for seed in range(3):
        found = judged(bench(FASTER, seed, trouble), seed)
        assert found.claim is Claim.FASTER, (found.reason, seed)
        for result in found.results:
            assert result.gain_low <= 0.02 <= result.gain_high and result.gain_low > 0
        assert found.level == 0.0025 and found.samples < 800
        json.dumps(found.to_json(), allow_nan=False)


def test_a_slower_candidate_is_given_up_soon():
    found = judged(bench((100.0, 102.0)))
    assert found.claim is Claim.NOT_SHOWN and found.samples <= 40 and found.level == 0
    assert found.gain < 0


def test_intervals_hold_the_truth():
    rng = np.random.default_rng(5)
    missed = 0
    for _ in range(60):
        found = timing_protocol.ratios(rng, ROUGH, 1, 60, 0.01)[0]
        low, high = interval(found, 0.05)
        missed += not low <= -math.log1p(-0.01) <= high
        assert high - low < 0.02
    assert missed <= 5
    assert interval(np.array([0.1]), 0.05) == (-math.inf, math.inf)


@pytest.mark.parametrize("quantum", [1.0, 4.0, 25.0])
def test_coarse_clocks_make_no_gain(quantum):
    """Samples that the clock cannot tell apart are evidence of nothing."""
    found = judged(bench(EQUAL, quantum=quantum))
    assert found.claim is Claim.NOT_SHOWN
    assert judged(bench(FASTER, quantum=1.0)).claim is Claim.FASTER


def test_a_clock_that_stands_still():
    found = judged(bench((0.2, 0.1), quantum=1.0))
    assert found.claim is Claim.VOID and "0 us is none" in found.reason


def test_the_decisions_of_the_benchmark_are_those_of_the_protocol():
    plan, rng = Plan(), np.random.default_rng(3)
    for gain in (0.0, 0.002, 0.02, -0.01):
        ratios = timing_protocol.ratios(rng, ROUGH, 1, plan.screen_blocks, gain)[0]
        bounded = units(ratios)
        answer, blocks = decided(log_growth(bounded), log_growth(-bounded), 0.05)
        series = Series(bench(EQUAL), Cache.ROTATING, rng)
        for ratio in ratios:
            series.add(Block((Sample(math.exp(ratio)),) * 2, (Sample(1.0),) * 2))
            if series.evidence >= math.log(20) or series.against >= math.log(20):
                break
        assert len(series.blocks) == blocks
        assert answer == (series.evidence >= math.log(20)) - (series.against >= math.log(20))


def test_g16_a_time_below_the_roof_is_not_ranked():
    """100 times faster than the memory allows."""
    least = LeastTime(bytes_written=80e6, peak_bytes=5.3e12)
    assert least.microseconds == pytest.approx(15.09, abs=0.01)
    found = judged(bench((20.0, 0.15)), least=least)
    assert found.claim is Claim.VOID and "0.15 us is less than the 15.09 us" in found.reason


def test_g16_faster_than_a_kernel_that_does_nothing():
    planted = bench((20.0, 19.0))
    planted.floor = lambda: 25.0
    found = judged(planted)
    assert found.claim is Claim.VOID and "does nothing" in found.reason


def test_g17_equal_objects_are_equal_whoever_goes_first():
    """The first sample of a pair is 5 % slower, and buffers used again are 30 % faster."""
    for seed in range(4):
        planted = bench(EQUAL, seed, first_slower=0.05, warm_saving=0.3)
        assert control(planted, np.random.default_rng(seed)) == ""
        found = judged(bench(EQUAL, seed, first_slower=0.05, warm_saving=0.3), seed)
        assert found.claim is Claim.NOT_SHOWN
        assert found.results[0].gain_low < 0 < found.results[0].gain_high


def test_g17_no_set_of_buffers_is_used_twice_in_a_row():
    planted = bench(FASTER, sets=3)
    judged(planted)
    used = [buffers for _, buffers, cache in planted.log if cache is Cache.ROTATING]
    assert all(a != b for a, b in itertools.pairwise(used)) and set(used) == {0, 1, 2}


def test_g18_a_gain_of_warm_caches_only_is_none():
    found = judged(bench(FASTER, cold_times=EQUAL))
    assert found.claim is Claim.NOT_SHOWN and found.reason == "Fresh samples do not confirm the gain."


def test_g19_warm_and_cold_are_both_reported():
    """A candidate with more code: 2 % faster warm, 3 % slower where its code has to be fetched."""
    found = judged(bench(FASTER, cold_times=(120.0, 123.6)))
    assert found.claim is Claim.NOT_SHOWN
    warm, cold = found.results
    assert (warm.cache, cold.cache) == (Cache.ROTATING, Cache.COLD)
    assert warm.gain == pytest.approx(0.02, abs=0.003) and cold.gain == pytest.approx(-0.03, abs=0.004)


def test_g20_other_clocks_are_another_condition():
    found = judged(bench(FASTER, clock=lambda which, _: 2100.0 if which else 2070.0))
    assert found.claim is Claim.VOID and "clocks that differ by 1.4 %" in found.reason
    assert found.clocks.clock_low == 2070.0


def test_g20_a_clock_that_jumps_leaves_nothing_to_compare():
    found = judged(bench(FASTER, clock=lambda _, at: 2100.0 if at % 2 else 1500.0))
    assert found.claim is Claim.VOID and "come to rest" in found.reason
    words = control(bench(EQUAL, clock=lambda _, at: 2100.0 if at % 2 else 1500.0), np.random.default_rng(0))
    assert "come to rest" in words


def test_g20_equal_objects_on_a_throttling_machine():
    for seed in range(10):
        assert control(bench(EQUAL, seed, ROUGH), np.random.default_rng(seed)) == ""
        assert judged(bench(EQUAL, seed, ROUGH), seed).claim is Claim.NOT_SHOWN


def test_a_machine_that_tells_equal_objects_apart_is_named():
    words = control(bench((100.0, 99.0)), np.random.default_rng(0))
    assert words.startswith("The device tells two copies of one object apart, by ")


def test_g21_no_claim_in_200_mutants_that_change_nothing():
    spending = Spending()
    plan = Plan(screen_blocks=16)
    found = [judged(bench(EQUAL, seed), seed, spending=spending, plan=plan) for seed in range(200)]
    assert not any(one.claim is Claim.FASTER for one in found)
    assert spending.used < 20  # about one in twenty looks good at first


def test_g21_a_finalist_is_measured_on_fresh_samples():
    """The candidate seems 5 % faster for as long as it is looked at quickly, and is not."""
    planted = bench(EQUAL, trouble=Trouble(noise=0.005))
    once = Series(planted, Cache.ROTATING, np.random.default_rng(0))
    original = planted.sample

    def lucky(which, buffers, cache):
        sample = original(which, buffers, cache)
        return Sample(sample.microseconds * (0.95 if which and planted.taken <= 40 else 1.0))

    planted.sample = lucky
    once.take()
    assert once.ratios[0] > 0.03
    found = judged(planted)
    assert found.claim is Claim.NOT_SHOWN and found.level > 0
    assert abs(found.gain) < 0.005


def test_g37_both_run_under_the_same_conditions_in_turn():
    planted = bench(FASTER)
    judged(planted)
    for at in range(0, len(planted.log), 4):
        order = "".join("AB"[which] for which, _, _ in planted.log[at : at + 4])
        assert order in ("ABBA", "BAAB")
        assert len({cache for _, _, cache in planted.log[at : at + 4]}) == 1
    orders = ["AB"[planted.log[at][0]] for at in range(0, len(planted.log), 4)]
    assert {"A", "B"} == set(orders)


def test_a_candidate_that_fails_after_timing_is_void():
    asked = []

    def again():
        asked.append(True)
        return "After timing it leaves other bytes."

    found = judged(bench(FASTER), again=again)
    assert found.claim is Claim.VOID and found.reason == "After timing it leaves other bytes." and asked == [True]
    assert judged(bench((100.0, 103.0)), again=again).claim is Claim.NOT_SHOWN and asked == [True]


def test_figures_of_the_benchmark():
    """A small part of `python -m benchmarks.timing_protocol`."""
    runs = timing_protocol.Runs(np.random.default_rng(1), ROUGH, np.zeros(40, np.int64))
    assert not runs.candidates(timing_protocol.ATTEMPTS, 0.0)[0].any()
    claimed, samples = runs.candidates(1, timing_protocol.GAIN)
    assert claimed.mean() >= 0.9 and np.median(samples) < 300

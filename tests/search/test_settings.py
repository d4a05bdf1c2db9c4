"""Settings, random streams and the bandit."""

from __future__ import annotations

import random

import pytest

from asmevo.search import Settings
from asmevo.search.bandit import Arm, Bandit
from asmevo.search.mix import MIXES
from asmevo.search.randomness import stream
from asmevo.strategies import STRATEGIES
from asmevo.verdict import UsageError


def test_json_round_trip() -> None:
    settings = Settings(seed=3, attempts=None, seconds=1.5, strategies=("waits",))
    assert Settings.from_json(settings.to_json()) == settings
    assert Settings.from_json({}) == Settings()


def test_other_results_are_allowed_by_a_bound_only() -> None:
    assert "inexact" not in Settings().to_json() and Settings().allowing(None) == Settings()
    allowed = Settings(attempts=3).allowing(2.0)
    assert allowed.strategies == (*Settings().strategies, "inexact") and allowed.inexact == 2.0
    assert Settings.from_json(allowed.to_json()) == allowed


@pytest.mark.parametrize(
    "values",
    [
        {"attempts": -1}, {"seconds": float("nan")}, {"threshold": 1.0}, {"stall": 0}, {"patience": 0}, {"trims": -1},
        {"temperature": -0.1}, {"slack": 1.0}, {"strategies": []}, {"no_such": 1},
        {"inexact": 0.9},
    ],
)  # fmt: skip
def test_bad_settings_are_a_sentence(values: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=r"search setting"):
        Settings.from_json(values)


def test_streams_depend_on_seed_and_purpose_only() -> None:
    assert stream(1, 0, 5, "draw").random() == stream(1, 0, 5, "draw").random()
    draws = {stream(seed, 0, n, what).random() for seed in range(3) for n in range(10) for what in ("draw", "accept")}
    assert len(draws) == 60
    assert stream(1, 23).random() != stream(12, 3).random()


def test_bandit_prefers_what_paid_and_what_is_hot() -> None:
    bandit = Bandit()
    good, bad, cold = Arm("good", 0), Arm("bad", 0), Arm("good", 1)
    for _ in range(20):
        bandit.learn(good, 1.0)
        bandit.learn(bad, 0.0)
    heat = {0: 0.5, 1: 0.001}
    chosen = [bandit.choose([good, bad, cold], heat, random.Random(n)) for n in range(200)]
    assert chosen.count(good) > 190
    assert bandit.choose([], heat, random.Random(0)) is None
    fresh = [Bandit().choose([good, bad], {0: 1.0}, random.Random(n)) for n in range(200)]
    assert 60 < fresh.count(good) < 140


def test_bandit_does_not_depend_on_the_order_of_arms() -> None:
    arms = [Arm("a", 2), Arm("b", 1), Arm("a", 1)]
    heat = {1: 0.5, 2: 0.5}
    assert Bandit().choose(arms, heat, random.Random(5)) == Bandit().choose(arms[::-1], heat, random.Random(5))


def test_strategies_are_chosen_by_name() -> None:
    assert Settings().strategies == tuple(STRATEGIES) and Settings().with_strategies(None) == Settings()
    assert Settings().with_strategies(["nudge", "waits"]).strategies == ("nudge", "waits")
    assert Settings().allowing(2.0).with_strategies(["inexact"]).strategies == ("inexact",)
    with pytest.raises(UsageError, match="the strategies are reschedule"):
        Settings().with_strategies(["frobnicate"])
    with pytest.raises(UsageError, match="inexact"):
        Settings().with_strategies(["inexact"])


def test_islands_prefer_strategies_that_there_are() -> None:
    assert {name for mix in MIXES for name in mix.weights} <= set(STRATEGIES)

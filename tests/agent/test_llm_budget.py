"""The budget: no limit is passed, whoever asks at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo.agent.llm import Budget, Grant, Limits, Price, Usage

PRICES = {"dear": Price(input=10.0, output=100.0)}
NONE = {"tokens": None, "money": None, "seconds": None, "attempts": None}


def budget(**limits: float | None) -> Budget:
    return Budget(Limits.model_validate(NONE | limits), PRICES)


def test_a_reply_gets_what_is_left() -> None:
    b = budget(tokens=1000)
    grant = b.grant("any", 300, 500)
    assert isinstance(grant, Grant) and grant.output == 500
    b.settle(grant, Usage(310, 90), 1.5)
    assert (b.spent.tokens, b.spent.seconds, b.spent.requests) == (400, 1.5, 1)
    second = b.grant("any", 300, 500)
    assert isinstance(second, Grant) and second.output == 300
    assert "not enough" in str(b.grant("any", 10, 500)), "the rest is set aside"
    b.release(second)
    assert isinstance(b.grant("any", 10, 500), Grant)


def test_money_is_counted_by_the_price_of_the_model() -> None:
    b = budget(money=0.1)
    grant = b.grant("dear", 2000, 4000)
    assert isinstance(grant, Grant) and grant.output == 800
    b.settle(grant, Usage(2000, 800), 0)
    assert b.spent.money == pytest.approx(0.1)
    assert b.refusal() == "the limit of 0.1 USD is used"


@pytest.mark.parametrize(
    ("limit", "said"),
    [("tokens", "tokens is used"), ("seconds", "seconds of waiting is used"), ("attempts", "of models is used")],
)
def test_what_is_used_up_is_named(limit: str, said: str) -> None:
    b = budget(**{limit: 10})
    assert b.refusal() == ""
    b.recall("any", Usage(8, 2), 10.0)
    b.count_attempts(10)
    assert said in b.refusal() and said in str(b.grant("any", 1, 100))


def test_islands_cannot_pass_a_limit_together() -> None:
    b = budget(tokens=50_000)

    def ask(_: int) -> None:
        grant = b.grant("any", 400, 600)
        if isinstance(grant, Grant):
            b.settle(grant, Usage(grant.input, grant.output), 0.0)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, range(400)))
    assert 49_000 < b.spent.tokens <= 50_000


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 900), st.integers(1, 900), st.booleans()), max_size=40))
def test_grants_never_sum_up_to_more_than_the_limit(asks: list[tuple[int, int, bool]]) -> None:
    b = budget(tokens=3000)
    open_grants: list[Grant] = []
    for size, output, close in asks:
        grant = b.grant("any", size, output)
        if isinstance(grant, Grant):
            open_grants.append(grant)
        if close and open_grants:
            done = open_grants.pop(0)
            b.settle(done, Usage(done.input, done.output // 2), 0.0)
        assert b.spent.tokens + sum(g.input + g.output for g in open_grants) <= 3000


@pytest.mark.parametrize(("left", "tries"), [(10_000, 5), (2_400, 4), (1_200, 1), (900, 1)])
def test_every_try_is_set_aside(left: int, tries: int) -> None:
    """A try without an answer may be charged, so a limit allows only as many as it has room for."""
    b = budget(tokens=left)
    grant = b.grant("any", 500, 400, 5)
    assert isinstance(grant, Grant)
    assert (grant.tries, grant.output, grant.input) == (tries, 400, 500 * tries)
    b.settle(grant, Usage(500 * tries, 400), 0)
    assert b.spent.tokens <= left


def test_tries_are_limited_by_money_too() -> None:
    b = budget(money=0.1)  # 0.04 for the reply, 0.02 for each try
    grant = b.grant("dear", 2000, 400, 5)
    assert isinstance(grant, Grant) and grant.tries == 3
    assert grant.money == pytest.approx(0.1)

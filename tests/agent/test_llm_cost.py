"""What models cost in money: a limit that holds for the whole run, through kills and resumes, and is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from llm_kit import SETTINGS, Canned, Ran, llm_folder, run_fake

from asmevo.agent.llm import Asked, Budget, Call, Limits, LlmConfig, Models, Record, Reply, Usage
from asmevo.report import cost_text, summary_text
from asmevo.search import Expense, Update
from asmevo.verdict import UsageError

PRICE = {"input": 10.0, "output": 100.0}
USED = Usage(2000, 50)
EACH = 0.025
"""US dollars for a request that used so many tokens."""
ENOUGH = 0.3
LONG = replace(SETTINGS, attempts=30, stall=100)


def config(money: float | None = None, price: dict[str, float] | None = PRICE, **habits: object) -> LlmConfig:
    models = [{"name": "one", "price": price, "max_output": 64}]
    always = {"rounds": 4, "patience": 4, "conversations": 99, "evolve": 99, "retries": 0, "mistakes": 99}
    return LlmConfig.from_json({"models": models, "habits": always | habits}).with_money(money)


def asking(asked: Asked) -> Reply:
    """A model that looks at registers for ever."""
    return Reply("", (Call("c", "registers", '{"line": 1}'),), USED)


def run(folder: Path, wanted: LlmConfig, model: Canned | None = None, updates: list[Update] | None = None) -> Ran:
    told = updates if updates is not None else []
    return run_fake(folder, (wanted, model or Canned(asking)), LONG, progress=told.append)


def test_models_alone_end_the_search_when_the_money_is_used(tmp_path: Path) -> None:
    ran = run(tmp_path / "run", config(ENOUGH, rules=False))
    cost = ran.summary.cost
    assert cost and cost.limit == ENOUGH
    assert cost.spent == pytest.approx(EACH * ran.report.requests) and ENOUGH / 2 < cost.spent <= ENOUGH
    assert ran.summary.reason == f"nothing new to propose: {cost.refusal}" and "limit of 0.3 USD" in cost.refusal
    assert ran.summary.to_json()["cost"] == {"spent": cost.spent, "limit": ENOUGH, "refusal": cost.refusal}
    assert f"cost  {cost.spent:.4g} of 0.3 USD; models stopped: " in summary_text(ran.summary)


def test_rules_go_on_without_the_models(tmp_path: Path) -> None:
    updates: list[Update] = []
    ran = run(tmp_path / "run", config(ENOUGH), updates=updates)
    assert ran.summary.reason == "budget of 30 attempts used" and ran.summary.attempts == 30
    (stopped,) = [u for u in updates if u.kind == "refusal"]
    assert "limit of 0.3 USD" in stopped.reason and stopped.attempts < 30
    costs = [u.cost.spent for u in updates if u.cost and u.cost.spent is not None]
    assert len(costs) == len(updates) and costs == sorted(costs) and costs[0] == 0.0 < costs[-1] <= ENOUGH


@pytest.mark.parametrize("rules", [True, False])
def test_a_kill_forgets_no_money(tmp_path: Path, rules: bool) -> None:
    """What was under way counts at the most that it may have cost; so nothing is spent beyond the limit."""
    sent = 0

    def dying(asked: Asked) -> Reply:
        nonlocal sent
        sent += 1
        if sent in (2, 4, 5):
            raise KeyboardInterrupt
        return asking(asked)

    folder, wanted = tmp_path / "run", config(ENOUGH, rules=rules)
    for killed in (1, 2, 3):
        with pytest.raises(KeyboardInterrupt):
            run(folder, wanted, Canned(dying))
        assert len(Record(llm_folder(folder)).unanswered()) == killed
    ran = run(folder, wanted, Canned(dying))
    cost = ran.summary.cost
    assert cost and cost.spent and ENOUGH / 2 < cost.spent <= ENOUGH
    answered = EACH * ran.report.requests
    assert ran.report.requests == sent - 3 and cost.spent > answered + 3 * 64 * PRICE["output"] / 1e6
    again = run(folder, wanted, Canned(dying))
    assert again.summary.cost and again.summary.cost.spent == cost.spent and sent == ran.report.requests + 3


def test_a_run_goes_on_with_more_money(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    first = run(folder, config(ENOUGH, rules=False))
    less = run(folder, config(0.1, rules=False))
    assert less.report.requests == first.report.requests and less.report.last == "the limit of 0.1 USD is used"
    more = run(folder, config(2 * ENOUGH, rules=False))
    assert first.summary.cost and more.summary.cost
    assert first.summary.cost.spent and more.summary.cost.spent
    assert first.summary.cost.spent < more.summary.cost.spent <= 2 * ENOUGH


def test_a_new_limit_is_kept_in_the_run(tmp_path: Path) -> None:
    wanted = LlmConfig.from_json({"models": [{"name": "m", "base_url": "http://127.0.0.1:9/v1", "price": PRICE}]})
    folder = tmp_path / "run"
    run_fake(folder, Models(wanted), replace(SETTINGS, attempts=0))
    for money, kept in ((2.5, 2.5), (None, 2.5), (1.0, 1.0)):
        models = Models.of_run(folder, money)
        assert models
        ran = run_fake(folder, models, replace(SETTINGS, attempts=0))
        assert ran.summary.cost == Expense(0.0, kept)


def test_an_unknown_price_is_not_zero(tmp_path: Path) -> None:
    unpriced = config(price=None, rules=False, conversations=1)
    with pytest.raises(UsageError, match=r"every model and one has none; .* price = \{ input = ..., output = ... \}"):
        unpriced.with_money(5.0)
    ran = run(tmp_path / "run", unpriced)
    assert ran.report.money is None and ran.summary.cost and ran.summary.cost.spent is None
    assert "cost  unknown, as a model without a price was asked; models stopped" in summary_text(ran.summary)
    budget = Budget(Limits(money=5.0), {})
    assert budget.grant("one", 10, 10) == "the price of one is not known, so no limit in money holds it"


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (Expense(0.01234567, 5.0), "0.01235 of 5 USD"),
        (Expense(0.0, None), "0 USD"),
        (Expense(1.0, 1.0, "the limit of 1 USD is used"), "1 of 1 USD; models stopped: the limit of 1 USD is used"),
    ],
)
def test_costs_as_text(cost: Expense, text: str) -> None:
    assert cost_text(cost) == text

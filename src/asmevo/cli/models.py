"""Language models on the command line: which are wanted, and what they did."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path

from asmevo.agent.llm import Models, load_config, local
from asmevo.verdict import UsageError


class Driver(StrEnum):
    """Who proposes."""

    RULES = "rules"
    LLM = "llm"
    MIXED = "mixed"


def models_wanted(
    config: Path | None,
    model: str | None,
    base_url: str | None,
    driver: Driver | None,
    replay: Path | None,
    max_cost: float | None,
) -> Models | None:
    """The models that the options name; None where there are none. Raises `UsageError` where they do not fit."""
    ways = [name for name, given in (("--llm", config), ("--model", model), ("--replay", replay)) if given]
    if len(ways) > 1:
        raise UsageError(f"{' and '.join(ways)} name the models twice; give one of them.")
    if base_url and not model:
        raise UsageError("--base-url needs the name of a model that the server has; give it with --model.")
    if not ways:
        if driver in (Driver.LLM, Driver.MIXED):
            raise UsageError(f"--driver {driver} needs a model; name one with --llm, or with --model and --base-url.")
        require_models(None, max_cost)
        return None
    if driver is Driver.RULES:
        raise UsageError(f"--driver rules asks no models; leave out {ways[0]}, or choose llm or mixed.")
    if replay:
        if driver:
            raise UsageError("A replay has the driver of the run that it replays; leave out --driver.")
        if max_cost is not None:
            raise UsageError(
                "A replay asks no models and has the limits of the run that it replays; leave out --max-cost."
            )
        return Models.replaying(replay)
    chosen = load_config(config) if config else local(base_url, model or "")
    if driver:
        habits = chosen.habits.model_copy(update={"rules": driver is Driver.MIXED})
        chosen = chosen.model_copy(update={"habits": habits})
    return Models(chosen.with_money(max_cost))


def require_models(models: Models | None, max_cost: float | None) -> None:
    """Raises `UsageError` for a limit of cost where nothing costs anything."""
    if models is None and max_cost is not None:
        raise UsageError("--max-cost limits what models cost, and this run asks none; leave it out.")


def tell_models(models: Models | None) -> None:
    """Say on stderr what the models did and what they cost."""
    report = models.report if models else None
    if report is None:
        return
    money = ", cost unknown" if report.money is None else f", {report.money:.4g} USD"
    print(
        f"models: {report.conversations} conversations, {report.commits} with a gain; {report.attempts} candidates "
        f"judged; {report.requests} requests, {report.input_tokens} + {report.output_tokens} tokens{money}, "
        f"{report.seconds:.0f} s of waiting; the last ended: {report.last}",
        file=sys.stderr,
    )

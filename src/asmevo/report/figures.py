"""Times as they may be shown: a modelled one always says so, with its chip and clock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from asmevo.search import Expense
from asmevo.store import Attempt
from asmevo.timing import chip


def time_text(microseconds: float | None, source: str) -> str:
    """`modelled 12.34 us`; `-` where there is no time."""
    return "-" if microseconds is None else f"{source} {microseconds:.2f} us"


def verdict_text(facts: Mapping[str, Any]) -> str:
    """`TESTED`, with INEXACT behind it where results are not K0's."""
    return f"{facts['verdict']} INEXACT" if facts.get("inexact") else facts["verdict"]


def inexact_facts(attempt: Attempt) -> dict[str, Any]:
    """`inexact`, with the bound and the largest ratio; nothing where results are K0's."""
    found = attempt.inexact
    return {} if found is None else {"inexact": {key: found[key] for key in ("bound", "largest_ratio")}}


def basis_text(source: str, chip_name: str) -> str:
    """What stands behind the times: chip, clock (those of matrix types where they differ), and what is known of it."""
    if source != "modelled":
        return f"times are {source} on {chip_name}"
    model = chip(chip_name)
    known = (model.clock_ghz, model.clock_status)
    others = [(bits, clocked.clock_ghz, clocked.clock_status) for bits in (8, 16) for clocked in [model.at(bits)]]
    words = "".join(
        f", {ghz:g} for {bits}-bit matrices ({status})" for bits, ghz, status in others if (ghz, status) != known
    )
    return f"times are modelled for {model.name} at {model.clock_ghz:g} GHz (clock {model.clock_status}){words}"


def gain_text(before: float, after: float) -> str:
    """Change of a time as a signed percentage; negative is faster."""
    return f"{100 * (after / before - 1):+.2f} %"


def cost_text(cost: Expense) -> str:
    """`0.0123 of 5 USD`; says so where a price is not known, and why nothing more is spent."""
    spent = "unknown, as a model without a price was asked" if cost.spent is None else f"{cost.spent:.4g}"
    limit = "" if cost.limit is None else f" of {cost.limit:g}"
    unit = "" if cost.spent is None else " USD"
    return f"{spent}{limit}{unit}" + (f"; models stopped: {cost.refusal}" if cost.refusal else "")

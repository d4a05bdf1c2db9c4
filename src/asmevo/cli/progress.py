"""How a search is watched: a live panel on a terminal, JSON lines for programs, or commits only."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict

from rich.console import Console
from rich.live import Live
from rich.table import Table

from asmevo.report import basis_text, cost_text, counts_text, gain_text, time_text
from asmevo.search import Progress, Settings, Update, silent


@contextmanager
def watching(chip: str, settings: Settings, *, quiet: bool, json_lines: bool) -> Generator[Progress]:
    """The display for one search: on stderr, so that stdout keeps the result; JSON lines go to stdout."""
    console = Console(stderr=True)
    if json_lines:
        yield _print_json
    elif quiet:
        yield silent
    elif not console.is_terminal:
        yield lambda update: _print_event(console, update)
    else:
        with Live(console=console, refresh_per_second=4, transient=True) as live:

            def show(update: Update) -> None:
                live.update(_panel(update, chip, settings))
                _print_event(console, update)

            yield show


def _print_json(update: Update) -> None:
    facts = asdict(update) | {"speedup": update.speedup}
    if not update.inexact:
        del facts["inexact"]
    print(json.dumps(facts), flush=True)


def _print_event(console: Console, update: Update) -> None:
    if update.kind == "refusal":
        console.print(f"models stopped: {update.reason}", markup=False, highlight=False, soft_wrap=True)
    if update.kind == "commit":
        console.print(
            f"attempt {update.ordinal}: {time_text(update.microseconds, update.source)} "
            f"({gain_text(update.k0_microseconds, update.best_microseconds)} against K0){_inexact(update)}  "
            f"{update.strategy}: {update.note}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )


def _panel(update: Update, chip: str, settings: Settings) -> Table:
    grid = Table.grid(padding=(0, 2))
    for name, text in (
        ("attempts", f"{_of(update.attempts, settings.attempts)}, {update.commits} commits"),
        ("seconds", _of(round(update.elapsed), settings.seconds)),
        *((("cost", cost_text(update.cost)),) if update.cost else ()),
        ("verdicts", counts_text(update.verdicts) or "-"),
        ("K0", time_text(update.k0_microseconds, update.source)),
        (
            "best",
            f"{time_text(update.best_microseconds, update.source)} "
            f"({gain_text(update.k0_microseconds, update.best_microseconds)})",
        ),
        ("now", f"{update.strategy}: {update.note}{_inexact(update)}" if update.strategy else update.kind),
        ("", basis_text(update.source, chip) + "; Ctrl-C stops, the run can be resumed"),
    ):
        grid.add_row(name, text)
    return grid


def _inexact(update: Update) -> str:
    return " INEXACT" if update.inexact else ""


def _of(count: int, budget: float | None) -> str:
    return str(count) if budget is None else f"{count} of {budget:g}"

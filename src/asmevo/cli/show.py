"""`asmevo show`: what a run did."""

from __future__ import annotations

import time

from asmevo.cli.output import emit
from asmevo.cli.parameters import Json, RunFolder
from asmevo.report import run_facts, run_text
from asmevo.search import run_kernel
from asmevo.store import Store


def show(run: RunFolder, json: Json = False) -> None:
    """Print the lineage of a run: each commit with verdict, modelled gain and diff, and what the strategies tried."""
    with Store.open(run, time.time) as store:
        facts = run_facts(store, run_kernel(store))
    emit(facts, lambda: run_text(facts), json)

"""`asmevo show`: what a run did."""

from __future__ import annotations

import time
from typing import Annotated

from typer import Option

from asmevo.cli.output import emit
from asmevo.cli.parameters import Json, RunFolder
from asmevo.codeobject import CodeObject
from asmevo.program import recover
from asmevo.report import attempt_facts, attempt_text, result_text, run_facts, run_text
from asmevo.search import run_kernel
from asmevo.store import Store
from asmevo.verdict import UsageError


def show(
    run: RunFolder,
    attempt: Annotated[
        int | None, Option("--attempt", "-a", help="Show one attempt in full: idea, checks, change.", min=0)
    ] = None,
    difference: Annotated[bool, Option("--diff", help="Show what the result changes in K0.")] = False,
    json: Json = False,
) -> None:
    """Print what a run tried: every attempt with verdict, speedup or reason, and the lineage of commits."""
    if attempt is not None and difference:
        raise UsageError("--attempt shows the change of that attempt; leave out --diff.")
    with Store.open(run, time.time) as store:
        if attempt is not None:
            program = recover(CodeObject.parse(store.blobs.get(store.run.k0)), run_kernel(store))
            one = attempt_facts(store, program, attempt)
            emit(one, lambda: attempt_text(one), json)
            return
        facts = run_facts(store, run_kernel(store))
    emit(facts, lambda: result_text(facts) if difference else run_text(facts), json)

"""Dropping from the best candidate the edits that do not pay."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from asmevo.edit import from_json
from asmevo.search.draft import build
from asmevo.search.interrupt import Interrupt
from asmevo.search.state import TRIM, Node
from asmevo.search.workbench import Workbench
from asmevo.store import Attempt


def trim(bench: Workbench, interrupt: Interrupt, tell: Callable[[Attempt], None]) -> Node:
    """The best candidate with as few steps from K0 as a small budget finds: at least as fast, and admitted itself.

    A step is what one attempt added. Those that made their parent no faster by the threshold are candidates for
    dropping: first all of them, then one at a time, latest first. Every result is an attempt over K0 with all its
    edits; where nothing can be dropped the best is returned as it is.
    """
    best = bench.state.best
    assert best
    steps = list(bench.store.chain(best.ordinal))
    idle = [step for step in reversed(steps) if not _paid(bench, step)]
    budget = bench.state.settings.trims - sum(a.strategy == TRIM for a in bench.store.attempts())
    trials = [idle, *([step] for step in idle)] if len(idle) > 1 else [idle] if idle else []
    for dropped in trials:
        if budget <= 0 or interrupt.wanted:
            break
        kept = [step for step in steps if step not in dropped]
        if len(kept) == len(steps) or not kept:
            continue
        done = _examine(bench, kept, f"drop {_listed(dropped)}")
        if done is None:
            continue
        budget -= 1
        tell(done)
        if done.microseconds is not None and done.microseconds <= best.microseconds:
            steps, best = kept, Node(done.ordinal, done.microseconds)
    return best


def _paid(bench: Workbench, step: Attempt) -> bool:
    assert step.parent is not None and step.microseconds is not None
    before = bench.store.attempt(step.parent).microseconds
    return before is not None and step.microseconds < before * (1.0 - bench.state.settings.threshold)


def _examine(bench: Workbench, steps: Sequence[Attempt], note: str) -> Attempt | None:
    """Put K0 with these steps' edits through gate and timer; None when they do not apply or are nothing new."""
    edits = tuple(edit for step in steps for edit in step.edits)
    built = build(bench.k0, [from_json(edit) for edit in edits])
    if built.failure or built.sha256 in bench.state.candidates:
        return None
    attempt = Attempt(bench.state.next_ordinal, 0, TRIM, note, edits, built.sha256)
    done, _ = bench.examine(attempt, built)
    return done


def _listed(steps: Sequence[Attempt]) -> str:
    return f"attempt{'s' if len(steps) > 1 else ''} {', '.join(str(s.ordinal) for s in reversed(steps))}"

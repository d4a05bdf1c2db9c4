"""Dropping from the best candidate the edits that do not pay."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from asmevo.edit import from_json
from asmevo.search.building import Built, build
from asmevo.search.node import Node
from asmevo.search.state import TRIM
from asmevo.search.workbench import Workbench
from asmevo.store import Attempt


def trim(bench: Workbench, wanted: Callable[[], bool], tell: Callable[[Attempt], None]) -> Node:
    """The best candidate with as few steps from K0 as a small budget finds: at least as fast, and admitted itself.

    A step is what one attempt added. Those that made their parent no faster by the threshold are candidates for
    dropping: all of them, then halves, and so on down to single ones. Every result is an attempt over K0 with all its
    edits, and one that was tried before, in this process or another, is not tried again; where nothing can be dropped
    the best is returned as it is. Stops when it is no longer `wanted`.
    """
    best = bench.state.best
    assert best
    steps = list(bench.store.chain(best.ordinal))
    groups = [[step for step in steps if not _paid(bench, step)]]
    known = {a.candidate: a for a in bench.store.attempts()}
    budget = bench.state.settings.trims - sum(a.strategy == TRIM for a in known.values())
    while groups and wanted():
        dropped = groups.pop(0)
        kept = [step for step in steps if step not in dropped]
        if not dropped or not kept:
            continue
        built = build(bench.k0, [from_json(edit) for step in kept for edit in step.edits])
        done = known.get(built.sha256)
        if done is None and not built.failure and budget > 0:
            budget -= 1
            done = _examine(bench, kept, built, f"drop {_listed(dropped)}")
            known[done.candidate] = done
            tell(done)
        if done is not None and done.microseconds is not None and done.microseconds <= best.microseconds:
            steps, best = kept, Node(done.ordinal, done.microseconds)
            continue
        if len(dropped) > 1:
            groups += [dropped[len(dropped) // 2 :], dropped[: len(dropped) // 2]]
    return best


def _paid(bench: Workbench, step: Attempt) -> bool:
    assert step.parent is not None and step.microseconds is not None
    before = bench.store.attempt(step.parent).microseconds
    return before is not None and step.microseconds < before * (1.0 - bench.state.settings.threshold)


def _examine(bench: Workbench, steps: Sequence[Attempt], built: Built, note: str) -> Attempt:
    """Put K0 with these steps' edits through gate and timer."""
    edits = tuple(edit for step in steps for edit in step.edits)
    attempt = Attempt(bench.state.next_ordinal, 0, TRIM, note, edits, built.sha256)
    done, _ = bench.examine(attempt, built)
    return done


def _listed(steps: Sequence[Attempt]) -> str:
    return f"attempt{'s' if len(steps) > 1 else ''} {', '.join(str(s.ordinal) for s in steps)}"

"""The result made fit for review: no edit in it that does not pay, and for each of the others what it gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from asmevo.edit import from_json
from asmevo.search.building import Built, build
from asmevo.search.node import Node
from asmevo.search.state import TRIM
from asmevo.search.workbench import Workbench
from asmevo.store import Attempt


@dataclass(frozen=True, slots=True)
class Share:
    """What one step of the result gives, by leaving it out."""

    attempt: int
    """Ordinal of the attempt that brought it."""
    strategy: str
    note: str
    share: float | None
    """Of the whole gain, what is lost without it; None where the others need it or cannot be judged without. Shares do
    not add up to 1 where steps help each other."""


@dataclass(frozen=True, slots=True)
class Trimmed:
    """The result of a run and the steps it is made of."""

    node: Node
    steps: tuple[Attempt, ...]


class Trimmer:
    """Puts K0 with some of the steps of a result through the gate, within a budget, and nothing twice.

    A step is what one attempt added. Every result is an attempt over K0 with all its edits; one that was tried before,
    in this process or another, is not tried again.
    """

    def __init__(self, bench: Workbench, wanted: Callable[[], bool], tell: Callable[[Attempt], None]) -> None:
        self._bench, self._wanted, self._tell = bench, wanted, tell
        self._known = {a.candidate: a for a in bench.store.attempts()}
        self._used = sum(a.strategy == TRIM for a in self._known.values())

    def trim(self) -> Trimmed:
        """The best candidate with as few steps from K0 as the budget finds: at least as fast, and admitted itself.

        Steps that made their parent no faster by the threshold are candidates for dropping: all of them, then halves,
        and so on down to single ones. Where nothing can be dropped the best is returned as it is.
        """
        best = self._bench.state.best
        assert best
        steps = list(self._bench.store.chain(best.ordinal))
        groups = [[step for step in steps if not self._paid(step)]]
        while groups and self._wanted():
            dropped = groups.pop(0)
            kept = [step for step in steps if step not in dropped]
            if not dropped or not kept:
                continue
            done = self._tried(kept, f"drop {_listed(dropped)}", self._bench.state.settings.trims)
            if done is not None and done.microseconds is not None and done.microseconds <= best.microseconds:
                steps, best = kept, Node(done.ordinal, done.microseconds)
                continue
            if len(dropped) > 1:
                groups += [dropped[len(dropped) // 2 :], dropped[: len(dropped) // 2]]
        return Trimmed(best, tuple(steps))

    def shares(self, result: Trimmed) -> tuple[Share, ...]:
        """What each step of the result gives: the result is tried without it, as far as the budget goes."""
        k0, found = self._bench.state.k0, list[Share]()
        assert k0
        whole = k0.microseconds - result.node.microseconds
        for step in result.steps:
            share = 1.0 if len(result.steps) == 1 and whole > 0 else None
            kept = [other for other in result.steps if other is not step]
            if kept and whole > 0 and self._wanted():
                done = self._tried(kept, f"without {_listed([step])}", 2 * self._bench.state.settings.trims)
                if done is not None and done.microseconds is not None:
                    share = (done.microseconds - result.node.microseconds) / whole
            found.append(Share(step.ordinal, step.strategy, step.note, share))
        return tuple(found)

    def _paid(self, step: Attempt) -> bool:
        assert step.parent is not None and step.microseconds is not None
        before = self._bench.store.attempt(step.parent).microseconds
        return before is not None and step.microseconds < before * (1.0 - self._bench.state.settings.threshold)

    def _tried(self, steps: Sequence[Attempt], note: str, budget: int) -> Attempt | None:
        """The attempt of K0 with these steps' edits; None when it cannot be built, or the budget is used."""
        edits: tuple[dict[str, Any], ...] = tuple(edit for step in steps for edit in step.edits)
        built = build(self._bench.k0, [from_json(edit) for edit in edits])
        done = self._known.get(built.sha256)
        if done is None and not built.failure and self._used < budget:
            self._used += 1
            done = self._examined(edits, built, note)
            self._known[done.candidate] = done
            self._tell(done)
        return done

    def _examined(self, edits: tuple[dict[str, Any], ...], built: Built, note: str) -> Attempt:
        attempt = Attempt(self._bench.state.next_ordinal, 0, TRIM, note, edits, built.sha256)
        done, _ = self._bench.examine(attempt, built)
        return done


def _listed(steps: Sequence[Attempt]) -> str:
    return f"attempt{'s' if len(steps) > 1 else ''} {', '.join(str(s.ordinal) for s in steps)}"

"""Islands as functions of attempts: what they accept, where they are sent, and the archive."""

from __future__ import annotations

import random

from asmevo.search import Node, Settings, State
from asmevo.search.archive import Archive
from asmevo.search.mix import MIXES, mix_of
from asmevo.search.state import COMPOSE
from asmevo.store import Attempt, Status
from asmevo.verdict import Verdict

CELL = {"occupancy": 2, "load_distance": 8, "mfma_density": 1, "code_size": 40}


def attempt(ordinal: int, us: float | None, *, parent: int | None = 0, slot: int | None = None, **more) -> Attempt:
    status = Status.REFUSED if us is None else Status.ADMITTED
    verdict = Verdict.REFUTED if us is None else Verdict.TESTED
    edits = ({"kind": "delete", "lines": [ordinal]},)
    island = 0 if slot is None else slot % 2
    given = {"strategy": "waits", "behaviour": CELL, "block": 1, "island": island, "slot": slot, **more}
    return Attempt(ordinal, parent, note="", edits=edits, candidate=f"{ordinal:064x}", status=status, verdict=verdict,
                   microseconds=us, source="modelled", **given)  # fmt: skip


def state(**settings) -> State:
    made = State(Settings(islands=2, ahead=2, patience=2, **settings))
    made.learn(attempt(0, 100.0, parent=None, strategy="k0", block=None))
    return made


def test_a_gain_of_one_island_is_a_step_for_the_others() -> None:
    made = state()
    made.learn(attempt(1, 90.0, slot=0))
    assert made.best == made.islands[0].best == Node(1, 90.0) and made.islands[1].best == Node(0, 100.0)
    made.learn(attempt(2, 95.0, slot=1))
    assert made.steps == [1, 2] and [c.attempt for c in made.commits] == [1]
    made.learn(attempt(3, 86.0, parent=1, slot=3, strategy=COMPOSE, block=None))
    assert made.steps == [1, 2] and made.best == made.islands[1].best == Node(3, 86.0)
    assert made.composed and made.quiet == 0


def test_a_gain_in_doubt_is_no_commit() -> None:
    made = state()
    doubt = {"against": 0, "faster": False, "speedup": 1.02, "low": 0.98, "high": 1.05, "share_faster": 0.8}
    unsure = attempt(1, 90.0, slot=0, comparison=doubt)
    assert made.seems_faster(unsure) and made.commit_of(unsure) is None
    assert made.commit_of(attempt(1, 90.0, slot=0, comparison=doubt | {"faster": True})) is not None


def test_an_island_that_is_stuck_behind_takes_over_the_best_of_all() -> None:
    made = state()
    made.learn(attempt(1, 90.0, slot=0))
    for n, ordinal in enumerate((2, 3)):
        made.learn(attempt(ordinal, None, slot=1 + 2 * n))
    assert made.islands[1].best == Node(1, 90.0)
    (redirect,) = made.redirects
    assert (redirect.island, redirect.to, redirect.ordinal) == (1, 1, 3) and "behind the best" in redirect.reason


def test_an_island_that_is_stuck_ahead_begins_anew_from_another_cell() -> None:
    made = state()
    made.learn(attempt(1, 98.0, slot=0, behaviour=CELL | {"occupancy": 3}))
    made.learn(attempt(2, 97.0, parent=1, slot=2))
    before = made.islands[0].mix
    for n, ordinal in enumerate((3, 4)):
        made.learn(attempt(ordinal, None, parent=2, slot=4 + 2 * n))
    redirect = made.redirects[-1]
    assert redirect.island == 0 and redirect.to == 1 and "archive's cell (3," in redirect.reason
    assert made.islands[0].point == Node(1, 98.0) and made.islands[0].best == Node(2, 97.0)
    assert made.islands[0].mix != before


def test_a_beam_works_on_several_and_greed_takes_nothing_slower() -> None:
    policies = {mix_of(n).policy for n in range(len(MIXES))}
    assert policies == {"annealing", "greedy", "beam"}
    made = State(Settings(islands=3, ahead=3, slack=0.1, temperature=0.5))
    made.learn(attempt(0, 100.0, parent=None, strategy="k0", block=None))
    for ordinal, island in enumerate((1, 2, 1, 2), start=1):
        made.learn(attempt(ordinal, 100.0 + ordinal, island=island))
    greedy, beam = made.islands[1], made.islands[2]
    assert greedy.front == [Node(0, 100.0)]
    assert {node.ordinal for node in beam.front} == {0, 2, 4}


def test_a_slot_without_an_attempt_puts_its_island_to_rest_until_something_changes() -> None:
    made = state()
    made.learn(attempt(1, None, slot=2))
    assert [island.dry for island in made.islands] == [True, True]
    made.learn(attempt(2, 90.0, slot=4))
    assert [island.dry for island in made.islands] == [False, False]
    made.skip(6)
    assert not made.islands[1].dry, "slot 5 was asked for before that"
    made.skip(8)
    assert made.islands[1].dry


def test_the_archive_keeps_the_fastest_of_each_kind() -> None:
    archive = Archive()
    assert archive.add(Node(1, 10.0), CELL) and not archive.add(Node(2, 11.0), CELL) and archive.add(Node(3, 9.0), CELL)
    assert archive.add(Node(4, 20.0), CELL | {"code_size": 41}) and not archive.add(Node(5, 1.0), {})
    assert archive.choose(frozenset({3}), 15.0, random.Random(0)) is None
    found = archive.choose(frozenset(), 15.0, random.Random(0))
    assert found is not None and found[1] == Node(3, 9.0)

"""Forks and replays of recorded runs."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from fakes_search import ALL, K0, FakeGate, PlainTimer, k0_program
from test_optimize import SETTINGS, Rig, lineage

from asmevo.search import Settings, State, Workbench, fork
from asmevo.search.draft import Drafter
from asmevo.search.optimize import follow
from asmevo.store import Store
from asmevo.timing import chip
from asmevo.verdict import InputError, UsageError

RUN = replace(SETTINGS, attempts=30, trims=0)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    Rig(folder, RUN).run(RUN)
    return folder


def test_a_fork_goes_the_same_way_again(run: Path, tmp_path: Path) -> None:
    settings = fork(run, 17, tmp_path / "fork")
    with Store.open(tmp_path / "fork", time.time) as store:
        assert len(store.attempts()) == 18 and store.events()[-1].facts["at"] == 17
    Rig(tmp_path / "fork", settings).run(settings)
    assert lineage(tmp_path / "fork") == lineage(run)


def test_a_fork_with_another_seed_goes_another_way(run: Path, tmp_path: Path) -> None:
    settings = fork(run, 17, tmp_path / "fork", seed=5)
    Rig(tmp_path / "fork", settings).run(settings)
    before, after = ([a for a in lineage(f) if len(a) > 3] for f in (run, tmp_path / "fork"))
    assert before[:18] == after[:18] and before[18:] != after[18:]
    assert verified(tmp_path / "fork") == (30, "")


def test_what_cannot_be_forked(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no finished attempt 99"):
        fork(run, 99, tmp_path / "fork")
    with pytest.raises(InputError, match="holds no run"):
        fork(tmp_path / "none", 0, tmp_path / "fork")
    with pytest.raises(UsageError, match="already holds a run"):
        fork(run, 3, run)


def test_a_fork_is_whole_or_absent(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "event", full)
        with pytest.raises(OSError, match="no space"):
            fork(run, 3, tmp_path / "fork")
    assert not (tmp_path / "fork").exists()
    fork(run, 3, tmp_path / "fork")
    assert [path.name for path in tmp_path.iterdir() if "fork" in path.name] == ["fork"]


def verified(folder: Path) -> tuple[int, str]:
    """What drawing a run again finds."""
    gate = FakeGate(K0.read_bytes())
    program = k0_program()
    with Store.open(folder, time.time) as store:
        settings = Settings.from_json(store.run.settings)
        bench = Workbench(store, gate, PlainTimer(gate), State(settings), lambda: 0.0)
        strategies = {name: ALL[name] for name in settings.strategies}
        drafter = Drafter(program, chip("mi300x"), bench.examination.time, strategies)
        return follow(bench, drafter)


def test_a_run_replays_bit_for_bit(run: Path) -> None:
    assert verified(run) == (30, "")


def test_a_run_that_was_changed_does_not(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "fork"
    fork(run, 30, folder)
    with Store.open(folder, time.time, write=True) as store:
        store._database.update("attempt", "ordinal", {"ordinal": 12, "note": "something else"})
    count, difference = verified(folder)
    assert count == 11 and "something else" in difference

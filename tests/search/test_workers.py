"""Worker processes: the same lineage for any number of them, and what happens when one dies."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from fakes_search import serve
from test_optimize import SETTINGS, Rig, lineage

from asmevo.search.executor import Processes
from asmevo.verdict import EnvironmentError_

FEW = replace(SETTINGS, attempts=24, trims=0)


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers find these modules."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(p for p in sys.path if p))


def mortal(connection: Connection, flag: str) -> None:
    """The first one dies over its first request, the others serve."""
    if not Path(flag).exists():
        connection.recv()
        Path(flag).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    serve(connection, ",".join(FEW.strategies))


def dying(connection: Connection) -> None:
    """Dies over every request."""
    connection.recv()
    os.kill(os.getpid(), signal.SIGKILL)


def stuck(connection: Connection, folder: str) -> None:
    """Writes down that it was started, and never answers."""
    connection.recv()
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(60.0)


def test_closing_ends_what_is_in_flight_and_starts_nothing(tmp_path: Path) -> None:
    executor = Processes(f"test_workers:stuck:{tmp_path}", 1)
    (worker,) = executor._workers
    ticket = executor.examine((), "")
    while not list(tmp_path.iterdir()):
        time.sleep(0.05)
    executor.close()
    with pytest.raises(EnvironmentError_, match="was ended"):
        ticket.result()
    assert worker.starts == 1 and len(list(tmp_path.iterdir())) == 1


def run(folder: Path, target: str, workers: int) -> list[tuple]:
    rig = Rig(folder, FEW)
    with Processes(target, workers) as executor:
        summary = rig.run(FEW, executor=executor, workers=workers)
    assert summary.attempts == 24 and summary.commits
    return lineage(folder)


def test_neither_the_number_of_workers_nor_the_death_of_one_changes_the_lineage(tmp_path: Path) -> None:
    Rig(tmp_path / "here", FEW).run(FEW)
    assert run(tmp_path / "there", f"test_workers:mortal:{tmp_path / 'flag'}", 3) == lineage(tmp_path / "here")
    assert (tmp_path / "flag").exists()


def test_a_worker_that_always_dies(tmp_path: Path) -> None:
    with Processes("test_workers:dying", 1) as executor:
        examined = executor.examine((), "").result()
        assert examined.verdict.value == "UNKNOWN" and examined.microseconds is None
        assert "lost twice" in examined.checks[0]["findings"][0]["message"]
        with pytest.raises(EnvironmentError_, match="lost twice over `draft`"):
            executor.draft(None).result()  # type: ignore[arg-type]

"""The store: what it keeps, what it refuses, what survives a kill."""

from __future__ import annotations

import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from asmevo.store import Attempt, Commit, Run, Status, Store
from asmevo.store import schema as store_schema
from asmevo.verdict import EnvironmentError_, InputError, UsageError, Verdict

K0, LAUNCHES = b"object", b"launches"


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


RUN = Run(sha(K0), sha(LAUNCHES), 7, "mi300x", {"attempts": 5}, {"asmevo": "0.1.0"})


def create(folder: Path) -> Store:
    return Store.create(folder, RUN, [K0, LAUNCHES], count(100.0).__next__)


def attempt(ordinal: int, parent: int | None) -> Attempt:
    edits = ({"kind": "delete", "lines": [ordinal]},)
    return Attempt(ordinal, parent, "waits", f"note {ordinal}", edits, sha(bytes([ordinal])), window=(1, 9))


def admitted(a: Attempt, microseconds: float) -> Attempt:
    checks = ({"name": "static", "verdict": "TESTED"},)
    return replace(
        a, status=Status.ADMITTED, verdict=Verdict.TESTED, checks=checks, microseconds=microseconds, source="modelled"
    )


def fill(store: Store) -> None:
    """K0 in 10 us; 1 commits in 9; 2 (over 1) is refused; 3 (over 1) commits in 8."""
    for ordinal, parent, time_us in ((0, None, 10.0), (1, 0, 9.0), (2, 1, None), (3, 1, 8.0)):
        a = attempt(ordinal, parent)
        store.begin(a)
        if time_us is None:
            store.finish(replace(a, status=Status.REFUSED, verdict=Verdict.REFUTED))
        else:
            number = {1: 1, 3: 2}.get(ordinal)
            store.finish(admitted(a, time_us), Commit(number, ordinal, time_us) if number else None)


def test_round_trip(tmp_path: Path) -> None:
    with create(tmp_path / "run") as store:
        fill(store)
        store.event("stop", 3, {"reason": "budget"})
    with Store.open(tmp_path / "run", time.time) as store:
        assert store.run == RUN
        assert store.blobs.get(RUN.k0) == K0
        assert [a.status for a in store.attempts()] == ["admitted", "admitted", "refused", "admitted"]
        assert store.attempt(1) == admitted(attempt(1, 0), 9.0)
        assert store.commits() == [Commit(1, 1, 9.0), Commit(2, 3, 8.0)]
        assert [a.ordinal for a in store.chain(3)] == [1, 3]
        assert store.chain(0) == ()
        (event,) = store.events()
        assert (event.kind, event.ordinal, event.at, event.facts) == ("stop", 3, 100.0, {"reason": "budget"})
        with pytest.raises(InputError, match="no attempt 9"):
            store.attempt(9)


def test_an_attempt_is_stored_before_its_result_and_redone_when_open(tmp_path: Path) -> None:
    with create(tmp_path / "run") as store:
        fill(store)
        store.begin(attempt(4, 3))
        with Store.open(tmp_path / "run", time.time) as reader:
            assert reader.attempt(4).status is Status.OPEN
    with Store.open(tmp_path / "run", time.time, write=True) as store:
        assert store.discard_open() == 1
        assert store.discard_open() == 0
        assert len(store.attempts()) == 4


def test_what_is_not_evidence_cannot_be_stored(tmp_path: Path) -> None:
    with create(tmp_path / "run") as store:
        fill(store)
        a = attempt(4, 3)
        with pytest.raises(ValueError, match="never begun"):
            store.finish(admitted(a, 7.0))
        store.begin(a)
        with pytest.raises(sqlite3.IntegrityError):  # admitted needs an admitting verdict
            store.finish(replace(admitted(a, 7.0), verdict=Verdict.UNKNOWN))
        with pytest.raises(sqlite3.IntegrityError):  # refused candidates have no time
            store.finish(replace(a, status=Status.REFUSED, microseconds=1.0))
        with pytest.raises(sqlite3.IntegrityError):  # a commit and its attempt go in together, or neither does
            store.finish(admitted(a, 7.0), Commit(3, 99, 7.0))
        assert store.attempt(4).status is Status.OPEN
        assert len(store.commits()) == 2
        with pytest.raises(sqlite3.IntegrityError):  # a parent must exist
            store.begin(attempt(6, 5))


def test_one_writer_many_readers(tmp_path: Path) -> None:
    with create(tmp_path / "run") as store:
        with pytest.raises(EnvironmentError_, match="another process"):
            Store.open(tmp_path / "run", time.time, write=True)
        with Store.open(tmp_path / "run", time.time) as reader:
            fill(store)
            assert len(reader.attempts()) == 4
            with pytest.raises(EnvironmentError_, match="read-only"):
                reader.event("x", 0)
    Store.open(tmp_path / "run", time.time, write=True).close()


def test_locked_database_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with create(tmp_path / "run") as store:
        other = sqlite3.connect(tmp_path / "run" / "run.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        store._database._connection.execute("PRAGMA busy_timeout = 10")
        with pytest.raises(EnvironmentError_, match="locked by another program"):
            store.event("x", 0)
        other.execute("ROLLBACK")
        other.close()
        store.event("x", 0)


def test_full_disk_is_a_sentence_and_keeps_what_was_stored(tmp_path: Path) -> None:
    with create(tmp_path / "run") as store:
        fill(store)
        connection = store._database._connection
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")  # SQLite's own "disk full"
        with pytest.raises(EnvironmentError_, match="no space left"):
            for ordinal in range(4, 500):
                store.begin(replace(attempt(ordinal, 3), note="x" * 4000))
        assert store.attempt(3).microseconds == 8.0
    with Store.open(tmp_path / "run", time.time) as store:
        assert store.commits()[-1].attempt == 3


@pytest.mark.parametrize("damage", [b"not a database at all" * 100, b""])
def test_a_file_that_is_no_run(tmp_path: Path, damage: bytes) -> None:
    create(tmp_path / "run").close()
    (tmp_path / "run" / "run.sqlite").write_bytes(damage)
    for write in (False, True):
        with pytest.raises(InputError, match=r"damaged|holds no run|older"):
            Store.open(tmp_path / "run", time.time, write=write)


def test_a_damaged_page_is_found(tmp_path: Path) -> None:
    with create(tmp_path / "run") as store:
        fill(store)
        for ordinal in range(4, 60):
            store.begin(replace(attempt(ordinal, 3), note="x" * 2000))
    path = tmp_path / "run" / "run.sqlite"
    data = bytearray(path.read_bytes())
    data[8192:] = b"\xa5" * (len(data) - 8192)
    path.write_bytes(data)
    with pytest.raises(InputError, match="damaged"), Store.open(tmp_path / "run", time.time) as store:
        store.attempts()


def test_missing_folder_and_second_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no run"):
        Store.open(tmp_path / "none", time.time)
    create(tmp_path / "run").close()
    with pytest.raises(UsageError, match="already holds a run"):
        create(tmp_path / "run")
    Store.open(tmp_path / "run", time.time, write=True).close()  # the failed create gave the lock back


def test_newer_and_foreign_databases_are_refused(tmp_path: Path) -> None:
    create(tmp_path / "run").close()
    path = tmp_path / "run" / "run.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(InputError, match="newer AsmEvo"):
        Store.open(tmp_path / "run", time.time, write=True)
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE run (x)")
    connection.close()
    with pytest.raises(InputError, match="another program"):
        Store.open(tmp_path / "run", time.time, write=True)


def test_migration_from_an_older_schema(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    connection = sqlite3.connect(path, isolation_level=None)
    steps = ("CREATE TABLE a (x)", "ALTER TABLE a ADD COLUMN y DEFAULT 5", "CREATE TABLE a (z)")
    store_schema.migrate(connection, steps[:1])
    connection.execute("INSERT INTO a VALUES (1)")
    assert store_schema.check(connection, path, newest=2)
    store_schema.migrate(connection, steps[:2])
    assert not store_schema.check(connection, path, newest=2)
    assert connection.execute("SELECT x, y FROM a").fetchall() == [(1, 5)]
    with pytest.raises(sqlite3.OperationalError):  # a step that fails leaves the database as it was
        store_schema.migrate(connection, steps)
    assert not connection.in_transaction
    assert not store_schema.check(connection, path, newest=2)
    connection.close()


WRITER = """
import sys, time
from dataclasses import replace
from pathlib import Path
from asmevo.store import Attempt, Commit, Status, Store
from asmevo.verdict import Verdict
with Store.open(Path(sys.argv[1]), time.time, write=True) as store:
    store.discard_open()
    for n in range(len(store.attempts()), 10_000):
        a = Attempt(n, n - 1 if n else None, "s", "", (), f"{n:064x}")
        store.begin(a)
        done = replace(a, status=Status.ADMITTED, verdict=Verdict.TESTED, microseconds=1000.0 - n, source="modelled")
        store.finish(done, Commit(n, n, 1000.0 - n) if n else None)
        print(n, flush=True)
"""


def test_kill_at_any_moment(tmp_path: Path) -> None:
    """What a writer announced as stored is there after kill -9, and the lineage has no hole."""
    create(tmp_path / "run").close()
    announced = -1
    for delay in (0.0, 0.004, 0.013, 0.03):
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-c", WRITER, str(tmp_path / "run")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as child:
            assert child.stdout
            lines = [child.stdout.readline()]
            time.sleep(delay)
            child.send_signal(signal.SIGKILL)
            lines += child.stdout.read().splitlines(keepends=True)
        whole = [int(line) for line in lines if line.endswith("\n")]
        assert whole[0] in (announced + 1, announced + 2)
        announced = whole[-1]
        with Store.open(tmp_path / "run", time.time) as store:
            attempts, commits = store.attempts(), store.commits()
        assert [a.ordinal for a in attempts] == list(range(len(attempts)))
        done = [a.ordinal for a in attempts if a.status is Status.ADMITTED]
        assert done[-1] in (announced, announced + 1)
        assert [c.attempt for c in commits] == done[1:]
        assert len(attempts) - len(done) in (0, 1)

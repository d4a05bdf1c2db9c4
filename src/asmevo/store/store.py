"""The store of one run: its folder, the attempts and the lineage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from asmevo.store.blobs import Blobs
from asmevo.store.database import Database
from asmevo.store.files import make_folder
from asmevo.store.lock import WriterLock
from asmevo.store.records import Attempt, Commit, Event, Run, Status
from asmevo.store.rows import attempt_of, attempt_row, dump, load, run_of, run_row
from asmevo.verdict import InputError, UsageError

DATABASE, LOCK, BLOBS = "run.sqlite", "run.lock", "blobs"


class Store:
    """A run's memory, in a folder of its own: `run.sqlite`, `blobs/` and `run.lock`.

    Contract: an attempt is stored with `begin` before the gate sees its candidate and with `finish` before anyone uses
    the result; both are transactions, so a process killed at any moment leaves open only those attempts that were under
    way, which `discard_open` removes and the search then makes again. Attempts are finished in the order of their
    ordinals. Attempts have consecutive ordinals from 0 (K0 itself). One
    process writes a run at a time; any number may read it meanwhile. Nothing here interprets edits or checks.

    Errors: `EnvironmentError_` for a full or failing disk and for a run that another process holds; `InputError` for a
    folder without a run and for a damaged, foreign or newer database; `UsageError` for a folder that already has a run.
    """

    def __init__(self, folder: Path, database: Database, run: Run, lock: WriterLock | None, clock: Callable[[], float]):
        self.folder = folder
        self.run = run
        self.blobs = Blobs(folder / BLOBS)
        self._database = database
        self._lock = lock
        self._clock = clock

    @classmethod
    def create(cls, folder: Path, run: Run, blobs: Iterable[bytes], clock: Callable[[], float]) -> Self:
        """Make a run in `folder`, which is made too; `blobs` are K0 and the launches, whose hashes `run` names."""
        make_folder(folder)
        lock = WriterLock(folder / LOCK)
        try:
            kept = {Blobs(folder / BLOBS).put(data) for data in blobs}
            if missing := {run.k0, run.launches} - kept:
                raise ValueError(f"no blob for {missing}")
            database = Database(folder / DATABASE, write=True)
            try:
                if database.rows("SELECT id FROM run"):
                    raise UsageError(f"{folder} already holds a run; resume it, or choose another folder.")
                database.insert("run", {"id": 1, **run_row(run)})
            except BaseException:
                database.close()
                raise
        except BaseException:
            lock.release()
            raise
        return cls(folder, database, run, lock, clock)

    @classmethod
    def open(cls, folder: Path, clock: Callable[[], float], *, write: bool = False) -> Self:
        """Open the run in `folder`, to read it or, with `write`, to go on with it."""
        path = folder / DATABASE
        if not path.is_file():
            raise InputError(f"{folder} holds no run; give a folder made by `asmevo optimize`.")
        lock = WriterLock(folder / LOCK) if write else None
        try:
            database = Database(path, write=write)
            try:
                runs = database.rows("SELECT * FROM run")
                if not runs:
                    raise InputError(f"{folder} holds no run: it was stopped while being made; start it anew.")
                run = run_of(runs[0], path)
            except BaseException:
                database.close()
                raise
        except BaseException:
            if lock:
                lock.release()
            raise
        return cls(folder, database, run, lock, clock)

    def close(self) -> None:
        """Close the database and give up the lock."""
        self._database.close()
        if self._lock:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # attempts

    def begin(self, attempt: Attempt) -> None:
        """Store a new, open attempt."""
        if attempt.status is not Status.OPEN:
            raise ValueError("an attempt begins open")
        self._database.insert("attempt", attempt_row(attempt))

    def finish(self, attempt: Attempt, commit: Commit | None = None) -> None:
        """Store the outcome of an open attempt and, in the same transaction, the commit it led to."""
        if attempt.status is Status.OPEN:
            raise ValueError("a finished attempt is refused or admitted")
        with self._database.transaction():
            if self._database.update("attempt", "ordinal", attempt_row(attempt)) != 1:
                raise ValueError(f"attempt {attempt.ordinal} was never begun")
            if commit:
                row = {"number": commit.number, "attempt": commit.attempt, "microseconds": commit.microseconds}
                self._database.insert("lineage", row)

    def discard_open(self) -> int:
        """Remove attempts that a killed process left open; returns how many there were."""
        return self._database.delete("attempt", "status = ?", (Status.OPEN,))

    def attempts(self) -> list[Attempt]:
        """All attempts, by ordinal."""
        return [
            attempt_of(row, self._database.path)
            for row in self._database.rows("SELECT * FROM attempt ORDER BY ordinal")
        ]

    def attempt(self, ordinal: int) -> Attempt:
        """One attempt. Raises `InputError` when there is none with this ordinal."""
        rows = self._database.rows("SELECT * FROM attempt WHERE ordinal = ?", (ordinal,))
        if not rows:
            raise InputError(f"The run has no attempt {ordinal}; list them with `asmevo show {self.folder}`.")
        return attempt_of(rows[0], self._database.path)

    def chain(self, ordinal: int) -> tuple[Attempt, ...]:
        """The attempts from K0 to this one, K0 left out: their edits, in this order, make its candidate."""
        chain: list[Attempt] = []
        attempt = self.attempt(ordinal)
        while attempt.parent is not None:
            chain.append(attempt)
            attempt = self.attempt(attempt.parent)
        return tuple(reversed(chain))

    def commits(self) -> list[Commit]:
        """The lineage, oldest first."""
        return [
            Commit(*row)
            for row in self._database.rows("SELECT number, attempt, microseconds FROM lineage ORDER BY number")
        ]

    # patterns

    def keep_pattern(self, attempt: int, facts: Mapping[str, Any]) -> None:
        """Store what a commit was, for use on other kernels; once for each."""
        with self._database.transaction():
            self._database.delete("pattern", "attempt = ?", (attempt,))
            self._database.insert("pattern", {"attempt": attempt, "facts": dump(facts)})

    def patterns(self) -> dict[int, Mapping[str, Any]]:
        """By the ordinal of its attempt, each pattern."""
        rows = self._database.rows("SELECT attempt, facts FROM pattern ORDER BY attempt")
        return {row["attempt"]: load(row["facts"], self._database.path) for row in rows}

    # events

    def event(self, kind: str, ordinal: int, facts: Mapping[str, Any] | None = None) -> None:
        """Record that something happened to the run."""
        row = {"kind": kind, "ordinal": ordinal, "at": self._clock(), "facts": dump(facts or {})}
        self._database.insert("event", row)

    def events(self) -> list[Event]:
        """All events, oldest first."""
        rows = self._database.rows("SELECT number, kind, ordinal, at, facts FROM event ORDER BY number")
        return [Event(*row[:4], facts=load(row["facts"], self._database.path)) for row in rows]

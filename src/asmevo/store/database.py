"""SQLite as this package uses it: pragmas, transactions, and its failures as sentences."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from asmevo.store.schema import check, migrate
from asmevo.verdict import EnvironmentError_, InputError

_SENTENCES = {
    "SQLITE_BUSY": "{path} is locked by another program; close it and try again.",
    "SQLITE_LOCKED": "{path} is locked by another program; close it and try again.",
    "SQLITE_FULL": "Cannot write {path}: no space left on the disk; free some space and resume the run.",
    "SQLITE_IOERR": "Cannot write {path}: the disk gave an error ({reason}); check the disk and its free space.",
    "SQLITE_READONLY": "Cannot write {path}: it is read-only; make it writable or copy the run folder.",
    "SQLITE_CANTOPEN": "Cannot open {path}; check the path and its permissions.",
    "SQLITE_PERM": "Cannot open {path}: permission denied; check its permissions.",
}


@contextlib.contextmanager
def sentences(path: Path) -> Generator[None]:
    """Turn SQLite's failures into `EnvironmentError_`, or `InputError` for a file that is damaged or no database."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        name = str(getattr(error, "sqlite_errorname", ""))
        for prefix, sentence in _SENTENCES.items():
            if name.startswith(prefix):
                raise EnvironmentError_(sentence.format(path=path, reason=error)) from error
        if isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError):
            raise  # a defect of this program, not of the file
        raise InputError(f"{path} is damaged or not a run's database ({error}); restore it from a copy.") from error


class Database:
    """A connection with foreign keys and a write-ahead log. Not for use from several threads."""

    def __init__(self, path: Path, *, write: bool) -> None:
        self.path = path
        with sentences(path):
            self._connection = _connect(path, write=write)
            try:
                outdated = check(self._connection, path)
                if outdated and not write:
                    raise InputError(f"{path} was written by an older AsmEvo; `asmevo resume` updates it.")
                if outdated:
                    migrate(self._connection)
                if not write:
                    self._connection.execute("PRAGMA query_only = ON")
            except BaseException:
                self._connection.close()
                raise

    @contextlib.contextmanager
    def transaction(self) -> Generator[None]:
        """All statements inside happen, or none."""
        with sentences(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                if self._connection.in_transaction:  # a full disk may have ended it already
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def insert(self, table: str, values: dict[str, Any]) -> None:
        names = ", ".join(values)
        marks = ", ".join(f":{name}" for name in values)
        self._execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", values)

    def update(self, table: str, key: str, values: dict[str, Any]) -> int:
        """Update the row whose `key` column is `values[key]`; returns the number of rows changed."""
        assignments = ", ".join(f"{name} = :{name}" for name in values if name != key)
        return self._execute(f"UPDATE {table} SET {assignments} WHERE {key} = :{key}", values).rowcount

    def delete(self, table: str, where: str, parameters: Sequence[Any] = ()) -> int:
        return self._execute(f"DELETE FROM {table} WHERE {where}", parameters).rowcount

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[sqlite3.Row]:
        with sentences(self.path):
            return self._connection.execute(sql, parameters).fetchall()

    def close(self) -> None:
        with sentences(self.path):
            self._connection.close()

    def _execute(self, sql: str, parameters: dict[str, Any] | Sequence[Any]) -> sqlite3.Cursor:
        with sentences(self.path):
            return self._connection.execute(sql, parameters)


def _connect(path: Path, *, write: bool) -> sqlite3.Connection:
    """Readers may follow a run that is being written; on a read-only disk they see what its log had merged."""
    if write:
        connection = sqlite3.connect(path, timeout=5.0, isolation_level=None)
    else:
        mode = "mode=rw" if os.access(path.parent, os.W_OK) else "mode=ro&immutable=1"
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?{mode}", timeout=5.0, isolation_level=None, uri=True)
    connection.row_factory = sqlite3.Row
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        if write:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")  # a killed process loses nothing; a power cut, the tail
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection

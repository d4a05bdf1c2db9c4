"""The SQLite schema of a run and the steps that lead to it. A step, once released, is never edited: add another."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from asmevo.verdict import InputError

APPLICATION_ID = 0x41736D45
"""`AsmE` in the file header, so that another program's database is recognised as foreign."""

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE run (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        k0 TEXT NOT NULL, launches TEXT NOT NULL, seed INTEGER NOT NULL, chip TEXT NOT NULL,
        settings TEXT NOT NULL, versions TEXT NOT NULL
    ) STRICT;
    CREATE TABLE attempt (
        ordinal INTEGER PRIMARY KEY CHECK (ordinal >= 0),
        parent INTEGER REFERENCES attempt (ordinal) CHECK (parent < ordinal),
        island INTEGER NOT NULL, strategy TEXT NOT NULL, note TEXT NOT NULL,
        block INTEGER, window_first INTEGER, window_last INTEGER,
        edits TEXT NOT NULL, candidate TEXT NOT NULL, draws TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('open', 'refused', 'admitted')),
        verdict TEXT NOT NULL CHECK (verdict IN ('PROVED', 'TESTED', 'REFUTED', 'UNKNOWN')),
        checks TEXT NOT NULL, microseconds REAL, source TEXT NOT NULL, seconds REAL NOT NULL,
        CHECK (ordinal = 0 OR parent IS NOT NULL),
        CHECK (status <> 'admitted' OR verdict IN ('PROVED', 'TESTED')),
        CHECK ((microseconds IS NOT NULL) = (status = 'admitted'))
    ) STRICT;
    CREATE INDEX attempt_candidate ON attempt (candidate);
    CREATE TABLE lineage (
        number INTEGER PRIMARY KEY CHECK (number >= 1),
        attempt INTEGER NOT NULL UNIQUE REFERENCES attempt (ordinal),
        microseconds REAL NOT NULL
    ) STRICT;
    CREATE TABLE event (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL, ordinal INTEGER NOT NULL, at REAL NOT NULL, facts TEXT NOT NULL
    ) STRICT;
    """,
    """
    ALTER TABLE attempt ADD COLUMN slot INTEGER;
    ALTER TABLE attempt ADD COLUMN comparison TEXT;
    ALTER TABLE attempt ADD COLUMN behaviour TEXT NOT NULL DEFAULT '{}';
    CREATE TABLE pattern (
        attempt INTEGER PRIMARY KEY REFERENCES attempt (ordinal),
        facts TEXT NOT NULL
    ) STRICT;
    """,
)
"""Step n leads from schema version n to n + 1."""


def check(connection: sqlite3.Connection, path: Path, newest: int = len(MIGRATIONS)) -> bool:
    """Whether the database lacks migrations.

    Raises `InputError` when it belongs to another program, or was written by a newer AsmEvo.
    """
    version = _pragma(connection, "user_version")
    tables = int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    if tables and _pragma(connection, "application_id") != APPLICATION_ID:
        raise InputError(f"{path} is a database of another program; give a folder made by `asmevo optimize`.")
    if version > newest:
        raise InputError(
            f"{path} was written by a newer AsmEvo (schema {version}; this one knows {newest}); update AsmEvo."
        )
    return version < newest


def migrate(connection: sqlite3.Connection, migrations: Sequence[str] = MIGRATIONS) -> None:
    """Bring a database up to the newest schema. Each step is one transaction: a kill leaves it before or after it."""
    version = _pragma(connection, "user_version")
    for number, step in enumerate(migrations[version:], start=version + 1):
        stamp = f"PRAGMA application_id = {APPLICATION_ID};\nPRAGMA user_version = {number};"
        try:
            connection.executescript(f"BEGIN IMMEDIATE;\n{step};\n{stamp}\nCOMMIT;")
        except sqlite3.DatabaseError:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])

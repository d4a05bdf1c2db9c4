"""What is written down of an overlay: which bytes were put where, and which were there before."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from asmevo.launch.table import Table
from asmevo.store.blobs import Blobs
from asmevo.store.files import disk, write_atomic
from asmevo.verdict import InputError

FOLDER = ".asmevo"
FORMAT = "asmevo.overlay/1"
_JOURNAL = "journal.json"


@dataclass(frozen=True, slots=True)
class Change:
    """One file of an overlay, by the hashes of what it held and holds; None for no file."""

    path: str
    """Relative to the overlay."""
    before: str | None
    after: str | None
    mode: int = 0o644


@dataclass(frozen=True, slots=True)
class Entry:
    """One installation."""

    k0: str
    candidate: str
    certificate: str
    """The certificate's own hash."""
    verdict: str
    kernel: str
    layout: str
    target: str
    chip: str
    changes: tuple[Change, ...]
    inexact: float | None = None
    """How many times K0's error the results may have; None where they are K0's."""

    def to_json(self) -> dict[str, Any]:
        """As JSON, which says `inexact` only where results are not K0's."""
        values = asdict(self)
        if self.inexact is None:
            del values["inexact"]
        return values


@dataclass(frozen=True, slots=True)
class Journal:
    """The installations of an overlay, the last one last."""

    entries: tuple[Entry, ...] = ()

    def last(self, path: str) -> Change | None:
        """The last change of a file."""
        return next((c for e in reversed(self.entries) for c in e.changes if c.path == path), None)

    def original(self, path: str) -> str | None:
        """Hash of what a file held before anything was installed."""
        return next((c.before for e in self.entries for c in e.changes if c.path == path), None)

    @property
    def paths(self) -> tuple[str, ...]:
        """Every file that an installation changed."""
        return tuple(dict.fromkeys(c.path for e in self.entries for c in e.changes))

    def to_json(self) -> dict[str, Any]:
        return {"format": FORMAT, "entries": [entry.to_json() for entry in self.entries]}


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of an overlay that AsmEvo keeps its own files in."""

    overlay: Path

    @property
    def folder(self) -> Path:
        return self.overlay / FOLDER

    def place(self, path: str) -> Path:
        """A file of the overlay, which may be written to.

        Raises `InputError` for a path out of the overlay, also through links, and for AsmEvo's own files.
        """
        place, root = self.overlay / path, self.overlay.resolve()
        found = place.resolve()
        if not _is_inside(path) or not found.is_relative_to(root) or not _is_inside(found.relative_to(root)):
            raise InputError(
                f"{place} leads outside of {self.overlay}, or to AsmEvo's own files; give a path inside of it, without "
                "links that leave it."
            )
        return place

    @property
    def blobs(self) -> Blobs:
        """Every object that was ever in a place of the overlay, and the certificates."""
        return Blobs(self.folder / "objects")

    @property
    def lock(self) -> Path:
        return self.folder / "lock"

    @property
    def pending(self) -> Path:
        """There while changes are made: what they are."""
        return self.folder / "pending.json"

    def read(self) -> Journal:
        """What was installed. Raises `InputError` for a journal that is damaged or of another version."""
        return _journal(self._table(_JOURNAL))

    def read_pending(self) -> tuple[tuple[Change, ...], Journal] | None:
        """The changes that were begun and not ended, and the journal as they would leave it."""
        table = self._table(self.pending.name)
        if table is None:
            return None
        return _changes(table), _journal(Table(table.data.get("journal"), f"journal of {table.where}"))

    @property
    def has_journal(self) -> bool:
        """Whether anything is installed."""
        return (self.folder / _JOURNAL).exists()

    def write(self, journal: Journal) -> None:
        """Make this the journal; an empty one is none."""
        if journal.entries:
            write_atomic(self.folder / _JOURNAL, _text(journal.to_json()))
        else:
            (self.folder / _JOURNAL).unlink(missing_ok=True)

    def write_pending(self, changes: tuple[Change, ...], journal: Journal) -> None:
        facts = {"format": FORMAT, "changes": [asdict(c) for c in changes], "journal": journal.to_json()}
        write_atomic(self.pending, _text(facts))
        sync(self.folder)

    def _table(self, name: str) -> Table | None:
        path = self.folder / name
        if not path.exists():
            return None
        try:
            with disk(path, "read"):
                table = Table(json.loads(path.read_bytes()), str(path))
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path} is damaged ({error}); restore {self.folder} from a copy.") from error
        return table


def sync(folder: Path) -> None:
    """Force the names of a folder to the disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _text(facts: Mapping[str, Any]) -> bytes:
    return json.dumps(facts, indent=1, sort_keys=True).encode() + b"\n"


def _journal(table: Table | None) -> Journal:
    if table is None:
        return Journal()
    if table.data.get("format") != FORMAT:
        raise InputError(
            f"The {table.where} is of the version {table.data.get('format')!r} and this AsmEvo reads {FORMAT!r}; use "
            "the AsmEvo that wrote it."
        )
    return Journal(tuple(_entry(Table(row, f"entry of {table.where}")) for row in table.tables("entries")))


def _entry(table: Table) -> Entry:
    names = ("k0", "candidate", "certificate", "verdict", "kernel", "layout", "target", "chip")
    texts = {name: table.text(name) for name in names}
    return Entry(**texts, changes=_changes(table), inexact=table.number("inexact", None))


def _changes(table: Table) -> tuple[Change, ...]:
    rows = [Table(row, f"change of {table.where}") for row in table.tables("changes")]
    return tuple(
        Change(_inside(r.text("path")), r.text("before", None), r.text("after", None), r.integer("mode")) for r in rows
    )


def _inside(path: str) -> str:
    if not _is_inside(path):
        raise InputError(f"The journal names {path!r}, which is outside of the overlay; restore it from a copy.")
    return path


def _is_inside(path: Path | str) -> bool:
    """Whether a path by its letters is that of a file of an overlay, and of none in a folder of AsmEvo's."""
    path = Path(path)
    return bool(path.parts) and not path.is_absolute() and not {"..", FOLDER} & set(path.parts)

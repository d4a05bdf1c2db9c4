"""What is installed in an overlay, and whether it still is."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from asmevo.overlay.journal import Change, Entry, Home, Journal
from asmevo.overlay.transaction import hash_of
from asmevo.verdict import InputError


@dataclass(frozen=True, slots=True)
class FileState:
    """One file of one installation."""

    path: str
    state: str
    """`installed`, `covered` by a later installation, `original` (holds again what it held before), `changed` by
    something else, or `missing`."""


@dataclass(frozen=True, slots=True)
class Status:
    """What a look at an overlay found."""

    entries: tuple[tuple[Entry, tuple[FileState, ...]], ...]
    """Oldest first."""
    interrupted: bool
    """An installation or rollback was killed; the next one undoes what it had begun."""

    def to_json(self) -> dict[str, Any]:
        entries = [entry.to_json() | {"files": [asdict(f) for f in files]} for entry, files in self.entries]
        return {"entries": entries, "interrupted": self.interrupted}

    @property
    def as_installed(self) -> bool:
        """Whether every file is as the last installation left it."""
        return not self.interrupted and all(
            file.state in ("installed", "covered") for _, files in self.entries for file in files
        )


def status(overlay: Path) -> Status:
    """Compare an overlay with its journal; changes nothing. Raises `InputError` for what is no folder."""
    if not overlay.is_dir():
        raise InputError(f"{overlay} is no folder; give the one that objects were installed into.")
    home = Home(overlay)
    journal = home.read()
    found = tuple(
        (entry, tuple(FileState(c.path, _state(overlay, c, journal)) for c in entry.changes))
        for entry in journal.entries
    )
    return Status(found, home.pending.exists())


def _state(overlay: Path, change: Change, journal: Journal) -> str:
    if journal.last(change.path) != change:
        return "covered"
    current = hash_of(overlay / change.path)
    if current == change.after:
        return "installed"
    if current == change.before:
        return "original"
    return "missing" if current is None else "changed"

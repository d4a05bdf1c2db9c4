"""Changing the files of an overlay so that a crash at any moment leaves all of them as they were, or all changed.

Before the first file is changed, every content that it had or gets is in the blobs, and `pending.json` says what is
about to happen. Whoever opens the overlay next and finds that file undoes what was begun. Each file is replaced by a
rename, so an engine that loads it meanwhile sees the old object or the new one.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from asmevo.overlay.journal import Change, Home, Journal, sync
from asmevo.store.files import disk, make_folder, write_atomic
from asmevo.store.lock import WriterLock
from asmevo.verdict import InputError

Step = Callable[[str], None]
"""Called between any two changes of the disk, with what was done: where a test may stop."""


def no_step(_: str) -> None:
    """Go on."""


@contextmanager
def opened(overlay: Path, step: Step = no_step) -> Generator[Home]:
    """An overlay to be changed, by one process at a time, with nothing pending.

    Raises `InputError` for what is no folder, `EnvironmentError_` when another process holds it.
    """
    if not overlay.is_dir():
        raise InputError(f"{overlay} is no folder; give the one that the engine loads objects from.")
    home = Home(overlay)
    lock = _locked(home)
    try:
        recover(home, step)
        yield home
    finally:
        if not home.pending.exists() and not home.has_journal:
            shutil.rmtree(home.folder, ignore_errors=True)
        lock.release()


def _locked(home: Home) -> WriterLock:
    """The lock of an overlay; once more where the one before removed the folder with the lock in it."""
    while True:
        make_folder(home.folder)
        lock = WriterLock(home.lock)
        if lock.is_current:
            return lock
        lock.release()


def apply(home: Home, changes: tuple[Change, ...], journal: Journal, step: Step = no_step) -> None:
    """Make the changes, whose contents are in the blobs, and make `journal` the overlay's.

    Raises `InputError` before anything is changed where a place lies behind a link that leaves the overlay.
    """
    for change in changes:
        home.place(change.path)
    home.write_pending(changes, journal)
    step("pending")
    for change in changes:
        _put(home, change.path, change.after, change.mode)
        step(f"changed {change.path}")
    home.write(journal)
    sync(home.folder)
    step("journal")
    _end(home)
    step("done")


def recover(home: Home, step: Step = no_step) -> None:
    """Undo what was begun and not ended. A file that holds neither its old nor its new content is left alone."""
    for partial in home.folder.rglob(".*.part"):
        partial.unlink(missing_ok=True)
    found = home.read_pending()
    if found is None:
        return
    changes, journal = found
    if home.read() != journal:
        for change in changes:
            place = home.place(change.path)
            _sweep(place)
            if change.before != change.after and hash_of(place) == change.after:
                _put(home, change.path, change.before, change.mode)
                step(f"undone {change.path}")
    _end(home)
    step("recovered")


def hash_of(path: Path) -> str | None:
    """SHA-256 of a file; None where there is none."""
    if not path.is_file():
        return None
    with disk(path, "read"), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _put(home: Home, path: str, sha256: str | None, mode: int) -> None:
    place = home.place(path)
    if sha256 is None:
        with disk(place, "remove"):
            place.unlink(missing_ok=True)
            _drop_empty(place.parent, home.overlay)
    else:
        write_atomic(place, home.blobs.get(sha256), mode)
        sync(place.parent)


def _drop_empty(folder: Path, root: Path) -> None:
    """Remove folders that a file was the last of, up to the overlay."""
    while folder != root and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def _sweep(path: Path) -> None:
    """Remove what a killed process left of a file half written."""
    for partial in path.parent.iterdir() if path.parent.is_dir() else ():
        if partial.name.startswith(f".{path.name}.") and partial.name.endswith(".part"):
            partial.unlink(missing_ok=True)


def _end(home: Home) -> None:
    with disk(home.pending, "remove"):
        home.pending.unlink(missing_ok=True)
    sync(home.folder)

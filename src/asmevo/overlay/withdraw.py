"""Taking back what was installed last."""

from __future__ import annotations

from pathlib import Path

from asmevo.overlay.journal import Change, Entry, Journal
from asmevo.overlay.transaction import Step, apply, hash_of, no_step, opened
from asmevo.verdict import InputError


def rollback(overlay: Path, step: Step = no_step) -> Entry:
    """Undo the last installation of an overlay: every file holds what it held before. Returns what was undone.

    Raises `InputError` where nothing is installed, or a file holds neither what was installed nor what was there
    before: something else changed it since, and that is not overwritten.
    """
    with opened(overlay, step) as home:
        journal = home.read()
        if not journal.entries:
            raise InputError(f"Nothing is installed in {overlay}, so there is nothing to roll back.")
        entry = journal.entries[-1]
        changes: list[Change] = []
        for change in entry.changes:
            current = hash_of(overlay / change.path)
            if current not in (change.before, change.after):
                kept = home.blobs.path(change.before) if change.before else None
                hint = f"; what was there before is kept in {kept}" if kept else ""
                raise InputError(
                    f"{overlay / change.path} was changed by something else since it was installed, so it is not "
                    f"rolled back{hint}. Put back one of the two first."
                )
            if current != change.before:
                changes.append(Change(change.path, change.after, change.before, change.mode))
        apply(home, tuple(changes), Journal(journal.entries[:-1]), step)
        return entry

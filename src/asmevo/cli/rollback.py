"""`asmevo rollback`: take back what was installed last."""

from __future__ import annotations

from asmevo.cli.output import emit
from asmevo.cli.parameters import Json
from asmevo.cli.status import OverlayFolder
from asmevo.overlay import rollback as undo


def rollback(folder: OverlayFolder, json: Json = False) -> None:
    """Undo the last installation in a folder: every file holds again what it held before.

    A file that something else has changed since is not overwritten.
    """
    entry = undo(folder)
    facts = {"candidate": entry.candidate, "files": [c.path for c in entry.changes]}
    emit(facts, lambda: "\n".join(f"{path}: as before" for path in facts["files"]), json)

"""`asmevo status`: what is installed in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument

from asmevo.cli.output import emit
from asmevo.cli.parameters import Json
from asmevo.overlay import status as look
from asmevo.report import overlay_text
from asmevo.verdict import Verdict

OverlayFolder = Annotated[Path, Argument(metavar="DIR", help="Folder that objects were installed into.")]


def status(folder: OverlayFolder, json: Json = False) -> int:
    """Say what is installed in a folder, by which certificate, and whether every file still is as it was installed.

    Exit code 3 when a file was changed since, or an installation was interrupted.
    """
    found = look(folder)
    facts = found.to_json()
    emit(facts, lambda: overlay_text(facts, str(folder)), json)
    return 0 if found.as_installed else Verdict.UNKNOWN.exit_code

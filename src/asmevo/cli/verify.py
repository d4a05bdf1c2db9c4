"""`asmevo verify`: the whole check of a candidate, from bytes alone."""

from __future__ import annotations

import json as text_json
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from asmevo.cli.inputs import read_certificate, read_launches, read_object
from asmevo.cli.output import emit, write
from asmevo.cli.parameters import Json, ObjectPath
from asmevo.gate import verify as verified
from asmevo.report import verification_text
from asmevo.search import kernel_of
from asmevo.verdict import UsageError


def verify(
    k0: ObjectPath,
    candidate: Annotated[Path, Argument(help="The object to check.", show_default=False)],
    launch: Annotated[list[Path] | None, Option("--launch", "-l", help="Launch file or folder of them.")] = None,
    certificate: Annotated[
        Path | None, Option("--certificate", "-c", help="Certificate whose hashes, edits and launches are checked.")
    ] = None,
    output: Annotated[Path | None, Option("--output", "-o", help="Certificate to write.")] = None,
    json: Json = False,
) -> int:
    """Check in a fresh process that a candidate behaves like K0: every static rule, then every launch.

    Exit code 0 PROVED or TESTED, 1 REFUTED, 3 UNKNOWN. Launches come from `--launch`, from a certificate, or from both.
    """
    old, new = read_object(k0), read_object(candidate)
    launches, edits = read_launches(launch or [], old), None
    if certificate is not None:
        edits, launches = read_certificate(certificate, old, new, launches)
        edits = edits or None  # a certificate of an object that came without edits: lines are matched again
    if not launches:
        raise UsageError("There is nothing to check the candidate on; give --launch or --certificate.")
    found = verified(old.data, new.data, launches, edits, kernel_of(launches))
    if output is not None and found.certificate is not None:
        write(output, text_json.dumps(found.certificate, indent=1, sort_keys=True) + "\n")
    emit(found.report.to_json(), lambda: verification_text(found.report), json)
    return found.report.verdict.exit_code

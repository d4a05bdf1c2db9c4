"""`asmevo install`: put an admitted object where an engine loads K0 from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from asmevo.cli.inputs import read_file, read_launches, read_object, read_table
from asmevo.cli.output import emit
from asmevo.cli.parameters import AllowInexact, Json
from asmevo.launch.capture import CODE, is_capture, override_path
from asmevo.overlay import Options
from asmevo.overlay import install as put
from asmevo.report import installed_text
from asmevo.store.files import make_folder
from asmevo.verdict import InputError, UsageError

OBJECT = "best.co"


def install(
    certificate: Annotated[Path, Argument(metavar="CERTIFICATE", help="What `optimize` or `verify` wrote.")],
    into: Annotated[Path, Option("--into", help="Folder that the engine loads objects from.", show_default=False)],
    candidate: Annotated[
        Path | None, Option("--object", help="The candidate; without it best.co beside the certificate.")
    ] = None,
    k0: Annotated[Path | None, Option("--k0", help="K0, for --launch; else it is found in the folder.")] = None,
    capture: Annotated[
        Path | None,
        Option("--capture", help="Capture of a Triton kernel: makes its file where an override folder has none yet."),
    ] = None,
    chip: Annotated[str | None, Option("--chip", help="Chip that the folder serves, to be compared.")] = None,
    reverify: Annotated[bool, Option("--reverify", help="Run the whole check again first.")] = False,
    launch: Annotated[
        list[Path] | None, Option("--launch", "-l", help="Launches of the certificate whose data lies elsewhere.")
    ] = None,
    allow_inexact: AllowInexact = None,
    json: Json = False,
) -> None:
    """Replace K0 by the candidate of a certificate in every place of a folder, or in none.

    Refused unless the certificate is whole and admits, both objects have its hashes, the arguments are K0's, and the
    folder is for its target and chip; one that is INEXACT needs its bound. What was there is kept: `asmevo rollback`
    puts it back.
    """
    facts = read_table(certificate)
    data = read_file(candidate or certificate.parent / OBJECT)
    create = None
    if capture is not None:
        if not is_capture(capture):
            raise InputError(f"{capture} is no capture; give a folder that `asmevo capture triton` wrote.")
        k0, create = k0 or capture / CODE, override_path(capture)
        make_folder(into)
    if launch and k0 is None:
        raise UsageError("The launches of --launch are of K0; give it with --k0.")
    launches = read_launches(launch, read_object(k0)) if launch and k0 else ()
    options = Options(reverify, (certificate.parent.resolve(),), launches, chip, create, allow_inexact)
    done = put(into, facts, data, None if k0 is None else read_file(k0), options)
    result = done.to_json()
    emit(result, lambda: installed_text(result, str(into)), json)

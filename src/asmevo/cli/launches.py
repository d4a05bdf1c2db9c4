"""`asmevo launches`: launch files for a kernel of a known family."""

from __future__ import annotations

import json as text_json
from pathlib import Path
from typing import Annotated

from typer import Option

from asmevo.cli.inputs import read_object
from asmevo.cli.output import emit, write
from asmevo.cli.parameters import Json, KernelName, ObjectPath
from asmevo.launch import for_object


def launches(
    k0: ObjectPath,
    out: Annotated[Path, Option("--out", "-o", help="Folder for the launch files.", show_default=False)],
    kernel: KernelName = None,
    json: Json = False,
) -> int:
    """Write three small launch files, with a reference, for a kernel whose family is known by its name.

    Exit code 3 when no recipe is known for the kernel.
    """
    found = for_object(read_object(k0), kernel)
    paths = [out / f"{launch.name}.json" for launch in found]
    for path, launch in zip(paths, found, strict=True):
        write(path, text_json.dumps(launch.to_json(), indent=1) + "\n")
    facts = {"recipe": found[0].recipe.name, "files": [str(path) for path in paths]}
    emit(facts, lambda: "\n".join(f"{path}: {facts['recipe']}" for path in paths), json)
    return 0

"""`asmevo capture`: dispatches of running programs, as folders."""

from __future__ import annotations

import json as text_json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from asmevo.cli.inputs import read_text
from asmevo.cli.output import emit
from asmevo.cli.parameters import Json
from asmevo.launch import Launch, save_launch
from asmevo.launch.capture import captures_in, moved_files, read_capture, relocated
from asmevo.report import captured_text
from asmevo.store.files import disk, make_folder, write_atomic
from asmevo.verdict import InputError

app = typer.Typer(help="Record dispatches of a running program, as folders that --launch takes.", no_args_is_help=True)

OutFolder = Annotated[Path, Option("--out", "-o", help="Folder for the captures.", show_default=False)]


@app.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True})
def triton(
    script: Annotated[Path, Argument(metavar="SCRIPT", help="Python program.", show_default=False)],
    out: OutFolder,
    arguments: Annotated[list[str] | None, Argument(metavar="[ARGS]", help="Its arguments.")] = None,
    kernel: Annotated[
        list[str] | None, Option("--kernel", help="Kernel to record; several may be given, and without it all are.")
    ] = None,
    limit: Annotated[int, Option("--limit", help="Most kinds of dispatches to keep.", min=1)] = 16,
    rocm: Annotated[bool, Option("--rocm", help="Run on a GPU, with ROCm's driver of Triton.")] = False,
    json: Json = False,
) -> None:
    """Run a Python program and record the dispatches of its Triton kernels, on the simulated chip unless told else.

    Dispatches with the same object, grid, scalars and sizes are one kind: the first is kept, and all are counted, so
    that a search weighs each kind by how often it occurs.
    """
    if not script.is_file():
        raise InputError(f"There is no program {script}; check the path.")
    if out.is_dir() and captures_in(out):
        raise InputError(f"{out} holds captures already; choose another folder.")
    with tempfile.TemporaryDirectory() as folder:
        summary = Path(folder, "summary.json")
        options = {"out": str(out), "kernels": kernel or [], "limit": limit, "rocm": rocm, "summary": str(summary)}
        command = [sys.executable, "-m", "asmevo.triton.capture", text_json.dumps(options), str(script)]
        sys.stdout.flush()
        path = os.pathsep.join(p for p in sys.path if p)
        output = sys.stderr.fileno() if json else None
        code = subprocess.call([*command, *(arguments or [])], stdout=output, env=dict(os.environ, PYTHONPATH=path))
        facts: dict[str, Any] = text_json.loads(read_text(summary)) if summary.exists() else {"dispatches": []}
    kept = [d for d in facts["dispatches"] if d["folder"]]
    if code:
        raise InputError(
            f"The program {script} ended with exit code {code}; {len(kept)} dispatches of before are in {out}."
        )
    if not kept:
        launched = ", ".join(sorted(facts["launches"])) or "none"
        raise InputError(f"No kernel of that name was launched by {script}; launched were: {launched}.")
    emit(facts, lambda: captured_text(facts), json)


@app.command()
def relocate(
    folder: Annotated[Path, Argument(metavar="CAPTURE", help="Captured dispatch, or a folder of them.")],
    out: OutFolder,
    json: Json = False,
) -> None:
    """Write launch files of captures with the memory moved: each region a buffer of its own between red zones.

    Only arguments that the object calls pointers are changed. Refused for memory that holds pointers itself, and where
    a file or folder of that name is there already.
    """
    captures = [read_capture(one) for one in captures_in(folder)] or [read_capture(folder)]
    launches = [relocated(capture) for capture in captures]
    for launch in launches:
        if taken := [path for path in (out / f"{launch.name}.json", out / launch.name) if os.path.lexists(path)]:
            raise InputError(f"{taken[0]} is there already; choose another folder.")
    make_folder(out)
    files = [str(_put(launch, out)) for launch in launches]
    emit({"files": files}, lambda: "\n".join(files), json)


def _put(launch: Launch, out: Path) -> Path:
    """Write a launch file and its data files. They become visible whole, and the launch file last."""
    own, sources = moved_files(launch)
    with disk(out), tempfile.TemporaryDirectory(prefix=f".{launch.name}.", suffix=".part", dir=out) as folder:
        for name, source in sources.items():
            Path(folder, name).parent.mkdir(exist_ok=True)
            shutil.copyfile(source, Path(folder, name))
        table = save_launch(own, folder)
        if sources:
            Path(folder, launch.name).rename(out / launch.name)
        write_atomic(out / table.name, table.read_bytes())
    return out / table.name

"""`asmevo replace`: put an edited object back into the file it came from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from asmevo.cli.inputs import read_file
from asmevo.cli.inspect import FilePath
from asmevo.cli.output import emit, write
from asmevo.cli.parameters import Json
from asmevo.codeobject import CodeObject
from asmevo.codeobject.containers import Container
from asmevo.verdict import InputError, names_text


def replace(
    file: FilePath,
    entry: Annotated[str, Argument(help="Number, name or target of the entry.", show_default=False)],
    new: Annotated[Path, Argument(metavar="OBJECT", help="Code object for the same target.", show_default=False)],
    output: Annotated[Path, Option("--output", "-o", help="File to write.", show_default=False)],
    json: Json = False,
) -> None:
    """Put an object in place of an entry of a bundle or library; everything else stays where it is."""
    container = Container.open(read_file(file), str(file))
    chosen, data = container.entry(entry), read_file(new)
    out = container.replace(chosen, data)
    if lost := _lost(CodeObject.parse(container.extract(chosen), str(file)), CodeObject.parse(data, str(new))):
        raise InputError(
            f"{new} lacks kernels of the entry {chosen.number}, which hosts would ask for: {names_text(lost)}; give an "
            "edited copy of that object."
        )
    write(output, out)
    facts = {"entry": chosen.number, "target": chosen.target, "bytes": len(out), "output": str(output)}
    emit(facts, lambda: f"entry {chosen.number} for {chosen.target} replaced, written to {output}", json)


def _lost(old: CodeObject, new: CodeObject) -> list[str]:
    """Kernels of the old object that the new one has not."""
    return sorted({k.name for k in old.kernels} - {k.name for k in new.kernels})

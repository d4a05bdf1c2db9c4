"""`asmevo inspect`: what a file holds, and taking an object out of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from asmevo.cli.inputs import read_file
from asmevo.cli.output import emit, write
from asmevo.cli.parameters import Json
from asmevo.codeobject import CodeObject
from asmevo.codeobject.containers import Container
from asmevo.report import container_facts, container_text, object_facts, object_text
from asmevo.verdict import UsageError

FilePath = Annotated[
    Path, Argument(metavar="FILE", help="Code object, offload bundle, or library with them.", show_default=False)
]
EntryKey = Annotated[str | None, Option("--entry", "-e", help="Say what this entry holds: its number, name or target.")]
ExtractKey = Annotated[str | None, Option("--extract", "-x", help="Write this entry to the output file.")]


def inspect(
    file: FilePath,
    entry: EntryKey = None,
    extract: ExtractKey = None,
    output: Annotated[Path | None, Option("--output", "-o", help="File for the extracted object.")] = None,
    json: Json = False,
) -> None:
    """Say what a file holds: containers, targets, kernels, registers, arguments, oddities; or take an object out."""
    if (extract is None) != (output is None):
        raise UsageError("--extract ENTRY and -o FILE go together; give both or none.")
    container = Container.open(read_file(file), str(file))
    if extract is not None and output is not None:
        chosen = container.entry(extract)
        data = container.extract(chosen)
        write(output, data)
        facts = {"entry": chosen.number, "target": chosen.target, "bytes": len(data), "output": str(output)}
        emit(facts, lambda: f"entry {chosen.number} for {chosen.target}, {len(data)} bytes, written to {output}", json)
    elif container.kind == "code object" or entry is not None:
        chosen = container.entries[0] if entry is None else container.entry(entry)
        name = str(file) if entry is None else f"{file} entry {chosen.number}"
        facts = object_facts(CodeObject.parse(container.extract(chosen), name))
        emit(facts, lambda: object_text(facts), json)
    else:
        facts = container_facts(container)
        emit(facts, lambda: container_text(facts), json)

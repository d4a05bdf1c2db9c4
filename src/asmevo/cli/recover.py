"""`asmevo recover`: code object to editable listing."""

from __future__ import annotations

from asmevo.cli.inputs import read_program
from asmevo.cli.output import emit, write
from asmevo.cli.parameters import Json, KernelName, ObjectPath, Output
from asmevo.program import listing
from asmevo.report import program_facts


def recover(k0: ObjectPath, output: Output = None, kernel: KernelName = None, json: Json = False) -> None:
    """Print an editable listing of a kernel: labels, one instruction a line, original words kept."""
    program = read_program(k0, kernel)
    text = listing(program)
    facts = program_facts(program)
    if output is None:
        emit(facts | {"listing": text}, lambda: text, json)
    else:
        write(output, text)
        blocks = "an unknown number of" if facts["blocks"] is None else facts["blocks"]
        done = f"{facts['instructions']} instructions in {blocks} blocks written to {output}"
        emit(facts | {"output": str(output)}, lambda: done, json)

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
    if output is not None:
        write(output, text)
    facts = program_facts(program) | {"output": None if output is None else str(output)}
    if output is None:
        print(text, end="")
    if output is not None or json:
        emit(
            facts, lambda: f"{facts['instructions']} instructions in {facts['blocks']} blocks written to {output}", json
        )

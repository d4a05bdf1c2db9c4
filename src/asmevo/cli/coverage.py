"""`asmevo coverage`: opcodes that the opcode table does not know."""

from __future__ import annotations

from asmevo.cli.inputs import read_program
from asmevo.cli.output import emit
from asmevo.cli.parameters import Json, KernelName, ObjectPath
from asmevo.report import coverage_facts, coverage_text
from asmevo.verdict import Verdict


def coverage(k0: ObjectPath, kernel: KernelName = None, json: Json = False) -> int:
    """List the opcodes of a kernel that have no row in the opcode table (exit code 3 when there are any)."""
    facts = coverage_facts(read_program(k0, kernel))
    emit(facts, lambda: coverage_text(facts), json)
    return Verdict.UNKNOWN.exit_code if facts["without_row"] else 0

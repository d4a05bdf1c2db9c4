"""`asmevo coverage`: opcodes that the opcode table does not know, and forms that the simulator does not execute."""

from __future__ import annotations

from asmevo.cli.inputs import read_program
from asmevo.cli.output import emit
from asmevo.cli.parameters import Json, KernelName, ObjectPath
from asmevo.report import coverage_facts, coverage_text
from asmevo.verdict import Verdict


def coverage(k0: ObjectPath, kernel: KernelName = None, json: Json = False) -> int:
    """List opcodes that have no row in the opcode table, and what the simulator cannot execute (exit code 3 if any)."""
    facts = coverage_facts(read_program(k0, kernel))
    emit(facts, lambda: coverage_text(facts), json)
    return Verdict.UNKNOWN.exit_code if facts["without_row"] or facts["not_executed"] else 0

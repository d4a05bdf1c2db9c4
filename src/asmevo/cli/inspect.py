"""`asmevo inspect`: what a code object holds."""

from __future__ import annotations

from asmevo.cli.inputs import read_object
from asmevo.cli.output import emit
from asmevo.cli.parameters import Json, ObjectPath
from asmevo.report import object_facts, object_text


def inspect(k0: ObjectPath, json: Json = False) -> None:
    """Say what a code object holds: target, kernels, registers, LDS, arguments."""
    facts = object_facts(read_object(k0))
    emit(facts, lambda: object_text(facts), json)

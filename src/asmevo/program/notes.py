"""The metadata note of a program whose kernel asks for other resources than K0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from asmevo.codeobject.elf import SHT_NOTE
from asmevo.codeobject.metadata import encode_metadata, has_metadata, with_metadata
from asmevo.codeobject.resources import metadata_with
from asmevo.program.program import Program


def new_metadata(program: Program) -> Mapping[str, Any]:
    """The metadata with the program's resources; that of K0 when it has the same."""
    if not program.resources.given():
        return program.source.metadata
    before = next(k for k in program.source.kernels if k.name == program.kernel.name)
    return metadata_with(program.source.metadata, before.symbol, program.resources, before.descriptor)


def new_note(program: Program) -> tuple[int, bytes] | None:
    """(index, bytes) of the section with the metadata note; None when it stays as it is."""
    source, metadata = program.source, new_metadata(program)
    if metadata == source.metadata:
        return None
    for index, section in enumerate(source.sections):
        raw = source.data[section.offset : section.offset + section.size]
        if section.type == SHT_NOTE and has_metadata(raw, section.name):
            return index, with_metadata(raw, encode_metadata(metadata), section.name)
    return None

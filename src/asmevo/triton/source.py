"""From an instruction to the line of the kernel's source, by the object's debug information."""

from __future__ import annotations

import io
from typing import Any, cast

from elftools.elf.elffile import ELFFile

from asmevo.sim import Executable
from asmevo.verdict import Finding


def source_line(executable: Executable, finding: Finding) -> str:
    """`file.py:12` of the instruction that a finding names; empty when the object has no debug information."""
    program = executable.program
    if finding.line is None:
        return ""
    position = program.position[finding.line]
    before = sum(len(line.words or b"") for line in program.lines[:position])
    return _lookup(program.source.data, program.source.text.address + before)


def _lookup(data: bytes, address: int) -> str:
    elf = cast(Any, ELFFile)(io.BytesIO(data))
    if not elf.has_dwarf_info():
        return ""
    dwarf = elf.get_dwarf_info(relocate_dwarf_sections=False)
    for unit in dwarf.iter_CUs():
        lines = dwarf.line_program_for_CU(unit)
        if lines is None:
            continue
        last: Any = None
        for entry in lines.get_entries():
            state = entry.state
            if state is None:
                continue
            if last is not None and last.address <= address < state.address and last.line:
                files = lines.header["file_entry"]
                first = 0 if lines.header["version"] >= 5 else 1
                return f"{files[last.file - first].name.decode()}:{last.line}"
            last = None if state.end_sequence else state
    return ""

"""The headers of a rebuilt object field by field, and the bytes between its sections, compared with K0."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

from asmevo.codeobject import CodeObject
from asmevo.codeobject.elf import HEADER, HEADER_SIZE, SECTION_SIZE, SEGMENT_SIZE
from asmevo.codeobject.plan import Plan
from asmevo.codeobject.writer import describes_code
from asmevo.verdict import Finding

_FIELDS = (
    "e_ident", "e_type", "e_machine", "e_version", "e_entry", "e_phoff", "e_shoff", "e_flags", "e_ehsize",
    "e_phentsize", "e_phnum", "e_shentsize", "e_shnum", "e_shstrndx",
)  # fmt: skip


def header_findings(
    old: CodeObject, new: CodeObject, plan: Plan, is_at: Callable[[int, int], bool]
) -> Iterator[Finding]:
    """Fields that are neither K0's nor what the plan derives of them; bytes outside of sections that are not K0's.

    `is_at` says whether an address of K0 became another one. The plan itself is checked elsewhere, section by section.
    """
    before, after = HEADER.unpack_from(old.data), HEADER.unpack_from(new.data)
    for name, x, y in zip(_FIELDS, before, after, strict=True):
        if name == "e_entry":
            same = is_at(x, y) if x else y == 0
        else:
            same = y == (plan.offset(x) if name in ("e_phoff", "e_shoff") else x)
        if not same:
            yield Finding("rebuild.header", f"The field {name} of the ELF header differs from K0's.")
    for number, (segment, found) in enumerate(zip(old.segments, new.segments, strict=True)):
        if found != plan.segment(segment):
            yield Finding("rebuild.segment", f"The program header {number} is not where its contents went.")
    for section, found in zip(old.sections, new.sections, strict=True):
        wanted = plan.section(section)
        if found != wanted and not (describes_code(section) and found == replace(wanted, size=0)):
            yield Finding("rebuild.section", f"The section header of {section.name} is not where its contents went.")
    if len(new.data) != plan.offset(len(old.data)):
        yield Finding("rebuild.gap", f"The file has {len(new.data)} bytes, not {plan.offset(len(old.data))}.")
    yield from _between(old, new)


def _between(old: CodeObject, new: CodeObject) -> Iterator[Finding]:
    """Bytes of the file that belong to nothing: K0's, or fewer of them, or more that are zero."""
    emptied = {i for i, s in enumerate(old.sections) if s.file_size and not new.sections[i].file_size}
    for index in emptied:
        before, after = old.sections[index], new.sections[index]
        if old.data[before.offset :][: before.size] != new.data[after.offset :][: before.size]:
            yield Finding("rebuild.gap", f"The bytes of the file where {before.name} was are not K0's.")
    for (start, end), (place, stop) in zip(_gaps(old, old, emptied), _gaps(new, old, emptied), strict=True):
        before, after = old.data[start:end], new.data[place:stop]
        if after != before[: len(after)].ljust(len(after), b"\0"):
            yield Finding("rebuild.gap", f"The bytes of the file from 0x{place:x} on, between sections, are not K0's.")


def _gaps(obj: CodeObject, old: CodeObject, emptied: set[int]) -> Iterator[tuple[int, int]]:
    """(start, end) of what lies behind each part of the file; an emptied section has the size that it had."""
    header, sections = HEADER.unpack_from(obj.data), enumerate(obj.sections)
    parts = [
        (0, HEADER_SIZE),
        (header[5], header[5] + SEGMENT_SIZE * len(obj.segments)),
        (header[6], header[6] + SECTION_SIZE * len(obj.sections)),
        *((s.offset, s.offset + (old.sections[i] if i in emptied else s).file_size) for i, s in sections if s.type),
        (len(obj.data), len(obj.data)),
    ]
    reached = 0
    for (_, end), (following, _) in pairwise(sorted(parts)):
        reached = max(reached, end)
        yield reached, max(following, reached)

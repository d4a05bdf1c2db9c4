"""A code object with other instructions, descriptors or metadata: everything else stays, and addresses follow."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from asmevo.codeobject import unwind
from asmevo.codeobject.codeobject import CodeObject
from asmevo.codeobject.descriptor import SIZE as DESCRIPTOR_SIZE
from asmevo.codeobject.descriptor import Descriptor
from asmevo.codeobject.elf import (
    HEADER,
    PT_DYNAMIC,
    SECTION,
    SEGMENT,
    SHN_LORESERVE,
    SHT_DYNAMIC,
    SHT_DYNSYM,
    SHT_NOBITS,
    SHT_PROGBITS,
    SHT_RELA,
    SHT_RELR,
    SHT_SYMTAB,
    STT_FUNC,
    STT_OBJECT,
    STT_SECTION,
    SYMBOL,
    Section,
    Segment,
)
from asmevo.codeobject.plan import Plan, UnmovableError
from asmevo.codeobject.relocations import (
    RELATIVE64,
    WHOLE,
    WORD,
    file_place,
    loaded_tables,
    moved,
    moved_packed,
    relocations,
    target_of,
    targets,
)
from asmevo.verdict import InputError

ADDRESS_TAGS = frozenset(
    {3, 4, 5, 6, 7, 12, 13, 17, 23, 25, 26, 32, 36, 0x6FFFFEF5, 0x6FFFFFF0, 0x6FFFFFFC, 0x6FFFFFFE}
)
"""Dynamic tags whose value is an address."""
_COUNTS = frozenset({0, 1, 2, 8, 9, 10, 11, 14, 15, 16, 18, 19, 20, 21, 22, 24, 27, 28, 29, 30, 33, 35, 37})
_COUNTS_ABOVE = frozenset({0x6FFFFDF5, 0x6FFFFFF9, 0x6FFFFFFA, 0x6FFFFFFB, 0x6FFFFFFD, 0x6FFFFFFF})
"""Dynamic tags whose value is none: sizes, counts, offsets of names, flags; in the range of System V and above it."""
_LOADED_TYPES = frozenset({*range(1, 10), 11, 14, 15, 16, 19, 0x6FFFFFF6, 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF})
"""Section types that are followed, or hold no address: those of System V, hashes and versions of symbols."""
DYNAMIC_ENTRY = struct.Struct("<qQ")
UNWIND = ".eh_frame"
"""The section of unwind tables."""
_LINKERS = (UNWIND, ".relro_padding")
"""Sections of data that are followed, or are empty room."""
_NOT_READ = (".eh_frame_hdr", ".gcc_except_table", ".llvm_stackmaps")
_DESCRIBES = (".debug_", ".stack_sizes", ".llvm_bb_addr_map", ".llvm.call-graph")


def describes_code(section: Section) -> bool:
    """Whether a section that is not loaded tells tools about instructions by address; it may be dropped."""
    return not section.allocated and (section.name.startswith(_DESCRIBES) or section.type == SHT_RELA)


def descriptors(obj: CodeObject) -> dict[int, Descriptor]:
    """Address to descriptor: those of the kernels, and other objects that are called `*.kd` and as large as one."""
    found = {kernel.descriptor_address: kernel.descriptor for kernel in obj.kernels}
    for symbol in obj.symbols:
        if symbol.name.endswith(".kd") and symbol.type == STT_OBJECT and symbol.size == DESCRIPTOR_SIZE:
            home = obj.sections[symbol.section] if symbol.section < len(obj.sections) else None
            if home is not None and home.type != SHT_NOBITS and home.contains(symbol.value):
                at = home.offset + symbol.value - home.address
                found.setdefault(symbol.value, Descriptor(obj.data[at : at + DESCRIPTOR_SIZE]))
    return found


def patch(obj: CodeObject, contents: Mapping[int, bytes], changed: Mapping[int, Descriptor]) -> bytes:
    """The file with other bytes in sections of the same size, and other descriptors by their address."""
    out = bytearray(obj.data)
    for index, content in contents.items():
        at, size = obj.sections[index].offset, obj.sections[index].size
        assert len(content) == size
        out[at : at + size] = content
    for address, descriptor in changed.items():
        at = file_place(obj, address)
        out[at : at + DESCRIPTOR_SIZE] = descriptor.raw
    return bytes(out)


def write(
    plan: Plan,
    contents: Mapping[int, bytes],
    code: Callable[[int], int],
    changed: Mapping[int, Descriptor],
) -> bytes:
    """The file in which the sections of the plan have these contents.

    `code` maps an old address, from the first byte of `.text` to just behind its last, to the new one; `changed` holds
    descriptors by their old address. Symbols, descriptors, relocations, the dynamic table and headers follow.
    Sections that only describe instructions to debuggers are emptied, since they no longer hold.

    Raises `InputError` for an object that has references into code or data which cannot be followed.
    """
    return _Writer(plan, contents, code, changed).write()


class _Writer:
    def __init__(
        self,
        plan: Plan,
        contents: Mapping[int, bytes],
        code: Callable[[int], int],
        changed: Mapping[int, Descriptor],
    ) -> None:
        self.obj, self.plan, self.contents = plan.obj, plan, contents
        self.code, self.changed = code, changed
        self.text_index = self.obj.sections.index(self.obj.text)
        _refuse(self.obj)
        _refuse_offsets(plan)

    def write(self) -> bytes:
        data, out, at = self.obj.data, bytearray(), 0
        indices = {id(self.obj.sections[index]): index for index in self.contents}
        for step in self.plan.steps:
            out += data[at : step.home.offset] + self.contents[indices[id(step.home)]]
            room = self.plan.offset(step.first_behind) - len(out)
            out += data[step.file_end : step.first_behind][:room].ljust(room, b"\0")
            at = step.first_behind
        out += data[at:]
        try:
            for offset, raw in self._patches():
                place = self.plan.offset(offset)
                out[place : place + len(raw)] = raw
        except struct.error:
            raise InputError("Moved addresses leave what the code object can state; get an undamaged file.") from None
        return bytes(out)

    def _patches(self) -> Iterator[tuple[int, bytes]]:
        """(old file offset, new bytes) of everything that names an address, an offset or a size."""
        fields = list(HEADER.unpack_from(self.obj.data))
        segments_at, sections_at = fields[5], fields[6]
        fields[4] = self._address(fields[4]) if fields[4] else 0
        fields[5], fields[6] = self.plan.offset(segments_at), self.plan.offset(sections_at)
        yield 0, HEADER.pack(*fields)
        yield segments_at, b"".join(_pack_segment(self.plan.segment(s)) for s in self.obj.segments)
        yield sections_at, b"".join(_pack_section(self._section(s)) for s in self.obj.sections)
        for section in self.obj.sections:
            if section.type in (SHT_SYMTAB, SHT_DYNSYM):
                yield section.offset, self._symbols(section)
            elif section.type == SHT_DYNAMIC:
                yield section.offset, self._dynamic(section)
            elif section.name == UNWIND and section.allocated and section.file_size:
                new = self.plan.address(section.address)
                yield section.offset, unwind.moved(self._content(section), section.address, new, self._address)
        for table in loaded_tables(self.obj):
            yield from self._relocations(table)
        for address, descriptor in descriptors(self.obj).items():
            entry = self._address(address + descriptor.entry_offset)
            new = self.changed.get(address, descriptor).with_(entry_offset=entry - self.plan.address(address))
            yield file_place(self.obj, address), new.raw

    def _address(self, address: int, section: int = 0) -> int:
        """New address of an old one, which belongs to this section if the index is not 0."""
        home = self.obj.text
        if section == self.text_index or (not section and home.contains(address)):
            return self.code(address)
        if section:
            start = self.obj.sections[section].address
            return address - start + self.plan.address(start)
        if address == home.address + home.size and not any(s.contains(address) for s in self.obj.sections):
            return self.code(address)
        return self.plan.address(address)

    def _section(self, section: Section) -> Section:
        new = self.plan.section(section)
        return replace(new, size=0) if describes_code(section) else new

    def _symbols(self, table: Section) -> bytes:
        out = bytearray()
        home = self.text_index
        for name, info, other, section, value, size in SYMBOL.iter_unpack(self._content(table)):
            if section == home and info & 15 != STT_SECTION:
                start = self.code(value)
                size = self.code(value + size) - start if size else 0
                value = start
            elif 0 < section < SHN_LORESERVE and self.obj.sections[int(section)].allocated:
                value = self._address(value, section) if section != home else self.plan.address(value)
            out += SYMBOL.pack(name, info, other, section, value, size)
        return bytes(out)

    def _dynamic(self, table: Section) -> bytes:
        return b"".join(
            DYNAMIC_ENTRY.pack(tag, self._address(value) if tag in ADDRESS_TAGS else value)
            for tag, value in DYNAMIC_ENTRY.iter_unpack(self._content(table))
        )

    def _relocations(self, table: Section) -> Iterator[tuple[int, bytes]]:
        """The entries of a table, and the values that were already written at their places."""
        symbols, found = targets(self.obj, table), relocations(self.obj, table)
        after = [moved(self.obj, r, symbols, self._address) for r in found]
        if table.type == SHT_RELR:
            shifts = {new.place - old.place for old, new in zip(found, after, strict=True)}
            if len(shifts) > 1:
                raise _unmovable(table.name)
            yield table.offset, moved_packed(self._content(table), *(shifts or {0}))
        else:
            yield table.offset, b"".join(r.pack() for r in after)
        for old in found:
            at, goes_to = file_place(self.obj, old.place), target_of(self.obj, old, symbols)
            if not (at and goes_to and old.type in WHOLE and WORD.unpack_from(self.obj.data, at)[0] == goes_to):
                continue
            home = 0 if old.type == RELATIVE64 else symbols[old.symbol].section
            yield at, WORD.pack(self._address(goes_to, home))

    def _content(self, section: Section) -> bytes:
        return self.obj.data[section.offset : section.offset + section.size]


def _refuse(obj: CodeObject) -> None:
    """Refuse objects that hold addresses which nothing tells apart from other data."""
    written = {r.place for table in loaded_tables(obj) for r in relocations(obj, table)}
    dynamic = {s.address for s in obj.sections if s.type == SHT_DYNAMIC}
    for section in obj.sections:
        known = section.type in _LOADED_TYPES and not section.name.startswith(_NOT_READ)
        if section.size and section.allocated and not known:
            raise _unmovable(section.name)
        if section.type == SHT_DYNAMIC:
            content = obj.data[section.offset : section.offset + section.size]
            if len(content) % DYNAMIC_ENTRY.size:
                raise InputError("The code object's dynamic table ends within an entry; get an undamaged file.")
            tags = {tag for tag, _ in DYNAMIC_ENTRY.iter_unpack(content)}
            if tags - ADDRESS_TAGS - _COUNTS - _COUNTS_ABOVE:
                raise _unmovable(section.name)
        if section.name.startswith(".got") and section.type != SHT_NOBITS:
            for at in range(0, section.size // 8 * 8, 8):
                value = WORD.unpack_from(obj.data, section.offset + at)[0]
                if value and value not in dynamic and section.address + at not in written:
                    raise _unmovable(section.name)
    _refuse_distances(obj)
    if sum(s.type == PT_DYNAMIC for s in obj.segments) > 1:
        raise InputError("The code object has several dynamic segments; get an undamaged file.")


def _refuse_distances(obj: CodeObject) -> None:
    """Refuse data that hold the distance to a function, which the linker resolved and left no relocation for.

    Distances are looked for from their own place, and from the begin of the object they are part of: tables of jumps.
    """
    home = obj.sections.index(obj.text)
    functions = {
        s.value for s in obj.symbols if s.section == home and s.type == STT_FUNC and obj.text.contains(s.value)
    }
    entries = np.array(sorted({*functions, *(k.entry for k in obj.kernels)}), np.int64)
    known = np.array(sorted(descriptors(obj)), np.int64)
    for index, section in enumerate(obj.sections):
        if section.type != SHT_PROGBITS or not section.allocated or index == home or section.name == UNWIND:
            continue
        for places, begins, values in _distances(obj, index):
            leads = np.isin(places + values, entries) | np.isin(begins + values, entries)
            found = places[leads & (values != 0) & ~np.isin(begins, known)]
            if len(found):
                raise UnmovableError(
                    f"The data at 0x{found[0]:x} seem to hold the distance to a function, so instructions cannot be "
                    "moved; keep to edits that leave every instruction at its place."
                )


def _distances(obj: CodeObject, index: int) -> Iterator[tuple[Any, Any, Any]]:
    """The words of a section, as 32 and as 64 bits: places, begins of the objects that they are in, values."""
    section = obj.sections[index]
    symbols = (s.value for s in obj.symbols if s.section == index and section.contains(s.value))
    starts = np.array(sorted({section.address, *symbols}), np.int64)
    for form in ("<i4", "<i8"):
        size = np.dtype(form).itemsize
        values = np.frombuffer(obj.data, form, section.size // size, section.offset).astype(np.int64)
        places = section.address + size * np.arange(len(values))
        yield places, starts[np.searchsorted(starts, places, "right") - 1], values


def _refuse_offsets(plan: Plan) -> None:
    """Refuse data that seem to hold the distance to other data, when the two move apart."""
    obj, home = plan.obj, plan.obj.text
    data = [
        (i, s, plan.address(s.address) - s.address)
        for i, s in enumerate(obj.sections)
        if s.allocated and s.size and s is not home and s.type in (SHT_PROGBITS, SHT_NOBITS) and s.name not in _LINKERS
    ]
    known = np.array(sorted(descriptors(obj)), np.int64)
    for index, section, shift in data:
        apart = [s for _, s, other in data if other != shift]
        if not apart or section.type != SHT_PROGBITS:
            continue
        for places, begins, values in _distances(obj, index):
            for s in apart:
                leads = np.zeros(len(values), bool)
                for end in (places + values, begins + values):
                    leads |= (end >= s.address) & (end < s.address + s.size)
                found = places[leads & ~np.isin(begins, known)]
                if len(found):
                    raise UnmovableError(
                        f"The data at 0x{found[0]:x} seem to hold the distance to {s.name}, which would move away; "
                        "insert less code, or keep to edits that leave every instruction at its place."
                    )


def _unmovable(name: str) -> UnmovableError:
    return UnmovableError(
        f"The section {name} refers to code or data by address, so instructions cannot be moved; "
        "keep to edits that leave every instruction at its place."
    )


def _pack_segment(s: Segment) -> bytes:
    return SEGMENT.pack(s.type, s.flags, s.offset, s.address, s.physical, s.file_size, s.memory_size, s.align)


def _pack_section(s: Section) -> bytes:
    return SECTION.pack(s.name_offset, s.type, s.flags, s.address, s.offset, s.size, s.link, s.info, s.align, s.entsize)

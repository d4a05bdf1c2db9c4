"""A code object with another `.text`: everything else stays, and what follows moves only when it must.

A text of the same size is patched in place. A larger one first uses the gap behind `.text`; beyond that, what follows
moves by whole pages, in the file, in memory, or both, so that every segment keeps its alignment.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from asmevo.codeobject.codeobject import CodeObject
from asmevo.codeobject.elf import (
    HEADER,
    PT_DYNAMIC,
    PT_LOAD,
    SECTION,
    SEGMENT,
    SHN_LORESERVE,
    SHT_DYNAMIC,
    SHT_DYNSYM,
    SHT_REL,
    SHT_RELA,
    SHT_SYMTAB,
    STT_SECTION,
    SYMBOL,
    Section,
    Segment,
)
from asmevo.verdict import InputError

ADDRESS_TAGS = frozenset({3, 4, 5, 6, 7, 12, 13, 17, 23, 25, 26, 0x6FFFFEF5, 0x6FFFFFF0, 0x6FFFFFFC, 0x6FFFFFFE})
"""Dynamic tags whose value is an address."""
DYNAMIC_ENTRY = struct.Struct("<qQ")
_MAX_ALIGN = 1 << 16


@dataclass(frozen=True, slots=True)
class TextMove:
    """Where the instructions of a changed text went."""

    address: Callable[[int], int]
    """Old address, from the first byte of `.text` to just behind its last, to the new one."""
    entries: Mapping[str, int]
    """Kernel name to the address of its entry in the new text."""


def is_debug(section: Section) -> bool:
    """Whether a section describes instructions by address for debuggers."""
    return section.name.startswith(".debug_")


def write_text(obj: CodeObject, text: bytes, move: TextMove | None = None) -> bytes:
    """The file with `text` as its instructions.

    `move` is None when every instruction stays at its address. Otherwise symbols, descriptors and headers follow, and
    debug sections are emptied, since their line tables no longer hold. Raises `InputError` for an object that
    has other references into code or data (relocations, a global offset table, unwind tables).
    """
    if move is None:
        at = obj.text.offset
        return obj.data[:at] + text + obj.data[at + obj.text.size :]
    return _Writer(obj, text, move).write()


class _Writer:
    def __init__(self, obj: CodeObject, text: bytes, move: TextMove) -> None:
        self.obj, self.new_text, self.move = obj, text, move
        self.home = obj.text
        self.file_end = self.home.offset + self.home.size
        self.address_end = self.home.address + self.home.size
        self.growth = len(text) - self.home.size
        _refuse_references(obj)
        self._refuse_overlaps()
        self.first_behind = min(self._behind_in_file(), default=len(obj.data))
        self.file_shift = _pages(self.growth - (self.first_behind - self.file_end), self._page())
        self.address_shift = _pages(self.growth - self._address_gap(), self._page())
        if any(s.type == PT_LOAD and self._holds_text(s) and not self._ends_with_text(s) for s in obj.segments):
            self.file_shift = self.address_shift = max(self.file_shift, self.address_shift)

    # layout

    def _page(self) -> int:
        aligns = [s.align for s in self.obj.segments if s.type == PT_LOAD] + [s.align for s in self.obj.sections]
        page = max((*aligns, 0x1000))
        if page > _MAX_ALIGN or page & (page - 1):
            raise InputError(f"The code object asks for an alignment of {page} bytes; get an undamaged file.")
        return page

    def _refuse_overlaps(self) -> None:
        for section in self.obj.sections:
            overlaps = section.offset < self.file_end and section.offset + section.file_size > self.home.offset
            if section is not self.home and section.file_size and overlaps:
                raise InputError(f"The section {section.name} overlaps .text in the file; get an undamaged file.")
        for segment in self.obj.segments:
            if self._holds_text(segment) and self._ends_with_text(segment) and segment.memory_size != segment.file_size:
                raise InputError("The segment of .text ends in zero-filled memory, so instructions cannot be moved.")

    def _behind_in_file(self) -> Iterator[int]:
        """File offsets of everything that lies behind `.text`."""
        header = HEADER.unpack_from(self.obj.data)
        yield from (s.offset for s in self.obj.sections if s.file_size and s.offset >= self.file_end)
        yield from (s.offset for s in self.obj.segments if s.file_size and s.offset >= self.file_end)
        yield from (at for at in (header[5], header[6]) if at >= self.file_end)

    def _address_gap(self) -> int:
        """Bytes of memory that the text may grow by: up to the next section of its segment, or the next page in use."""
        starts = [s.address for s in self.obj.sections if s.allocated and s.size and s.address >= self.address_end]
        for segment in self.obj.segments:
            if segment.type == PT_LOAD and segment.address >= self.address_end:
                starts.append(segment.address // 0x1000 * 0x1000)
        return max(min(starts, default=self.address_end + (1 << 40)) - self.address_end, 0)

    def _holds_text(self, segment: Segment) -> bool:
        end = segment.offset + segment.file_size
        return segment.offset <= self.home.offset and end >= self.file_end and segment.file_size > 0

    def _ends_with_text(self, segment: Segment) -> bool:
        return segment.offset + segment.file_size == self.file_end

    def _offset(self, offset: int) -> int:
        return offset + self.file_shift if offset >= self.file_end else offset

    def _address(self, address: int) -> int:
        """New address of what is not in `.text`."""
        return address + self.address_shift if address >= self.address_end else address

    # output

    def write(self) -> bytes:
        data = self.obj.data
        room = self.first_behind + self.file_shift - self.home.offset - len(self.new_text)
        gap = data[self.file_end : self.first_behind][:room].ljust(room, b"\0")
        out = bytearray(data[: self.home.offset] + self.new_text + gap + data[self.first_behind :])
        for offset, raw in self._patches():
            at = self._offset(offset)
            out[at : at + len(raw)] = raw
        return bytes(out)

    def _patches(self) -> Iterator[tuple[int, bytes]]:
        """(old file offset, new bytes) of everything that names an address, an offset or a size."""
        fields = list(HEADER.unpack_from(self.obj.data))
        segments_at, sections_at = fields[5], fields[6]
        fields[4] = self._any_address(fields[4]) if fields[4] else 0
        fields[5], fields[6] = self._offset(segments_at), self._offset(sections_at)
        yield 0, HEADER.pack(*fields)
        yield segments_at, b"".join(_pack_segment(self._segment(s)) for s in self.obj.segments)
        yield sections_at, b"".join(_pack_section(self._section(s)) for s in self.obj.sections)
        for section in self.obj.sections:
            if section.type in (SHT_SYMTAB, SHT_DYNSYM):
                yield section.offset, self._symbols(section)
            elif section.type == SHT_DYNAMIC:
                yield section.offset, self._dynamic(section)
        for kernel in self.obj.kernels:
            section = next(s for s in self.obj.sections if s.contains(kernel.descriptor_address))
            distance = self.move.entries[kernel.name] - self._address(kernel.descriptor_address)
            raw = kernel.descriptor.with_(entry_offset=distance).raw
            yield section.offset + kernel.descriptor_address - section.address, raw

    def _any_address(self, address: int) -> int:
        inside = self.home.address <= address <= self.address_end
        return self.move.address(address) if inside else self._address(address)

    def _segment(self, segment: Segment) -> Segment:
        if self._holds_text(segment):
            more = self.growth if self._ends_with_text(segment) else self.file_shift
            return replace(segment, file_size=segment.file_size + more, memory_size=segment.memory_size + more)
        moved = segment.address >= self.address_end
        return replace(
            segment,
            offset=self._offset(segment.offset),
            address=self._address(segment.address),
            physical=segment.physical + (self.address_shift if moved else 0),
        )

    def _section(self, section: Section) -> Section:
        if section is self.home:
            return replace(section, size=len(self.new_text))
        address = self._address(section.address) if section.allocated else section.address
        size = 0 if is_debug(section) else section.size
        return replace(section, offset=self._offset(section.offset), address=address, size=size)

    def _symbols(self, table: Section) -> bytes:
        out = bytearray()
        home = self.obj.sections.index(self.home)
        entries = {k.entry: self.move.entries[k.name] for k in self.obj.kernels}
        for name, info, other, section, value, size in SYMBOL.iter_unpack(self._content(table)):
            if section == home and info & 15 != STT_SECTION:
                start = entries.get(value, self.move.address(value))
                size = self.move.address(value + size) - start if size else 0
                value = start
            elif 0 < section < SHN_LORESERVE and self.obj.sections[int(section)].allocated:
                value = self._address(value)
            out += SYMBOL.pack(name, info, other, section, value, size)
        return bytes(out)

    def _dynamic(self, table: Section) -> bytes:
        return b"".join(
            DYNAMIC_ENTRY.pack(tag, self._address(value) if tag in ADDRESS_TAGS else value)
            for tag, value in DYNAMIC_ENTRY.iter_unpack(self._content(table))
        )

    def _content(self, section: Section) -> bytes:
        return self.obj.data[section.offset : section.offset + section.size]


def _refuse_references(obj: CodeObject) -> None:
    """Refuse objects that hold addresses which would have to move along."""
    for section in obj.sections:
        if section.size and (section.type in (SHT_REL, SHT_RELA) or section.name.startswith((".got", ".eh_frame"))):
            raise InputError(
                f"The section {section.name} refers to code or data by address, so instructions cannot be moved; "
                "keep to edits that leave every instruction at its place."
            )
    if sum(s.type == PT_DYNAMIC for s in obj.segments) > 1:
        raise InputError("The code object has several dynamic segments; get an undamaged file.")


def _pages(missing: int, page: int) -> int:
    """Bytes to shift by when `missing` bytes do not fit."""
    return -(-missing // page) * page if missing > 0 else 0


def _pack_segment(s: Segment) -> bytes:
    return SEGMENT.pack(s.type, s.flags, s.offset, s.address, s.physical, s.file_size, s.memory_size, s.align)


def _pack_section(s: Section) -> bytes:
    return SECTION.pack(s.name_offset, s.type, s.flags, s.address, s.offset, s.size, s.link, s.info, s.align, s.entsize)

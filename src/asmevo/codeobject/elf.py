"""ELF64 little-endian: the part of the format that AMD code objects use, read with every length checked first.

Source: System V ABI, "Object Files" and "Program Loading"; LLVM `llvm/BinaryFormat/ELF.h`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from asmevo.verdict import InputError

HEADER_SIZE, SEGMENT_SIZE, SECTION_SIZE, SYMBOL_SIZE = 64, 56, 64, 24
EM_AMDGPU, OSABI_AMDGPU_HSA = 224, 64
SHT_PROGBITS, SHT_SYMTAB, SHT_RELA = 1, 2, 4
SHT_DYNAMIC, SHT_NOTE, SHT_NOBITS, SHT_REL, SHT_DYNSYM, SHT_RELR = 6, 7, 8, 9, 11, 19
SHF_ALLOC, SHF_EXECINSTR = 2, 4
PT_LOAD, PT_DYNAMIC = 1, 2
STT_OBJECT, STT_FUNC, STT_SECTION, SHN_LORESERVE = 1, 2, 3, 0xFF00

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SEGMENT = struct.Struct("<IIQQQQQQ")
SYMBOL = struct.Struct("<IBBHQQ")

_MACHINES = {3: "32-bit x86", 40: "Arm", 62: "x86-64", 183: "AArch64", 190: "CUDA", 243: "RISC-V"}


@dataclass(frozen=True, slots=True)
class Header:
    """The ELF header fields that matter here."""

    os_abi: int
    abi_version: int
    type: int
    machine: int
    entry: int
    flags: int
    segment_offset: int
    segment_count: int
    section_offset: int
    section_count: int
    name_index: int


@dataclass(frozen=True, slots=True)
class Section:
    """A section header. Its index is its position in the table."""

    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entsize: int
    name_offset: int = 0

    @property
    def allocated(self) -> bool:
        """Whether it has an address when loaded."""
        return bool(self.flags & SHF_ALLOC)

    @property
    def file_size(self) -> int:
        """Bytes it takes in the file."""
        return 0 if self.type in (0, SHT_NOBITS) else self.size

    def contains(self, address: int) -> bool:
        return self.allocated and self.address <= address < self.address + self.size


@dataclass(frozen=True, slots=True)
class Segment:
    """A program header."""

    type: int
    flags: int
    offset: int
    address: int
    physical: int
    file_size: int
    memory_size: int
    align: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol table entry."""

    name: str
    value: int
    size: int
    info: int
    other: int
    section: int
    """Section index; 0 for undefined, from 0xff00 on reserved."""

    @property
    def type(self) -> int:
        return self.info & 15

    @property
    def binding(self) -> int:
        return self.info >> 4

    @property
    def visibility(self) -> int:
        return self.other & 3


class Elf:
    """Headers, sections and segments of an ELF file. Raises `InputError` on anything that does not fit the file."""

    def __init__(self, data: bytes, name: str) -> None:
        self.data, self.name = data, name
        self.header = _read_header(data, name)
        self.segments = self._segments()
        self.sections = self._sections()

    def slice(self, offset: int, size: int, what: str) -> bytes:
        """Bytes of the file; `what` names them in the error."""
        if offset + size > len(self.data):
            raise InputError(
                f"{self.name} is truncated: {what} ends at byte {offset + size} of {len(self.data)}; "
                "get the complete file."
            )
        return self.data[offset : offset + size]

    def content(self, section: Section) -> bytes:
        """The bytes of a section; none for one without file content."""
        return self.data[section.offset : section.offset + section.file_size]

    def symbols(self, table: Section) -> tuple[Symbol, ...]:
        """The entries of a symbol table section."""
        if table.entsize != SYMBOL_SIZE or table.size % SYMBOL_SIZE or table.link >= len(self.sections):
            raise InputError(f"{self.name} has a malformed symbol table {table.name}; get an undamaged file.")
        strings = self.content(self.sections[table.link])
        found = tuple(
            Symbol(self._string(strings, at), value, size, info, other, section)
            for at, info, other, section, value, size in SYMBOL.iter_unpack(self.content(table))
        )
        if any(len(self.sections) <= s.section < SHN_LORESERVE for s in found):
            raise InputError(f"{self.name} has a symbol in a section that does not exist; get an undamaged file.")
        return found

    def _segments(self) -> tuple[Segment, ...]:
        h = self.header
        raw = self.slice(h.segment_offset, h.segment_count * SEGMENT_SIZE, "the program header table")
        found: list[Segment] = []
        for kind, flags, offset, address, physical, file_size, memory_size, align in SEGMENT.iter_unpack(raw):
            self.slice(offset, file_size, f"program segment {len(found)}")
            if file_size > memory_size and kind == PT_LOAD:
                raise InputError(f"{self.name} has a segment larger in the file than in memory; get an undamaged file.")
            found.append(Segment(kind, flags, offset, address, physical, file_size, memory_size, align))
        return tuple(found)

    def _sections(self) -> tuple[Section, ...]:
        h = self.header
        raw = self.slice(h.section_offset, h.section_count * SECTION_SIZE, "the section header table")
        rows = list(SECTION.iter_unpack(raw))
        if h.name_index >= len(rows):
            raise InputError(f"{self.name} has no section names; AsmEvo needs an object with its section table.")
        names = self._content_of(rows[h.name_index], "the section name table")
        found: list[Section] = []
        for at, kind, flags, address, offset, size, link, info, align, entsize in rows:
            section = Section(
                self._string(names, at), kind, flags, address, offset, size, link, info, align, entsize, at
            )
            self.slice(offset, section.file_size, f"section {section.name or len(found)}")
            found.append(section)
        return tuple(found)

    def _content_of(self, row: tuple[int, ...], what: str) -> bytes:
        return self.slice(row[4], 0 if row[1] == SHT_NOBITS else row[5], what)

    def _string(self, table: bytes, at: int) -> str:
        end = table.find(b"\0", at) if at < len(table) else -1
        if end < 0 and not (at == 0 and not table):
            raise InputError(f"{self.name} has a name outside of its string table; get an undamaged file.")
        try:
            return table[at : max(end, at)].decode()
        except UnicodeDecodeError:
            raise InputError(f"{self.name} has a name that is not UTF-8; get an undamaged file.") from None


def _read_header(data: bytes, name: str) -> Header:
    if not data:
        raise InputError(f"{name} is empty; pass an AMD GPU code object (.co or .hsaco).")
    if data.startswith((b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB")):
        raise InputError(f"{name} is an offload bundle; take an object out with `asmevo inspect --extract`.")
    if not data.startswith(b"\x7fELF"[: len(data)]):
        raise InputError(f"{name} is not an ELF file; pass an AMD GPU code object (.co or .hsaco).")
    if len(data) < HEADER_SIZE:
        raise InputError(f"{name} is truncated: {len(data)} bytes are less than an ELF header; get the complete file.")
    (
        ident, kind, machine, _, entry, segment_offset, section_offset, flags, _, segment_entry, segment_count,
        section_entry, section_count, name_index,
    ) = HEADER.unpack_from(data)  # fmt: skip
    if machine != EM_AMDGPU:
        found = _MACHINES.get(machine, f"ELF machine {machine}")
        raise InputError(
            f"{name} is an object for {found}, not for an AMD GPU; pass a .co or .hsaco file, or take one out with "
            "`asmevo inspect --extract`."
        )
    if ident[4:7] != b"\x02\x01\x01" or ident[7] != OSABI_AMDGPU_HSA:
        raise InputError(f"{name} is not a 64-bit HSA code object (ident {ident[4:8].hex()}); rebuild it for amdhsa.")
    if (segment_entry, section_entry) != (SEGMENT_SIZE, SECTION_SIZE):
        raise InputError(f"{name} has header tables of a foreign layout; AsmEvo needs both tables of ELF64.")
    return Header(
        ident[7], ident[8], kind, machine, entry, flags, segment_offset, segment_count, section_offset, section_count,
        name_index,
    )  # fmt: skip

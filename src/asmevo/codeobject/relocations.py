"""Dynamic relocations: the addresses that the loader writes into data, and how they follow what they point at.

Source: LLVM `AMDGPUUsage`, "Relocation Records"; System V ABI, "Relocation".
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from asmevo.codeobject.codeobject import CodeObject
from asmevo.codeobject.elf import (
    SHN_LORESERVE,
    SHT_DYNSYM,
    SHT_NOBITS,
    SHT_REL,
    SHT_RELA,
    SHT_RELR,
    SHT_SYMTAB,
    SYMBOL,
    Section,
)
from asmevo.codeobject.plan import UnmovableError
from asmevo.verdict import InputError

ENTRY = struct.Struct("<QIIq")
WORD = struct.Struct("<Q")
RELATIVE64 = 13
ABSOLUTE = frozenset({1, 2, 3, 6})
"""R_AMDGPU_ABS32_LO, ABS32_HI, ABS64, ABS32: symbol and addend."""
WHOLE = frozenset({3, RELATIVE64})
"""Those of 64 bits that hold an address."""
DISTANCES = frozenset({4, 5, 10, 11})
"""R_AMDGPU_REL32, REL64, REL32_LO, REL32_HI: symbol and addend, less the place."""
_NONE = 0
_ALL_ONES = (1 << 64) - 1
_NAMES = {0: "NONE", 1: "ABS32_LO", 2: "ABS32_HI", 3: "ABS64", 4: "REL32", 5: "REL64", 6: "ABS32", 13: "RELATIVE64"}


@dataclass(frozen=True, slots=True)
class Relocation:
    """One entry of a table of relocations with addends."""

    place: int
    """Address that the loader writes to."""
    type: int
    symbol: int
    """Index in the symbol table that the section links to; 0 for none."""
    addend: int

    def pack(self) -> bytes:
        return ENTRY.pack(self.place, self.type, self.symbol, (self.addend + (1 << 63) & _ALL_ONES) - (1 << 63))

    @property
    def name(self) -> str:
        return f"R_AMDGPU_{_NAMES.get(self.type, self.type)}"


@dataclass(frozen=True, slots=True)
class Target:
    """The symbol of a relocation: section index (0 undefined) and value."""

    section: int
    value: int


def loaded_tables(obj: CodeObject) -> Iterator[Section]:
    """The relocation tables that the loader reads."""
    return (s for s in obj.sections if s.type in (SHT_REL, SHT_RELA, SHT_RELR) and s.allocated and s.size)


def file_place(obj: CodeObject, address: int, size: int = 8) -> int:
    """File offset of the bytes at an address; 0 when they are not in the file."""
    for s in obj.sections:
        if s.type != SHT_NOBITS and s.contains(address) and address + size <= s.address + s.size:
            return s.offset + address - s.address
    return 0


def relocations(obj: CodeObject, table: Section) -> tuple[Relocation, ...]:
    """The entries of one table; in a packed one (RELR) the addends stand at the places.

    Raises `UnmovableError` for a table whose addends are not known.
    """
    raw = obj.data[table.offset : table.offset + table.size]
    if table.type == SHT_RELR and table.size % WORD.size == 0:
        return tuple(_packed(obj, place) for place in _packed_places(raw))
    if table.type != SHT_RELA or table.size % ENTRY.size:
        raise UnmovableError(
            f"The section {table.name} refers to code or data by address in a form that is not known, so instructions "
            "cannot be moved; keep to edits that leave every instruction at its place."
        )
    return tuple(Relocation(place, kind, symbol, addend) for place, kind, symbol, addend in ENTRY.iter_unpack(raw))


def _packed(obj: CodeObject, place: int) -> Relocation:
    at = file_place(obj, place)
    if not at:
        raise InputError(f"A relocation writes to 0x{place:x}, where no section has data; get an undamaged file.")
    return Relocation(place, RELATIVE64, 0, WORD.unpack_from(obj.data, at)[0])


def _packed_places(raw: bytes) -> Iterator[int]:
    """The places of a packed table: addresses, each with bit maps of the 63 words that follow.

    Source: System V ABI draft, "Relative Relocation Table".
    """
    following = 0
    for (entry,) in WORD.iter_unpack(raw):
        if entry & 1 == 0:
            yield entry
            following = entry + 8
        else:
            yield from (following + 8 * i for i in range(63) if entry >> (i + 1) & 1)
            following += 8 * 63


def moved_packed(raw: bytes, shift: int) -> bytes:
    """A packed table all of whose places are `shift` bytes further on."""
    return b"".join(WORD.pack(entry if entry & 1 else entry + shift) for (entry,) in WORD.iter_unpack(raw))


def targets(obj: CodeObject, table: Section) -> tuple[Target, ...]:
    """The symbols that a table's entries count from."""
    if not 0 < table.link < len(obj.sections):
        return ()
    symbols = obj.sections[table.link]
    if symbols.type not in (SHT_SYMTAB, SHT_DYNSYM):
        return ()
    raw = obj.data[symbols.offset : symbols.offset + symbols.size // SYMBOL.size * SYMBOL.size]
    return tuple(Target(section, value) for _, _, _, section, value, _ in SYMBOL.iter_unpack(raw))


def target_of(obj: CodeObject, relocation: Relocation, symbols: tuple[Target, ...]) -> int | None:
    """The address in the object that an entry stands for; None when it is elsewhere, or no address at all.

    Modulo 2**64, as the loader adds.
    """
    if relocation.type == RELATIVE64:
        return relocation.addend & _ALL_ONES
    if not relocation.symbol < len(symbols):
        raise InputError("A relocation names a symbol that does not exist; get an undamaged file.")
    symbol = symbols[relocation.symbol]
    defined = relocation.symbol and 0 < symbol.section < SHN_LORESERVE
    return symbol.value + relocation.addend & _ALL_ONES if defined and relocation.type != _NONE else None


def moved(
    obj: CodeObject, relocation: Relocation, symbols: tuple[Target, ...], address: Callable[[int, int], int]
) -> Relocation:
    """The entry when everything went to `address(old address, section index or 0)`.

    Raises `InputError` for one in instructions, or whose target cannot be told.
    """
    if obj.text.contains(relocation.place):
        raise UnmovableError(
            f"The loader writes into the instructions at 0x{relocation.place:x} ({relocation.name}), so they cannot be "
            "moved; keep to edits that leave every instruction at its place."
        )
    goes_to = target_of(obj, relocation, symbols)
    found = replace(relocation, place=address(relocation.place, 0))
    if goes_to is None:
        return found
    if relocation.type == RELATIVE64:
        return replace(found, addend=address(goes_to, 0))
    symbol = symbols[relocation.symbol]
    known = relocation.type in ABSOLUTE or (relocation.type in DISTANCES and goes_to == symbol.value)
    if obj.sections[symbol.section] is obj.text and not known:
        raise UnmovableError(
            f"The relocation {relocation.name} at 0x{relocation.place:x} does not tell which instruction it points at, "
            "so instructions cannot be moved; keep to edits that leave every instruction at its place."
        )
    start = address(symbol.value, symbol.section)
    return replace(found, addend=address(goes_to, symbol.section) - start)

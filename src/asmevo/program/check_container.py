"""Everything of a rebuilt object but its instructions, compared with K0."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from asmevo.codeobject import CodeObject, Section, Segment, Symbol, unwind
from asmevo.codeobject.elf import (
    PT_LOAD,
    SHF_EXECINSTR,
    SHN_LORESERVE,
    SHT_DYNAMIC,
    SHT_DYNSYM,
    SHT_NOTE,
    SHT_RELA,
    SHT_RELR,
    SHT_SYMTAB,
    STT_SECTION,
    SYMBOL,
    Elf,
)
from asmevo.codeobject.plan import Plan
from asmevo.codeobject.relocations import WORD, loaded_tables, relocations, target_of, targets
from asmevo.codeobject.writer import ADDRESS_TAGS, DYNAMIC_ENTRY, UNWIND, describes_code, descriptors
from asmevo.program.check_headers import header_findings
from asmevo.program.notes import new_note
from asmevo.program.program import Program
from asmevo.verdict import Finding, Severity

_PAGE = 0x1000
_READ = (SHT_RELA, SHT_RELR)
_DESCRIPTOR_FIELDS = {
    "vgprs": ("vgpr_blocks", "accum_blocks"),
    "agprs": ("vgpr_blocks", "accum_blocks"),
    "sgprs": ("sgpr_blocks",),
    "lds": ("lds_size",),
    "scratch": ("private_size", "private_segment"),
}
"""Fields of the descriptor that may differ from K0 when a resource is declared."""
_METADATA_KEYS = {
    "vgprs": (".vgpr_count",),
    "agprs": (".vgpr_count", ".agpr_count"),
    "sgprs": (".sgpr_count",),
    "lds": (".group_segment_fixed_size",),
    "scratch": (".private_segment_fixed_size",),
}


def container_findings(
    program: Program, new: CodeObject, plan: Plan, code: Callable[[int], int | None]
) -> Iterator[Finding]:
    """Headers, sections, segments, symbols, relocations, dynamic table, descriptors, metadata.

    `code` maps an address of K0's text to that of the line which stands for it, None when an edit removed it.
    """
    old = program.source
    if (old.target, old.e_flags, old.abi_version) != (new.target, new.e_flags, new.abi_version):
        yield Finding("rebuild.flags", "The ELF flags or the ABI version of the rebuilt object differ from K0's.")
    grows = bool(program.resources.given())
    if [_shape(s, grows) for s in old.sections] != [_shape(s, grows) for s in new.sections]:
        yield Finding("rebuild.section", "The section table of the rebuilt object differs from K0's.")
        return
    if [(s.type, s.flags, s.align) for s in old.segments] != [(s.type, s.flags, s.align) for s in new.segments]:
        yield Finding("rebuild.segment", "The program headers of the rebuilt object differ from K0's.")
        return
    yield from _metadata(program, new)
    comparison = _Container(program, new, code)
    yield from comparison.descriptors()
    yield from comparison.sections()
    yield from comparison.relocations()
    yield from _segments(old, new)
    yield from header_findings(old, new, plan, comparison.is_at)


def _metadata(program: Program, new: CodeObject) -> Iterator[Finding]:
    """The metadata are K0's but for the keys of declared resources, which hold what is declared."""
    declared = program.resources.given()
    free = {key for name in declared for key in _METADATA_KEYS[name]}
    symbol = program.kernel.symbol
    if _masked_metadata(program.source.metadata, symbol, free) != _masked_metadata(new.metadata, symbol, free):
        yield Finding("rebuild.metadata", "The metadata of the rebuilt object differs from K0's.")
        return
    entry = next(e for e in new.metadata["amdhsa.kernels"] if e[".symbol"] == symbol)
    for name, keys in _METADATA_KEYS.items():
        if name in declared and name != "vgprs" and entry.get(keys[-1]) != declared[name]:
            yield Finding("rebuild.metadata", f"The metadata does not ask for {declared[name]} {name}.")
    if "vgprs" in declared and entry[".vgpr_count"] < declared["vgprs"]:
        yield Finding("rebuild.metadata", f"The metadata does not ask for {declared['vgprs']} vgprs.")


def _masked_metadata(metadata: Mapping[str, Any], symbol: str, free: set[str]) -> dict[str, Any]:
    entries = [
        {k: v for k, v in e.items() if k not in free} if e.get(".symbol") == symbol else e
        for e in metadata["amdhsa.kernels"]
    ]
    return {**metadata, "amdhsa.kernels": entries}


class _Container:
    def __init__(self, program: Program, new: CodeObject, code: Callable[[int], int | None]) -> None:
        self.program, self.old, self.new, self.code = program, program.source, new, code

    def descriptors(self) -> Iterator[Finding]:
        """Each descriptor bit for bit, but for its entry offset and the fields of declared resources."""
        free = {f for name in self.program.resources.given() for f in _DESCRIPTOR_FIELDS[name]}
        before, after = descriptors(self.old), descriptors(self.new)
        if len(before) != len(after):
            yield Finding("rebuild.descriptor", "The rebuilt object has not as many kernel descriptors as K0.")
            return
        for (address, x), (place, y) in zip(before.items(), after.items(), strict=True):
            own = address == self.program.kernel.descriptor_address
            masked = {"entry_offset": 0} | (dict.fromkeys(free, 0) if own else {})
            if x.with_(**masked) != y.with_(**masked):
                yield Finding("rebuild.descriptor", f"The descriptor at 0x{place:x} differs from K0's.")
            if own and y.with_(entry_offset=0) != self.program.kernel.descriptor.with_(entry_offset=0):
                yield Finding("rebuild.descriptor", f"The descriptor at 0x{place:x} is not as declared.")
            if not self.is_at(address + x.entry_offset, place + y.entry_offset):
                yield Finding("rebuild.entry", f"The descriptor at 0x{place:x} does not lead to its first line.")

    def sections(self) -> Iterator[Finding]:
        old_elf, new_elf = Elf(self.old.data, "K0"), Elf(self.new.data, "the rebuilt object")
        note, note_bytes = new_note(self.program) or (-1, b"")
        for number, (before, after) in enumerate(zip(self.old.sections, self.new.sections, strict=True)):
            if before.type in (SHT_SYMTAB, SHT_DYNSYM):
                yield from self._symbols(old_elf.symbols(before), new_elf.symbols(after))
                if _names(old_elf.content(before)) != _names(new_elf.content(after)):
                    yield Finding("rebuild.symbol", f"The names in {before.name} differ from K0's.")
            elif before.type == SHT_DYNAMIC:
                yield from self._dynamic(old_elf.content(before), new_elf.content(after))
            elif before == self.old.text or (before.type in _READ and before.allocated):
                continue  # compared as instructions, and entry by entry
            elif describes_code(before) and before.size and not after.size:
                yield Finding("rebuild.debug", f"{before.name} is emptied: instructions moved.", Severity.NOTE)
            elif number == note:
                if new_elf.content(after) != note_bytes:
                    yield Finding("rebuild.metadata", "The note is not the metadata of K0 with what is declared.")
            elif before.name == UNWIND and before.allocated:
                yield from self._unwind(before, after)
            elif self._masked(self.old, before) != self._masked(self.new, after):
                yield Finding("rebuild.section", f"The bytes of {before.name} differ from K0's.")

    def _unwind(self, before: Section, after: Section) -> Iterator[Finding]:
        """Each unwind entry describes the function it did, its rules begin at the same instructions."""
        olds, news = (obj.data[s.offset : s.offset + s.file_size] for obj, s in ((self.old, before), (self.new, after)))
        if (olds, before.address) == (news, after.address) and self.old.text_bytes == self.new.text_bytes:
            return
        if unwind.without_addresses(olds, before.address) != unwind.without_addresses(news, after.address):
            yield Finding("rebuild.unwind", "The unwind tables differ from K0's.")
            return
        pairs = zip(unwind.entries(olds, before.address), unwind.entries(news, after.address), strict=True)
        for x, y in pairs:
            same = self.is_at(x.start, y.start) and self.is_at(x.start + x.size, y.start + y.size)
            same &= [(a.at, a.size) for a in x.advances] == [(a.at, a.size) for a in y.advances]
            if not same or not all(
                self.is_at(a.address, b.address) for a, b in zip(x.advances, y.advances, strict=True)
            ):
                yield Finding("rebuild.unwind", f"The unwind entry of 0x{x.start:x} no longer describes its code.")

    def _masked(self, obj: CodeObject, section: Section) -> bytes:
        """The bytes of a section without descriptors, and without what the loader overwrites if it is an address."""
        raw = bytearray(obj.data[section.offset : section.offset + section.file_size])
        for address in descriptors(obj):
            if section.contains(address):
                raw[address - section.address : address - section.address + 64] = bytes(64)
        for table in _tables(obj):
            symbols = targets(obj, table)
            for r in relocations(obj, table):
                at = r.place - section.address
                if section.contains(r.place) and bytes(raw[at : at + 8]) == WORD.pack(target_of(obj, r, symbols) or 0):
                    raw[at : at + 8] = bytes(8)
        return bytes(raw)

    def relocations(self) -> Iterator[Finding]:
        """Each relocation writes to the same place and points at the same one."""
        for before, after in zip(_tables(self.old), _tables(self.new), strict=True):
            olds, news = targets(self.old, before), targets(self.new, after)
            entries = zip(relocations(self.old, before), relocations(self.new, after), strict=True)
            for x, y in entries:
                same = (x.type, x.symbol) == (y.type, y.symbol) and self.is_at(x.place, y.place)
                a, b = target_of(self.old, x, olds), target_of(self.new, y, news)
                if a is None or b is None:
                    same &= a is b and x.addend == y.addend
                else:
                    same &= self.is_at(a, b)
                if not same:
                    yield Finding("rebuild.relocation", f"The {x.name} of 0x{x.place:x} no longer writes what it did.")

    def is_at(self, before: int, after: int) -> bool:
        """Whether an address of K0 became `after`: a line's by the line, any other with its section."""
        old = self.old.text
        inside = old.contains(before)
        homes = [(x, y) for x, y in zip(self.old.sections, self.new.sections, strict=True) if x.allocated]
        for x, y in homes:
            if x is not old and x.contains(before):
                return after == before - x.address + y.address
        if inside or before == old.address + old.size:
            wanted = self.code(before)
            new = self.new.text
            return after == wanted if wanted is not None else new.address <= after <= new.address + new.size
        front = max(((x.address, y.address) for x, y in homes if x.address <= before), default=(0, 0))
        return after - before == front[1] - front[0]  # in no section: as the one in front of it

    def _symbols(self, before: tuple[Symbol, ...], after: tuple[Symbol, ...]) -> Iterator[Finding]:
        text = self.old.sections.index(self.old.text)
        for x, y in zip(before, after, strict=True):
            same = (x.name, x.info, x.other, x.section) == (y.name, y.info, y.other, y.section)
            if x.section == text and x.type != STT_SECTION:
                same &= self._went(x.value, y.value) and (x.size > 0 or y.size == 0)
                same &= x.size == 0 or self._went(x.value + x.size, y.value + y.size)
            else:
                home = x.section if 0 < x.section < SHN_LORESERVE else 0
                shift = self.new.sections[home].address - self.old.sections[home].address
                same &= (y.value, y.size) == (x.value + shift, x.size)
            if not same:
                yield Finding("rebuild.symbol", f"The symbol {x.name} is not where its line or section went.")

    def _went(self, before: int, after: int) -> bool:
        """Whether an address of K0's text became `after`: exactly, unless an edit removed the line."""
        new, wanted = self.new.text, self.code(before)
        return after == wanted if wanted is not None else new.address <= after <= new.address + new.size

    def _dynamic(self, before: bytes, after: bytes) -> Iterator[Finding]:
        for x, y in zip(DYNAMIC_ENTRY.iter_unpack(before), DYNAMIC_ENTRY.iter_unpack(after), strict=True):
            follows = x[0] in ADDRESS_TAGS and self.is_at(x[1], y[1])
            if x[0] != y[0] or not (follows if x[0] in ADDRESS_TAGS else x[1] == y[1]):
                yield Finding("rebuild.dynamic", f"The dynamic entry with tag {x[0]:#x} is not where its section went.")


def _names(table: bytes) -> list[int]:
    """Offsets of the names of a symbol table."""
    return [name for name, *_ in SYMBOL.iter_unpack(table)]


def _tables(obj: CodeObject) -> tuple[Section, ...]:
    """Relocation tables that can be read; others are compared as bytes."""
    return tuple(s for s in loaded_tables(obj) if s.type in _READ)


def _segments(old: CodeObject, new: CodeObject) -> Iterator[Finding]:
    """Every section is loaded by the segment that loaded it in K0, at its address; segments share no page."""
    for number, (x, y) in enumerate(zip(old.sections, new.sections, strict=True)):
        if y.allocated and _loader(old, x) != _loader(new, y):
            yield Finding("rebuild.segment", f"The section {y.name} (number {number}) is not loaded as in K0.")
    if _shared_pages(new.segments) > _shared_pages(old.segments):
        yield Finding("rebuild.segment", "Two segments of the rebuilt object share a page.")


def _shape(s: Section, note_grows: bool) -> tuple[str | int, ...]:
    varies = (s.type == 1 and s.flags & SHF_EXECINSTR) or describes_code(s) or (s.type == SHT_NOTE and note_grows)
    return (s.name, s.type, s.flags, -1 if varies else s.size, s.link, s.info, s.align, s.entsize)


def _loader(obj: CodeObject, section: Section) -> int:
    """Number of the segment that loads a whole section to its address; -1 when none does."""
    for number, s in enumerate(obj.segments):
        at = section.address - s.address
        if s.type != PT_LOAD or not 0 <= at <= at + section.size <= s.memory_size:
            continue
        if section.file_size == 0 or (section.offset - s.offset == at and at + section.size <= s.file_size):
            return number
    return -1


def _shared_pages(segments: tuple[Segment, ...]) -> int:
    loads = sorted((s.address, s.address + s.memory_size) for s in segments if s.type == PT_LOAD and s.memory_size)
    return sum(b[0] // _PAGE <= (a[1] - 1) // _PAGE for a, b in pairwise(loads))

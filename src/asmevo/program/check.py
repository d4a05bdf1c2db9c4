"""The check of a rebuilt object: parsed and decoded anew, then compared with K0 and with the program line by line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from asmevo.codeobject import CodeObject, Section, Segment, Symbol
from asmevo.codeobject.elf import PT_LOAD, SHT_DYNAMIC, SHT_DYNSYM, SHT_SYMTAB, STT_SECTION, Elf
from asmevo.codeobject.writer import ADDRESS_TAGS, DYNAMIC_ENTRY, is_debug
from asmevo.isa import Decoded, Decoder
from asmevo.isa.encoding import branch_target
from asmevo.program.layout import ENTRY_ALIGN, PRELOAD_HEADER, S_NOP, encode, kernel_entries, second_entries
from asmevo.program.program import Program
from asmevo.program.recover import decode_text
from asmevo.verdict import Check, Finding, InputError, Severity, Verdict

NAME = "rebuild"
_PAGE = 0x1000


def check_rebuild(program: Program, data: bytes) -> Check:
    """Whether `data` is the object of `program`.

    Compares every word, every branch target through the lines' ids, sections, segments, symbols, the dynamic table,
    descriptor, metadata and flags. TESTED when all agree, REFUTED with findings otherwise.
    """
    try:
        new = CodeObject.parse(data, "the rebuilt object")
        comparison = _Comparison(encode(program), new)
        findings = (*comparison.code(), *comparison.container())
    except InputError as error:
        return Check(NAME, Verdict.REFUTED, (Finding("rebuild.parse", str(error)),))
    refuted = any(f.severity is Severity.ERROR for f in findings)
    facts = {"sha256": new.sha256, "lines": len(program.lines)} | comparison.counts
    return Check(NAME, Verdict.REFUTED if refuted else Verdict.TESTED, findings, facts)


class _Comparison:
    def __init__(self, program: Program, new: CodeObject) -> None:
        self.program, self.old, self.new = program, program.source, new
        self.counts: dict[str, int] = {}
        self.places = {d.address: i for i, d in enumerate(decode_text(program.source))}
        """Address in K0 to line id; a kernel's to that of its entry now."""
        self.address: dict[int, int] = {}
        """Line id to its address in the new object."""
        self.entries, self.seconds = kernel_entries(program), second_entries(program)
        self.places |= {k.entry: self.entries[k.name] for k in self.old.kernels}

    # instructions

    def code(self) -> Iterator[Finding]:
        """Words, branch targets and entries."""
        decoded = Decoder(self.new.target).decode(self.new.text_bytes, self.new.text.address)
        pairs = self._align(decoded)
        if pairs is None:
            yield Finding(
                "rebuild.words", f"The {len(decoded)} instructions of the rebuilt .text are not the program's."
            )
            return
        original = decode_text(self.old)
        untouched = branches = 0
        for line, found in zip(self.program.lines, pairs, strict=True):
            assert line.words is not None
            skip = 0 if line.target is None else 2  # a branch's simm16 is compared as its target
            untouched += line.id < len(original) and original[line.id].words[skip:] == line.words[skip:]
            text, at = f"`{line.instruction}` at 0x{found.address:x}", found.words.hex()
            if found.words[skip:] != line.words[skip:]:
                message = f"{text} has the words {at}, not {line.words.hex()}."
                yield Finding("rebuild.words", message, line=line.id)
            elif line.target is not None:
                branches += 1
                goes_to = branch_target(found.words, found.address)
                if goes_to != self.address[line.target]:
                    message = f"{text} goes to 0x{goes_to:x}, not to 0x{self.address[line.target]:x}."
                    yield Finding("rebuild.branch", message, line=line.id)
        self.counts = {"untouched": untouched, "branches": branches}

    def _align(self, decoded: list[Decoded]) -> list[Decoded] | None:
        """The instruction of each line; None when counts differ. Skips the `s_nop` that align an entry."""
        starts = set(self.entries.values())
        found: list[Decoded] = []
        at, count = 0, len(decoded)
        for line in self.program.lines:
            padded = line.id in starts
            while padded and at < count and decoded[at].address % ENTRY_ALIGN and decoded[at].words == S_NOP:
                at += 1
            if at == count:
                return None
            found.append(decoded[at])
            self.address[line.id] = decoded[at].address
            at += 1
        return found if at == count else None

    # everything else

    def container(self) -> Iterator[Finding]:
        """Flags, sections, segments, symbols, dynamic table, descriptors, metadata."""
        old, new = self.old, self.new
        if (old.target, old.e_flags, old.abi_version) != (new.target, new.e_flags, new.abi_version):
            yield Finding("rebuild.flags", "The ELF flags or the ABI version of the rebuilt object differ from K0's.")
        if old.metadata != new.metadata:
            yield Finding("rebuild.metadata", "The metadata of the rebuilt object differs from K0's.")
            return
        if [_shape(s) for s in old.sections] != [_shape(s) for s in new.sections]:
            yield Finding("rebuild.section", "The section table of the rebuilt object differs from K0's.")
            return
        if [(s.type, s.flags, s.align) for s in old.segments] != [(s.type, s.flags, s.align) for s in new.segments]:
            yield Finding("rebuild.segment", "The program headers of the rebuilt object differ from K0's.")
            return
        yield from self._kernels()
        yield from self._sections()
        yield from self._segments()

    def _kernels(self) -> Iterator[Finding]:
        for before, after in zip(self.old.kernels, self.new.kernels, strict=True):
            if before.descriptor.with_(entry_offset=0) != after.descriptor.with_(entry_offset=0):
                yield Finding("rebuild.descriptor", f"The descriptor of {before.name} differs from K0's.")
            if after.entry != self.address.get(self.entries[before.name], -1) or after.entry % ENTRY_ALIGN:
                yield Finding(
                    "rebuild.entry", f"The kernel {before.name} begins at 0x{after.entry:x}, not at its first line."
                )
        for kernel in self.new.kernels:
            second = self.seconds.get(kernel.name)
            if second is not None and self.address.get(second) != kernel.entry + PRELOAD_HEADER:
                yield Finding("rebuild.entry", f"The second entry of {kernel.name} (kernarg preload) moved.")

    def _sections(self) -> Iterator[Finding]:
        old_elf, new_elf = Elf(self.old.data, "K0"), Elf(self.new.data, "the rebuilt object")
        for before, after in zip(self.old.sections, self.new.sections, strict=True):
            if before.type in (SHT_SYMTAB, SHT_DYNSYM):
                yield from self._symbols(old_elf.symbols(before), new_elf.symbols(after))
            elif before.type == SHT_DYNAMIC:
                yield from self._dynamic(old_elf.content(before), new_elf.content(after))
            elif before != self.old.text:
                if is_debug(before) and before.size and not after.size:
                    yield Finding("rebuild.debug", f"{before.name} is emptied: instructions moved.", Severity.NOTE)
                elif self._masked(self.old, before) != self._masked(self.new, after):
                    yield Finding("rebuild.section", f"The bytes of {before.name} differ from K0's.")

    def _masked(self, obj: CodeObject, section: Section) -> bytes:
        """The bytes of a section, the entry offsets of descriptors zeroed."""
        raw = bytearray(obj.data[section.offset : section.offset + section.file_size])
        for kernel in obj.kernels:
            if section.contains(kernel.descriptor_address):
                at = kernel.descriptor_address - section.address
                raw[at : at + 64] = kernel.descriptor.with_(entry_offset=0).raw
        return bytes(raw)

    def _symbols(self, before: tuple[Symbol, ...], after: tuple[Symbol, ...]) -> Iterator[Finding]:
        text = self.old.sections.index(self.old.text)
        for x, y in zip(before, after, strict=True):
            same = (x.name, x.info, x.other, x.section) == (y.name, y.info, y.other, y.section)
            if x.section == text and x.type != STT_SECTION:
                same &= self._went(x.value, y.value) and (x.size == 0) == (y.size == 0)
                same &= x.size == 0 or self._went(x.value + x.size, y.value + y.size)
            else:
                home = x.section if 0 < x.section < len(self.old.sections) else 0
                shift = self.new.sections[home].address - self.old.sections[home].address
                same &= (y.value, y.size) == (x.value + shift, x.size)
            if not same:
                yield Finding("rebuild.symbol", f"The symbol {x.name} is not where its line or section went.")

    def _went(self, before: int, after: int) -> bool:
        """Whether an address of K0's text became `after`: exactly for entries, lines that stayed and the end."""
        old, new = self.old.text, self.new.text
        line = self.places.get(before, -1)
        if before == old.address + old.size:
            return after == new.address + new.size
        if line in self.address:
            return after == self.address[line]
        return new.address <= after <= new.address + new.size

    def _dynamic(self, before: bytes, after: bytes) -> Iterator[Finding]:
        for x, y in zip(DYNAMIC_ENTRY.iter_unpack(before), DYNAMIC_ENTRY.iter_unpack(after), strict=True):
            wanted = x[1]
            for old, new in zip(self.old.sections, self.new.sections, strict=True):
                if x[0] in ADDRESS_TAGS and old.contains(x[1]):
                    wanted = x[1] - old.address + new.address
            if y != (x[0], wanted):
                yield Finding("rebuild.dynamic", f"The dynamic entry with tag {x[0]:#x} is not where its section went.")

    def _segments(self) -> Iterator[Finding]:
        """Every section is loaded by the segment that loaded it in K0, at its address; segments share no page."""
        for number, (old, new) in enumerate(zip(self.old.sections, self.new.sections, strict=True)):
            if new.allocated and _loader(self.old, old) != _loader(self.new, new):
                yield Finding("rebuild.segment", f"The section {new.name} (number {number}) is not loaded as in K0.")
        if _shared_pages(self.new.segments) > _shared_pages(self.old.segments):
            yield Finding("rebuild.segment", "Two segments of the rebuilt object share a page.")


def _shape(s: Section) -> tuple[str | int, ...]:
    size = -1 if s.type == 1 and (s.flags & 4 or is_debug(s)) else s.size
    return (s.name, s.type, s.flags, size, s.link, s.info, s.align, s.entsize)


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

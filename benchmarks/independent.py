"""A second opinion on an edited code object: llvm-objdump for the instructions, pyelftools for everything else.

Nothing here uses what `asmevo.program` or `asmevo.codeobject` know of an object. An edit is described by what it does
to the sequence of K0's instructions (`Model`), and the rebuilt file must be that sequence: same words, branches and
addresses relative to the program counter that lead to the same instructions or data, symbols, descriptors,
relocations and sections that followed.
"""

from __future__ import annotations

import io
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection, RelrRelocationSection
from elftools.elf.sections import SymbolTableSection

_LINE = re.compile(r"^\t(\S.*?)\s*// ([0-9A-F]+): ((?:[0-9A-F]{8} ?)+)", re.MULTILINE)
_NUMBER = r"(?:lit(?:64)?\()?(-?(?:0x[0-9a-f]+|\d+))\)?"
_GETPC = re.compile(r"s_get_?pc_[bi]64 s\[(\d+):(\d+)\]")
_RELATIVE64 = 13


@dataclass(frozen=True, slots=True)
class Seen:
    """One instruction as llvm-objdump prints it, branches without symbols."""

    address: int
    text: str
    words: str

    @property
    def mnemonic(self) -> str:
        return self.text.split()[0]

    @property
    def goes_to(self) -> int | None:
        """Address that a relative branch goes to, from its encoding."""
        if not self.mnemonic.startswith(("s_branch", "s_cbranch_")) or "fork" in self.mnemonic:
            return None
        simm16 = int(self.words[4:8], 16)
        return self.address + 4 + 4 * (simm16 - (simm16 >> 15 << 16))


def disassemble(data: bytes, objdump: Path) -> list[Seen]:
    """All of `.text`. Symbols are left out, since several at an address would hide code from llvm-objdump."""
    with tempfile.NamedTemporaryFile(suffix=".co") as file:
        file.write(data)
        file.flush()
        command = [objdump, "-d", "-z", "-j", ".text", "--no-leading-headers", file.name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [Seen(int(at, 16), text, words.strip()) for text, at, words in _LINE.findall(done.stdout)]


class Model:
    """What edits make of K0's sequence of instructions: items are positions in K0, or texts that were inserted.

    A label stands in front of each instruction of K0; code that is inserted in front of an instruction comes behind
    its labels, and the labels of a deleted instruction stay.
    """

    def __init__(self, count: int) -> None:
        self.items: list[tuple[str, int | str]] = []
        for i in range(count):
            self.items += (("label", i), ("old", i))

    def insert(self, before: int, texts: tuple[str, ...]) -> None:
        """In front of an instruction of K0 that is still there."""
        at = self.items.index(("old", before))
        while self.items[at - 1][0] == "new":
            at -= 1
        place = self.items.index(("old", before))
        self.items[place:place] = [("new", text) for text in texts]

    def delete(self, position: int) -> None:
        self.items.remove(("old", position))

    def kept(self) -> list[int]:
        """Positions in K0 that are still there."""
        return [int(i) for kind, i in self.items if kind == "old"]


class File:
    """A code object as other tools read it."""

    def __init__(self, data: bytes, objdump: Path) -> None:
        self.instructions = disassemble(data, objdump)
        """All of `.text`."""
        elf = ELFFile(io.BytesIO(data))
        self.header = elf.header
        self.sections, self.segments = list(elf.iter_sections()), list(elf.iter_segments())
        self.text = elf.get_section_by_name(".text").header

    def tables(self, kind: type) -> list:
        """Its sections of a type of pyelftools."""
        return [section for section in self.sections if isinstance(section, kind)]

    @cached_property
    def symbols(self) -> list:
        """Of all tables."""
        return [symbol for table in self.tables(SymbolTableSection) for symbol in table.iter_symbols()]

    @cached_property
    def sums(self) -> list[tuple[int, ...]]:
        """Positions of an instruction that gives the program counter, and of the additions to it in its text."""
        found: list[tuple[int, ...]] = []
        for i, seen in enumerate(self.instructions):
            m = _GETPC.match(seen.text)
            if not m:
                continue
            low = re.compile(rf"s_add_u32 s\d+, s{m[1]}, {_NUMBER}$")
            high = re.compile(rf"s_addc_u32 s\d+, s{m[2]}, {_NUMBER}$")
            whole = re.compile(rf"s_add_nc_u64 s\[\d+:\d+\], s\[{m[1]}:{m[2]}\], {_NUMBER}$")
            near = [(n, self.instructions[n].text) for n in range(i + 1, min(i + 24, len(self.instructions)))]
            at = next((n for n, text in near if low.match(text) or whole.match(text)), None)
            up = next((n for n, text in near if high.match(text)), None)
            if at is not None and whole.match(self.instructions[at].text):
                found.append((i, at))
            elif at is not None and up is not None:
                found.append((i, at, up))
        return found

    def mapping(self, section) -> int | None:
        """Rights of the segment that loads a section to its address."""
        h = section.header
        for segment in self.segments:
            p = segment.header
            if p.p_type != "PT_LOAD" or not p.p_vaddr <= h.sh_addr <= h.sh_addr + h.sh_size <= p.p_vaddr + p.p_memsz:
                continue
            if h.sh_type == "SHT_NOBITS" or h.sh_offset - p.p_offset == h.sh_addr - p.p_vaddr:
                return int(p.p_flags)
        return None

    def bytes_at(self, address: int, size: int) -> bytes:
        """What is loaded to an address; nothing where nothing is."""
        for segment in self.segments:
            p = segment.header
            if p.p_type == "PT_LOAD" and p.p_vaddr <= address and address + size <= p.p_vaddr + p.p_filesz:
                at = address - p.p_vaddr
                return segment.data()[at : at + size]
        return b""


def problems(before: File, after: File, model: Model) -> Iterator[str]:
    """Everything in which `after` is not what the model makes of `before`."""
    comparison = _Comparison(before, after, model)
    yield from comparison.instructions()
    if comparison.aligned:
        yield from comparison.references()
        yield from comparison.container()


class _Comparison:
    def __init__(self, before: File, after: File, model: Model) -> None:
        self.before, self.after = before, after
        self.old, self.new = before.instructions, after.instructions
        self.model = model
        self.aligned = False
        self.position = {seen.address: i for i, seen in enumerate(self.old)}
        self.at: dict[int, Seen] = {}
        """Position in K0 to the instruction in the new object."""
        self.label: dict[int, int] = {}
        """Position in K0 to the address that jumps to it go to now."""
        self.islands: dict[int, Seen] = {}
        self.old_text, self.new_text = before.text, after.text

    # instructions

    def instructions(self) -> Iterator[str]:
        """Align the new sequence with the model; what is left over must be padding or islands."""
        entries = self._entries()
        wanted = [item for item in self.model.items if item[0] != "label"]
        i, pending = 0, list[int]()
        for kind, what in self.model.items:
            if kind == "label":
                pending.append(int(what))
                continue
            while i < len(self.new) and not self._fits(i, kind, what) and self._is_extra(i):
                self.islands[self.new[i].address] = self.new[i]
                i += 1
            if i == len(self.new) or not self._fits(i, kind, what):
                text = self.old[int(what)].text if kind == "old" else what
                found = self.new[i].text if i < len(self.new) else "the end"
                yield f"instead of `{text}` there is `{found}`"
                return
            for label in pending:
                self.label[label] = self.new[i].address
            pending.clear()
            if kind == "old":
                self.at[int(what)] = self.new[i]
            i += 1
        end = self.new_text.sh_addr + self.new_text.sh_size
        for label in pending:
            self.label[label] = end
        if i < len(self.new) and not all(self._is_extra(j) for j in range(i, len(self.new))):
            yield f"{len(self.new) - i} instructions too many"
            return
        if len(self.new) - len(wanted) > len(self.islands) + 64 * len(entries):
            yield "more padding than any alignment asks for"
        self.aligned = True
        for kept in self.model.kept():
            old, new = self.old[kept], self.at[kept]
            if old.goes_to is not None:
                yield from self._branch(old, new)
            elif old.words != new.words and kept not in self._literals:
                yield f"`{old.text}` became {new.words}"
        yield from self._islands()

    def _fits(self, i: int, kind: str, what: int | str) -> bool:
        new = self.new[i]
        if kind == "new":
            return new.text == what
        old = self.old[int(what)]
        if old.goes_to is not None:
            return old.mnemonic == new.mnemonic and self._goes_on(i, int(what))
        same = old.words == new.words
        return same or (int(what) in self._literals and _without_constant(old.text) == _without_constant(new.text))

    def _goes_on(self, i: int, position: int) -> bool:
        """Whether a branch is surely K0's and not an island: it goes as far up or down as K0's."""
        old, new = self.old[position], self.new[i]
        assert old.goes_to is not None and new.goes_to is not None
        return (old.goes_to > old.address) == (new.goes_to > new.address) or old.goes_to == old.address

    def _is_extra(self, i: int) -> bool:
        """Padding in front of an entry, or a branch that K0 does not have."""
        new = self.new[i]
        if new.text == "s_nop 0":
            following = next((s for s in self.new[i:] if s.text != "s_nop 0"), None)
            return following is not None and following.address % 256 == 0
        return new.mnemonic == "s_branch"

    def _branch(self, old: Seen, new: Seen) -> Iterator[str]:
        """The branch leads to the same instruction, through islands if need be."""
        assert old.goes_to is not None and new.goes_to is not None
        wanted = self.label.get(self.position[old.goes_to])
        goes_to = self._through_islands(new.goes_to)
        if goes_to != wanted:
            yield f"`{old.text}` at 0x{old.address:x} goes to 0x{goes_to:x}, not 0x{wanted or 0:x}"

    def _through_islands(self, address: int) -> int:
        """Where control that comes to an address leaves the islands; a chain of them is short."""
        for _ in range(64):
            island = self.islands.get(address)
            if island is None or island.goes_to is None:
                break
            address = island.goes_to
        return address

    def _islands(self) -> Iterator[str]:
        """Control that passes by an island is led around it."""
        before: Seen | None = None
        for i, seen in enumerate(self.new):
            passed = before is not None and not before.text.startswith(("s_branch", "s_endpgm", "s_setpc"))
            if seen.address in self.islands and seen.mnemonic == "s_branch" and passed:
                following = next(s for s in self.new[i:] if s.address not in self.islands)
                if self._through_islands(seen.address) != following.address:
                    yield f"control runs into the island at 0x{seen.address:x}"
            before = seen

    # addresses relative to the program counter

    @cached_property
    def _literals(self) -> set[int]:
        kept = set(self.model.kept())
        return {position for all_of_it in self.before.sums if kept.issuperset(all_of_it) for position in all_of_it[1:]}

    def references(self) -> Iterator[str]:
        for origin, *additions in self.before.sums:
            if any(p not in self.at for p in (origin, *additions)):
                continue
            old = _reached(self.old[origin], [self.old[p] for p in additions])
            new = _reached(self.at[origin], [self.at[p] for p in additions])
            for p in additions:
                if _without_constant(self.old[p].text) != _without_constant(self.at[p].text):
                    yield f"`{self.old[p].text}` became `{self.at[p].text}`"
            if new != self._moved(old):
                yield f"the address 0x{old:x} of 0x{self.old[origin].address:x} became 0x{new:x}"

    def _moved(self, address: int) -> int | None:
        """Where an address of K0 should be; None when it is in the middle of an instruction."""
        text = self.old_text
        if text.sh_addr <= address < text.sh_addr + text.sh_size:
            return self.label.get(self.position.get(address, -1))
        best: tuple[int, int] | None = None
        for a, b in zip(self.before.sections, self.after.sections, strict=True):
            if not a.header.sh_flags & 2 or a.name == ".text":
                continue
            shift = b.header.sh_addr - a.header.sh_addr
            if a.header.sh_addr <= address < a.header.sh_addr + max(a.header.sh_size, 1):
                return address + shift
            if a.header.sh_addr <= address and (best is None or a.header.sh_addr > best[0]):
                best = a.header.sh_addr, shift
        return address + (best[1] if best else 0)

    # everything else

    def container(self) -> Iterator[str]:
        yield from self._symbols()
        yield from self._relocations()
        yield from self._packed()
        yield from self._sections()
        yield from self._loading()

    def _entries(self) -> list[int]:
        return [s.entry.st_value for s in self.before.symbols if s.name.endswith(".kd")]

    def _symbols(self) -> Iterator[str]:
        indices = {n: s.name for n, s in enumerate(self.before.sections)}
        pairs = zip(self.before.symbols, self.after.symbols, strict=True)
        for a, b in pairs:
            x, y = a.entry, b.entry
            if a.name != b.name or x.st_info != y.st_info or x.st_shndx != y.st_shndx:
                yield f"the symbol {a.name} became {b.name}"
            elif indices.get(x.st_shndx) == ".text" and x.st_info.type != "STT_SECTION":
                yield from self._text_symbol(a, b)
            elif not isinstance(x.st_shndx, int):
                if (x.st_value, x.st_size) != (y.st_value, y.st_size):
                    yield f"the symbol {a.name} changed its value"
            else:
                section = self.before.sections[x.st_shndx].header.sh_addr
                shift = self.after.sections[x.st_shndx].header.sh_addr - section
                if (x.st_value + shift, x.st_size) != (y.st_value, y.st_size):
                    yield f"the symbol {a.name} did not move with its section"
            if a.name.endswith(".kd") and x.st_size == 64:
                yield from self._descriptor(a.name, x.st_value, y.st_value)

    def _text_symbol(self, a, b) -> Iterator[str]:
        start, end = a.entry.st_value, a.entry.st_value + a.entry.st_size
        new_start, new_end = b.entry.st_value, b.entry.st_value + b.entry.st_size
        text_end = self.old_text.sh_addr + self.old_text.sh_size
        if start in self.position and self._moved(start) != new_start:
            yield f"the symbol {a.name} is at 0x{new_start:x}"
        wanted = self.new_text.sh_addr + self.new_text.sh_size if end == text_end else self._moved(end)
        if a.entry.st_size and (end in self.position or end == text_end) and wanted != new_end:
            yield f"the symbol {a.name} ends at 0x{new_end:x}"

    def _descriptor(self, name: str, old_at: int, new_at: int) -> Iterator[str]:
        old, new = self.before.bytes_at(old_at, 64), self.after.bytes_at(new_at, 64)
        if old[:16] + old[24:] != new[:16] + new[24:]:
            yield f"the descriptor {name} changed"
        entry = old_at + int.from_bytes(old[16:24], "little", signed=True)
        new_entry = new_at + int.from_bytes(new[16:24], "little", signed=True)
        if self._moved(entry) != new_entry or new_entry % 256:
            yield f"the descriptor {name} leads to 0x{new_entry:x}"
        second = self.position.get(entry + 256)
        if old[58] & 0x7F and second is not None and second in self.label:
            header = [s for s in self.old[:second] if s.address >= entry and s.goes_to == entry + 256]
            if self.label[second] != new_entry + 256 and not header:
                yield f"the second entry of {name} moved"

    def _relocations(self) -> Iterator[str]:
        olds, news = (
            [t for t in f.tables(RelocationSection) if t.header.sh_flags & 2] for f in (self.before, self.after)
        )
        for a, b in zip(olds, news, strict=True):
            symbols, new_symbols = (f.sections[t.header.sh_link] for f, t in ((self.before, a), (self.after, b)))
            for x, y in zip(a.iter_relocations(), b.iter_relocations(), strict=True):
                if self._moved(x.entry.r_offset) != y.entry.r_offset or x.entry.r_info != y.entry.r_info:
                    yield f"the relocation of 0x{x.entry.r_offset:x} is at 0x{y.entry.r_offset:x}"
                number = x.entry.r_info_sym
                before, after, defined = x.entry.r_addend, y.entry.r_addend, False
                if number:
                    s, t = symbols.get_symbol(number).entry, new_symbols.get_symbol(number).entry
                    defined = isinstance(s.st_shndx, int)
                    before += s.st_value if defined else 0
                    after += t.st_value if defined else 0
                anywhere = x.entry.r_info_type == _RELATIVE64 or defined
                if after != (self._moved(before) if anywhere else before):
                    yield f"the relocation of 0x{x.entry.r_offset:x} points at 0x{after:x}"

    def _packed(self) -> Iterator[str]:
        """Relative relocations in packed form: the addresses stand at their places."""
        olds, news = (
            [r.entry.r_offset for t in f.tables(RelrRelocationSection) for r in t.iter_relocations()]
            for f in (self.before, self.after)
        )
        if len(olds) != len(news):
            yield "the packed relocations are not as many as before"
        for a, b in zip(olds, news, strict=False):
            before, after = (
                int.from_bytes(f.bytes_at(at, 8), "little") for f, at in ((self.before, a), (self.after, b))
            )
            if self._moved(a) != b or self._moved(before) != after:
                yield f"the packed relocation of 0x{a:x} points at 0x{after:x}"

    def _sections(self) -> Iterator[str]:
        """Bytes of sections that hold no addresses."""
        if any(self.before.header[field] != self.after.header[field] for field in ("e_flags", "e_ident")):
            yield "the ELF flags changed"
        for a, b in zip(self.before.sections, self.after.sections, strict=True):
            if a.name != b.name or a.header.sh_type != b.header.sh_type or a.header.sh_flags != b.header.sh_flags:
                yield f"the section {a.name} became {b.name}"
            same = a.name in (".note", ".dynstr", ".strtab", ".shstrtab", ".comment", ".hash", ".gnu.hash", ".data")
            if same and not self._relocated(a) and a.data() != b.data():
                yield f"the bytes of {a.name} changed"

    def _relocated(self, section) -> bool:
        """Whether the loader writes into it: what it holds before that does not matter."""
        start, end = section.header.sh_addr, section.header.sh_addr + section.header.sh_size
        tables = self.before.tables(RelocationSection)
        return any(start <= r.entry.r_offset < end for t in tables for r in t.iter_relocations())

    def _loading(self) -> Iterator[str]:
        """Every allocated section is mapped to its address, and by a segment with the rights it had."""
        for a, b in zip(self.before.sections, self.after.sections, strict=True):
            if b.header.sh_flags & 2 and b.header.sh_size and self.before.mapping(a) != self.after.mapping(b):
                yield f"the section {b.name} is not loaded to its address"
        loads = sorted(
            (s.header.p_vaddr, s.header.p_vaddr + s.header.p_memsz)
            for s in self.after.segments
            if s.header.p_type == "PT_LOAD"
        )
        if any(a[1] > b[0] for a, b in pairwise(loads)):
            yield "two segments overlap"


def _reached(origin: Seen, additions: list[Seen]) -> int:
    """The address that these additions to the program counter give."""
    low, *high = (_constant(seen.text) for seen in additions)
    low = low & 0xFFFFFFFF if high else low
    return origin.address + 4 + low + (high[0] << 32 if high else 0) & (1 << 64) - 1


def _constant(text: str) -> int:
    m = re.search(rf", {_NUMBER}$", text)
    assert m is not None
    return int(m[1], 0)


def _without_constant(text: str) -> str:
    return re.sub(rf", {_NUMBER}$", "", text)

"""A parsed AMD GPU code object: bytes in, kernels, descriptors and sections out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from asmevo.codeobject.descriptor import SIZE as DESCRIPTOR_SIZE
from asmevo.codeobject.descriptor import Descriptor
from asmevo.codeobject.elf import (
    PT_LOAD,
    SHF_EXECINSTR,
    SHT_DYNSYM,
    SHT_NOBITS,
    SHT_NOTE,
    SHT_SYMTAB,
    Elf,
    Section,
    Segment,
    Symbol,
)
from asmevo.codeobject.metadata import Argument, KernelEntry, decode_metadata, kernel_entries
from asmevo.codeobject.targets import target_of
from asmevo.targets import HANDLED
from asmevo.verdict import InputError, names_text

IMAGE_LIMIT = 1 << 28
"""Largest load image in bytes; a real one has kilobytes, a damaged header could ask for terabytes."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel of a code object."""

    name: str
    symbol: str
    """Symbol of the descriptor, with `.kd`."""
    descriptor: Descriptor
    descriptor_address: int
    entry: int
    """Virtual address of the first instruction."""
    args: tuple[Argument, ...]
    kernarg_size: int
    """Kernarg segment in bytes, from the metadata: the descriptor's own field is often 0."""
    max_workgroup: int
    """Most work-items in a workgroup."""
    required_workgroup: tuple[int, int, int] | None = None
    """Work-items of a workgroup by dimension, when the kernel is fixed to them."""

    @property
    def lds_size(self) -> int:
        """Static LDS in bytes, from the descriptor."""
        return self.descriptor.lds_size


@dataclass(frozen=True)
class CodeObject:
    """A code object. Equal when its bytes are."""

    data: bytes
    target: str = field(compare=False)
    """`gfx942`, `gfx950`, ...: one of `HANDLED`."""
    e_flags: int = field(compare=False)
    abi_version: int = field(compare=False)
    sections: tuple[Section, ...] = field(compare=False)
    segments: tuple[Segment, ...] = field(compare=False)
    symbols: tuple[Symbol, ...] = field(compare=False)
    """Entries of `.symtab`, or of `.dynsym` in a stripped object."""
    kernels: tuple[Kernel, ...] = field(compare=False)
    metadata: Mapping[str, Any] = field(compare=False, repr=False)
    """The decoded metadata note."""

    @classmethod
    def parse(cls, data: bytes, name: str = "code object") -> CodeObject:
        """Parse a whole file; `name` is used in errors.

        Raises `InputError` for a file that is truncated, foreign, for another target, or without kernel or metadata.
        """
        elf = Elf(data, name)
        target = target_of(elf.header.flags)
        if target not in HANDLED:
            raise InputError(f"{name} is for {target}; AsmEvo handles {', '.join(HANDLED[:-1])} and {HANDLED[-1]}.")
        _only_text(elf.sections, name)
        symbols = _symbols(elf)
        raw_notes = b"".join(elf.content(s) for s in elf.sections if s.type == SHT_NOTE)
        metadata = decode_metadata(raw_notes, name)
        return cls(
            data=data,
            target=target,
            e_flags=elf.header.flags,
            abi_version=elf.header.abi_version,
            sections=elf.sections,
            segments=elf.segments,
            symbols=symbols,
            kernels=_kernels(elf, symbols, kernel_entries(metadata, name)),
            metadata=metadata,
        )

    @cached_property
    def sha256(self) -> str:
        """Hex SHA-256 of the file."""
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def text(self) -> Section:
        """The section of instructions."""
        return _only_text(self.sections, "the code object")

    @cached_property
    def text_bytes(self) -> bytes:
        return self.data[self.text.offset : self.text.offset + self.text.size]

    def section(self, name: str) -> Section | None:
        """The first section of that name."""
        return next((s for s in self.sections if s.name == name), None)

    def kernel(self, name: str | None = None) -> Kernel:
        """The only kernel, or the one whose name, symbol or unique name prefix is given.

        Raises `InputError` that lists the names when there is no such kernel or no single one.
        """
        known = names_text([k.name for k in self.kernels])
        if name is None:
            if len(self.kernels) != 1:
                raise InputError(
                    f"The code object has {len(self.kernels)} kernels; name one, with --kernel or as `kernel` in the "
                    f"launch file: {known}."
                )
            return self.kernels[0]
        for kernel in self.kernels:
            if name in (kernel.name, kernel.symbol, kernel.symbol.removesuffix(".kd")):
                return kernel
        matches = [k for k in self.kernels if name and k.name.startswith(name)]
        if len(matches) != 1:
            which = "several kernels" if matches else "no kernel"
            raise InputError(f"The code object has {which} {name!r}; name one: {known}.")
        return matches[0]

    def load_image(self) -> tuple[int, bytes]:
        """(lowest address, bytes) of all loadable segments laid out by address, gaps and `.bss` zero."""
        loads = [s for s in self.segments if s.type == PT_LOAD and s.memory_size]
        if not loads:
            raise InputError("The code object has no loadable segment; pass a linked code object.")
        low = min(s.address for s in loads)
        size = max(s.address + s.memory_size for s in loads) - low
        if size > IMAGE_LIMIT:
            raise InputError(f"The code object asks for {size} bytes of memory; get an undamaged file.")
        image = bytearray(size)
        for s in loads:
            image[s.address - low : s.address - low + s.file_size] = self.data[s.offset : s.offset + s.file_size]
        return low, bytes(image)


def _only_text(sections: tuple[Section, ...], name: str) -> Section:
    found = [s for s in sections if s.flags & SHF_EXECINSTR and s.allocated and s.type != SHT_NOBITS]
    if len(found) != 1:
        raise InputError(f"{name} has {len(found)} sections of instructions; AsmEvo handles objects with exactly one.")
    if found[0].size % 4:
        raise InputError(f"{name} has a .text section of {found[0].size} bytes, not whole dwords; get a complete one.")
    return found[0]


def _symbols(elf: Elf) -> tuple[Symbol, ...]:
    """Entries of the fuller table; the other one is read as well, so that a damaged one is found out."""
    tables = {s.type: elf.symbols(s) for s in reversed(elf.sections) if s.type in (SHT_SYMTAB, SHT_DYNSYM)}
    if not tables:
        raise InputError(f"{elf.name} has no symbol table; AsmEvo needs at least the dynamic one.")
    return tables[SHT_SYMTAB] if SHT_SYMTAB in tables else tables[SHT_DYNSYM]


def _kernels(elf: Elf, symbols: tuple[Symbol, ...], entries: tuple[KernelEntry, ...]) -> tuple[Kernel, ...]:
    by_name = {s.name: s for s in symbols}
    if not entries:
        raise InputError(f"{elf.name} has no kernel; pass a code object that has one.")
    return tuple(_kernel(elf, by_name.get(e.symbol), e) for e in entries)


def _kernel(elf: Elf, symbol: Symbol | None, entry: KernelEntry) -> Kernel:
    missing = InputError(f"{elf.name} has no kernel descriptor {entry.symbol!r}; get an undamaged file.")
    if symbol is None or not 0 < symbol.section < len(elf.sections):
        raise missing
    home = elf.sections[symbol.section]
    at = symbol.value - home.address
    if home.type == SHT_NOBITS or at < 0 or at + DESCRIPTOR_SIZE > home.size:
        raise missing
    descriptor = Descriptor(elf.content(home)[at : at + DESCRIPTOR_SIZE])
    start = symbol.value + descriptor.entry_offset
    if not _only_text(elf.sections, elf.name).contains(start) or start % 4:
        raise InputError(f"{elf.name} has a kernel {entry.name!r} that begins outside of .text; get an undamaged file.")
    return Kernel(
        name=entry.name,
        symbol=entry.symbol,
        descriptor=descriptor,
        descriptor_address=symbol.value,
        entry=start,
        args=entry.args,
        kernarg_size=entry.kernarg_size,
        max_workgroup=entry.max_workgroup,
        required_workgroup=entry.required_workgroup,
    )

"""Host files: programs and libraries that carry code for GPUs in `.hip_fatbin`, or as images anywhere.

In `.hip_fatbin` everything between bundles is padding, so that a damaged bundle there is an error. Elsewhere the magic
words may occur as constants of a program, so that only what parses wholly counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge

from asmevo.codeobject.containers import bundle, compressed
from asmevo.codeobject.containers.bundle import Bundle
from asmevo.codeobject.containers.compressed import CompressedBundle
from asmevo.codeobject.containers.image import images
from asmevo.codeobject.containers.part import Budget, BudgetError, Part
from asmevo.codeobject.elf import HEADER, HEADER_SIZE, SECTION, SHT_NOBITS
from asmevo.verdict import InputError

FATBIN = ".hip_fatbin"
_ELF_64 = b"\x7fELF\x02\x01"


def bundles(data: bytes, start: int, end: int, budget: Budget, *, strict: bool) -> Iterator[tuple[int, Part]]:
    """(offset, bundle) of each bundle in a stretch of a file; without `strict`, what does not parse is none."""
    behind = start
    for at in merge(*(_occurrences(data, magic, start, end) for magic in (bundle.MAGIC, compressed.MAGIC))):
        if at < behind:
            continue
        kind = Bundle if data.startswith(bundle.MAGIC, at) else CompressedBundle
        try:
            part = kind.parse(memoryview(data)[at:end], budget)
        except BudgetError:
            raise
        except InputError:
            if strict:
                raise
            continue
        yield at, part
        behind = at + part.size


def _occurrences(data: bytes, magic: bytes, start: int, end: int) -> Iterator[int]:
    at = data.find(magic, start, end)
    while at >= 0:
        yield at
        at = data.find(magic, at + len(magic), end)


def is_elf(data: bytes) -> bool:
    """Whether this is a 64-bit little-endian ELF file of whatever machine."""
    return data.startswith(_ELF_64) and len(data) >= HEADER_SIZE


def fatbins(data: bytes, name: str) -> tuple[tuple[int, int], ...]:
    """(start, end) of the `.hip_fatbin` sections in a host ELF file. Raises `InputError` for a table out of bounds."""
    fields: tuple[int, ...] = HEADER.unpack_from(data)
    at, entry_size, count, name_index = fields[6], fields[11], fields[12], fields[13]
    if not count:
        return ()
    damaged = InputError(f"{name} has a damaged section table; get an undamaged file.")
    if entry_size != SECTION.size or at + count * entry_size > len(data) or name_index >= count:
        raise damaged
    rows: list[tuple[int, ...]] = [SECTION.unpack_from(data, at + i * entry_size) for i in range(count)]
    home = rows[name_index]
    names = data[home[4] : home[4] + home[5]]
    found: list[tuple[int, int]] = []
    for row in rows:
        label = names[row[0] : names.find(b"\0", row[0])] if row[0] < len(names) else b""
        if label == FATBIN.encode() and row[1] != SHT_NOBITS:
            if row[4] + row[5] > len(data):
                raise InputError(f"{name} is truncated inside of {FATBIN}; get the complete file.")
            found.append((row[4], row[4] + row[5]))
    return tuple(sorted(found))


def host_parts(data: bytes, budget: Budget) -> list[tuple[int, int, Part]]:
    """(offset, end of the stretch it may fill, part) of all GPU code in a host ELF file.

    Zeros behind a bundle are padding in `.hip_fatbin` only, up to the section's end; elsewhere they may be another
    variable or another section, so that what lies there keeps its size.
    """
    found: list[tuple[int, int, Part]] = []
    at = 0
    for start, end in (*fatbins(data, budget.name), (len(data), len(data))):
        found += [(o, o + p.size, p) for o, p in _loose(data, at, start, budget)]
        inside = [*bundles(data, start, end, budget, strict=True)] or [*images(data, start, end, budget)]
        found += [(o, end, p) for o, p in inside]
        at = max(at, end)
    return found


def _loose(data: bytes, start: int, end: int, budget: Budget) -> Iterator[tuple[int, Part]]:
    """Bundles with entries, and images outside of them."""
    for offset, part in bundles(data, start, end, budget, strict=False):
        if part.slots:
            yield from images(data, start, offset, budget)
            yield offset, part
            start = offset + part.size
    yield from images(data, start, end, budget)

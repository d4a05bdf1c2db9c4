"""A code object as it is: a whole file, or an image somewhere inside of a host file.

Rule for putting an object back: a file is replaced whole. An image inside of another file has no entry that states its
size, so the object may be as large as the one that was there, or smaller, and is filled with zeros.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from asmevo.codeobject.containers.part import Budget, Slot, too_large
from asmevo.codeobject.elf import EM_AMDGPU, HEADER, HEADER_SIZE, SECTION, SEGMENT, SHT_NOBITS, Elf
from asmevo.verdict import InputError

MAGIC = b"\x7fELF\x02\x01\x01\x40"
"""64-bit, little-endian, version 1, OS ABI of HSA."""


@dataclass(frozen=True)
class Image:
    """One code object."""

    data: bytes
    format: str
    """`code object` or `raw image`."""
    packed = False

    @property
    def size(self) -> int:
        return len(self.data)

    @property
    def slots(self) -> tuple[Slot, ...]:
        return (Slot("", 0, len(self.data)),)

    def content(self, index: int) -> bytes:
        return self.data

    def replaced(self, index: int, data: bytes, room: int | None) -> bytes:
        if room is None:
            return data
        if len(data) > len(self.data):
            raise too_large("the image", len(data), len(self.data))
        return data.ljust(len(self.data), b"\0")


def is_image(data: bytes, at: int) -> bool:
    """Whether an AMD GPU code object may begin there."""
    return data.startswith(MAGIC, at) and int.from_bytes(data[at + 18 : at + 20], "little") == EM_AMDGPU


def images(data: bytes, start: int, end: int, budget: Budget) -> Iterator[tuple[int, Image]]:
    """(offset, image) of every well-formed code object in a stretch of a file, in order and without overlap."""
    at = data.find(MAGIC, start, end)
    while at >= 0:
        found = _image(memoryview(data)[at:end], budget) if is_image(data, at) else None
        if found is not None:
            yield at, found
        at = data.find(MAGIC, at + (found.size if found else len(MAGIC)), end)


def _image(data: memoryview, budget: Budget) -> Image | None:
    """The code object at the start of `data`, to the end of its last table, segment or section; None if it is none."""
    size = _size(data, budget)
    if not size:
        return None
    budget.spend(size)
    image = bytes(data[:size])
    try:
        Elf(image, "image")
    except InputError:
        return None
    return Image(image, "raw image")


def _size(data: memoryview, budget: Budget) -> int:
    """Bytes up to the end of all that the header and the tables name; 0 where that is not within `data`."""
    if len(data) < HEADER_SIZE:
        return 0
    fields: tuple[int, ...] = HEADER.unpack_from(data)
    segments_at, sections_at, segments, sections = fields[5], fields[6], fields[10], fields[12]
    ends = [segments_at + SEGMENT.size * segments, sections_at + SECTION.size * sections]
    if max(ends) > len(data):
        return 0
    budget.spend(SEGMENT.size * segments + SECTION.size * sections)
    for row in SEGMENT.iter_unpack(data[segments_at : ends[0]]):
        ends.append(row[2] + row[5])
    for row in SECTION.iter_unpack(data[sections_at : ends[1]]):
        ends.append(row[4] + (0 if row[1] in (0, SHT_NOBITS) else row[5]))
    return max(ends) if max(ends) <= len(data) else 0

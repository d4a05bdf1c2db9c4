"""A code object as it is: a whole file, or an image somewhere inside of a host file.

Rule for putting an object back: a file is replaced whole. An image inside of another file has no entry that states its
size, so the object may be as large as the one that was there, or smaller, and is filled with zeros.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from asmevo.codeobject.containers.part import Slot, too_large
from asmevo.codeobject.elf import EM_AMDGPU, Elf
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


def images(data: bytes, start: int, end: int) -> Iterator[tuple[int, Image]]:
    """(offset, image) of every well-formed code object in a stretch of a file, in order and without overlap."""
    at = data.find(MAGIC, start, end)
    while at >= 0:
        size = _image_size(data, at, end) if is_image(data, at) else 0
        if size:
            yield at, Image(data[at : at + size], "raw image")
        at = data.find(MAGIC, at + max(size, 1), end)


def _image_size(data: bytes, at: int, end: int) -> int:
    """Bytes of the code object at an offset: to the end of its last table, segment or section; 0 if it is none."""
    try:
        elf = Elf(data[at:end], "image")
    except InputError:
        return 0
    ends = [elf.header.segment_offset + 56 * elf.header.segment_count]
    ends.append(elf.header.section_offset + 64 * elf.header.section_count)
    ends += [s.offset + s.file_size for s in (*elf.segments, *elf.sections)]
    return max(ends)

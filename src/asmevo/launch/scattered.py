"""A memory image with fixed addresses, as a device sees it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from asmevo.codeobject import CodeObject
from asmevo.launch.window import Extent, Piece, Window

if TYPE_CHECKING:
    from asmevo.launch.image import MemoryImage


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """The bytes of an image at device addresses, code and arguments in front: what a simulator needs of an image, and
    `strays`. Its `data` covers what lies between the pieces, too, so it is nothing to copy or compare as a whole."""

    data: NDArray[np.uint8]
    base: int
    kernarg_address: int
    kernarg_size: int
    code_address: int
    code_space: int
    poison: int
    placements: tuple[Extent, ...]
    """Every buffer where code finds it; buffers that meet are one."""
    window: Window
    image: MemoryImage

    @classmethod
    def of(cls, image: MemoryImage) -> DeviceMemory:
        """A new window over the memory of an image."""
        home = Piece(image.base, 0, min(p.offset for p in image.pieces))
        window = Window(image.fd, (home, *image.pieces))
        return cls(
            data=window.data,
            base=window.base,
            kernarg_address=image.kernarg_address,
            kernarg_size=image.kernarg_size,
            code_address=image.code_address,
            code_space=image.code_space,
            poison=image.poison,
            placements=_placements(image),
            window=window,
            image=image,
        )

    def strays(self) -> tuple[Extent, ...]:
        """Pages used since the last time that belong to no piece."""
        return self.window.strays()

    def load(self, obj: CodeObject) -> None:
        """Put the object's segments into the code space."""
        self.image.load(obj)

    def copy(self) -> DeviceMemory:
        """An independent memory with the same bytes."""
        return DeviceMemory.of(self.image.copy())


def _placements(image: MemoryImage) -> tuple[Extent, ...]:
    """Buffers at device addresses, those that meet joined."""
    joined: list[Extent] = []
    for extent in sorted((Extent(_device_address(image, p.address), p.size) for p in image.placements), key=_address):
        last = joined[-1] if joined else None
        if last is not None and extent.address <= last.address + last.size:
            end = max(last.address + last.size, extent.address + extent.size)
            joined[-1] = Extent(last.address, end - last.address)
        else:
            joined.append(extent)
    return tuple(joined)


def _address(extent: Extent) -> int:
    return extent.address


def _device_address(image: MemoryImage, address: int) -> int:
    offset = address - image.base
    at = bisect_right(image.pieces, offset, key=lambda piece: piece.offset)
    if not at:
        return address
    piece = image.pieces[at - 1]
    return piece.address + offset - piece.offset

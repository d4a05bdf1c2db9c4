"""Device memory of one launch: code, kernel arguments and buffers at addresses that are the same in every run."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asmevo.codeobject import CodeObject
from asmevo.launch.formats import Array, Format
from asmevo.launch.scattered import DeviceMemory
from asmevo.launch.window import Piece
from asmevo.verdict import EnvironmentError_, InputError

BASE = 0x7E00_0000_0000
"""Device address of the first byte of an image that does not straddle a multiple of 4 GiB; inside 48 bits."""
CODE_SPACE = 1 << 20
"""Bytes kept for the code object at the start of the image, so that code never moves data."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a buffer lies."""

    name: str
    address: int
    size: int
    role: str
    red_zone: int
    """Bytes of poison on both sides."""
    format: Format
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class MemoryImage:
    """One contiguous piece of device memory, `[base, base + len(data))`.

    Layout: the code object (loaded at `base`, `CODE_SPACE` bytes or a multiple), the kernarg segment, then each buffer
    between its red zones. What is neither code, argument nor filled buffer holds the poison byte, so memory that a
    kernel reads without anyone having written it differs between two poisons. The bytes live in an anonymous memory
    file (`fd`), which another process can map; `data` is a writable view of it, page-aligned.

    Buffers at fixed addresses follow, page by page (`pieces`). Here they have addresses that continue those of the
    rest, so that an image is one array to whoever compares or copies it; the addresses that code and memory use are
    those of `on_device`, which a device runs on.
    """

    base: int
    data: NDArray[np.uint8]
    placements: tuple[Placement, ...]
    kernarg_address: int
    kernarg_size: int
    code_space: int
    poison: int
    """The byte in gaps and red zones; a simulator also fills registers and LDS with it."""
    poisoned: tuple[tuple[int, int], ...]
    """(offset, size) of every span that was poisoned."""
    fd: int
    """Memory file behind `data`; closed with the image by the garbage collector of `data`."""
    pieces: tuple[Piece, ...] = ()
    """Where the pages of buffers at fixed addresses are; none where there are no such buffers."""
    _seen: list[DeviceMemory] = field(default_factory=list[DeviceMemory], init=False, repr=False)

    def facts(self) -> dict[str, Any]:
        """What another process needs besides the descriptor `fd` to see the same memory: `MemoryImage.attach`."""
        names = [f.name for f in fields(self) if f.name not in ("data", "fd", "_seen")]
        return {"bytes": len(self.data), **{name: getattr(self, name) for name in names}}

    @classmethod
    def attach(cls, fd: int, facts: Mapping[str, Any]) -> MemoryImage:
        """The image behind a descriptor that another process sent; takes ownership of `fd`."""
        rest = dict(facts)
        return cls(data=map_memory(fd, rest.pop("bytes")), fd=fd, **rest)

    @property
    def code_address(self) -> int:
        """What is added to an address of the ELF file to get its device address."""
        return self.base

    @property
    def on_device(self) -> MemoryImage | DeviceMemory:
        """The same memory at the addresses that a device uses; the image itself unless it has fixed ones."""
        if self.pieces and not self._seen:
            self._seen.append(DeviceMemory.of(self))
        return self._seen[0] if self._seen else self

    @property
    def end(self) -> int:
        """First address after the image."""
        return self.base + len(self.data)

    def placement(self, name: str) -> Placement:
        """Where the buffer of this name lies."""
        for candidate in self.placements:
            if candidate.name == name:
                return candidate
        raise InputError(
            f"The memory image has no buffer {name!r}; it has {', '.join(p.name for p in self.placements)}."
        )

    def bytes_at(self, address: int, size: int) -> NDArray[np.uint8]:
        """A writable view of device memory. Raises `InputError` outside of the image."""
        offset = address - self.base
        if not 0 <= offset <= offset + size <= len(self.data):
            raise InputError(f"The address range 0x{address:x}+{size} is outside of the memory image.")
        return self.data[offset : offset + size]

    def buffer(self, name: str) -> Array:
        """A writable view of a buffer's codes in its shape."""
        p = self.placement(name)
        return self.bytes_at(p.address, p.size).view(p.format.storage).reshape(p.shape)

    def values(self, name: str) -> Array:
        """The values of a buffer (bf16 and fp8 decoded)."""
        return self.placement(name).format.decode(self.buffer(name))

    def red_zones(self) -> Iterator[tuple[str, NDArray[np.uint8]]]:
        """Views of the poison before and after each buffer, named `x-` and `x+`."""
        for p in self.placements:
            yield f"{p.name}-", self.bytes_at(p.address - p.red_zone, p.red_zone)
            yield f"{p.name}+", self.bytes_at(p.address + p.size, p.red_zone)

    def overrun(self) -> str:
        """Words for the first byte of a red zone that was written; empty when all are poison still."""
        for p in self.placements:
            for start in (p.address - p.red_zone, p.address + p.size):
                written = np.flatnonzero(self.bytes_at(start, p.red_zone) != self.poison)
                if len(written):
                    return self.locate(start + int(written[0]))
        return ""

    def locate(self, address: int) -> str:
        """Words for an address: buffer and element, red zone, kernarg, code, or a gap."""
        if address < self.base + self.code_space:
            return f"code+0x{address - self.base:x}"
        if 0 <= address - self.kernarg_address < self.kernarg_size:
            return f"kernarg+{address - self.kernarg_address}"
        for p in self.placements:
            at = address - p.address
            if 0 <= at < p.size:
                index = np.unravel_index(at // p.format.size, p.shape)
                return f"{p.name}[{', '.join(str(int(i)) for i in index)}]"
            if -p.red_zone <= at < 0:
                return f"red zone {-at} bytes before {p.name}"
            if p.size <= at < p.size + p.red_zone:
                return f"red zone {at - p.size} bytes after {p.name}"
        return f"gap at 0x{address:x}"

    def load(self, obj: CodeObject) -> None:
        """Put the object's segments into the code space, over whatever object was there."""
        low, code = obj.load_image()
        if low + len(code) > self.code_space:
            raise InputError(
                f"The object needs {low + len(code)} bytes of code space and this image keeps {self.code_space}; "
                "build the image for the larger object."
            )
        space = self.data[: self.code_space]
        space[:] = 0
        space[low : low + len(code)] = np.frombuffer(code, np.uint8)

    def copy(self) -> MemoryImage:
        """An independent image with the same bytes."""
        fd, data = allocate(len(self.data))
        data[:] = self.data
        return replace(self, fd=fd, data=data)

    def with_poison(self, poison: int) -> MemoryImage:
        """An independent copy in which every poisoned span holds another byte. Meant for images as built."""
        other = replace(self.copy(), poison=poison)
        for offset, size in self.poisoned:
            other.data[offset : offset + size] = poison
        return other


class _Mapping(mmap.mmap):
    """A mapping that closes its file descriptor when it goes."""

    descriptor = -1

    def __del__(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)


def allocate(size: int) -> tuple[int, NDArray[np.uint8]]:
    """A new memory file of `size` zero bytes (pages appear when touched) and a writable view of it.

    Raises `EnvironmentError_` when the system refuses that much, or does not have it.
    """
    installed = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if size > installed:
        raise EnvironmentError_(
            f"A memory image of {size} bytes is more than the {installed} bytes of this machine; use smaller buffers."
        )
    try:
        fd = os.memfd_create("asmevo-image", os.MFD_CLOEXEC)
        os.ftruncate(fd, size)
    except OSError as error:
        raise EnvironmentError_(
            f"No memory file of {size} bytes can be made ({error.strerror}); free some memory."
        ) from error
    return fd, map_memory(fd, size)


def map_memory(fd: int, size: int) -> NDArray[np.uint8]:
    """A writable view of an image's memory file; takes ownership of `fd`."""
    try:
        mapping = _Mapping(fd, size)
    except (OSError, ValueError) as error:
        os.close(fd)
        raise EnvironmentError_(
            f"A memory image of {size} bytes cannot be mapped ({error}); free some memory."
        ) from error
    mapping.descriptor = fd
    return np.frombuffer(mapping, np.uint8)

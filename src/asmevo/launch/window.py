"""Scattered device memory: pieces of one memory file, each at the address that a captured program had for it.

The pieces lie far apart, and what lies between them is not known. A window is one stretch of this process's address
space that covers all of them. Its pieces are mappings of the image's memory file; everything else is a mapping of
another file, the trap, which is empty and takes memory only where it is touched. So whoever runs code on the window
sees one array, and afterwards the trap says which addresses the code used that no piece has.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import resource
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from asmevo.verdict import EnvironmentError_

PAGE = 4096
_MAP_FIXED, _MAP_NORESERVE = 0x10, 0x4000
_FAILED = ctypes.c_void_p(-1).value
_STRAYS = 1 << 16
"""Most pieces of touched trap that are told apart."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Pages of the memory file at an address of their own."""

    address: int
    """Device address, a multiple of the page size."""
    offset: int
    """In the memory file."""
    size: int
    """Bytes, whole pages."""


@dataclass(frozen=True, slots=True)
class Extent:
    """A stretch of device memory."""

    address: int
    size: int


def pieces_of(extents: Iterable[Extent], offset: int) -> tuple[Piece, ...]:
    """The pages that cover the extents, one run after the other in the memory file from `offset` on."""
    pieces: list[Piece] = []
    for first, end in _runs(extents):
        pieces.append(Piece(first, offset, end - first))
        offset += end - first
    return tuple(pieces)


def _runs(extents: Iterable[Extent]) -> list[tuple[int, int]]:
    """(first, end) of the runs of pages that cover the extents, ascending."""
    runs: list[tuple[int, int]] = []
    for extent in sorted(extents, key=lambda e: e.address):
        first, end = extent.address // PAGE * PAGE, -(-(extent.address + extent.size) // PAGE) * PAGE
        if runs and first <= runs[-1][1]:
            runs[-1] = runs[-1][0], max(runs[-1][1], end)
        elif end > first:
            runs.append((first, end))
    return runs


class Window:
    """The address space that covers all pieces of a memory file: `[base, base + size)` of the device.

    Raises `EnvironmentError_` when the system refuses that much address space.
    """

    def __init__(self, fd: int, pieces: Sequence[Piece]) -> None:
        self.base = min(p.address for p in pieces)
        self.size = max(p.address + p.size for p in pieces) - self.base
        room = _make_room(self.size)
        self._trap = os.memfd_create("asmevo-trap", os.MFD_CLOEXEC)
        try:
            os.ftruncate(self._trap, self.size)
            self._at = _map(None, self.size, self._trap, 0, _MAP_NORESERVE)
        except OSError as error:
            os.close(self._trap)
            _take_back(room)
            raise _refused(self.size, error) from error
        weakref.finalize(self, _release, self._at, self.size, self._trap, room)
        try:
            for piece in pieces:
                _map(self._at + piece.address - self.base, piece.size, fd, piece.offset, _MAP_FIXED)
        except OSError as error:
            raise _refused(self.size, error) from error

    @property
    def data(self) -> NDArray[np.uint8]:
        """A writable view of all of it, which keeps the window."""
        memory = cast(Any, (ctypes.c_uint8 * self.size).from_address(self._at))
        memory.window = self
        return np.frombuffer(memory, np.uint8)

    def strays(self) -> tuple[Extent, ...]:
        """Pages that were touched and belong to no piece, ascending; from now on they count as untouched."""
        found: list[Extent] = []
        at = 0
        while len(found) < _STRAYS and os.fstat(self._trap).st_blocks:
            try:
                first = os.lseek(self._trap, at, os.SEEK_DATA)
            except OSError:  # no data behind `at`
                break
            at = os.lseek(self._trap, first, os.SEEK_HOLE)
            found.append(Extent(self.base + first, at - first))
        if found:
            os.ftruncate(self._trap, 0)
            os.ftruncate(self._trap, self.size)
        return tuple(found)


def _make_room(size: int) -> int:
    """Where the address space of this process is limited, raise the limit: a window takes addresses, not memory.

    Twice the size, as checked execution keeps a table of what was stored where, as far as the hard limit allows.
    Returns by how much, for `_take_back`.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY:
        return 0
    raised = soft + 2 * size if hard == resource.RLIM_INFINITY else min(soft + 2 * size, hard)
    resource.setrlimit(resource.RLIMIT_AS, (raised, hard))
    return raised - soft


def _take_back(room: int) -> None:
    """Lower the limit by what it was raised: no further, whatever the hard limit allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if room and soft != resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_AS, (max(0, soft - room), hard))


def _map(at: int | None, size: int, fd: int, offset: int, flags: int) -> int:
    libc = cast(Any, ctypes.CDLL(None, use_errno=True))
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
    found = libc.mmap(at, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | flags, fd, offset)
    if found == _FAILED:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(found)


def _release(at: int, size: int, trap: int, room: int) -> None:
    libc = cast(Any, ctypes.CDLL(None))
    libc.munmap(ctypes.c_void_p(at), ctypes.c_size_t(size))
    os.close(trap)
    _take_back(room)


def _refused(size: int, error: OSError) -> EnvironmentError_:
    return EnvironmentError_(
        f"The buffers at fixed addresses span {size} bytes, for which the system gives no address space "
        f"({(error.strerror or str(error)).lower()}); raise `ulimit -v` or vm.max_map_count, or relocate the capture."
    )

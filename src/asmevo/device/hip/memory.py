"""Device memory for images: at the addresses that the image names where the GPU can, else elsewhere, relocated."""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from asmevo.device.hip.binding import HipError, Runtime
from asmevo.device.hip.faults import OUT_OF_MEMORY
from asmevo.launch import MemoryImage
from asmevo.verdict import UnsupportedError

_KEPT = 4
"""Placed images kept."""
_PROBE = 1 << 16
_TO_DEVICE, _TO_HOST, _ON_DEVICE = 1, 2, 3
_READ_WRITE, _PINNED, _ON_GPU = 3, 1, 1


class _Location(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class _AllocationProperties(ctypes.Structure):
    """`hipMemAllocationProp`."""

    location: _Location
    _fields_ = (
        ("type", ctypes.c_int),
        ("handle_type", ctypes.c_int),
        ("location", _Location),
        ("win32", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    )


class _Access(ctypes.Structure):
    """`hipMemAccessDesc`."""

    _fields_ = (("location", _Location), ("flags", ctypes.c_int))


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes of an image at their place on the GPU."""

    address: int
    offset: int
    """In the image."""
    size: int


@dataclass(frozen=True, slots=True)
class _Held:
    """Something to be freed."""

    address: int
    mapped: int = 0
    """Bytes that were mapped; 0 for memory of `hipMalloc`."""
    handle: int = 0


@dataclass(frozen=True, slots=True)
class Span:
    """Memory for one image."""

    parts: tuple[Part, ...]
    held: tuple[_Held, ...]
    size: int

    @property
    def address(self) -> int:
        """Of the image's first byte."""
        return self.parts[0].address

    def shift(self, image: MemoryImage) -> int:
        """What is added to an address that the image gives to a buffer without a fixed one."""
        return self.address - image.base


@dataclass(slots=True)
class GpuMemory:
    """Allocations of one GPU."""

    runtime: Runtime
    gpu: int
    _placed: OrderedDict[Hashable, tuple[Span, ...]] = field(default_factory=OrderedDict[Hashable, tuple[Span, ...]])

    def place(self, image: MemoryImage) -> Span:
        """Memory for an image, the same for all of its layout while it is kept, so that equal runs see equal addresses.

        It is where the image says, or elsewhere as a whole when the GPU cannot have it there. What was placed before
        and is in the way is freed. Raises `MemoryError` when the GPU has not enough, `UnsupportedError` when it cannot
        have buffers that must be at certain addresses there.
        """
        return self.place_together((image,))[0]

    def place_together(self, images: Sequence[MemoryImage]) -> tuple[Span, ...]:
        """`place` for several that stay until the next call, even where they share addresses, as captures of one
        program do. Only one alone is moved elsewhere."""
        key = tuple((image.base, len(image.data), image.pieces) for image in images)
        if key not in self._placed:
            while len(self._placed) >= _KEPT:
                self._give_back(next(iter(self._placed)))
            self._placed[key] = self._at_home(images) or self._elsewhere(images)
        self._placed.move_to_end(key)
        return self._placed[key]

    def _elsewhere(self, images: Sequence[MemoryImage]) -> tuple[Span, ...]:
        if pieces := [piece for image in images for piece in image.pieces]:
            raise UnsupportedError(
                f"The GPU cannot have memory at 0x{pieces[0].address:x}, where the launch has a buffer; relocate the "
                "capture."
            )
        return tuple(self.allocate(len(image.data)) for image in images)

    def _give_back(self, key: Hashable) -> None:
        for span in self._placed.pop(key):
            self.free(span)

    def _clear(self, wanted: Sequence[tuple[int, int]]) -> None:
        """Free what is placed at these addresses."""
        for key, spans in list(self._placed.items()):
            mapped = [(h.address, h.address + h.mapped) for span in spans for h in span.held if h.mapped]
            if any(start < last and first < end for first, last in mapped for start, end in wanted):
                self._give_back(key)

    def allocate(self, size: int) -> Span:
        """Memory anywhere."""
        address = ctypes.c_void_p()
        self._call("hipMalloc", ctypes.byref(address), ctypes.c_size_t(size))
        found = address.value or 0
        return Span((Part(found, 0, size),), (_Held(found),), size)

    def available(self) -> int:
        """Free bytes."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self._call("hipMemGetInfo", ctypes.byref(free), ctypes.byref(total))
        return free.value

    def write(self, span: Span, image: MemoryImage) -> None:
        """The image's bytes into the GPU."""
        for part in span.parts:
            self._copy(part.address, image.data.ctypes.data + part.offset, part.size, _TO_DEVICE)

    def read(self, span: Span, image: MemoryImage) -> None:
        """And back."""
        for part in span.parts:
            self._copy(image.data.ctypes.data + part.offset, part.address, part.size, _TO_HOST)

    def duplicate(self, source: Span, target: Span) -> None:
        """From memory of `allocate` to any of that size."""
        for part in target.parts:
            self._copy(part.address, source.address + part.offset, part.size, _ON_DEVICE)

    def fill(self, span: Span, byte: int) -> None:
        """Memory of `allocate` with one byte."""
        self._call("hipMemset", ctypes.c_void_p(span.address), ctypes.c_int(byte), ctypes.c_size_t(span.size))

    def free(self, span: Span) -> None:
        for held in span.held:
            self._release(held)

    def _release(self, held: _Held) -> None:
        place, extent = ctypes.c_void_p(held.address), ctypes.c_size_t(held.mapped)
        if not held.mapped:
            self._call("hipFree", place)
            return
        self._call("hipMemUnmap", place, extent)
        self._call("hipMemRelease", ctypes.c_void_p(held.handle))
        self._call("hipMemAddressFree", place, extent)

    def answers(self) -> bool:
        """Whether a fill that the GPU makes arrives: a driver may answer for a GPU that does not."""
        span = self.allocate(_PROBE)
        try:
            self.fill(span, 0x5A)
            found = ctypes.create_string_buffer(_PROBE)
            self._copy(ctypes.addressof(found), span.address, _PROBE, _TO_HOST)
            return found.raw == b"\x5a" * _PROBE
        finally:
            self.free(span)

    def close(self) -> None:
        while self._placed:
            self._give_back(next(reversed(self._placed)))

    def _copy(self, target: int, source: int, size: int, kind: int) -> None:
        self._call("hipMemcpy", ctypes.c_void_p(target), ctypes.c_void_p(source), ctypes.c_size_t(size), kind)

    def _call(self, function: str, *arguments: object) -> None:
        try:
            self.runtime.call(function, *arguments)
        except HipError as error:
            if error.code == OUT_OF_MEMORY:
                raise MemoryError from error
            raise

    def _at_home(self, images: Sequence[MemoryImage]) -> tuple[Span, ...] | None:
        """Memory at the very addresses of the images; None where the GPU or the runtime cannot give them."""
        parts = [parts_of(image) for image in images]
        granule = self._granule()
        wanted = runs([part for each in parts for part in each], granule) if granule else []
        self._clear(wanted)
        held: list[_Held] = []
        for first, end in wanted:
            mapped = self._mapped(first, end - first, granule)
            if mapped is None:
                for one in held:
                    self._release(one)
                return None
            held.append(mapped)
        if not held:
            return None
        owners = (tuple(held), *((),) * (len(images) - 1))  # the first holds the memory of all
        return tuple(Span(p, h, len(i.data)) for p, h, i in zip(parts, owners, images, strict=True))

    def _properties(self) -> _AllocationProperties:
        return _AllocationProperties(type=_PINNED, location=_Location(_ON_GPU, self.gpu))

    def _granule(self) -> int:
        """Bytes that are mapped at a time; 0 where nothing can be."""
        if not self.runtime.has("hipMemAddressReserve"):
            return 0
        granule, properties = ctypes.c_size_t(), self._properties()
        try:
            self._call("hipMemGetAllocationGranularity", ctypes.byref(granule), ctypes.byref(properties), 0)
        except HipError:
            return 0
        return granule.value

    def _mapped(self, first: int, size: int, granule: int) -> _Held | None:
        """New memory at this address; None where it cannot be had."""
        place, handle, properties = ctypes.c_void_p(), ctypes.c_void_p(), self._properties()
        extent, align, flags = ctypes.c_size_t(size), ctypes.c_size_t(granule), ctypes.c_ulonglong(0)
        try:
            self._call("hipMemAddressReserve", ctypes.byref(place), extent, align, ctypes.c_void_p(first), flags)
        except HipError:
            return None
        if place.value != first:
            self._call("hipMemAddressFree", place, extent)
            return None
        try:
            self._call("hipMemCreate", ctypes.byref(handle), extent, ctypes.byref(properties), flags)
        except MemoryError:
            self._call("hipMemAddressFree", place, extent)
            raise
        self._call("hipMemMap", place, extent, ctypes.c_size_t(0), handle, flags)
        access = _Access(properties.location, _READ_WRITE)
        self._call("hipMemSetAccess", place, extent, ctypes.byref(access), ctypes.c_size_t(1))
        return _Held(first, size, handle.value or 0)


def parts_of(image: MemoryImage) -> tuple[Part, ...]:
    """Where the bytes of an image have to be."""
    home = min((piece.offset for piece in image.pieces), default=len(image.data))
    return (Part(image.base, 0, home), *(Part(p.address, p.offset, p.size) for p in image.pieces))


def overlap(parts: Sequence[Part]) -> bool:
    """Whether two of them share a byte."""
    ordered = sorted((part for part in parts if part.size), key=lambda part: part.address)
    return any(a.address + a.size > b.address for a, b in pairwise(ordered))


def runs(parts: Sequence[Part], granule: int) -> list[tuple[int, int]]:
    """(first, end) of the granules that hold the parts, those that meet joined, ascending."""
    found: list[tuple[int, int]] = []
    for part in sorted(parts, key=lambda part: part.address):
        first, end = part.address // granule * granule, -(-(part.address + part.size) // granule) * granule
        if found and first <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((first, end))
    return found

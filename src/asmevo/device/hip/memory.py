"""Device memory for images: at the addresses that the image names where the GPU can, else elsewhere, relocated."""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from dataclasses import dataclass, field

from asmevo.device.hip.faults import OUT_OF_MEMORY
from asmevo.device.hip.library import HipError, Runtime
from asmevo.launch import MemoryImage

_KEPT = 4
"""Placed images kept."""
_PROBE = 1 << 16
_TO_DEVICE, _TO_HOST, _ON_DEVICE = 1, 2, 3
_READ_WRITE = 3


class _Location(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class _AllocationProperties(ctypes.Structure):
    """`hipMemAllocationProp`."""

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
class Span:
    """Device memory of one image."""

    address: int
    """Of the image's first byte."""
    size: int
    owned: int
    """Address to free it by."""
    extent: int
    """Bytes that were mapped; 0 for memory of `hipMalloc`."""
    handle: int = 0

    def shift(self, image: MemoryImage) -> int:
        """What is added to an address of the image."""
        return self.address - image.base


@dataclass(slots=True)
class DeviceMemory:
    """Allocations of one GPU."""

    runtime: Runtime
    gpu: int
    _placed: OrderedDict[tuple[int, int], Span] = field(default_factory=OrderedDict[tuple[int, int], Span])

    def place(self, image: MemoryImage) -> Span:
        """Memory for an image, the same for all of its base and size while it is kept, so that equal runs see equal
        addresses. Raises `MemoryError` when the GPU has not enough."""
        key = (image.base, len(image.data))
        if key not in self._placed:
            while len(self._placed) >= _KEPT:
                self.free(self._placed.popitem(last=False)[1])
            self._placed[key] = self._mapped(*key) or self.allocate(key[1])
        self._placed.move_to_end(key)
        return self._placed[key]

    def allocate(self, size: int) -> Span:
        """Memory anywhere."""
        address = ctypes.c_void_p()
        self._call("hipMalloc", ctypes.byref(address), ctypes.c_size_t(size))
        return Span(address.value or 0, size, address.value or 0, 0)

    def available(self) -> int:
        """Free bytes."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self._call("hipMemGetInfo", ctypes.byref(free), ctypes.byref(total))
        return free.value

    def write(self, span: Span, image: MemoryImage) -> None:
        self._copy(span.address, image.data.ctypes.data, len(image.data), _TO_DEVICE)

    def read(self, span: Span, image: MemoryImage) -> None:
        self._copy(image.data.ctypes.data, span.address, len(image.data), _TO_HOST)

    def duplicate(self, source: Span, target: Span) -> None:
        self._copy(target.address, source.address, source.size, _ON_DEVICE)

    def fill(self, span: Span, byte: int) -> None:
        self._call("hipMemset", ctypes.c_void_p(span.address), ctypes.c_int(byte), ctypes.c_size_t(span.size))

    def free(self, span: Span) -> None:
        if not span.extent:
            self._call("hipFree", ctypes.c_void_p(span.owned))
            return
        place, extent = ctypes.c_void_p(span.owned), ctypes.c_size_t(span.extent)
        self._call("hipMemUnmap", place, extent)
        self._call("hipMemRelease", ctypes.c_void_p(span.handle))
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
            self.free(self._placed.popitem()[1])

    def _copy(self, target: int, source: int, size: int, kind: int) -> None:
        self._call("hipMemcpy", ctypes.c_void_p(target), ctypes.c_void_p(source), ctypes.c_size_t(size), kind)

    def _call(self, function: str, *arguments: object) -> None:
        try:
            self.runtime.call(function, *arguments)
        except HipError as error:
            if error.code == OUT_OF_MEMORY:
                raise MemoryError from error
            raise

    def _mapped(self, base: int, size: int) -> Span | None:
        """Memory at these very addresses; None where the GPU or the runtime cannot give them."""
        if not self.runtime.has("hipMemAddressReserve"):
            return None
        location = _Location(1, self.gpu)
        properties = _AllocationProperties(type=1, location=location)
        granule, place, handle = ctypes.c_size_t(), ctypes.c_void_p(), ctypes.c_void_p()
        try:
            self._call("hipMemGetAllocationGranularity", ctypes.byref(granule), ctypes.byref(properties), 0)
            start = base // granule.value * granule.value
            extent = ctypes.c_size_t(-(-(base + size - start) // granule.value) * granule.value)
            zero, flags = ctypes.c_size_t(0), ctypes.c_ulonglong(0)
            self._call("hipMemAddressReserve", ctypes.byref(place), extent, granule, ctypes.c_void_p(start), flags)
        except (HipError, ZeroDivisionError):
            return None
        if place.value != start:
            self._call("hipMemAddressFree", place, extent)
            return None
        try:
            self._call("hipMemCreate", ctypes.byref(handle), extent, ctypes.byref(properties), flags)
        except MemoryError:
            self._call("hipMemAddressFree", place, extent)
            raise
        self._call("hipMemMap", place, extent, zero, handle, flags)
        self._call("hipMemSetAccess", place, extent, ctypes.byref(_Access(location, _READ_WRITE)), ctypes.c_size_t(1))
        return Span(base, size, start, extent.value, handle.value or 0)

"""Host memory behind the pointers of a launch: whole storages, each taken once, and what goes back into them.

A tensor here is what Triton takes for one: `data_ptr()`, `dtype`, and `untyped_storage()` with `data_ptr()` and
`nbytes()` as torch has it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from asmevo.verdict import UsageError

ALIGN = 16
"""What Triton specialises pointers on; addresses agree modulo this on both sides."""
ON_DEVICE = ("cuda", "hip")
"""What torch calls a GPU."""
_CHUNK = 1 << 18
"""Bytes compared at once when results go back."""


@dataclass(frozen=True, slots=True)
class Storage:
    """A piece of host memory that nothing else of the launch overlaps."""

    name: str
    """Of the first argument that points into it."""
    start: int
    """Host address."""
    size: int

    @property
    def lead(self) -> int:
        """Bytes between the multiple of `ALIGN` at or before the start, and the start. They lie in the same page."""
        return self.start % ALIGN

    @property
    def content(self) -> NDArray[np.uint8]:
        """A view of the host's bytes, `lead` bytes before it included."""
        if not self.size:
            return np.zeros(0, np.uint8)
        window = (ctypes.c_uint8 * (self.lead + self.size)).from_address(self.start - self.lead)
        return np.frombuffer(cast(Any, window), np.uint8)

    def offset(self, address: int) -> int:
        """Byte offset of a host address in `content`."""
        return address - self.start + self.lead

    def take_back(self, result: NDArray[np.uint8]) -> None:
        """Copy what a launch changed. Memory that it did not change is not written: it may be read-only."""
        mine, theirs = self.content[self.lead :], result[self.lead :]
        for at in range(0, self.size, _CHUNK):
            part = slice(at, at + _CHUNK)
            if not np.array_equal(mine[part], theirs[part]):
                mine[part] = theirs[part]


@dataclass(frozen=True, slots=True)
class DeviceStorage(Storage):
    """A piece of a GPU's memory that torch allocated, copied when its content is asked for."""

    storage: Any = None
    """torch's storage, which begins at `start`."""

    @property
    def content(self) -> NDArray[np.uint8]:
        torch: Any = import_module("torch")  # whoever has a tensor on a GPU has it
        copied = torch.empty(0, dtype=torch.uint8).set_(self.storage.cpu())
        return np.concatenate([np.zeros(self.lead, np.uint8), copied.numpy()])


def address_of(tensor: Any) -> int:
    """Host address of a pointer argument: a tensor, a number, or None for null."""
    if tensor is None:
        return 0
    return tensor if isinstance(tensor, int) else int(tensor.data_ptr())


def extent_of(name: str, tensor: Any) -> Storage | None:
    """The whole storage of a tensor; None for null, a number, and a tensor without elements.

    Raises `UsageError` for a tensor that is not in this process's memory, or does not say how much it holds.
    """
    if tensor is None or isinstance(tensor, int):
        return None
    while not hasattr(tensor, "untyped_storage"):  # triton.reinterpret wraps a tensor into another without it
        if not hasattr(tensor, "base"):
            raise UsageError(
                f"The argument {name!r} is a {type(tensor).__name__}, which does not say where its storage begins and "
                "ends; give a torch tensor, or wrap a numpy array into `asmevo.triton.Array`."
            )
        tensor = tensor.base
    device = getattr(getattr(tensor, "device", None), "type", "cpu")
    if device != "cpu":
        raise UsageError(f"The argument {name!r} is on {device!r}; the simulated chip takes tensors of the CPU.")
    storage = tensor.untyped_storage()
    start, size = int(storage.data_ptr()), int(storage.nbytes())
    return Storage(name, start, size) if start and size else None


def device_extent_of(name: str, tensor: Any) -> Storage | None:
    """As `extent_of`, for tensors on a GPU."""
    if tensor is None or isinstance(tensor, int):
        return None
    while not hasattr(tensor, "untyped_storage") and hasattr(tensor, "base"):
        tensor = tensor.base
    if getattr(getattr(tensor, "device", None), "type", "cpu") not in ON_DEVICE:
        return extent_of(name, tensor)
    storage = tensor.untyped_storage()
    start, size = int(storage.data_ptr()), int(storage.nbytes())
    return DeviceStorage(name, start, size, storage) if start and size else None


def merged(storages: Iterable[Storage]) -> tuple[Storage, ...]:
    """The same memory with overlaps joined, in the order of addresses."""
    result: list[Storage] = []
    for one in sorted(storages, key=lambda s: (s.start, -s.size)):
        last = result[-1] if result else None
        if last is not None and one.start < last.start + last.size:
            end = max(last.start + last.size, one.start + one.size)
            result[-1] = replace(last, size=end - last.start)
        else:
            result.append(one)
    return tuple(result)

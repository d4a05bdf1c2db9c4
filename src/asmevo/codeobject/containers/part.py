"""One stretch of a file that holds code objects, whatever its format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from asmevo.verdict import InputError

_FLOOR, _RATIO = 1 << 28, 64
"""Bytes that any file may decompress to, and times its size."""


class BudgetError(InputError):
    """A file whose parts take more work to read than a file of its size can need."""


class Budget:
    """What may still be decompressed and tried out of a file, in bytes.

    Bundles of real libraries decompress to at most 25 times their size.
    """

    def __init__(self, size: int, name: str) -> None:
        self.name = name
        self._whole = self._left = max(_FLOOR, _RATIO * size)

    def spend(self, count: int) -> None:
        """Count bytes that were made or looked at. Raises `BudgetError` when there were too many."""
        self._left -= count
        if self._left < 0:
            raise BudgetError(
                f"{self.name} has parts that decompress to more than {self._whole} bytes together, more than is "
                "believed of a file of its size; take the bundles out and pass them one by one."
            )


@dataclass(frozen=True, slots=True)
class Slot:
    """One code object in a part."""

    name: str
    """Its name in the format, such as `hipv4-amdgcn-amd-amdhsa--gfx942`; empty where the format has none."""
    offset: int
    """First byte, counted from the start of the part, or of what the part decompresses to."""
    size: int


class Part(Protocol):
    """A bundle, an image or a file, and where it lies."""

    @property
    def format(self) -> str: ...

    @property
    def packed(self) -> bool:
        """Whether slots count decompressed bytes."""
        ...

    @property
    def size(self) -> int:
        """Bytes of the file that it takes."""
        ...

    @property
    def slots(self) -> tuple[Slot, ...]: ...

    def content(self, index: int) -> bytes:
        """The bytes of a slot."""
        ...

    def replaced(self, index: int, data: bytes, room: int | None) -> bytes:
        """The part with another object in a slot, filled with zeros to its old size when it became smaller.

        `room` is what it may take; None when it may grow. Raises `InputError` when the object does not fit.
        """
        ...


def padding(data: bytes, start: int, end: int) -> int:
    """Number of zero bytes from `start` on, up to `end`."""
    stretch = data[start:end]
    return len(stretch) - len(stretch.lstrip(b"\0"))


def too_large(what: str, size: int, room: int) -> InputError:
    """The error for an object that does not fit into its place."""
    return InputError(
        f"The object does not fit: {what} has room for {room} bytes and {size} are needed; "
        "use fewer or shorter instructions, or replace the whole file."
    )

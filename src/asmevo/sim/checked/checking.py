"""What a checked run is given: which memory there is, and how much it may find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

_KERNARG_ALIGN = 64
"""Scalar loads of arguments may be wider than what is left of them, up to a cache line."""


class _Buffer(Protocol):
    @property
    def address(self) -> int: ...
    @property
    def size(self) -> int: ...


class Mapped(Protocol):
    """What is needed of a memory image."""

    @property
    def base(self) -> int: ...
    @property
    def code_space(self) -> int: ...
    @property
    def kernarg_address(self) -> int: ...
    @property
    def kernarg_size(self) -> int: ...
    @property
    def placements(self) -> Sequence[_Buffer]: ...


@dataclass(frozen=True, slots=True)
class Span:
    """Memory that may be accessed: device addresses [first, end)."""

    first: int
    end: int
    writable: bool = True


@dataclass(frozen=True, slots=True)
class Checking:
    """Bounds and limits of checked execution."""

    spans: tuple[Span, ...]
    limit: int = 4000
    """Most things that are told apart; the run goes on without telling more."""
    reads: int = 0
    """Most reads of LDS whose values are recorded, for `first_difference`."""

    @classmethod
    def of(cls, image: Mapped, limit: int = 4000) -> Checking:
        """Every buffer of an image, its arguments and its code, the last two for loads only."""
        arguments = image.kernarg_address
        end = arguments + -(-image.kernarg_size // _KERNARG_ALIGN) * _KERNARG_ALIGN
        fixed = (Span(arguments, end, False), Span(image.base, image.base + image.code_space, False))
        return cls((*(Span(p.address, p.address + p.size) for p in image.placements), *fixed), limit)

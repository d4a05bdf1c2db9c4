"""Launches as values: everything one dispatch needs, with its memory described but not yet made."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, prod
from typing import Any

from asmevo.launch.fills import Fill
from asmevo.launch.formats import Format, format_of
from asmevo.verdict import InputError

ROLES = ("in", "out", "inout", "workspace")
RED_ZONE = 4096
"""Bytes of poison before and after each buffer unless it says otherwise."""
ADDRESSES = 1 << 47
"""End of the addresses that a buffer may be given."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """A region of device memory that kernel arguments point to."""

    name: str
    role: str
    """`in`, `out`, `inout` or `workspace`. Says where results are; every byte of memory is compared all the same."""
    dtype: str
    shape: tuple[int, ...]
    fill: Fill | None = None
    """None leaves poison, which is what `out` and `workspace` want; `in` and `inout` need a fill."""
    align: int = 256
    """Byte alignment of the address, a power of two."""
    red_zone: int = RED_ZONE
    """Bytes of poison kept on both sides."""
    address: int | None = None
    """Device address that it must have, as one of a captured program, in which other memory may point to it; then it
    has no red zones, and `align` says nothing. None lets the image choose."""

    def __post_init__(self) -> None:
        where = f"The buffer {self.name!r}"
        if self.role not in ROLES:
            raise InputError(f"{where} has the role {self.role!r}; use one of {', '.join(ROLES)}.")
        format_of(self.dtype)
        if any(n < 0 for n in self.shape):
            raise InputError(f"{where} has a negative extent in its shape {list(self.shape)}.")
        if self.align < 1 or self.align & (self.align - 1):
            raise InputError(f"{where} has the alignment {self.align}, which is not a power of two.")
        if self.red_zone < 0:
            raise InputError(f"{where} has a negative red zone.")
        if self.address is not None and not (0 < self.address <= ADDRESSES - self.size and self.red_zone == 0):
            raise InputError(
                f"{where} cannot lie at the address {self.address}: that must be inside of 47 bits, with `red_zone` 0."
            )
        if self.fill is None and self.role in ("in", "inout"):
            raise InputError(f"{where} is an input without a fill; say what it holds, e.g. {{kind = 'zeros'}}.")

    @property
    def format(self) -> Format:
        return format_of(self.dtype)

    @property
    def count(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def size(self) -> int:
        """Bytes."""
        return self.count * self.format.size


@dataclass(frozen=True, slots=True)
class Field:
    """One kernel argument: a scalar, or the address of a buffer."""

    name: str = ""
    """Name in the object's metadata; only a label when `offset` is given."""
    offset: int | None = None
    """Byte offset in the kernarg segment; None looks the name up."""
    value: int | float | None = None
    buffer: str | None = None
    """Name of the buffer it points to."""
    byte_offset: int = 0
    """Added to the buffer's address."""
    type: str = ""
    """`i32`, `u64`, `f32`, `bf16`, ... for a value; empty takes `i32` for an int and `f32` for a float."""

    def __post_init__(self) -> None:
        if (self.value is None) == (self.buffer is None):
            raise InputError(f"{self} needs either a value or a buffer.")
        if not self.name and self.offset is None:
            raise InputError("A kernel argument needs a name or an offset.")
        if self.buffer is None:
            format_of(self.type_name)

    def __str__(self) -> str:
        return f"The kernel argument {self.name!r}" if self.name else f"The kernel argument at offset {self.offset}"

    @property
    def type_name(self) -> str:
        """Type of the stored value; `u64` for an address."""
        if self.buffer is not None:
            return "u64"
        return self.type or ("f32" if isinstance(self.value, float) else "i32")

    @property
    def size(self) -> int:
        """Bytes it takes."""
        return format_of(self.type_name).size


@dataclass(frozen=True)
class Launch:
    """One dispatch: geometry, arguments and the memory before it.

    Every launch of a set is run by the gate: it is a *check* launch. Those with `objective` are timed as well, and the
    number a search minimises is the mean of their times weighted with `weight`. Objective launches have the size of
    real work, so `sample` can limit how many of their workgroups (spread evenly over the grid) the gate executes;
    check launches are small and run whole.
    """

    name: str
    grid: tuple[int, int, int]
    """Workgroups in x, y, z."""
    block: tuple[int, int, int]
    """Work-items of a workgroup in x, y, z."""
    kernarg: tuple[Field, ...]
    buffers: tuple[Buffer, ...]
    kernel: str | None = None
    """Kernel of the object; None where it has only one."""
    dynamic_lds: int = 0
    """Bytes of LDS on top of what the descriptor declares."""
    objective: bool = False
    weight: float = 1.0
    sample: int = 0
    """Most workgroups that the gate executes; 0 for all."""
    recipe: Any = field(default=None, compare=True)
    """The recipe value it was made from, which knows what the kernel computes."""

    def __post_init__(self) -> None:
        for word, extent in (("grid", self.grid), ("block", self.block)):
            if len(extent) != 3 or any(n < 1 for n in extent):
                raise InputError(
                    f"The launch {self.name!r} has the {word} {list(extent)}; it needs three positive numbers."
                )
        names = [b.name for b in self.buffers]
        if len(set(names)) != len(names):
            raise InputError(f"The launch {self.name!r} has two buffers of one name.")
        for item in self.kernarg:
            if item.buffer is None:
                continue
            if item.buffer not in names:
                raise InputError(
                    f"{item} of launch {self.name!r} points to the buffer {item.buffer!r}, which does not exist."
                )
            if not 0 <= item.byte_offset <= self.buffer(item.buffer).size:
                raise InputError(f"{item} of launch {self.name!r} points outside of the buffer {item.buffer!r}.")
        if any(n * m >= 1 << 32 for n, m in zip(self.grid, self.block, strict=True)):
            raise InputError(
                f"The launch {self.name!r} has the grid {list(self.grid)}; a dispatch has less than 2**32 work-items "
                "in each dimension."
            )
        if self.dynamic_lds < 0 or self.sample < 0 or not 0 < self.weight < inf:
            raise InputError(
                f"The launch {self.name!r} has a negative size, or a weight that is not positive and finite."
            )

    def buffer(self, name: str) -> Buffer:
        """The buffer of this name."""
        for candidate in self.buffers:
            if candidate.name == name:
                return candidate
        raise InputError(f"The launch {self.name!r} has no buffer {name!r}.")

    @property
    def workgroups(self) -> int:
        """Number of workgroups of the grid."""
        return prod(self.grid)

    @property
    def threads(self) -> int:
        """Work-items of a workgroup."""
        return prod(self.block)

    def sampled(self) -> tuple[int, ...] | None:
        """Linear numbers (x fastest) of the workgroups that the gate executes; None for all."""
        if not 0 < self.sample < self.workgroups:
            return None
        if self.sample == 1:
            return (0,)
        last = self.workgroups - 1
        return tuple(sorted({round(i * last / (self.sample - 1)) for i in range(self.sample)}))

    def to_json(self) -> dict[str, Any]:
        """Plain values, enough to make the same launch again (with data files where fills name them)."""
        head: dict[str, Any] = {"name": self.name, "kernel": self.kernel, "objective": self.objective}
        head |= {"weight": self.weight, "sample": self.sample}
        if self.recipe is not None:
            return head | self.recipe.to_json()
        head |= {"grid": list(self.grid), "block": list(self.block), "dynamic_lds": self.dynamic_lds}
        return head | {
            "kernarg": [_field_json(f) for f in self.kernarg],
            "buffer": [_buffer_json(b) for b in self.buffers],
        }

    @cached_property
    def digest(self) -> str:
        """sha256 over its plain values. Data files count by path: what they hold enters through the image's hash."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()

    def renamed(self, name: str) -> Launch:
        return replace(self, name=name)


def _field_json(item: Field) -> dict[str, Any]:
    pairs = {"name": item.name, "offset": item.offset, "value": item.value, "buffer": item.buffer}
    pairs |= {"byte_offset": item.byte_offset or None, "type": item.type}
    return {key: value for key, value in pairs.items() if value not in (None, "")}


def _buffer_json(buffer: Buffer) -> dict[str, Any]:
    pairs: dict[str, Any] = {
        "name": buffer.name,
        "role": buffer.role,
        "dtype": buffer.dtype,
        "shape": list(buffer.shape),
    }
    if buffer.fill is not None:
        pairs["fill"] = buffer.fill.to_json()
    if buffer.address is not None:
        pairs["address"] = buffer.address
    return pairs | {"align": buffer.align, "red_zone": buffer.red_zone}

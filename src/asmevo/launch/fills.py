"""What a buffer holds before the launch. Fills are small frozen values; their bytes are made when an image is built.

Everything random comes from `numpy.random.default_rng(seed)`, so a launch file gives the same bytes on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from asmevo.launch.formats import Array, Format
from asmevo.launch.table import Table
from asmevo.verdict import InputError

DISTRIBUTIONS = ("normal", "uniform")


class Fill:
    """Base of fills. `codes(format, count)` gives `count` elements in the storage type of the format, or fewer bytes
    for a file; raises `InputError` when the source is missing or too short."""

    kind: ClassVar[str]

    def codes(self, fmt: Format, count: int) -> Array:
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """Plain values; `fill_from_json` reads them back."""
        names = [f.name for f in fields(self)]  # pyright: ignore[reportArgumentType] - every subclass is a dataclass
        return {"kind": self.kind, **{name: getattr(self, name) for name in names}}


@dataclass(frozen=True, slots=True)
class Zeros(Fill):
    """All bytes zero."""

    kind: ClassVar[str] = "zeros"

    def codes(self, fmt: Format, count: int) -> Array:
        return np.zeros(count, fmt.storage)


@dataclass(frozen=True, slots=True)
class Constant(Fill):
    """One value everywhere."""

    kind: ClassVar[str] = "constant"
    value: float = 0.0

    def codes(self, fmt: Format, count: int) -> Array:
        return np.full(count, fmt.encode(np.array([self.value]))[0])


@dataclass(frozen=True, slots=True)
class Random(Fill):
    """Independent values: `normal` with mean 0 and deviation `high`, or `uniform` in [low, high)."""

    kind: ClassVar[str] = "random"
    seed: int = 0
    distribution: str = "normal"
    low: float = -1.0
    high: float = 1.0

    def __post_init__(self) -> None:
        _check_seed(self.seed)
        if self.distribution not in DISTRIBUTIONS:
            raise InputError(f"The distribution {self.distribution!r} is unknown; use `normal` or `uniform`.")
        if self.distribution == "uniform" and not (np.isfinite(self.high - self.low) and self.low <= self.high):
            raise InputError(f"There is no number in [{self.low}, {self.high}); give a finite `low` below `high`.")

    def codes(self, fmt: Format, count: int) -> Array:
        rng = np.random.default_rng(self.seed)
        if self.distribution == "normal":
            values = rng.standard_normal(count) * self.high
        else:
            values = rng.uniform(self.low, self.high, count)
        return fmt.encode(values)


@dataclass(frozen=True, slots=True)
class Integers(Fill):
    """Uniform integers in [low, high]; in a float format these make sums exact in any order."""

    kind: ClassVar[str] = "integers"
    seed: int = 0
    low: int = -3
    high: int = 3

    def __post_init__(self) -> None:
        _check_seed(self.seed)
        if not -(1 << 63) <= self.low <= self.high < 1 << 63:
            raise InputError(f"There is no 64-bit integer in [{self.low}, {self.high}]; give `low` up to `high`.")

    def codes(self, fmt: Format, count: int) -> Array:
        return fmt.encode(np.random.default_rng(self.seed).integers(self.low, self.high, count, endpoint=True))


@dataclass(frozen=True, slots=True)
class Bits(Fill):
    """Random codes: every bit pattern of the type, so NaN, infinities and denormals too."""

    kind: ClassVar[str] = "bits"
    seed: int = 0

    def __post_init__(self) -> None:
        _check_seed(self.seed)

    def codes(self, fmt: Format, count: int) -> Array:
        raw = np.random.default_rng(self.seed).bytes(count * fmt.size)
        return np.frombuffer(raw, fmt.storage)


@dataclass(frozen=True, slots=True)
class Data(Fill):
    """Values written out, in order; what they do not reach is zero."""

    kind: ClassVar[str] = "data"
    values: tuple[float | int, ...] = ()

    def __post_init__(self) -> None:
        for value in self.values:
            if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
                raise InputError(f"The value {value} does not fit 64 bits; give smaller ones.")

    def codes(self, fmt: Format, count: int) -> Array:
        if len(self.values) > count:
            raise InputError(f"There are {len(self.values)} values for {count} elements; enlarge the shape.")
        result = np.zeros(count, fmt.storage)
        result[: len(self.values)] = fmt.encode(np.array(self.values))
        return result

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "values": list(self.values)}


@dataclass(frozen=True, slots=True)
class File(Fill):
    """Raw bytes of a file. `path` is what the launch file says: absolute, or relative to the launch file."""

    kind: ClassVar[str] = "file"
    path: str = ""
    offset: int = 0
    folder: str = field(default="", compare=False)
    """Where a relative path begins. No part of the description, so that a launch is the same wherever it lies."""
    content: bytes | None = field(default=None, compare=False, repr=False)
    """The bytes from `offset` on, where they came along with the launch; then the file is not needed."""

    def __post_init__(self) -> None:
        if self.offset < 0:
            raise InputError(f"The offset {self.offset} in the data file {self.path} is negative; count from 0.")

    @property
    def place(self) -> Path:
        """Where the file is looked for."""
        return Path(self.folder, self.path)

    def codes(self, fmt: Format, count: int) -> Array:
        return self.raw(count * fmt.size).view(fmt.storage)

    def raw(self, size: int) -> NDArray[np.uint8]:
        """The first `size` bytes from `offset`. Raises `InputError` when there are fewer, or none."""
        try:
            present = self.place.stat().st_size - self.offset if self.content is None else len(self.content)
            if present < size:
                raise InputError(
                    f"The data file {self.place} holds {max(present, 0)} bytes from offset {self.offset} where {size} "
                    "are needed; give the whole file or a smaller shape."
                )
            if self.content is not None or not size:
                return np.frombuffer(self.content or b"", np.uint8, size)
            return np.memmap(self.place, np.uint8, "r", self.offset, (size,))
        except OSError as error:
            raise InputError(
                f"The data file {self.place} cannot be read ({error.strerror}); check its path."
            ) from error

    def sha256(self, size: int) -> str:
        """Hash of the first `size` bytes from `offset`."""
        return sha256(self.raw(size).data).hexdigest()

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "path": self.path, "offset": self.offset}


@dataclass(frozen=True, slots=True)
class FromRecipe(Fill):
    """The array of this name among the inputs that a recipe makes."""

    kind: ClassVar[str] = "recipe"
    recipe: Any = None
    """A frozen recipe value (see `asmevo.launch.recipes`)."""
    array: str = ""

    def codes(self, fmt: Format, count: int) -> Array:
        codes: Array = self.recipe.inputs()[self.array]
        return codes.reshape(-1)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "recipe": self.recipe.to_json(), "array": self.array}


@dataclass(frozen=True, slots=True)
class Memory(Fill):
    """Bytes that this process holds already, such as those of a tensor. No part of a launch file."""

    kind: ClassVar[str] = "memory"
    content: NDArray[np.uint8] = field(repr=False, compare=False)

    def codes(self, fmt: Format, count: int) -> Array:
        return self.content

    def to_json(self) -> dict[str, Any]:
        raise InputError("A launch on this process's memory has no plain form; save its buffers to files first.")


_KINDS: dict[str, type[Fill]] = {cls.kind: cls for cls in (Zeros, Constant, Random, Integers, Bits, Data, File)}


def fill_from_json(data: Mapping[str, Any], where: str) -> Fill:
    """A fill from plain values. Raises `InputError` that names `where` for an unknown key or kind and a wrong type."""
    where = f"fill of {where}"
    kind = Table(data, where).text("kind")
    make = _KINDS.get(kind)
    if make is None:
        raise InputError(f"The kind {kind!r} in {where} is unknown; use one of {', '.join(_KINDS)}.")
    return make(**Table(data, where, {"kind", *_taken(make)}).arguments(make, _taken(make)))


def _taken(make: type[Fill]) -> list[str]:
    """What the table of a fill may say."""
    return [f.name for f in fields(make) if f.compare]  # pyright: ignore[reportArgumentType] - all are dataclasses


def _check_seed(seed: int) -> None:
    if seed < 0:
        raise InputError(f"The seed {seed} is negative; give 0 or more.")

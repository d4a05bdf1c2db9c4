"""What a buffer holds before the launch. Fills are small frozen values; their bytes are made when an image is built.

Everything random comes from `numpy.random.default_rng(seed)`, so a launch file gives the same bytes on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from asmevo.launch.formats import Array, Format
from asmevo.verdict import InputError


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

    def codes(self, fmt: Format, count: int) -> Array:
        rng = np.random.default_rng(self.seed)
        if self.distribution == "normal":
            values = rng.standard_normal(count) * self.high
        elif self.distribution == "uniform":
            values = rng.uniform(self.low, self.high, count)
        else:
            raise InputError(f"The distribution {self.distribution!r} is unknown; use `normal` or `uniform`.")
        return fmt.encode(values)


@dataclass(frozen=True, slots=True)
class Integers(Fill):
    """Uniform integers in [low, high]; in a float format these make sums exact in any order."""

    kind: ClassVar[str] = "integers"
    seed: int = 0
    low: int = -3
    high: int = 3

    def codes(self, fmt: Format, count: int) -> Array:
        return fmt.encode(np.random.default_rng(self.seed).integers(self.low, self.high, count, endpoint=True))


@dataclass(frozen=True, slots=True)
class Bits(Fill):
    """Random codes: every bit pattern of the type, so NaN, infinities and denormals too."""

    kind: ClassVar[str] = "bits"
    seed: int = 0

    def codes(self, fmt: Format, count: int) -> Array:
        raw = np.random.default_rng(self.seed).bytes(count * fmt.size)
        return np.frombuffer(raw, fmt.storage)


@dataclass(frozen=True, slots=True)
class Data(Fill):
    """Values written out, in order; what they do not reach is zero."""

    kind: ClassVar[str] = "data"
    values: tuple[float | int, ...] = ()

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
    """Raw bytes of a file; `path` is relative to the launch file until it is loaded."""

    kind: ClassVar[str] = "file"
    path: str = ""
    offset: int = 0

    def codes(self, fmt: Format, count: int) -> Array:
        path = Path(self.path)
        wanted = count * fmt.size
        try:
            present = path.stat().st_size - self.offset
            if present < wanted:
                raise InputError(
                    f"The data file {path} holds {max(present, 0)} bytes from offset {self.offset} where {wanted} are "
                    "needed; give the whole file or a smaller shape."
                )
            return (
                np.memmap(path, np.dtype(fmt.storage), "r", self.offset, (count,))
                if count
                else np.zeros(0, fmt.storage)
            )
        except OSError as error:
            raise InputError(f"The data file {path} cannot be read ({error.strerror}); check its path.") from error


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


_KINDS: dict[str, Callable[..., Fill]] = {
    cls.kind: cls for cls in (Zeros, Constant, Random, Integers, Bits, Data, File)
}


def fill_from_json(table: Mapping[str, Any], where: str) -> Fill:
    """A fill from plain values. Raises `InputError` that names `where` when a key or kind is unknown."""
    rest = dict(table)
    kind = rest.pop("kind", None)
    make = _KINDS.get(str(kind))
    if make is None:
        raise InputError(f"The fill kind {kind!r} of {where} is unknown; use one of {', '.join(_KINDS)}.")
    if isinstance(values := rest.get("values"), list):
        rest["values"] = tuple(values)  # pyright: ignore[reportUnknownArgumentType] - checked by the encoder
    try:
        return make(**rest)
    except TypeError:
        raise InputError(f"The fill of {where} has keys that `{kind}` does not take: {', '.join(rest)}.") from None

"""What a recipe is: the launch of a known kernel family, its inputs, and what the kernel must compute."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, ClassVar

from asmevo.launch.fills import FromRecipe
from asmevo.launch.formats import Array
from asmevo.launch.image import MemoryImage
from asmevo.launch.recipes.agreement import Comparison, Expectation
from asmevo.launch.values import Field, Launch
from asmevo.verdict import InputError

SLOT = 16
"""Bytes that each argument of AMD's assembly kernels takes, whatever its size."""


@dataclass(frozen=True)
class Recipe(ABC):
    """How a known kernel family is launched and what it computes.

    A subclass is a frozen dataclass whose fields are the recipe's arguments (plain numbers and strings), checked in
    `__post_init__` with `InputError`. The same value always gives the same launch and the same bytes. `launch` is
    cheap: its buffers refer back to the recipe, which makes its arrays when an image is built.
    """

    name: ClassVar[str]

    @abstractmethod
    def launch(self, name: str) -> Launch:
        """The launch, with geometry and kernel arguments."""

    @abstractmethod
    def make_inputs(self) -> Mapping[str, Array]:
        """The codes of every input buffer."""

    @abstractmethod
    def expectations(self) -> tuple[Expectation, ...]:
        """What the kernel must compute, in float64: one for each result."""

    def compare(self, image: MemoryImage) -> tuple[Comparison, ...]:
        """Compare every result of a finished launch."""
        return tuple(expected.compare(image) for expected in self.expectations())

    def inputs(self) -> Mapping[str, Array]:
        """`make_inputs`, remembered for the last value: an image asks once for each buffer."""
        return _inputs(self)

    def fill(self, array: str) -> FromRecipe:
        """The fill of a buffer with one of the inputs."""
        return FromRecipe(self, array)

    def to_json(self) -> dict[str, Any]:
        """The keys `recipe` and `arguments` of a launch file."""
        return {"recipe": self.name, "arguments": {f.name: getattr(self, f.name) for f in fields(self)}}

    def require(self, argument: str, words: Iterable[str]) -> None:
        """Raises `InputError` when an argument is none of these words."""
        value, known = getattr(self, argument), tuple(words)
        if value not in known:
            raise InputError(f"{self.name} has no {argument} {value!r}; use one of {', '.join(known)}.")

    def require_positive(self, *arguments: str) -> None:
        """Raises `InputError` when one of these arguments is below 1."""
        if min(getattr(self, argument) for argument in arguments) < 1:
            raise InputError(f"{self.name} has an argument below 1 among {', '.join(arguments)}; give at least 1.")


@lru_cache(maxsize=1)
def _inputs(recipe: Recipe) -> Mapping[str, Array]:
    return recipe.make_inputs()


Argument = tuple[str, str | int | float | None]
"""Label and value of a kernel argument: a buffer's name, a number, or None for a null pointer."""


def slots(arguments: Iterable[Argument], size: int | None = None) -> tuple[Field, ...]:
    """Kernel arguments in slots of 16 bytes, in order; those from byte `size` on are left out (older objects)."""
    fields_: list[Field] = []
    for number, (label, what) in enumerate(arguments):
        offset = SLOT * number
        if size is not None and offset >= size:
            break
        if isinstance(what, str):
            fields_.append(Field(label, offset, buffer=what))
        elif what is None:
            fields_.append(Field(label, offset, 0, type="u64"))
        else:
            fields_.append(Field(label, offset, what, type="f32" if isinstance(what, float) else "i32"))
    return tuple(fields_)

"""What a recipe is: the launch of a known kernel family, its inputs, and what the kernel must compute."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from asmevo.launch.formats import Array, encode_bf16, encode_fp8, ulp_bf16
from asmevo.launch.image import MemoryImage
from asmevo.launch.values import Launch


@dataclass(frozen=True, slots=True)
class Comparison:
    """How a result buffer agrees with its reference."""

    buffer: str
    elements: int
    exact: float
    """Fraction of elements whose bits equal those of the rounded reference."""
    max_ulp: float
    """Largest difference in units in the last place of the rounded reference."""
    max_abs: float
    """Largest absolute difference to the rounded reference."""
    within: bool
    """Whether every element is inside the expectation's tolerance and enough of them are exact."""

    def __str__(self) -> str:
        word = "agrees" if self.within else "DIFFERS"
        return (
            f"{self.buffer}: {word}; {100 * self.exact:.4f} % of {self.elements} elements bit-equal, "
            f"max error {self.max_ulp:.3g} ulp, {self.max_abs:.3g} absolute"
        )


@dataclass(frozen=True)
class Expectation:
    """What a launch must leave in one bf16 buffer."""

    buffer: str
    values: NDArray[np.float64]
    """The exact result in float64, before rounding, in the buffer's shape."""
    tolerance: NDArray[np.float64]
    """Largest absolute difference allowed to the rounded reference, for each element."""
    least_exact: float = 0.0
    """Fraction of elements that must be bit-equal to the reference rounded to bf16."""
    wording: str = ""
    """The tolerance in words."""

    @property
    def codes(self) -> NDArray[np.uint16]:
        """The reference rounded to bf16 once, ties to even."""
        return encode_bf16(self.values)

    def compare(self, image: MemoryImage) -> Comparison:
        """Compare the buffer of a finished launch. NaN agrees with NaN."""
        got_codes, want_codes = image.buffer(self.buffer), self.codes
        got = image.values(self.buffer).astype(np.float64)
        want = image.placement(self.buffer).format.decode(want_codes).astype(np.float64)
        same: NDArray[np.bool_] = (got_codes == want_codes) | (np.isnan(got) & np.isnan(want))
        with np.errstate(invalid="ignore"):
            error = np.where(same, 0.0, np.abs(got - want))
        error = np.where(np.isnan(error), np.inf, error)
        exact = float(np.mean(same)) if same.size else 1.0
        within = bool(np.all(error <= self.tolerance)) and exact >= self.least_exact
        ulps: NDArray[np.float64] = error / ulp_bf16(np.where(np.isfinite(want), want, 0.0))
        return Comparison(self.buffer, got.size, exact, float(ulps.max(initial=0)), float(error.max(initial=0)), within)


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
    def expectation(self) -> Expectation:
        """What the kernel must compute, in float64."""

    def inputs(self) -> Mapping[str, Array]:
        """`make_inputs`, remembered for the last value: an image asks once for each buffer."""
        return _inputs(self)

    def to_json(self) -> dict[str, Any]:
        """The keys `recipe` and `arguments` of a launch file."""
        return {"recipe": self.name, "arguments": {f.name: getattr(self, f.name) for f in fields(self)}}


@lru_cache(maxsize=1)
def _inputs(recipe: Recipe) -> Mapping[str, Array]:
    return recipe.make_inputs()


def fp8_codes(rng: np.random.Generator, count: int, deviation: float) -> NDArray[np.uint8]:
    """Codes of normally distributed fp8 values, by inverting the distribution in a table of 2**16 steps."""
    return _normal_table(deviation)[rng.integers(0, 1 << 16, count, np.uint16)]


@lru_cache(maxsize=8)
def _normal_table(deviation: float) -> NDArray[np.uint8]:
    # Sorted draws of a fixed seed stand for the quantiles: numpy has no inverse of the normal distribution.
    draws = np.sort(np.random.default_rng(20).standard_normal(1 << 16))
    return encode_fp8(np.clip(draws * deviation, -240.0, 240.0))

"""How what a kernel left in memory agrees with its reference."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, inf

import numpy as np
from numpy.typing import NDArray

from asmevo.launch.formats import Array, Format, encode_bf16, format_of, truncate_bf16
from asmevo.launch.image import MemoryImage

OFF = 0.01
"""An element is off when it differs by more than this share of the larger of its reference and the references' root
mean square: near a zero crossing the rounding of single terms is all there is."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How a result buffer agrees with its reference."""

    buffer: str
    elements: int
    exact: float
    """Fraction of elements whose bits equal those of the rounded reference."""
    off: float
    """Fraction of elements that differ by more than 1 %, see `OFF`."""
    mean_relative: float
    """Mean absolute difference to the unrounded reference over the mean of that reference's magnitude."""
    max_ulp: float
    """Largest difference in units in the last place of the rounded reference."""
    max_abs: float
    """Largest absolute difference to the rounded reference."""
    used: float
    """Largest share of a bound that the result takes up: at most 1 where it agrees."""
    within: bool
    """Whether every bound of the expectation is kept."""

    def __str__(self) -> str:
        word = "agrees" if self.within else "DIFFERS"
        return (
            f"{self.buffer}: {word}; {100 * self.exact:.4f} % of {self.elements} elements bit-equal, "
            f"max error {self.max_ulp:.3g} ulp, {self.max_abs:.3g} absolute; mean relative {self.mean_relative:.2g}, "
            f"{100 * self.off:.3g} % off by over 1 %"
        )


@dataclass(frozen=True, slots=True)
class Bounds:
    """What an agreement demands, besides the tolerance of each element."""

    least_exact: float = 0.0
    """Fraction of elements that must be bit-equal to the rounded reference."""
    most_off: float = 1.0
    """Fraction of elements that may be off by more than 1 %, see `OFF`."""
    mean_relative: float = inf


@dataclass(frozen=True)
class Expectation:
    """What a launch must leave in one buffer, or in a part of it."""

    buffer: str
    values: NDArray[np.float64]
    """The exact result in float64, before rounding, in the shape of the result."""
    tolerance: NDArray[np.float64] | None = None
    """Largest absolute difference allowed to the rounded reference, for each element; None where only `bounds` say."""
    bounds: Bounds = field(default_factory=Bounds)
    truncated: bool = False
    """The result is the upper half of a float32: bf16 by truncation, where others round to nearest even."""
    as_bf16: bool = False
    """Both sides are compared after rounding to bf16: for float32 results whose bound is stated so."""
    part: tuple[int, str] | None = None
    """Byte offset and format of a result that shares its buffer with another; None is the whole buffer."""
    wording: str = ""
    """The bounds in words."""

    def codes_in(self, fmt: Format) -> Array:
        """The reference rounded once to a format."""
        return truncate_bf16(self.values) if self.truncated else fmt.encode(self.values)

    def store(self, image: MemoryImage) -> None:
        """Write the rounded reference where the result is expected."""
        codes, fmt = self._found(image)
        codes[...] = self.codes_in(fmt)

    def _found(self, image: MemoryImage) -> tuple[Array, Format]:
        place = image.placement(self.buffer)
        offset, fmt = (0, place.format) if self.part is None else (self.part[0], format_of(self.part[1]))
        raw = image.bytes_at(place.address + offset, self.values.size * fmt.size)
        return raw.view(fmt.storage).reshape(self.values.shape), fmt

    def compare(self, image: MemoryImage) -> Comparison:
        """Compare the buffer of a finished launch. NaN agrees with NaN."""
        got_codes, fmt = self._found(image)
        if self.as_bf16:
            got_codes, fmt = encode_bf16(fmt.decode(got_codes)), format_of("bf16")
        want_codes = self.codes_in(fmt)
        with np.errstate(invalid="ignore"):  # signalling NaN
            got, want = fmt.decode(got_codes).astype(np.float64), fmt.decode(want_codes).astype(np.float64)
        same: NDArray[np.bool_] = (got_codes == want_codes) | (np.isnan(got) & np.isnan(want))
        error = _distance(got, want, same)
        exact = float(np.mean(same)) if same.size else 1.0
        off, relative = _relative(_distance(got, self.values, same & ~np.isfinite(self.values)), self.values)
        ulps: NDArray[np.float64] = error / fmt.ulp(np.where(np.isfinite(want), want, 0.0))
        used = max(self._used(same.size, exact, off, relative), self._tolerance_used(error))
        return Comparison(
            buffer=self.buffer,
            elements=got.size,
            exact=exact,
            off=off,
            mean_relative=relative,
            max_ulp=float(ulps.max(initial=0)),
            max_abs=float(error.max(initial=0)),
            used=used,
            within=used <= 1,
        )

    def _used(self, elements: int, exact: float, off: float, relative: float) -> float:
        bounds = self.bounds
        return max(
            _share(1 - exact, _whole(1 - bounds.least_exact, elements)),
            _share(off, _whole(bounds.most_off, elements)),
            _share(relative, bounds.mean_relative),
        )

    def _tolerance_used(self, error: NDArray[np.float64]) -> float:
        if self.tolerance is None:
            return 0.0
        beyond = (error > self.tolerance) & (self.tolerance == 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(self.tolerance > 0, error / self.tolerance, np.where(beyond, inf, 0.0))
        return float(shares.max(initial=0))


def _whole(fraction: float, elements: int) -> float:
    """A fraction that allows whole elements: what is left over counts as one. To allow them all is no bound."""
    return inf if fraction >= 1 or not elements else ceil(fraction * elements - 1e-9) / elements


def _share(found: float, allowed: float) -> float:
    if found <= 0:
        return 0.0
    return found / allowed if allowed > 0 else inf


def _distance(got: NDArray[np.float64], want: NDArray[np.float64], same: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Absolute differences; 0 where `same`, infinite where exactly one is NaN."""
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0.0, np.abs(got - want))
    return np.where(np.isnan(error), inf, error)


def _relative(error: NDArray[np.float64], values: NDArray[np.float64]) -> tuple[float, float]:
    """The fraction off by more than 1 %, and the mean error over the mean magnitude, of finite references."""
    finite: NDArray[np.bool_] = np.isfinite(values)
    size = np.abs(np.where(finite, values, 0.0))
    mean, rms = float(np.mean(size)) if size.size else 0.0, float(np.sqrt(np.mean(size**2))) if size.size else 0.0
    off = float(np.mean(error > OFF * np.maximum(size, rms))) if size.size else 0.0
    total = float(np.mean(error)) if size.size else 0.0
    return off, _share(total, mean)

"""Results that are not K0's bit for bit: whether they are nearly as near to float64 as K0's own.

Only where a user allows it, and only for what a launch's recipe knows the exact value of. All else in memory stays
bit-equal to what K0 leaves, and infinities and NaN are where it has them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from asmevo.gate.baseline import LaunchBaseline
from asmevo.launch import Expectation, Format, Launch, MemoryImage, format_of
from asmevo.verdict import Finding, Severity, UsageError

METRIC = (
    "error against float64 over K0's or over half a unit in the last place, the larger: mean error, and largest error "
    "in units in the last place"
)


@dataclass(frozen=True, slots=True)
class Error:
    """How far results are from the exact ones, over all elements that are finite."""

    mean: float
    """Mean absolute error over the mean magnitude of the exact results; itself where those are all 0."""
    worst: float
    """Largest error in units in the last place of the exact result."""

    def over(self, other: Error, least: Error) -> float:
        """How many times as large as another error, or as the least that counts."""
        mean, worst = max(other.mean, least.mean), max(other.worst, least.worst)
        return max(_times(self.mean, mean), _times(self.worst, worst))

    def to_json(self) -> dict[str, float]:
        return {"mean_relative": self.mean, "worst_ulp": self.worst}


@dataclass(frozen=True, slots=True)
class Result:
    """A float result of one launch, with the elements that K0 wrote; codes and values of those only."""

    name: str
    offset: int
    """Into the image."""
    format: Format
    written: NDArray[np.bool_]
    """Which elements; a launch of which some workgroups run writes some."""
    exact: NDArray[np.float64]
    k0: NDArray[np.float64]
    """What K0 leaves."""

    def codes(self, data: NDArray[np.uint8]) -> NDArray[np.generic]:
        """Codes of the written elements in an image's bytes."""
        size = self.written.size * self.format.size
        return data[self.offset : self.offset + size].view(self.format.storage)[self.written]

    def same(self, data: NDArray[np.uint8], codes: NDArray[np.generic]) -> bool:
        """Whether the written elements hold these codes, bit for bit."""
        return np.array_equal(self.codes(data).view(np.uint8), codes.view(np.uint8))

    def values(self, data: NDArray[np.uint8]) -> NDArray[np.float64]:
        with np.errstate(invalid="ignore"):  # signalling NaN
            return self.format.decode(self.codes(data)).astype(np.float64)

    def holds(self, offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which offsets into the image are bytes of written elements."""
        element = (offsets - self.offset) // self.format.size
        inside = (element >= 0) & (element < self.written.size)
        return inside & self.written[np.where(inside, element, 0)]

    def error(self, values: NDArray[np.float64]) -> Error:
        """The error of values that have K0's infinities and NaN."""
        known = np.isfinite(self.exact) & np.isfinite(values)
        exact = self.exact[known]
        return self._error(np.abs(values[known] - exact), exact)

    @property
    def least(self) -> Error:
        """What rounding alone may cost everywhere: half a unit in the last place."""
        exact = self.exact[np.isfinite(self.exact)]
        return self._error(self.format.ulp(exact) / 2, exact)

    def _error(self, distance: NDArray[np.float64], exact: NDArray[np.float64]) -> Error:
        if not exact.size:
            return Error(0.0, 0.0)
        size = float(np.mean(np.abs(exact))) or 1.0
        return Error(float(np.mean(distance)) / size, float(np.max(distance / self.format.ulp(exact))))


def _times(error: float, other: float) -> float:
    if error == 0:
        return 0.0
    return error / other if other > 0 else math.inf


def require_references(launches: Sequence[Launch], bound: float) -> None:
    """Raises `UsageError` unless every launch has a recipe and the bound is a number of at least 1."""
    if not 1.0 <= bound < math.inf:
        raise UsageError(
            f"The bound of --allow-inexact is {bound:g}; give how many times K0's error is allowed, 1 or more."
        )
    if lacking := [launch.name for launch in launches if launch.recipe is None]:
        raise UsageError(
            f"--allow-inexact needs the exact results of every launch, and {', '.join(map(repr, lacking))} cannot give "
            "them; use launches with a recipe (docs/recipes.md), or leave the option out."
        )


def results_of(known: LaunchBaseline) -> tuple[Result, ...] | Finding:
    """The float results of a launch whose exact values are known, or why K0's error on them is not."""
    track = known.tracks[0]
    wholes = [t.after[0].materialise(t.template) for t in known.tracks]
    untouched = np.logical_and.reduce(
        [whole == t.template.poison for whole, t in zip(wholes, known.tracks, strict=True)]
    )
    image = track.template.copy()
    image.data[:] = wholes[0]
    found: list[Result] = []
    for expected in known.launch.recipe.expectations():
        offset, fmt = _place(expected, image)
        if not fmt.is_float:
            continue
        size = expected.values.size * fmt.size
        written = ~np.all(untouched[offset : offset + size].reshape(-1, fmt.size), axis=1)
        codes = image.data[offset : offset + size].view(fmt.storage)
        codes[~written] = expected.codes_in(fmt).reshape(-1)[~written]
        agreement = expected.compare(image)
        if not agreement.within:
            return _unknown(known, f"K0 does not compute what the recipe says ({agreement})")
        exact = expected.values.reshape(-1)[written]
        bare = Result(expected.buffer, offset, fmt, written, exact, exact)
        found.append(replace(bare, k0=bare.values(wholes[0])))
    for other in known.all_tracks:
        for snapshot in other.after:
            whole = snapshot.materialise(other.template)
            if not all(r.same(whole, r.codes(wholes[0])) for r in found):
                return _unknown(known, "K0 leaves something else when it runs again")
    return tuple(found)


def _place(expected: Expectation, image: MemoryImage) -> tuple[int, Format]:
    """Offset into the image, and format."""
    place = image.placement(expected.buffer)
    at, fmt = (0, place.format) if expected.part is None else (expected.part[0], format_of(expected.part[1]))
    return place.address - image.base + at, fmt


def _unknown(known: LaunchBaseline, why: str) -> Finding:
    name = known.launch.name
    message = f"On the launch {name!r} the error of K0 is not known: {why}; only bit-equal results can be admitted."
    return Finding("inexact.reference", message, Severity.WARNING, facts={"launch": name})

"""Quantised numbers: random codes of the narrow formats, their values, and quantisation as kernels do it inside."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from asmevo.launch.formats import FP8_MAX, Array, encode_fp8, format_of

DEVIATION = {"fp8": 60.0, "int8": 40.0}
"""Standard deviation of normally distributed codes of a format."""
SCALE_BLOCK = 128
"""Columns (and rows of a weight) that share a block scale."""
EDGES = (0x3FC07FFF, 0x7FC00000, 0xBF818000, 0x40FF7FFF)
"""Bits of float32: right below the middle between two bf16, NaN, in the middle above an odd one, and below the next
power of two."""
_LARGEST = {"fp8": FP8_MAX, "int8": 127.0}


def fp8_codes(rng: np.random.Generator, count: int, deviation: float) -> NDArray[np.uint8]:
    """Codes of normally distributed fp8 values, by inverting the distribution in a table of 2**16 steps."""
    return _normal_table(deviation)[rng.integers(0, 1 << 16, count, np.uint16)]


@lru_cache(maxsize=8)
def _normal_table(deviation: float) -> NDArray[np.uint8]:
    # Sorted draws of a fixed seed stand for the quantiles: numpy has no inverse of the normal distribution.
    draws = np.sort(np.random.default_rng(20).standard_normal(1 << 16))
    return encode_fp8(np.clip(draws * deviation, -FP8_MAX, FP8_MAX))


def put_special(scales: NDArray[np.float32], values: Sequence[float], share: float, rng: np.random.Generator) -> None:
    """Overwrite a share of the scales, at random places, with values that are no plain numbers."""
    places = rng.permutation(scales.size)[: int(scales.size * share)]
    scales.reshape(-1)[places] = np.resize(np.array(values, np.float32), len(places))


def edges(count: int) -> NDArray[np.float32]:
    """Values in which another rounding to bf16 or another test for NaN shows, by column.

    They change from one column to the next and, at the same place of 16 columns, from one group to the next: matrix
    instructions compute columns in groups of 16.
    """
    column = np.arange(count)
    return np.array(EDGES, np.uint32).view(np.float32)[(column + column // 16) % len(EDGES)]


def normal_codes(rng: np.random.Generator, count: int, dtype: str) -> Array:
    """Codes of normally distributed `fp8` or `int8` values."""
    if dtype == "fp8":
        return fp8_codes(rng, count, DEVIATION[dtype])
    draws = np.rint(rng.standard_normal(count, np.float32) * DEVIATION[dtype])
    return np.clip(draws, -127, 127).astype(np.int8)


def small_integers(rng: np.random.Generator, count: int, dtype: str) -> Array:
    """Codes of integers from -2 to 2, whose sums of products are exact in any order."""
    return format_of(dtype).encode(np.arange(-2.0, 3.0))[rng.integers(0, 5, count)]


def values_of(codes: Array, dtype: str) -> NDArray[np.float64]:
    """The values of codes, in float64."""
    return format_of(dtype).decode(codes).astype(np.float64)


def quantised(rows: NDArray[np.float64], width: int, dtype: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Values of the codes of rows [n, columns], and the scale of each run of `width` columns.

    The scale is the largest magnitude of the run over the largest code. Kernels multiply by its inverse in float32: the
    largest element itself may come out below the largest code. fp8 codes then round to nearest even; int8 codes are
    truncated, as `v_cvt_i32_f32` does.
    """
    runs = rows.reshape(len(rows), -1, width)
    largest = np.abs(runs).max(axis=2, initial=0.0)
    inverse = np.float32(1) / np.where(largest > 0, largest, 1.0).astype(np.float32) * np.float32(_LARGEST[dtype])
    scaled = runs.astype(np.float32) * inverse[:, :, None]
    codes = values_of(encode_fp8(scaled), dtype) if dtype == "fp8" else np.trunc(scaled).astype(np.float64)
    return codes.reshape(rows.shape), largest / _LARGEST[dtype]


def spread(scales: NDArray[np.float64], rows: int, columns: int) -> NDArray[np.float64]:
    """Block scales [rows/128, columns/128] for each element; extents need not be whole blocks."""
    wide = np.repeat(np.repeat(scales, SCALE_BLOCK, axis=0), SCALE_BLOCK, axis=1)
    return wide[:rows, :columns]

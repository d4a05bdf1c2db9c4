"""Element types of buffers and kernel arguments, with the conversions numpy lacks: bf16 and fp8 e4m3 (fnuz).

A buffer holds *codes*: unsigned integers for bf16 and fp8, plain numpy values for the rest. `encode` rounds to nearest,
ties to even, once, from float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from asmevo.verdict import InputError

Array: TypeAlias = NDArray[Any]

FP8_MAX = 240.0
"""Largest finite value of e4m3fnuz (exponent bias 8, no infinities, NaN is code 0x80)."""

_NUMPY = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64")
_ALIASES = {
    "i8": "int8", "u8": "uint8", "i16": "int16", "u16": "uint16", "i32": "int32", "u32": "uint32", "i64": "int64",
    "u64": "uint64", "f16": "float16", "f32": "float32", "f64": "float64", "bfloat16": "bf16", "fp8": "fp8_e4m3fnuz",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Format:
    """One element type."""

    name: str
    """Canonical name: a numpy name, `bf16` or `fp8_e4m3fnuz`."""
    storage: str
    """numpy name of the type of its codes."""

    @property
    def size(self) -> int:
        """Bytes of one element."""
        return int(np.dtype(self.storage).itemsize)

    @property
    def is_float(self) -> bool:
        return self.storage != self.name or self.name.startswith("float")

    def encode(self, values: Array) -> Array:
        """Codes of real values. Integers wrap modulo their width; floats round to nearest even."""
        if self.name == "bf16":
            return encode_bf16(values)
        if self.name == "fp8_e4m3fnuz":
            return encode_fp8(values)
        if not self.is_float and not np.issubdtype(values.dtype, np.integer):
            values = np.rint(values).astype(np.int64)
        with np.errstate(over="ignore", invalid="ignore"):
            return values.astype(self.storage)

    def decode(self, codes: Array) -> Array:
        """Values of codes: float32 for bf16 and fp8, the codes themselves otherwise."""
        if self.name == "bf16":
            return decode_bf16(codes)
        if self.name == "fp8_e4m3fnuz":
            return fp8_values()[codes]
        return codes

    def ulp(self, values: Array) -> NDArray[np.float64]:
        """Spacing of this format's numbers at the magnitude of each value, at least the smallest normal spacing."""
        if not self.is_float:
            return np.ones(np.shape(values))
        digits, least = _PRECISION[self.name]
        _, exponent = np.frexp(np.abs(np.asarray(values, np.float64)))
        return np.exp2(np.maximum(exponent - digits, least))


_PRECISION = {
    "float64": (53, -1074.0), "float32": (24, -149.0), "float16": (11, -24.0), "bf16": (8, -133.0),
    "fp8_e4m3fnuz": (4, -10.0),
}  # fmt: skip
"""Digits of the significand and the exponent of the spacing of the smallest normal numbers."""


def format_of(name: str) -> Format:
    """The format of this name or alias (`f32`, `bfloat16`, ...). Raises `InputError` for an unknown one."""
    name = _ALIASES.get(name, name)
    if name in _NUMPY:
        return Format(name, name)
    if name == "bf16":
        return Format(name, "uint16")
    if name == "fp8_e4m3fnuz":
        return Format(name, "uint8")
    raise InputError(
        f"The element type {name!r} is unknown; use one of {', '.join((*_NUMPY, 'bf16', 'fp8_e4m3fnuz'))}."
    )


def encode_bf16(values: Array) -> NDArray[np.uint16]:
    """bf16 codes of real values; NaN becomes the quiet NaN of its sign."""
    wide = np.asarray(values, np.float64)
    return _round_f32_bits(_to_f32_round_to_odd(wide))


def _to_f32_round_to_odd(wide: NDArray[np.float64]) -> NDArray[np.uint32]:
    """f32 bits rounded to odd, so that a second rounding to fewer bits is as if done once from float64."""
    with np.errstate(over="ignore"):
        near = wide.astype(np.float32)
    bits = near.view(np.uint32).copy()
    back = near.astype(np.float64)
    inexact = np.isfinite(wide) & (back != wide)
    away = inexact & (np.abs(back) > np.abs(wide))
    bits[away] -= 1  # truncate; for an overflow to infinity this gives the largest finite f32
    bits[inexact] |= 1
    return bits


def _round_f32_bits(bits: NDArray[np.uint32]) -> NDArray[np.uint16]:
    is_nan = (bits & 0x7FFFFFFF) > 0x7F800000
    rounded = (bits.astype(np.uint64) + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(is_nan, (bits >> 16) | 0x40, rounded).astype(np.uint16)


def decode_bf16(codes: Array) -> NDArray[np.float32]:
    """float32 values of bf16 codes."""
    return (np.asarray(codes).astype(np.uint32) << 16).view(np.float32)


@cache
def fp8_values() -> NDArray[np.float32]:
    """The value of each of the 256 codes of e4m3fnuz."""
    code = np.arange(256)
    exponent, mantissa = (code >> 3) & 15, code & 7
    magnitude = np.where(exponent == 0, mantissa / 8 * 2.0**-7, (1 + mantissa / 8) * np.exp2(exponent - 8.0))
    values = np.where(code & 0x80, -magnitude, magnitude).astype(np.float32)
    values[0x80] = np.nan
    values.flags.writeable = False
    return values


def encode_fp8(values: Array) -> NDArray[np.uint8]:
    """e4m3fnuz codes of real values. What rounds above 240, infinities and NaN become NaN; -0 becomes 0."""
    wide = np.asarray(values, np.float64)
    magnitude = np.abs(wide)
    with np.errstate(invalid="ignore"):
        _, exponent = np.frexp(magnitude)
        step = np.exp2(np.maximum(exponent - 1, -7) - 3.0)
        rounded = np.rint(magnitude / step) * step
        bad = ~(rounded <= FP8_MAX)
    table = fp8_values()[:128].astype(np.float64)
    code = np.searchsorted(table, np.where(bad, 0.0, rounded)).astype(np.uint8)
    code |= np.where((wide < 0) & (code != 0), 0x80, 0).astype(np.uint8)
    code[bad] = 0x80
    return code


def truncate_bf16(values: Array) -> NDArray[np.uint16]:
    """The upper halves of values as float32 (rounded to nearest even): bf16 as kernels make it that do not round."""
    with np.errstate(over="ignore"):
        return (np.asarray(values, np.float64).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def half_up_bf16(values: Array) -> NDArray[np.uint16]:
    """bf16 of values as float32 by adding half a unit in the last place and truncating: nearest, ties away from 0."""
    with np.errstate(over="ignore"):
        bits = np.asarray(values, np.float64).astype(np.float32).view(np.uint32)
    return ((bits + np.uint32(0x8000)) >> 16).astype(np.uint16)


def ulp_bf16(values: Array) -> NDArray[np.float64]:
    """Spacing of bf16 numbers at the magnitude of each value, at least the smallest normal spacing."""
    return format_of("bf16").ulp(values)

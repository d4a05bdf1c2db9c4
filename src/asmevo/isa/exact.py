"""Bit vectors and IEEE floats as exact Python values: what `asmevo.isa.evaluate` computes with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

_FRACTION = {16: 10, 32: 23, 64: 52}
_BIAS = {16: 15, 32: 127, 64: 1023}


@dataclass(frozen=True, slots=True)
class Bits:
    """An integer of `width` bits, as an unsigned number."""

    value: int
    width: int

    @property
    def signed(self) -> int:
        return self.value - (1 << self.width) if self.value >> (self.width - 1) else self.value


@dataclass(frozen=True, slots=True)
class Real:
    """An IEEE float of `width` bits, by its encoding."""

    bits: int
    width: int

    @property
    def negative(self) -> bool:
        return bool(self.bits >> (self.width - 1))

    @property
    def _field(self) -> int:
        return self.bits & ((1 << (self.width - 1)) - 1)

    @property
    def is_nan(self) -> bool:
        return self._field > _infinity(self.width)

    @property
    def is_infinite(self) -> bool:
        return self._field == _infinity(self.width)

    @property
    def is_finite(self) -> bool:
        return self._field < _infinity(self.width)

    def exact(self) -> Fraction:
        """The value of a finite float."""
        exponent, fraction = divmod(self._field, 1 << _FRACTION[self.width])
        significand = fraction | (1 << _FRACTION[self.width] if exponent else 0)
        scale = max(exponent, 1) - _BIAS[self.width] - _FRACTION[self.width]
        value = Fraction(significand) * Fraction(2) ** scale
        return -value if self.negative else value

    def as_double(self) -> float:
        """The value as a Python float: exact."""
        if self.is_nan:
            return math.nan
        if self.is_infinite:
            return -math.inf if self.negative else math.inf
        return math.copysign(float(self.exact()), -1.0 if self.negative else 1.0)


def _infinity(width: int) -> int:
    return ((1 << (width - 1 - _FRACTION[width])) - 1) << _FRACTION[width]


def nan(width: int) -> Real:
    """The quiet NaN that operations give."""
    return Real(_infinity(width) | 1 << (_FRACTION[width] - 1), width)


def rounded(value: Fraction, width: int, *, negative_zero: bool = False) -> Real:
    """A rational to the nearest float, ties to even; `negative_zero` gives the sign of a zero result."""
    negative = value < 0 or (value == 0 and negative_zero)
    size = abs(value)
    sign = negative << (width - 1)
    if not size:
        return Real(sign, width)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    exponent = max(exponent, 1 - _BIAS[width])
    # Fraction's `round` goes to even. A carry into the next binade falls out of the addition below.
    significand = round(size / Fraction(2) ** (exponent - _FRACTION[width]))
    field = significand + ((exponent + _BIAS[width] - 1) << _FRACTION[width])
    return Real(sign | min(field, _infinity(width)), width)


def from_double(value: float, width: int) -> Real:
    """A Python float to the nearest float of `width` bits."""
    if math.isnan(value):
        return nan(width)
    if math.isinf(value):
        return Real(_infinity(width) | (value < 0) << (width - 1), width)
    return rounded(Fraction(value), width, negative_zero=math.copysign(1.0, value) < 0)

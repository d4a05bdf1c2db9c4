"""What the opcodes for graphics, video and range reduction compute, by numpy, fractions and big integers."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from reference_float import EIGHT_BIT, REFERENCES, f, quietly, raw, ref, widen

# cube maps ---------------------------------------------------------------------------------------------------------


def longest(x: Any, y: Any, z: Any) -> str:
    """The axis of the longest coordinate: z wins over y, and y over x; comparisons with NaN fail."""
    if abs(z) >= abs(x) and abs(z) >= abs(y):
        return "z"
    return "y" if abs(y) >= abs(x) else "x"


CUBE: dict[str, dict[str, Callable[[Any, Any, Any], Any]]] = {
    "id": {
        "x": lambda x, y, z: float(x < 0),
        "y": lambda x, y, z: 2.0 + (y < 0),
        "z": lambda x, y, z: 4.0 + (z < 0),
    },
    "sc": {"x": lambda x, y, z: z if x < 0 else -z, "y": lambda x, y, z: x, "z": lambda x, y, z: -x if z < 0 else x},
    "tc": {"x": lambda x, y, z: -y, "y": lambda x, y, z: -z if y < 0 else z, "z": lambda x, y, z: -y},
    "ma": {"x": lambda x, y, z: 2 * x, "y": lambda x, y, z: 2 * y, "z": lambda x, y, z: 2 * z},
}
for _name, _faces in CUBE.items():
    ref(f"v_cube{_name}_f32")(quietly(lambda a, b, c, t=_faces: (raw(t[longest(f(a), f(b), f(c))](f(a), f(b), f(c))),)))

# byte differences --------------------------------------------------------------------------------------------------


def differences(window: bytes, reference: bytes, *, masked: bool) -> int:
    return sum(abs(x - y) for x, y in zip(window, reference, strict=True) if y or not masked)


def quads(a: int, b: int, c: int, *, bits: int, masked: bool) -> tuple[int, ...]:
    """Four sums of `bits` bits: bytes i .. i + 3 of `a` against `b`, on top of element i of `c`."""
    data, reference = a.to_bytes(8, "little"), b.to_bytes(4, "little")
    total, mask = 0, (1 << bits) - 1
    for i in range(4):
        part = (c >> (bits * i)) & mask
        total |= ((part + differences(data[i : i + 4], reference, masked=masked)) & mask) << (bits * i)
    return (total,)


ref("v_qsad_pk_u16_u8")(lambda a, b, c: quads(a, b, c, bits=16, masked=False))
ref("v_mqsad_pk_u16_u8")(lambda a, b, c: quads(a, b, c, bits=16, masked=True))
ref("v_mqsad_u32_u8")(lambda a, b, c: quads(a, b, c, bits=32, masked=True))

# integers and bytes ------------------------------------------------------------------------------------------------


def normal(a: int, bits: int, *, signed: bool) -> int:
    value = f(a, bits)
    if math.isnan(value):
        return 0
    low, steps = (-1, 32767) if signed else (0, 65535)
    exact = Fraction(max(low, min(1, float(value))))
    return round(exact * steps) & 0xFFFF


for _sign, _signed in (("i", True), ("u", False)):
    ref(f"v_cvt_norm_{_sign}16_f16")(lambda a, s=_signed: (normal(a, 16, signed=s),))
    for _bits in (16, 32):
        ref(f"v_cvt_pknorm_{_sign}16_f{_bits}")(
            lambda a, b, s=_signed, w=_bits: (normal(a, w, signed=s) | normal(b, w, signed=s) << 16,)
        )


@ref("v_cvt_pk_u8_f32", "v_cvt_pkaccum_u8_f32")
def _replaced(a: int, place: int, rest: int) -> tuple[int, ...]:
    value = float(f(a))
    kept = bytearray(rest.to_bytes(4, "little"))
    kept[place % 4] = 0 if math.isnan(value) else math.floor(max(0.0, min(255.0, value)))
    return (int.from_bytes(kept, "little"),)


def stochastic(a: int, seed: int, kind: str) -> tuple[int, ...]:
    """The largest 8-bit float up to |a| plus a part of what separates its neighbours, as an f32 of that size has it."""
    value = float(f(a))
    if not math.isfinite(value):
        return (0x80,)
    cut = 20 if kind == "fp8" else 21
    unit = Fraction(2) ** (max(a >> 23 & 255, 1) - 150)
    reached = abs(Fraction(value)) + (seed >> (32 - cut)) * unit
    sizes = [Fraction(float(np.uint32(widen(code, EIGHT_BIT[kind])).view(np.float32))) for code in range(128)]
    if reached >= 2 * sizes[127] - sizes[126]:
        return (0x80,)
    code = max(n for n, size in enumerate(sizes) if size <= reached)
    return (code | (0x80 if a >> 31 and code else 0),)


for _kind in EIGHT_BIT:
    ref(f"v_cvt_sr_{_kind}_f32")(lambda a, seed, k=_kind: stochastic(a, seed, k))

# halves ------------------------------------------------------------------------------------------------------------


@ref("v_mac_f16", "v_mad_f16", "v_mad_legacy_f16", "v_madmk_f16", "v_madak_f16")
@quietly
def _unfused(a: int, b: int, c: int) -> tuple[int, ...]:
    return (raw(f(a, 16) * f(b, 16) + f(c, 16), 16),)


@ref("v_div_fixup_f16", "v_div_fixup_legacy_f16")
@quietly
def _fixed(quotient: int, denominator: int, numerator: int) -> tuple[int, ...]:
    q, d, n = (f(v, 16) for v in (quotient, denominator, numerator))
    if np.isfinite(n) and np.isfinite(d) and n and d:  # the quotient, with the sign that it must have
        size = np.float16(math.inf) if np.isnan(q) else abs(q)
        return (raw(math.copysign(size, math.copysign(1, n) * math.copysign(1, d)), 16),)
    return (raw(n / d, 16),)


ref("v_pk_fmac_f16")(REFERENCES["v_fma_f16"])

# bits of 2/pi ------------------------------------------------------------------------------------------------------

WORDS = 37


@cache
def two_over_pi() -> int:
    """2/pi times 2**(32 * WORDS), cut off, from Machin's series for pi in integers."""
    digits = 32 * WORDS + 64

    def arctangent(inverse: int) -> int:
        power = total = (1 << digits) // inverse
        n, sign = 3, -1
        while power:
            power //= inverse * inverse
            total += sign * (power // n)
            n, sign = n + 2, -sign
        return total

    pi = 4 * (4 * arctangent(5) - arctangent(239))
    return ((1 << (digits + 1 + 32 * WORDS)) // pi) & ((1 << (32 * WORDS)) - 1)


@ref("v_trig_preop_f64")
def _segment(a: int, segment: int) -> tuple[int, ...]:
    size = a >> 52 & 0x7FF
    shift = 53 * (segment % 32) + max(size - 1077, 0)
    if shift // 32 + 2 >= WORDS:
        return (0,)
    number = (two_over_pi() >> (32 * WORDS - shift - 53)) & ((1 << 53) - 1)
    return (raw(math.ldexp(number, -53 - shift + (128 if size >= 1968 else 0)), 64),)

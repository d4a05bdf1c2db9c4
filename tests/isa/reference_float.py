"""What floating-point opcodes compute, by numpy, libm and ml_dtypes: written apart from the opcode table.

Each entry takes the bit patterns of a row's uses, in slot order, and gives those of its defs.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

Reference = Callable[..., tuple[int, ...]]
REFERENCES: dict[str, Reference] = {}
FLOAT = {16: np.float16, 32: np.float32, 64: np.float64}
UINT = {16: np.uint16, 32: np.uint32, 64: np.uint64}

_libm = ctypes.CDLL("libm.so.6")
_libm.fmaf.argtypes = (ctypes.c_float,) * 3
_libm.fmaf.restype = ctypes.c_float
_libm.fma.argtypes = (ctypes.c_double,) * 3
_libm.fma.restype = ctypes.c_double


def ref(*names: str) -> Callable[[Reference], Reference]:
    def register(function: Reference) -> Reference:
        for name in names:
            assert name not in REFERENCES, name
            REFERENCES[name] = function
        return function

    return register


def f(raw: int, bits: int = 32) -> Any:
    """The float with this encoding, as a numpy scalar."""
    return UINT[bits](raw).view(FLOAT[bits])


def raw(value: Any, bits: int = 32) -> int:
    """The encoding of a float in a format; numpy rounds to nearest even."""
    return int(FLOAT[bits](value).view(UINT[bits]))


def i32(value: int) -> int:
    return int.from_bytes(value.to_bytes(4, "little"), "little", signed=True)


def quietly(function: Callable[..., Any]) -> Callable[..., Any]:
    def inner(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*args)

    return inner


def arithmetic(bits: int, operation: Callable[..., Any]) -> Reference:
    return quietly(lambda *uses: (raw(operation(*(f(u, bits) for u in uses)), bits),))


def fused(a: Any, b: Any, c: Any, bits: int) -> Any:
    """a * b + c rounded once."""
    if bits == 64:
        return np.float64(_libm.fma(float(a), float(b), float(c)))
    if bits == 32:
        return np.float32(_libm.fmaf(float(a), float(b), float(c)))
    # Products of f16 are exact in a double. The sum is rounded to odd there, so that a second rounding does no harm.
    product, addend = float(a) * float(b), float(c)
    total = product + addend
    if not math.isfinite(total):
        return np.float16(total)
    error = Fraction(product) + Fraction(addend) - Fraction(total)
    if error and not int(np.float64(total).view(np.uint64)) & 1:
        total = float(np.nextafter(total, math.inf if error > 0 else -math.inf))
    return np.float16(total)


def pick(a: Any, b: Any, *, least: bool) -> Any:
    """minNum and maxNum with -0 below +0."""
    if math.isnan(a) or math.isnan(b):
        return b if math.isnan(a) else a
    key = lambda x: (float(x), math.copysign(1.0, x))  # noqa: E731
    return sorted((a, b), key=key)[0 if least else 1]


def least(*values: Any) -> Any:
    out = values[0]
    for value in values[1:]:
        out = pick(out, value, least=True)
    return out


def most(*values: Any) -> Any:
    out = values[0]
    for value in values[1:]:
        out = pick(out, value, least=False)
    return out


def middle(a: Any, b: Any, c: Any) -> Any:
    if any(math.isnan(x) for x in (a, b, c)):
        return least(a, b, c)
    return sorted((a, b, c), key=lambda x: (float(x), math.copysign(1.0, x)))[1]


def legacy(a: Any, b: Any) -> Any:
    return np.float32(0.0) if a == 0 or b == 0 else a * b


def below_one(x: Any) -> Any:
    return np.nextafter(type(x)(1), type(x)(0)) if x >= 1 else x


def no_denormal(x: Any) -> Any:
    return np.float32(math.copysign(0.0, x)) if abs(x) < np.finfo(np.float32).tiny else x


ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "subrev": lambda a, b: b - a,
    "mul": lambda a, b: a * b,
    "min": least,
    "max": most,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "rndne": np.rint,
    "fract": lambda a: below_one(a - np.floor(a)),
    "min3": least,
    "max3": most,
    "med3": middle,
}
for _bits in (16, 32, 64):
    for _name, _f in ARITHMETIC.items():
        if _bits == 64 and (_name.endswith("3") or _name in ("sub", "subrev")):
            continue
        ref(f"v_{_name}_f{_bits}")(arithmetic(_bits, _f))
    _fma = arithmetic(_bits, lambda a, b, c, w=_bits: fused(a, b, c, w))
    ref(f"v_fma_f{_bits}")(_fma)
    if _bits > 16:
        ref(f"v_fmac_f{_bits}")(_fma)
for _name in ("add", "mul"):
    ref(f"v_pk_{_name}_f32")(REFERENCES[f"v_{_name}_f32"])
for _name in ("add", "mul", "min", "max"):
    ref(f"v_pk_{_name}_f16")(REFERENCES[f"v_{_name}_f16"])
ref("v_pk_fma_f32", "v_fmamk_f32", "v_fmaak_f32", "v_fma_mix_f32")(REFERENCES["v_fma_f32"])
ref("v_pk_fma_f16", "v_fma_legacy_f16")(REFERENCES["v_fma_f16"])
ref("v_mul_legacy_f32")(arithmetic(32, legacy))


@ref("v_fma_mixlo_f16", "v_fma_mixhi_f16")
@quietly
def _mix(a: int, b: int, c: int) -> tuple[int, ...]:
    return (raw(fused(f(a), f(b), f(c), 32), 16),)


for _bits in (16, 32, 64):
    ref(f"v_ldexp_f{_bits}")(
        quietly(
            lambda a, n, w=_bits: (
                raw(np.ldexp(f(a, w), max(-4000, min(4000, i32(n) if w > 16 else (n ^ 0x8000) - 0x8000))), w),
            )
        )
    )
    ref(f"v_frexp_mant_f{_bits}")(arithmetic(_bits, lambda a: np.frexp(a)[0]))
    _exponent = quietly(lambda a, w=_bits: int(np.frexp(f(a, w))[1]) if np.isfinite(f(a, w)) else 0)
    if _bits == 16:
        ref("v_frexp_exp_i16_f16")(lambda a, e=_exponent: (e(a) & 0xFFFF,))
    else:
        ref(f"v_frexp_exp_i32_f{_bits}")(lambda a, e=_exponent: (e(a) & 0xFFFFFFFF,))

# comparisons -------------------------------------------------------------------------------------------------------

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "lt": lambda a, b: a < b,
    "eq": lambda a, b: a == b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "lg": lambda a, b: a < b or a > b,
    "ge": lambda a, b: a >= b,
    "o": lambda a, b: not (np.isnan(a) or np.isnan(b)),
    "u": lambda a, b: np.isnan(a) or np.isnan(b),
    "nge": lambda a, b: not a >= b,
    "nlg": lambda a, b: not (a < b or a > b),
    "ngt": lambda a, b: not a > b,
    "nle": lambda a, b: not a <= b,
    "neq": lambda a, b: not a == b,  # noqa: SIM201
    "nlt": lambda a, b: not a < b,
    "f": lambda a, b: False,
    "tru": lambda a, b: True,
}


def classes(a: int, mask: int, bits: int) -> bool:
    value = f(a, bits)
    negative = bool(a >> (bits - 1))
    if np.isnan(value):
        quiet = a >> {16: 9, 32: 22, 64: 51}[bits] & 1
        return bool(mask >> quiet & 1)
    if np.isinf(value):
        kind = 2 if negative else 9
    elif value == 0:
        kind = 5 if negative else 6
    elif abs(value) < np.finfo(FLOAT[bits]).smallest_normal:
        kind = 4 if negative else 7
    else:
        kind = 3 if negative else 8
    return bool(mask >> kind & 1)


for _prefix, _copies in (("v_cmp", 1), ("v_cmpx", 2)):
    for _bits in (16, 32, 64):
        for _name, _f in COMPARISONS.items():
            ref(f"{_prefix}_{_name}_f{_bits}")(
                quietly(lambda a, b, g=_f, w=_bits, n=_copies: (int(g(f(a, w), f(b, w))),) * n)
            )
        ref(f"{_prefix}_class_f{_bits}")(quietly(lambda a, m, w=_bits, n=_copies: (int(classes(a, m, w)),) * n))

# conversions -------------------------------------------------------------------------------------------------------


def to_int(value: Any, low: int, high: int) -> int:
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return high if value > 0 else low
    return max(low, min(high, int(value)))


def integer(bits: int, low: int, high: int, width: int, prepare: Callable[[Any], Any] = lambda x: x) -> Reference:
    return quietly(lambda a: (to_int(prepare(f(a, bits)), low, high) & ((1 << width) - 1),))


_I32, _U32 = (-(2**31), 2**31 - 1, 32), (0, 2**32 - 1, 32)
ref("v_cvt_f32_i32")(lambda a: (raw(np.int32(i32(a))),))
ref("v_cvt_f32_u32")(lambda a: (raw(np.uint32(a)),))
ref("v_cvt_f64_i32")(lambda a: (raw(np.int32(i32(a)), 64),))
ref("v_cvt_f64_u32")(lambda a: (raw(np.uint32(a), 64),))
ref("v_cvt_i32_f32")(integer(32, *_I32))
ref("v_cvt_u32_f32")(integer(32, *_U32))
ref("v_cvt_i32_f64")(integer(64, *_I32))
ref("v_cvt_u32_f64")(integer(64, *_U32))
ref("v_cvt_flr_i32_f32")(integer(32, *_I32, np.floor))
ref("v_cvt_rpi_i32_f32")(integer(32, *_I32, lambda x: np.floor(x + np.float32(0.5))))
ref("v_cvt_f16_u16")(quietly(lambda a: (raw(np.uint16(a), 16),)))
ref("v_cvt_f16_i16")(quietly(lambda a: (raw(np.uint16(a).view(np.int16), 16),)))
ref("v_cvt_u16_f16")(integer(16, 0, 65535, 16))
ref("v_cvt_i16_f16")(integer(16, -32768, 32767, 16))
ref("v_cvt_f32_f64")(quietly(lambda a: (raw(f(a, 64), 32),)))
ref("v_cvt_f64_f32")(quietly(lambda a: (raw(f(a, 32), 64),)))
ref("v_cvt_f16_f32")(quietly(lambda a: (raw(f(a, 32), 16),)))
ref("v_cvt_f32_f16")(quietly(lambda a: (raw(f(a, 16), 32),)))
for _n in range(4):
    ref(f"v_cvt_f32_ubyte{_n}")(lambda a, n=_n: (raw(float(a.to_bytes(4, "little")[n])),))
OFF_I4 = (
    0, 0.0625, 0.125, 0.1875, 0.25, 0.3125, 0.375, 0.4375,
    -0.5, -0.4375, -0.375, -0.3125, -0.25, -0.1875, -0.125, -0.0625,
)  # fmt: skip
ref("v_cvt_off_f32_i4")(lambda a: (raw(OFF_I4[a % 16]),))
ref("v_pack_b32_f16")(lambda a, b: (a + (b << 16),))


def toward_zero(a: int) -> int:
    """f32 to the bits of an f16, truncating."""
    value = f(a)
    if not np.isfinite(value):
        return raw(value, 16)
    size = abs(Fraction(float(value)))
    step = Fraction(2) ** -24
    while size >= step * 2048:
        step *= 2
    kept = float(size // step * step)
    return raw(math.copysign(min(kept, 65504.0), value), 16)


ref("v_cvt_pkrtz_f16_f32")(quietly(lambda a, b: (toward_zero(a) | toward_zero(b) << 16,)))
EIGHT_BIT = {"fp8": ml_dtypes.float8_e4m3fnuz, "bf8": ml_dtypes.float8_e5m2fnuz}


def narrow(a: int, kind: Any) -> int:
    """f32 to 8 bits; out of range gives NaN."""
    return int(np.asarray(f(a)).astype(kind).view(np.uint8))


def widen(a: int, kind: Any) -> int:
    return int(np.asarray(a, np.uint8).view(kind).astype(np.float32).view(np.uint32))


for _name, _kind in EIGHT_BIT.items():
    ref(f"v_cvt_f32_{_name}")(lambda a, k=_kind: (widen(a, k),))
    ref(f"v_cvt_pk_f32_{_name}")(lambda a, k=_kind: (widen(a & 255, k) | widen(a >> 8, k) << 32,))
    ref(f"v_cvt_pk_{_name}_f32")(quietly(lambda a, b, k=_kind: (narrow(a, k) | narrow(b, k) << 8,)))


@ref("v_dot2_f32_f16", "v_dot2c_f32_f16")
@quietly
def _dot2(a: int, b: int, c: int) -> tuple[int, ...]:
    x = np.asarray(a, np.uint32).reshape(1).view(np.float16).astype(np.float32)
    y = np.asarray(b, np.uint32).reshape(1).view(np.float16).astype(np.float32)
    return (raw(f(c) + x[0] * y[0] + x[1] * y[1]),)


# division ----------------------------------------------------------------------------------------------------------

LIMITS = {32: (96, 64, 23, 150), 64: (768, 128, 53, 1075)}


def exponent_field(a: int, bits: int) -> int:
    return a >> {32: 23, 64: 52}[bits] & {32: 255, 64: 2047}[bits]


def tiny(value: Any, bits: int) -> bool:
    return 0 < abs(value) < float(np.finfo(FLOAT[bits]).smallest_normal)


def scaled(a: int, denominator: int, numerator: int, bits: int) -> tuple[int, ...]:
    near_overflow, scale, low_numerator, _ = LIMITS[bits]
    x, d, n = f(a, bits), f(denominator, bits), f(numerator, bits)
    up, down = raw(np.ldexp(x, scale), bits), raw(np.ldexp(x, -scale), bits)
    if n == 0 or d == 0:
        return raw(math.nan, bits), 0
    if exponent_field(numerator, bits) - exponent_field(denominator, bits) >= near_overflow:
        return (up if x == d else a), 1
    if tiny(d, bits):
        return up, 0
    quotient = n / d if bits == 64 else float(n) / float(d)
    reciprocal_tiny = np.isfinite(d) and tiny(1 / d if bits == 64 else 1 / float(d), bits)
    if reciprocal_tiny and tiny(quotient, bits):
        return (down if x == d else a), 1
    if reciprocal_tiny:
        return down, 0
    if tiny(quotient, bits):
        return (up if x == n else a), 1
    return (up if exponent_field(numerator, bits) <= low_numerator else a), 0


def fixed(quotient: int, denominator: int, numerator: int, bits: int) -> tuple[int, ...]:
    q, d, n = (f(v, bits) for v in (quotient, denominator, numerator))
    sign = -1.0 if (denominator ^ numerator) >> (bits - 1) else 1.0
    if np.isnan(n) or np.isnan(d) or (n == 0 and d == 0) or (np.isinf(n) and np.isinf(d)):
        return (raw(math.nan, bits),)
    if d == 0 or np.isinf(n):
        return (raw(sign * math.inf, bits),)
    difference = exponent_field(numerator, bits) - exponent_field(denominator, bits)
    if np.isinf(d) or n == 0 or difference < -LIMITS[bits][3]:
        return (raw(math.copysign(0.0, sign), bits),)
    return (raw(np.copysign(math.inf if np.isnan(q) else q, FLOAT[bits](sign)), bits),)


def nearest(value: Fraction, bits: int) -> float:
    """A rational to the nearest float of a width; integers of the right number of digits round in Python."""
    info = np.finfo(FLOAT[bits])
    # A step a little too fine to begin with; then coarser until the digits fit.
    size = value.numerator.bit_length() - value.denominator.bit_length()
    unit = max(Fraction(float(info.smallest_subnormal)), Fraction(2) ** (size - info.nmant - 3))
    while abs(value) >= unit * 2 ** (info.nmant + 1):
        unit *= 2
    result = round(value / unit) * unit
    if abs(result) > Fraction(float(info.max)):
        return math.inf if result > 0 else -math.inf
    return float(result)


def step(a: int, b: int, c: int, flag: int, bits: int) -> tuple[int, ...]:
    x, y, z = (f(v, bits) for v in (a, b, c))
    total = fused(x, y, z, bits)
    if not flag:
        return (raw(total, bits),)
    scale = LIMITS[bits][1] * (1 if exponent_field(c, bits) >= {32: 128, 64: 1024}[bits] else -1)
    if not (np.isfinite(total) and total):
        return (raw(np.ldexp(total, scale), bits),)
    exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
    return (raw(math.copysign(nearest(exact * Fraction(2) ** scale, bits), total), bits),)


def is_division_step(a: int, b: int, c: int, flag: int, bits: int) -> bool:
    """Whether `a * b` can be the correction of a quotient `c`; without a flag any values do."""
    x, y, z = (f(v, bits) for v in (a, b, c))
    if not flag or not all(map(np.isfinite, (x, y, z))):
        return True
    return abs(Fraction(float(x)) * Fraction(float(y))) <= abs(Fraction(float(z))) / 2 and exponent_field(c, bits) > 60


for _bits in (32, 64):
    ref(f"v_div_scale_f{_bits}")(quietly(lambda a, d, n, w=_bits: scaled(a, d, n, w)))
    ref(f"v_div_fixup_f{_bits}")(quietly(lambda q, d, n, w=_bits: fixed(q, d, n, w)))
    ref(f"v_div_fmas_f{_bits}")(quietly(lambda a, b, c, m, w=_bits: step(a, b, c, m, w)))

# transcendentals: compared with a tolerance --------------------------------------------------------------------------

TOLERANT: set[str] = set()


def approximate(name: str, bits: int, function: Callable[[Any], Any], *, flush: bool = False) -> None:
    """Computed in double or, for f64, by numpy; `flush` takes and gives no f32 denormals."""

    @quietly
    def reference(a: int) -> tuple[int, ...]:
        x = no_denormal(f(a)) if flush else f(a, bits)
        result = FLOAT[bits](function(np.float64(x)))
        return (raw(no_denormal(result) if flush else result, bits),)

    TOLERANT.add(name)
    ref(name)(reference)


def turns(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: function(2 * np.pi * np.fmod(x, 1.0)) if np.isfinite(x) else math.nan


for _bits in (16, 32):
    _flush = _bits == 32
    approximate(f"v_exp_f{_bits}", _bits, lambda x: np.power(2.0, x), flush=_flush)
    approximate(f"v_log_f{_bits}", _bits, np.log2, flush=_flush)
    if _flush:
        approximate("v_exp_legacy_f32", _bits, lambda x: np.power(2.0, x), flush=_flush)
        approximate("v_log_legacy_f32", _bits, np.log2, flush=_flush)
    approximate(f"v_sin_f{_bits}", _bits, turns(np.sin))
    approximate(f"v_cos_f{_bits}", _bits, turns(np.cos))
for _bits in (16, 32, 64):
    _flush = _bits == 32
    approximate(f"v_rcp_f{_bits}", _bits, lambda x: 1 / x, flush=_flush)
    approximate(f"v_rsq_f{_bits}", _bits, lambda x: 1 / np.sqrt(x), flush=_flush)
    approximate(f"v_sqrt_f{_bits}", _bits, np.sqrt, flush=_flush)
approximate("v_rcp_iflag_f32", 32, lambda x: 1 / x, flush=True)

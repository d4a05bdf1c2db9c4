"""Floating-point meanings that several rows share, composed from the operator algebra.

None depends on whether an implementation flushes denormal f32 values: subnormals of narrower formats are built in
integers.
"""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.isa.algebra import Algebra, Value
from asmevo.isa.compose import median, pair

FRACTION = {16: 10, 32: 23, 64: 52}
BIAS = {16: 15, 32: 127, 64: 1023}
"""Fraction bits and exponent bias of IEEE floats by width."""


def magnitude(o: Algebra, a: Value, bits: int = 32) -> Value:
    """The bits of a float without its sign."""
    return o.and_(o.as_int(a), o.const((1 << (bits - 1)) - 1, bits))


def exponent(o: Algebra, a: Value, bits: int = 32) -> Value:
    """The biased exponent field, as an integer of `bits` bits."""
    return o.lshr(magnitude(o, a, bits), o.const(FRACTION[bits], bits))


def infinity_bits(bits: int) -> int:
    """The encoding of +infinity."""
    return ((1 << (bits - 1 - FRACTION[bits])) - 1) << FRACTION[bits]


def is_nan(o: Algebra, a: Value) -> Value:
    return o.fcmp("uno", a, a)


def flush(o: Algebra, a: Value) -> Value:
    """f32 denormals to a zero of the same sign."""
    tiny = o.fcmp("olt", o.fabs(a), o.fconst(2.0**-126))
    return o.as_float(o.select(tiny, o.and_(o.as_int(a), o.const(0x80000000)), o.as_int(a)))


def reciprocal(o: Algebra, a: Value) -> Value:
    """f32 1/a; `v_rcp_f32` takes and gives no denormals (LLVM `AMDGPUCodeGenPrepare.cpp`)."""
    return flush(o, o.fdiv(o.fconst(1.0), flush(o, a)))


def reciprocal_root(o: Algebra, a: Value) -> Value:
    """f32 1/sqrt(a), denormals as in `reciprocal`."""
    return o.fdiv(o.fconst(1.0), o.sqrt(flush(o, a)))


def median_float(o: Algebra, a: Value, b: Value, c: Value) -> Value:
    """The middle of three floats; the least one when any is a NaN."""
    nan = o.or_(o.or_(is_nan(o, a), is_nan(o, b)), is_nan(o, c))
    return o.select(nan, o.fmin(o.fmin(a, b), c), median(o.fmin, o.fmax, a, b, c))


def multiply_legacy(o: Algebra, a: Value, b: Value) -> Value:
    """a * b where 0 times anything is +0."""
    zero = o.fconst(0.0)
    either = o.or_(o.fcmp("oeq", a, zero), o.fcmp("oeq", b, zero))
    return o.select(either, zero, o.fmul(a, b))


def fraction(o: Algebra, a: Value, bits: int = 32) -> Value:
    """a - floor(a), kept below 1 (LLVM `AMDGPUCodeGenPrepare.cpp` takes the opcode for that clamped form)."""
    rest = o.fsub(a, o.ffloor(a))
    one = o.fconst(1.0, bits)
    return o.select(o.fcmp("oge", rest, one), o.fconst(1.0 - 2.0 ** -(FRACTION[bits] + 1), bits), rest)


def mantissa(o: Algebra, a: Value, bits: int = 32) -> Value:
    """The significand of a finite float, in [0.5, 1) with its sign; infinities and NaNs unchanged."""
    fraction_bits, bias = FRACTION[bits], BIAS[bits]
    field_ = magnitude(o, a, bits)
    # A subnormal is normalised: shift its leading one to the place of the implicit bit.
    shift = o.sub(o.ctlz(field_), o.const(bits - 1 - fraction_bits, bits))
    normal = o.select(_is_subnormal(o, field_, bits), o.shl(field_, shift), field_)
    keep = o.const((1 << fraction_bits) - 1, bits)
    sign = o.and_(o.as_int(a), o.const(1 << (bits - 1), bits))
    result = o.or_(o.or_(o.and_(normal, keep), o.const((bias - 1) << fraction_bits, bits)), sign)
    special = o.or_(o.icmp("eq", field_, o.const(0, bits)), o.icmp("uge", field_, o.const(infinity_bits(bits), bits)))
    return o.as_float(o.select(special, o.as_int(a), result))


def binary_exponent(o: Algebra, a: Value, bits: int = 32) -> Value:
    """e with a = mantissa * 2**e, as an integer of `bits` bits; 0 for zero, infinities and NaNs."""
    fraction_bits, bias = FRACTION[bits], BIAS[bits]
    field_ = magnitude(o, a, bits)
    normal = o.sub(o.lshr(field_, o.const(fraction_bits, bits)), o.const(bias - 1, bits))
    below = o.sub(o.const(bits - 1 - fraction_bits - bias + 2, bits), o.ctlz(field_))
    result = o.select(_is_subnormal(o, field_, bits), below, normal)
    special = o.or_(o.icmp("eq", field_, o.const(0, bits)), o.icmp("uge", field_, o.const(infinity_bits(bits), bits)))
    return o.select(special, o.const(0, bits), result)


def _is_subnormal(o: Algebra, field_: Value, bits: int) -> Value:
    return o.icmp("ult", field_, o.const(1 << FRACTION[bits], bits))


def class_test(o: Algebra, a: Value, mask: Value, bits: int = 32) -> Value:
    """1 bit: `a` is of a class whose bit is set in the 32-bit mask.

    Bits 0 signalling NaN, 1 quiet NaN, 2 -inf, 3 -normal, 4 -subnormal, 5 -0, 6 +0, 7 +subnormal, 8 +normal, 9 +inf.
    """
    field_ = magnitude(o, a, bits)
    negative = o.icmp("slt", o.as_int(a), o.const(0, bits))
    inf = o.const(infinity_bits(bits), bits)
    quiet = o.const(infinity_bits(bits) | 1 << (FRACTION[bits] - 1), bits)

    def choose(minus: int, plus: int) -> Value:
        return o.select(negative, o.const(minus), o.const(plus))

    index = o.select(o.icmp("eq", field_, inf), choose(2, 9), choose(3, 8))
    index = o.select(_is_subnormal(o, field_, bits), choose(4, 7), index)
    index = o.select(o.icmp("eq", field_, o.const(0, bits)), choose(5, 6), index)
    index = o.select(o.icmp("ugt", field_, inf), o.const(0), index)
    index = o.select(o.icmp("uge", field_, quiet), o.const(1), index)
    return o.trunc(o.lshr(mask, index), 1)


# narrow formats


@dataclass(frozen=True, slots=True)
class Fp8:
    """An 8-bit float of gfx942: the `fnuz` kind, with one NaN (0x80), no infinities and no negative zero."""

    mantissa_bits: int
    bias: int


FP8 = Fp8(3, 8)
"""e4m3 with bias 8."""
BF8 = Fp8(2, 16)
"""e5m2 with bias 16."""


def from_fp8(o: Algebra, a: Value, form: Fp8) -> Value:
    """8 bits in a format as f32; exact."""
    wide = o.zext(a, 32)
    field_ = o.and_(wide, o.const(0x7F))
    drop = 23 - form.mantissa_bits
    normal = o.as_float(o.add(o.shl(field_, o.const(drop)), o.const((127 - form.bias) << 23)))
    step = o.fconst(2.0 ** (1 - form.bias - form.mantissa_bits))
    subnormal = o.fmul(o.uitofp(field_), step)
    value = o.select(o.icmp("ult", field_, o.const(1 << form.mantissa_bits)), subnormal, normal)
    value = o.select(o.icmp("ne", o.and_(wide, o.const(0x80)), o.const(0)), o.fneg(value), value)
    return o.select(o.icmp("eq", wide, o.const(0x80)), o.as_float(o.const(0x7FC00000)), value)


def to_fp8(o: Algebra, a: Value, form: Fp8) -> Value:
    """f32 rounded to nearest even, as 8 bits; NaN for what is too large, with MODE.FP16_OVFL = 0."""
    field_ = magnitude(o, a)
    drop = 23 - form.mantissa_bits
    scaled = o.sub(field_, o.const((127 - form.bias) << 23))
    odd = o.and_(o.lshr(scaled, o.const(drop)), o.const(1))
    normal = o.lshr(o.add(o.add(scaled, o.const((1 << (drop - 1)) - 1)), odd), o.const(drop))
    steps = o.fconst(2.0 ** (form.bias - 1 + form.mantissa_bits))
    subnormal = o.fptoui(o.frint(o.fmul(o.as_float(field_), steps)))
    code = o.select(o.icmp("ult", field_, o.const((128 - form.bias) << 23)), subnormal, normal)
    sign = o.and_(o.lshr(o.as_int(a), o.const(24)), o.const(0x80))
    signed_code = o.select(o.icmp("eq", code, o.const(0)), o.const(0), o.or_(code, sign))
    # The second comparison catches infinities and NaNs, for which the subtraction above may wrap into range.
    nan = o.or_(o.icmp("ugt", code, o.const(0x7F)), o.icmp("uge", field_, o.const(0x7F800000)))
    return o.trunc(o.select(nan, o.const(0x80), signed_code), 8)


def fp8_pair(o: Algebra, a: Value, b: Value, form: Fp8) -> Value:
    """Two f32 as two 8-bit floats in 16 bits, `a` low."""
    return pair(o, to_fp8(o, a, form), to_fp8(o, b, form), 8)


def from_fp8_pair(o: Algebra, a: Value, form: Fp8) -> Value:
    """16 bits as two f32 in 64 bits."""
    first = from_fp8(o, o.trunc(a, 8), form)
    second = from_fp8(o, o.trunc(o.lshr(a, o.const(8, 16)), 8), form)
    return pair(o, o.as_int(first), o.as_int(second))


def to_f16_toward_zero(o: Algebra, a: Value) -> Value:
    """f32 as the bits of the f16 next to it toward zero."""
    nearest = o.fpcast(a, 16)
    too_far = o.fcmp("ogt", o.fabs(o.fpcast(nearest, 32)), o.fabs(a))
    bits = o.as_int(nearest)
    return o.select(too_far, o.sub(bits, o.const(1, 16)), bits)


def pack_f16_toward_zero(o: Algebra, a: Value, b: Value) -> Value:
    """`v_cvt_pkrtz_f16_f32`."""
    return pair(o, to_f16_toward_zero(o, a), to_f16_toward_zero(o, b), 16)


def from_bf16(o: Algebra, a: Value) -> Value:
    """16 bits of bf16 as f32."""
    return o.as_float(o.shl(o.zext(a, 32), o.const(16)))


def to_bf16(o: Algebra, a: Value) -> Value:
    """f32 rounded to nearest even, as the 16 bits of a bf16; NaNs stay quiet NaNs."""
    bits = o.as_int(a)
    odd = o.and_(o.lshr(bits, o.const(16)), o.const(1))
    rounded = o.add(o.add(bits, o.const(0x7FFF)), odd)
    kept = o.select(is_nan(o, a), o.or_(bits, o.const(0x00400000)), rounded)
    return o.trunc(o.lshr(kept, o.const(16)), 16)


def signed_fourth_bits(o: Algebra, a: Value) -> Value:
    """`v_cvt_off_f32_i4`: the low four bits as a signed number of sixteenths, in f32."""
    number = o.ashr(o.shl(a, o.const(28)), o.const(28))
    return o.fmul(o.sitofp(number), o.fconst(0.0625))

"""The steps from which compilers build IEEE division: `v_div_scale`, `v_div_fmas`, `v_div_fixup`.

A quotient n/d near the ends of the range is computed from a scaled numerator or denominator; VCC remembers that the
quotient must be scaled back. Source: CDNA3 ISA, VOP3, read so that the sequence divides: its text gives `v_div_fmas` no
direction, scales a huge denominator up where the quotient is tiny, and lets a NaN estimate of a huge quotient through.
"""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.isa.algebra import Algebra, Value
from asmevo.isa.compose_float import BIAS, FRACTION, exponent, infinity_bits, is_nan


@dataclass(frozen=True, slots=True)
class Division:
    """Limits for one width."""

    bits: int
    near_overflow: int
    """Exponent difference from which the quotient nears the largest float."""
    scale: int
    """Power of two by which operands are scaled."""
    tiny_numerator: int
    """Biased exponents of the numerator up to this one are raised."""
    underflow: int
    """Exponent difference below minus which the quotient is too small for any float."""


DIVISION_32 = Division(32, 96, 64, 23, 150)
DIVISION_64 = Division(64, 768, 128, 53, 1075)
DIVISION_16 = Division(16, 31, 0, 0, 31)
"""Only for `v_div_fixup_f16`: quotients of f16 are computed in f32, without scaling."""


def _quiet_nan(o: Algebra, bits: int) -> Value:
    return o.as_float(o.const(infinity_bits(bits) | 1 << (FRACTION[bits] - 1), bits))


def _negative_nan(o: Algebra, bits: int) -> Value:
    return o.as_float(o.const(1 << (bits - 1) | infinity_bits(bits) | 1 << (FRACTION[bits] - 1), bits))


def _is_subnormal(o: Algebra, a: Value, bits: int) -> Value:
    """1 bit: not zero and below the least normal float."""
    size = o.fabs(a)
    nonzero = o.fcmp("ogt", size, o.fconst(0.0, bits))
    return o.and_(nonzero, o.fcmp("olt", size, o.fconst(2.0 ** (1 - BIAS[bits]), bits)))


def _quotient_is_subnormal(o: Algebra, numerator: Value, denominator: Value, bits: int) -> Value:
    """1 bit. For f32 in f64, where the quotient is normal, so that flushing of f32 denormals does not hide it."""
    if bits == 64:
        return _is_subnormal(o, o.fdiv(numerator, denominator), 64)
    size = o.fabs(o.fdiv(o.fpcast(numerator, 64), o.fpcast(denominator, 64)))
    nonzero = o.fcmp("ogt", size, o.fconst(0.0, 64))
    return o.and_(nonzero, o.fcmp("olt", size, o.fconst(2.0**-126, 64)))


def scale(o: Algebra, d: Division, a: Value, denominator: Value, numerator: Value) -> tuple[Value, Value]:
    """Scales `a`, which is the denominator or the numerator, where it must be scaled.

    Also gives whether the quotient must be scaled back.
    """
    bits = d.bits
    up, down = o.ldexp(a, o.const(d.scale)), o.ldexp(a, o.const(-d.scale))
    if_denominator = o.select(o.fcmp("oeq", a, denominator), up, a)
    if_numerator = o.select(o.fcmp("oeq", a, numerator), up, a)

    zero = o.fconst(0.0, bits)
    either_zero = o.or_(o.fcmp("oeq", denominator, zero), o.fcmp("oeq", numerator, zero))
    difference = o.sub(exponent(o, numerator, bits), exponent(o, denominator, bits))
    large_quotient = o.icmp("sge", difference, o.const(d.near_overflow, bits))
    small_denominator = _is_subnormal(o, denominator, bits)
    # The reciprocal is subnormal when the denominator exceeds the reciprocal of the least normal float.
    large = o.fcmp("ogt", o.fabs(denominator), o.fconst(2.0 ** (BIAS[bits] - 1), bits))
    finite = o.icmp("ult", exponent(o, denominator, bits), o.const(2 * BIAS[bits] + 1, bits))
    small_reciprocal = o.and_(large, finite)
    small_quotient = _quotient_is_subnormal(o, numerator, denominator, bits)
    tiny_numerator = o.icmp("ule", exponent(o, numerator, bits), o.const(d.tiny_numerator, bits))

    # Later lines take precedence over earlier ones.
    result = o.select(tiny_numerator, up, a)
    result = o.select(small_quotient, if_numerator, result)
    lowered_denominator = o.select(o.fcmp("oeq", a, denominator), down, a)
    result = o.select(small_reciprocal, o.select(small_quotient, lowered_denominator, down), result)
    result = o.select(small_denominator, up, result)
    result = o.select(large_quotient, if_denominator, result)
    result = o.select(either_zero, _quiet_nan(o, bits), result)

    none = o.const(0, 1)
    flag = o.select(small_denominator, none, small_quotient)
    flag = o.or_(large_quotient, flag)
    return result, o.select(either_zero, none, flag)


def fused_step(o: Algebra, d: Division, a: Value, b: Value, c: Value, flag: Value) -> Value:
    """a * b + c, scaled back when the flag is set: up for a large quotient `c`, down for a small one.

    Rounds once, as a quotient must, provided that |c| >= |a * b|: in division `a * b` is the last correction of `c`.
    """
    total = o.fma(a, b, c)
    large = o.icmp("ugt", exponent(o, c, d.bits), o.const(BIAS[d.bits], d.bits))
    raised = o.ldexp(total, o.const(d.scale))
    lowered = _lowered(o, d, total, o.fma(a, b, o.fsub(c, total)))
    return o.select(flag, o.select(large, raised, lowered), total)


def _lowered(o: Algebra, d: Division, total: Value, rest: Value) -> Value:
    """(total + rest) scaled down, where `rest` is what `total` lost by its own rounding.

    A subnormal result is rounded a second time. That goes wrong only when `total` lies half-way between two results:
    then `rest` says which one is nearer.
    """
    bits = d.bits
    result = o.ldexp(total, o.const(-d.scale))
    lost = o.fsub(total, o.ldexp(result, o.const(d.scale)))
    half_step = o.fconst(2.0 ** (d.scale - BIAS[bits] - FRACTION[bits]), bits)
    tie = o.fcmp("oeq", o.fabs(lost), half_step)
    zero = o.const(0, bits)

    def same_sign(x: Value, y: Value) -> Value:
        return o.icmp("sge", o.xor(o.as_int(x), o.as_int(y)), zero)

    beyond = o.and_(same_sign(lost, rest), o.fcmp("one", rest, o.fconst(0.0, bits)))
    code = o.as_int(result)
    step = o.select(same_sign(lost, result), o.const(1, bits), o.const(-1, bits))
    return o.as_float(o.select(o.and_(tie, beyond), o.add(code, step), code))


def fixup(o: Algebra, d: Division, quotient: Value, denominator: Value, numerator: Value) -> Value:
    """The quotient with its sign and special cases put right."""
    bits = d.bits
    sign_bit = o.const(1 << (bits - 1), bits)
    sign = o.and_(o.xor(o.as_int(denominator), o.as_int(numerator)), sign_bit)

    def signed(magnitude: Value) -> Value:
        return o.as_float(o.or_(o.and_(o.as_int(magnitude), o.not_(sign_bit)), sign))

    zero, infinity = o.fconst(0.0, bits), o.as_float(o.const(infinity_bits(bits), bits))
    denominator_zero, numerator_zero = o.fcmp("oeq", denominator, zero), o.fcmp("oeq", numerator, zero)
    denominator_inf = o.fcmp("oeq", o.fabs(denominator), infinity)
    numerator_inf = o.fcmp("oeq", o.fabs(numerator), infinity)
    difference = o.sub(exponent(o, numerator, bits), exponent(o, denominator, bits))
    too_small = o.icmp("slt", difference, o.const(-d.underflow, bits))

    # An estimate of a quotient beyond the range overflows on the way and ends as a NaN: then the answer is infinite.
    result = o.select(is_nan(o, quotient), signed(infinity), signed(quotient))
    result = o.select(too_small, signed(zero), result)
    result = o.select(o.or_(denominator_inf, numerator_zero), signed(zero), result)
    result = o.select(o.or_(denominator_zero, numerator_inf), signed(infinity), result)
    undefined = o.or_(o.and_(denominator_zero, numerator_zero), o.and_(denominator_inf, numerator_inf))
    result = o.select(undefined, _negative_nan(o, bits), result)
    result = o.select(is_nan(o, denominator), _quiet(o, denominator, bits), result)
    return o.select(is_nan(o, numerator), _quiet(o, numerator, bits), result)


def _quiet(o: Algebra, a: Value, bits: int) -> Value:
    """A NaN made quiet."""
    return o.as_float(o.or_(o.as_int(a), o.const(1 << (FRACTION[bits] - 1), bits)))

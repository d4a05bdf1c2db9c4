"""Meanings for graphics, video and trigonometry: cube maps, byte differences, normalised integers, bits of 2/pi."""

from __future__ import annotations

from asmevo.isa.algebra import Algebra, Value
from asmevo.isa.compose import pair, sad_u8
from asmevo.isa.compose_float import Fp8, exponent, is_nan, magnitude

TWO_OVER_PI = (
    0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB, 0xDEBBC561, 0xB7246E3A,
    0x424DD2E0, 0x06492EEA, 0x09D1921C, 0xFE1DEB1C, 0xB129A73E, 0xE88235F5, 0x2EBB4484, 0xE99C7026, 0xB45F7E41,
    0x3991D639, 0x835339F4, 0x9C845F8B, 0xBDF9283B, 0x1FF897FF, 0xDE05980F, 0xEF2F118B, 0x5A0A6D1F, 0x6D367ECF,
    0x27CB09B7, 0x4F463F66, 0x9E5FEA2D, 0x7527BAC7, 0xEBE5F17B, 0x3D0739F7, 0x8A5292EA, 0x6BFB5FB1, 0x1F8D5D08,
    0x56033046,
)  # fmt: skip
"""Bits of 2/pi behind the point, as many as the hardware has (LLVM `AMDGPUInstCombineIntrinsic.cpp`)."""


# cube maps: the face is that of the longest coordinate, z before y before x


def _faces(o: Algebra, x: Value, y: Value, z: Value) -> tuple[Value, Value]:
    """Whether the face is one of z, and, where it is not, one of y."""
    ax, ay, az = o.fabs(x), o.fabs(y), o.fabs(z)
    return o.and_(o.fcmp("oge", az, ax), o.fcmp("oge", az, ay)), o.fcmp("oge", ay, ax)


def _negative(o: Algebra, a: Value) -> Value:
    return o.fcmp("olt", a, o.fconst(0.0))


def cube_face(o: Algebra, x: Value, y: Value, z: Value) -> Value:
    """0 to 5: +x -x +y -y +z -z."""
    on_z, on_y = _faces(o, x, y, z)
    numbers = [o.select(_negative(o, a), o.fconst(n + 1.0), o.fconst(float(n))) for a, n in ((x, 0), (y, 2), (z, 4))]
    return o.select(on_z, numbers[2], o.select(on_y, numbers[1], numbers[0]))


def cube_s(o: Algebra, x: Value, y: Value, z: Value) -> Value:
    on_z, on_y = _faces(o, x, y, z)
    on_face_x = o.select(_negative(o, x), z, o.fneg(z))
    return o.select(on_z, o.select(_negative(o, z), o.fneg(x), x), o.select(on_y, x, on_face_x))


def cube_t(o: Algebra, x: Value, y: Value, z: Value) -> Value:
    on_z, on_y = _faces(o, x, y, z)
    on_face_y = o.select(_negative(o, y), o.fneg(z), z)
    return o.select(o.or_(on_z, o.not_(on_y)), o.fneg(y), on_face_y)


def cube_axis(o: Algebra, x: Value, y: Value, z: Value) -> Value:
    """Twice the longest coordinate."""
    on_z, on_y = _faces(o, x, y, z)
    longest = o.select(on_z, z, o.select(on_y, y, x))
    return o.fadd(longest, longest)


# sums of absolute differences of four windows of bytes


def _windows(o: Algebra, a: Value) -> list[Value]:
    """The four bytes of 64 bits from byte 0, 1, 2 and 3 on."""
    return [o.trunc(o.lshr(a, o.const(8 * i, 64)), 32) for i in range(4)]


def sad_quads(o: Algebra, a: Value, b: Value, c: Value, *, masked: bool, saturated: bool = False) -> Value:
    """Four 16-bit sums, each of the differences of a window of `a` to `b` on top of a half of `c`."""
    parts = [o.trunc(o.lshr(c, o.const(16 * i, 64)), 16) for i in range(4)]
    sums: list[Value] = []
    for window, part in zip(_windows(o, a), parts, strict=True):
        total = sad_u8(o, window, b, o.zext(part, 32), masked=masked)
        sums.append(o.trunc(o.umin(total, o.const(0xFFFF)) if saturated else total, 16))
    return pair(o, pair(o, sums[0], sums[1], 16), pair(o, sums[2], sums[3], 16))


def sad_words(o: Algebra, a: Value, b: Value, c: Value, *, saturated: bool = False) -> Value:
    """The masked sums with four 32-bit accumulators."""
    words: list[Value] = []
    for i, window in enumerate(_windows(o, a)):
        part = o.trunc(o.lshr(c, o.const(32 * i, 128)), 32)
        difference = sad_u8(o, window, b, o.const(0), masked=True)
        total = o.add(part, difference)
        words.append(o.select(o.icmp("ult", total, part), o.const(-1), total) if saturated else total)
    return pair(o, pair(o, words[0], words[1]), pair(o, words[2], words[3]), 64)


# integers that stand for numbers up to 1, and bytes


def normalised(o: Algebra, a: Value, *, signed: bool) -> Value:
    """A float between -1 or 0 and 1 as 16 bits of the whole range, to nearest even; NaN gives 0."""
    wide = o.fpcast(a, 64)  # the product is exact there
    low, one = o.fconst(-1.0 if signed else 0.0, 64), o.fconst(1.0, 64)
    inside = o.fmin(o.fmax(wide, low), one)
    number = o.frint(o.fmul(inside, o.fconst(32767.0 if signed else 65535.0, 64)))
    whole = o.fptosi(number, 32)
    return o.trunc(o.select(is_nan(o, a), o.const(0), whole), 16)


def normalised_pair(o: Algebra, a: Value, b: Value, *, signed: bool) -> Value:
    return pair(o, normalised(o, a, signed=signed), normalised(o, b, signed=signed), 16)


def with_byte(o: Algebra, a: Value, place: Value, rest: Value) -> Value:
    """`rest` with the f32 `a`, truncated to 0..255, in the byte that bits 1:0 of `place` name."""
    value = o.umin(o.fptoui(o.ftrunc(a)), o.const(255))
    shift = o.shl(o.and_(place, o.const(3)), o.const(3))
    return o.or_(o.and_(rest, o.not_(o.shl(o.const(255), shift))), o.shl(value, shift))


def to_fp8_stochastic(o: Algebra, a: Value, seed: Value, form: Fp8) -> Value:
    """f32 as 8 bits, toward zero after the highest bits of a seed were added to the bits that are cut off."""
    drop = 23 - form.mantissa_bits
    # The seed's bits reach down to the last bit of an f32; subnormal results lose more bits than that.
    raised = o.add(magnitude(o, a), o.lshr(seed, o.const(32 - drop)))
    scaled = o.sub(raised, o.const((127 - form.bias) << 23))
    normal = o.lshr(scaled, o.const(drop))
    steps = o.fconst(2.0 ** (form.bias - 1 + form.mantissa_bits))
    subnormal = o.fptoui(o.ftrunc(o.fmul(o.as_float(raised), steps)))
    code = o.select(o.icmp("ult", raised, o.const((128 - form.bias) << 23)), subnormal, normal)
    sign = o.and_(o.lshr(o.as_int(a), o.const(24)), o.const(0x80))
    signed_code = o.select(o.icmp("eq", code, o.const(0)), o.const(0), o.or_(code, sign))
    special = o.icmp("uge", magnitude(o, a), o.const(0x7F800000))
    nan = o.or_(o.icmp("ugt", code, o.const(0x7F)), special)
    return o.trunc(o.select(nan, o.const(0x80), signed_code), 8)


# trigonometry


def _word_of(o: Algebra, index: Value) -> Value:
    """A word of `TWO_OVER_PI`, 0 beyond its end."""
    found = o.const(0)
    for number, word in enumerate(TWO_OVER_PI):
        found = o.select(o.icmp("eq", index, o.const(number)), o.const(word), found)
    return found


def reduction_segment(o: Algebra, a: Value, segment: Value) -> Value:
    """`v_trig_preop_f64`: 53 bits of 2/pi from bit 53 * segment[4:0] on, further down for large `a`, as a number.

    Source: LLVM `AMDGPUInstCombineIntrinsic.cpp`, which gives 0 where the bits reach beyond those of the hardware.
    """
    size = o.trunc(exponent(o, a, 64), 32)
    beyond = o.smax(o.sub(size, o.const(1077)), o.const(0))
    shift = o.add(o.mul(o.and_(segment, o.const(31)), o.const(53)), beyond)
    index, rest = o.lshr(shift, o.const(5)), o.zext(o.and_(shift, o.const(31)), 64)
    words = [_word_of(o, o.add(index, o.const(i))) for i in range(3)]
    high = pair(o, words[1], words[0])
    low = o.lshr(o.zext(words[2], 64), o.sub(o.const(32, 64), rest))
    moved = o.or_(o.shl(high, rest), o.select(o.icmp("eq", rest, o.const(0, 64)), o.const(0, 64), low))
    number = o.uitofp(o.lshr(moved, o.const(11, 64)), 64)
    scale = o.sub(o.const(-53), shift)
    scale = o.select(o.icmp("uge", size, o.const(1968)), o.add(scale, o.const(128)), scale)
    inside = o.icmp("ult", index, o.const(len(TWO_OVER_PI) - 2))
    return o.select(inside, o.ldexp(number, scale), o.fconst(0.0, 64))

"""Meanings that several rows share, composed from the operator algebra.

Everything here is a function of an `Algebra` and values, like the meanings of rows. Floats are in `compose_float`, the
steps of division in `compose_division`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from asmevo.isa.algebra import Algebra, Value

# integers


def is_nonzero(o: Algebra, a: Value, bits: int = 32) -> Value:
    """1 bit: a != 0."""
    return o.icmp("ne", a, o.const(0, bits))


def add_carry(o: Algebra, a: Value, b: Value, carry: Value | None = None) -> tuple[Value, Value]:
    """32-bit sum and unsigned carry out; `carry` is 1 bit."""
    total = o.add(o.zext(a, 64), o.zext(b, 64))
    if carry is not None:
        total = o.add(total, o.zext(carry, 64))
    return o.trunc(total, 32), o.trunc(o.lshr(total, o.const(32, 64)), 1)


def sub_borrow(o: Algebra, a: Value, b: Value, borrow: Value | None = None) -> tuple[Value, Value]:
    """32-bit difference a - b - borrow and unsigned borrow out."""
    total = o.sub(o.zext(a, 64), o.zext(b, 64))
    if borrow is not None:
        total = o.sub(total, o.zext(borrow, 64))
    return o.trunc(total, 32), o.trunc(o.lshr(total, o.const(32, 64)), 1)


def add_overflow(o: Algebra, a: Value, b: Value) -> tuple[Value, Value]:
    """32-bit sum and signed overflow."""
    total = o.add(a, b)
    return total, o.icmp("slt", o.and_(o.xor(a, total), o.xor(b, total)), o.const(0))


def sub_overflow(o: Algebra, a: Value, b: Value) -> tuple[Value, Value]:
    """32-bit difference and signed overflow."""
    total = o.sub(a, b)
    return total, o.icmp("slt", o.and_(o.xor(a, b), o.xor(a, total)), o.const(0))


def product(o: Algebra, a: Value, b: Value, *, signed: bool) -> Value:
    """64-bit product of 32-bit values."""
    widen = o.sext if signed else o.zext
    return o.mul(widen(a, 64), widen(b, 64))


def mul_high(o: Algebra, a: Value, b: Value, *, signed: bool) -> Value:
    """Upper half of the 64-bit product of 32-bit values."""
    return high(o, product(o, a, b, signed=signed))


def low(o: Algebra, a: Value) -> Value:
    """Low half of 64 bits."""
    return o.trunc(a, 32)


def high(o: Algebra, a: Value) -> Value:
    """High half of 64 bits."""
    return o.trunc(o.lshr(a, o.const(32, 64)), 32)


def pair(o: Algebra, low_half: Value, high_half: Value, bits: int = 32) -> Value:
    """Two values of `bits` bits joined, the first one low."""
    wide = 2 * bits
    return o.or_(o.zext(low_half, wide), o.shl(o.zext(high_half, wide), o.const(bits, wide)))


def u24(o: Algebra, a: Value) -> Value:
    """The low 24 bits, zero extended."""
    return o.and_(a, o.const(0xFFFFFF))


def i24(o: Algebra, a: Value) -> Value:
    """The low 24 bits, sign extended."""
    return o.ashr(o.shl(a, o.const(8)), o.const(8))


def low_mask(o: Algebra, width: Value, bits: int) -> Value:
    """The lowest `width` bits set; all of them when width >= bits."""
    ones = o.sub(o.shl(o.const(1, bits), width), o.const(1, bits))
    return o.select(o.icmp("uge", width, o.const(bits, bits)), o.const(-1, bits), ones)


def bit_field(o: Algebra, a: Value, offset: Value, width: Value, bits: int, *, signed: bool) -> Value:
    """The `width` bits of `a` from `offset` on; all operands of `bits` bits. Width 0 gives 0."""
    if not signed:
        return o.and_(o.lshr(a, offset), low_mask(o, width, bits))
    moved = o.ashr(a, offset)
    room = o.sub(o.const(bits, bits), width)
    narrow = o.ashr(o.shl(moved, room), room)
    narrow = o.select(o.icmp("uge", width, o.const(bits, bits)), moved, narrow)
    return o.select(o.icmp("eq", width, o.const(0, bits)), o.const(0, bits), narrow)


def scalar_bit_field(o: Algebra, a: Value, packed: Value, bits: int, *, signed: bool) -> tuple[Value, Value]:
    """`s_bfe_*`: offset in the low 5 or 6 bits of `packed`, width in its bits 22:16; SCC = result is not 0."""
    offset = o.and_(packed, o.const(bits - 1))
    width = o.and_(o.lshr(packed, o.const(16)), o.const(0x7F))
    if bits == 64:
        offset, width = o.zext(offset, 64), o.zext(width, 64)
    field = bit_field(o, a, offset, width, bits, signed=signed)
    return field, is_nonzero(o, field, bits)


def or_all_ones(o: Algebra, condition: Value, a: Value) -> Value:
    """32-bit `a`, or -1 where the condition holds."""
    return o.select(condition, o.const(-1), a)


def first_one(o: Algebra, a: Value, bits: int = 32) -> Value:
    """Index of the lowest set bit as 32 bits, -1 for 0."""
    return or_all_ones(o, o.icmp("eq", a, o.const(0, bits)), to_32(o, o.cttz(a), bits))


def leading_zeros(o: Algebra, a: Value, bits: int = 32) -> Value:
    """Number of leading zeros as 32 bits, -1 for 0."""
    return or_all_ones(o, o.icmp("eq", a, o.const(0, bits)), to_32(o, o.ctlz(a), bits))


def leading_sign_bits(o: Algebra, a: Value, bits: int = 32) -> Value:
    """Number of leading bits equal to the sign bit, -1 when all of them are."""
    return leading_zeros(o, o.xor(a, o.ashr(a, o.const(bits - 1, bits))), bits)


def to_32(o: Algebra, a: Value, bits: int) -> Value:
    """An integer of 32 or 64 bits as 32 bits."""
    return a if bits == 32 else o.trunc(a, 32)


def byte(o: Algebra, a: Value, index: int) -> Value:
    """Byte `index` of 32 bits, zero extended."""
    shifted = o.lshr(a, o.const(8 * index)) if index else a
    return o.and_(shifted, o.const(0xFF))


def half(o: Algebra, a: Value, index: int) -> Value:
    """The 16-bit half `index` of 32 bits."""
    return o.trunc(o.lshr(a, o.const(16)) if index else a, 16)


def sum_of(o: Algebra, values: Sequence[Value]) -> Value:
    """Their sum, left to right."""
    total = values[0]
    for value in values[1:]:
        total = o.add(total, value)
    return total


def abs_difference(o: Algebra, a: Value, b: Value) -> Value:
    """|a - b| of unsigned values."""
    return o.sub(o.umax(a, b), o.umin(a, b))


def sad_u8(o: Algebra, a: Value, b: Value, accumulator: Value, *, masked: bool = False) -> Value:
    """Sum of absolute differences of the four bytes; `masked` leaves out bytes where b is 0."""
    terms = [accumulator]
    for i in range(4):
        x, y = byte(o, a, i), byte(o, b, i)
        term = abs_difference(o, x, y)
        terms.append(o.select(o.icmp("eq", y, o.const(0)), o.const(0), term) if masked else term)
    return sum_of(o, terms)


def sad_u16(o: Algebra, a: Value, b: Value, accumulator: Value) -> Value:
    """Sum of absolute differences of the two halves."""
    halves = [abs_difference(o, o.zext(half(o, a, i), 32), o.zext(half(o, b, i), 32)) for i in (0, 1)]
    return sum_of(o, [accumulator, *halves])


def lerp_u8(o: Algebra, a: Value, b: Value, c: Value) -> Value:
    """Rounded-down mean of each byte pair, with bit 0 of the bytes of `c` added before the halving."""
    total = o.const(0)
    for i in range(4):
        mean = o.lshr(sum_of(o, [byte(o, a, i), byte(o, b, i), o.and_(byte(o, c, i), o.const(1))]), o.const(1))
        total = o.or_(total, o.shl(mean, o.const(8 * i)))
    return total


def permute_bytes(o: Algebra, a: Value, b: Value, selector: Value) -> Value:
    """`v_perm_b32`: each selector byte picks a byte of {a, b} (0-3 from b, 4-7 from a), a replicated sign bit of bytes
    1, 3, 5, 7 (8-11), zero (12), or ones (above)."""
    data = pair(o, b, a)
    result = o.const(0)
    for i in range(4):
        choice = byte(o, selector, i)
        picked = o.trunc(o.lshr(data, o.zext(o.shl(o.and_(choice, o.const(7)), o.const(3)), 64)), 32)
        # Sign bits of bytes 1, 3, 5, 7 are data bits 15, 31, 47, 63.
        sign_at = o.or_(o.shl(o.and_(choice, o.const(3)), o.const(4)), o.const(15))
        sign = o.trunc(o.lshr(data, o.zext(sign_at, 64)), 1)
        picked = o.select(o.icmp("uge", choice, o.const(8)), o.sext(sign, 32), picked)
        picked = o.select(o.icmp("eq", choice, o.const(12)), o.const(0), picked)
        picked = o.select(o.icmp("ugt", choice, o.const(12)), o.const(0xFF), picked)
        result = o.or_(result, o.shl(o.and_(picked, o.const(0xFF)), o.const(8 * i)))
    return result


def dot(o: Algebra, a: Value, b: Value, accumulator: Value, element_bits: int, *, signed: bool) -> Value:
    """Integer dot product of the packed elements of two 32-bit values, added to the accumulator modulo 2**32."""
    terms = [accumulator]
    for i in range(0, 32, element_bits):
        x, y = (packed_element(o, v, i, element_bits, signed=signed) for v in (a, b))
        terms.append(o.mul(x, y))
    return sum_of(o, terms)


def packed_element(o: Algebra, a: Value, offset: int, bits: int, *, signed: bool) -> Value:
    """Bits offset .. offset + bits of 32 bits, extended to 32."""
    aligned = o.shl(a, o.const(32 - bits - offset))
    return (o.ashr if signed else o.lshr)(aligned, o.const(32 - bits))


def saturate(o: Algebra, a: Value, low_bound: int, high_bound: int) -> Value:
    """A signed 32-bit value clamped to the bounds."""
    return o.smin(o.smax(a, o.const(low_bound)), o.const(high_bound))


def nearest(operation: str, kind: str) -> Callable[[Algebra, Value, Value], Value]:
    """`add`, `sub` or `subrev` of a type like `u32` or `i16`: where it cannot hold the result, the nearest it can."""
    signed, bits = kind[0] == "i", int(kind[1:])
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)

    def meaning(o: Algebra, a: Value, b: Value) -> Value:
        x, y = ((o.sext if signed else o.zext)(v, 2 * bits) for v in ((b, a) if operation == "subrev" else (a, b)))
        exact = o.add(x, y) if operation == "add" else o.sub(x, y)
        return o.trunc(o.smin(o.smax(exact, o.const(low, 2 * bits)), o.const(high, 2 * bits)), bits)

    return meaning


def quad_any(o: Algebra, a: Value, bits: int) -> Value:
    """For each group of four bits: its lowest bit set when any of the four is."""
    a = o.or_(a, o.lshr(a, o.const(1, bits)))
    a = o.or_(a, o.lshr(a, o.const(2, bits)))
    return o.and_(a, o.const(0x1111111111111111 & (1 << bits) - 1, bits))


def compact_quads(o: Algebra, a: Value, bits: int) -> Value:
    """Bits 0, 4, 8, ... gathered into the low bits."""
    result = o.const(0, bits)
    for i in range(bits // 4):
        bit = o.and_(o.lshr(a, o.const(3 * i, bits)), o.const(1 << i, bits))
        result = o.or_(result, bit)
    return result


def replicate_bits(o: Algebra, a: Value) -> Value:
    """Each bit of 32 doubled into 64."""
    spread = o.zext(a, 64)
    for shift, mask in (
        (16, 0x0000FFFF0000FFFF),
        (8, 0x00FF00FF00FF00FF),
        (4, 0x0F0F0F0F0F0F0F0F),
        (2, 0x3333333333333333),
        (1, 0x5555555555555555),
    ):
        spread = o.and_(o.or_(spread, o.shl(spread, o.const(shift, 64))), o.const(mask, 64))
    return o.or_(spread, o.shl(spread, o.const(1, 64)))


def median(
    least: Callable[[Value, Value], Value], most: Callable[[Value, Value], Value], a: Value, b: Value, c: Value
) -> Value:
    """The middle one of three ordered values."""
    return most(least(a, b), least(most(a, b), c))

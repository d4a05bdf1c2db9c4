"""What atomics do to memory: `meaning(o, old, *data)` gives the new value. Shared by LDS, buffer and flat rows."""

from __future__ import annotations

from asmevo.isa.algebra import Algebra, Value
from asmevo.isa.compose import half, pair
from asmevo.isa.compose_float import from_bf16, to_bf16
from asmevo.isa.table.build import Meaning


def _increment(o: Algebra, old: Value, limit: Value, bits: int) -> Value:
    """Counts up and wraps to 0 at the limit."""
    return o.select(o.icmp("uge", old, limit), o.const(0, bits), o.add(old, o.const(1, bits)))


def _decrement(o: Algebra, old: Value, limit: Value, bits: int) -> Value:
    """Counts down and wraps to the limit at 0 and from above it."""
    wrap = o.or_(o.icmp("eq", old, o.const(0, bits)), o.icmp("ugt", old, limit))
    return o.select(wrap, limit, o.sub(old, o.const(1, bits)))


def integer_atomics(bits: int) -> dict[str, Meaning]:
    """One-operand integer atomics on `bits` bits by their name in buffer and flat mnemonics."""
    return {
        "swap": lambda o, old, x: x,
        "add": lambda o, old, x: o.add(old, x),
        "sub": lambda o, old, x: o.sub(old, x),
        "smin": lambda o, old, x: o.smin(old, x),
        "umin": lambda o, old, x: o.umin(old, x),
        "smax": lambda o, old, x: o.smax(old, x),
        "umax": lambda o, old, x: o.umax(old, x),
        "and": lambda o, old, x: o.and_(old, x),
        "or": lambda o, old, x: o.or_(old, x),
        "xor": lambda o, old, x: o.xor(old, x),
        "inc": lambda o, old, x: _increment(o, old, x, bits),
        "dec": lambda o, old, x: _decrement(o, old, x, bits),
    }


def reverse_subtract(o: Algebra, old: Value, x: Value) -> Value:
    return o.sub(x, old)


def swap_if_equal(o: Algebra, old: Value, new: Value, expected: Value) -> Value:
    """Compare-and-swap of the vector memory: the new value comes first."""
    return o.select(o.icmp("eq", old, expected), new, old)


def store_if_equal(o: Algebra, old: Value, expected: Value, new: Value) -> Value:
    """Compare-and-store of the LDS: the expected value comes first."""
    return o.select(o.icmp("eq", old, expected), new, old)


def store_if_equal_float(o: Algebra, old: Value, expected: Value, new: Value) -> Value:
    return o.select(o.fcmp("oeq", old, expected), new, old)


def masked_or(o: Algebra, old: Value, clear: Value, set_: Value) -> Value:
    return o.or_(o.and_(old, o.not_(clear)), set_)


def wrapped(o: Algebra, old: Value, limit: Value, rest: Value) -> Value:
    """`ds_wrap`: takes `limit` off, or adds `rest` below it."""
    return o.select(o.icmp("uge", old, limit), o.sub(old, limit), o.add(old, rest))


def exchanged_words(o: Algebra, old: Value, x: Value) -> Value:
    """`ds_condxchg32`: each word of `x` whose top bit is set replaces the one in memory, without that bit."""
    words: list[Value] = []
    for i in (0, 1):
        before, new = (o.trunc(o.lshr(v, o.const(32 * i, 64)), 32) for v in (old, x))
        words.append(o.select(o.icmp("slt", new, o.const(0)), o.and_(new, o.const(0x7FFFFFFF)), before))
    return pair(o, words[0], words[1])


FLOAT_ATOMICS: dict[str, Meaning] = {
    "add": lambda o, old, x: o.fadd(old, x),
    "min": lambda o, old, x: o.select(o.fcmp("olt", x, old), x, old),
    "max": lambda o, old, x: o.select(o.fcmp("ogt", x, old), x, old),
}
"""Minimum and maximum keep the old value when the comparison fails, so a NaN in memory stays."""


def packed_add_f16(o: Algebra, old: Value, x: Value) -> Value:
    """Two f16 sums in 32 bits."""
    sums = [o.as_int(o.fadd(o.as_float(half(o, old, i)), o.as_float(half(o, x, i)))) for i in (0, 1)]
    return pair(o, sums[0], sums[1], 16)


def packed_add_bf16(o: Algebra, old: Value, x: Value) -> Value:
    """Two bf16 sums in 32 bits, each rounded to nearest even."""
    sums = [to_bf16(o, o.fadd(from_bf16(o, half(o, old, i)), from_bf16(o, half(o, x, i)))) for i in (0, 1)]
    return pair(o, sums[0], sums[1], 16)


PACKED_ATOMICS: dict[str, Meaning] = {"pk_add_f16": packed_add_f16, "pk_add_bf16": packed_add_bf16}

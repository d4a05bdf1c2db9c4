"""SALU opcodes. Sources: CDNA3 ISA, SOP1, SOP2, SOPC and SOPK."""

from __future__ import annotations

from collections.abc import Callable

from asmevo.isa.algebra import Algebra, Value
from asmevo.isa.compose import (
    add_carry,
    add_overflow,
    compact_quads,
    first_one,
    half,
    is_nonzero,
    leading_sign_bits,
    leading_zeros,
    low_mask,
    mul_high,
    pair,
    quad_any,
    replicate_bits,
    scalar_bit_field,
    sub_borrow,
    sub_overflow,
    to_32,
)
from asmevo.isa.row import Row
from asmevo.isa.table.build import Meaning, scalar

_WIDTHS = (32, 64)


def _tested(meaning: Callable[[Algebra, Value], Value], bits: int) -> Meaning:
    """A unary meaning with SCC = result is not 0."""

    def both(o: Algebra, a: Value) -> tuple[Value, Value]:
        result = meaning(o, a)
        return result, is_nonzero(o, result, bits)

    return both


def _tested2(meaning: Callable[[Algebra, Value, Value], Value], bits: int) -> Meaning:
    """A binary meaning with SCC = result is not 0."""

    def both(o: Algebra, a: Value, b: Value) -> tuple[Value, Value]:
        result = meaning(o, a, b)
        return result, is_nonzero(o, result, bits)

    return both


def _k(o: Algebra, immediate: Value) -> Value:
    """A SOPK immediate, sign extended."""
    return o.sext(o.trunc(immediate, 16), 32)


def _ku(o: Algebra, immediate: Value) -> Value:
    """A SOPK immediate, zero extended."""
    return o.and_(immediate, o.const(0xFFFF))


_LOGIC: dict[str, Callable[[Algebra, Value, Value], Value]] = {
    "and": lambda o, a, b: o.and_(a, b),
    "or": lambda o, a, b: o.or_(a, b),
    "xor": lambda o, a, b: o.xor(a, b),
    "andn2": lambda o, a, b: o.and_(a, o.not_(b)),
    "orn2": lambda o, a, b: o.or_(a, o.not_(b)),
    "nand": lambda o, a, b: o.not_(o.and_(a, b)),
    "nor": lambda o, a, b: o.not_(o.or_(a, b)),
    "xnor": lambda o, a, b: o.not_(o.xor(a, b)),
    "andn1": lambda o, a, b: o.and_(o.not_(a), b),
    "orn1": lambda o, a, b: o.or_(o.not_(a), b),
}


def _saveexec(name: str) -> Meaning:
    def both(o: Algebra, a: Value, old: Value) -> tuple[Value, Value, Value]:
        new = _LOGIC[name](o, a, old)
        return old, new, is_nonzero(o, new, 64)

    return both


def _wrexec(name: str) -> Meaning:
    def both(o: Algebra, a: Value, old: Value) -> tuple[Value, Value, Value]:
        new = _LOGIC[name](o, a, old)
        return new, new, is_nonzero(o, new, 64)

    return both


def _amount(o: Algebra, amount: Value, bits: int) -> Value:
    return amount if bits == 32 else o.zext(o.and_(amount, o.const(63)), 64)


def _bitset(o: Algebra, index: Value, old: Value, bits: int, *, value: int) -> Value:
    bit = o.shl(o.const(1, bits), _amount(o, index, bits))
    return o.or_(old, bit) if value else o.and_(old, o.not_(bit))


def _bitcmp(o: Algebra, a: Value, index: Value, bits: int, *, value: int) -> Value:
    bit = o.trunc(o.lshr(a, _amount(o, index, bits)), 1)
    return o.icmp("eq", bit, o.const(value, 1))


def _bfm(o: Algebra, width: Value, offset: Value, bits: int) -> Value:
    keep = o.const(bits - 1)
    width, offset = o.and_(width, keep), o.and_(offset, keep)
    return o.shl(low_mask(o, _amount(o, width, bits), bits), _amount(o, offset, bits))


def _choose(o: Algebra, condition: Value, a: Value, b: Value) -> tuple[Value, Value]:
    """`a` and SCC = 1 when the condition holds."""
    return o.select(condition, a, b), condition


def _shift_add(o: Algebra, a: Value, b: Value, amount: int) -> tuple[Value, Value]:
    """(a << amount) + b and whether it does not fit into 32 bits."""
    total = o.add(o.shl(o.zext(a, 64), o.const(amount, 64)), o.zext(b, 64))
    return o.trunc(total, 32), is_nonzero(o, o.lshr(total, o.const(32, 64)), 64)


def _absdiff(o: Algebra, a: Value, b: Value) -> Value:
    difference = o.sub(a, b)
    return o.smax(difference, o.sub(o.const(0), difference))


_COMPARE = (
    ("eq", "i32", "eq"), ("lg", "i32", "ne"), ("gt", "i32", "sgt"), ("ge", "i32", "sge"), ("lt", "i32", "slt"),
    ("le", "i32", "sle"), ("eq", "u32", "eq"), ("lg", "u32", "ne"), ("gt", "u32", "ugt"), ("ge", "u32", "uge"),
    ("lt", "u32", "ult"), ("le", "u32", "ule"),
)  # fmt: skip
"""Comparison in the mnemonic, operand type, predicate of the algebra."""


ROWS: tuple[Row, ...] = (
    # moves
    scalar("s_mov_b32", "b32 = b32", lambda o, a: a),
    scalar("s_mov_b64", "b64 = b64", lambda o, a: a),
    scalar("s_movk_i32", "i32 = imm", lambda o, k: _k(o, k)),
    scalar("s_cmov_b32", "b32 = b32, @0, {scc}", lambda o, a, old, c: o.select(c, a, old)),
    scalar("s_cmov_b64", "b64 = b64, @0, {scc}", lambda o, a, old, c: o.select(c, a, old)),
    scalar("s_cmovk_i32", "i32 = imm, @0, {scc}", lambda o, k, old, c: o.select(c, _k(o, k), old)),
    scalar("s_cselect_b32", "b32 = b32, b32, {scc}", lambda o, a, b, c: o.select(c, a, b)),
    scalar("s_cselect_b64", "b64 = b64, b64, {scc}", lambda o, a, b, c: o.select(c, a, b)),
    # arithmetic
    scalar("s_add_u32", "u32 {scc} = u32, u32", lambda o, a, b: add_carry(o, a, b)),
    scalar("s_addc_u32", "u32 {scc} = u32, u32, {scc}", lambda o, a, b, c: add_carry(o, a, b, c)),
    scalar("s_sub_u32", "u32 {scc} = u32, u32", lambda o, a, b: sub_borrow(o, a, b)),
    scalar("s_subb_u32", "u32 {scc} = u32, u32, {scc}", lambda o, a, b, c: sub_borrow(o, a, b, c)),
    scalar("s_add_i32", "i32 {scc} = i32, i32", lambda o, a, b: add_overflow(o, a, b)),
    scalar("s_sub_i32", "i32 {scc} = i32, i32", lambda o, a, b: sub_overflow(o, a, b)),
    scalar("s_addk_i32", "i32 {scc} = imm, @0", lambda o, k, old: add_overflow(o, old, _k(o, k))),
    scalar("s_mul_i32", "i32 = i32, i32", lambda o, a, b: o.mul(a, b)),
    scalar("s_mulk_i32", "i32 = imm, @0", lambda o, k, old: o.mul(old, _k(o, k))),
    scalar("s_mul_hi_u32", "u32 = u32, u32", lambda o, a, b: mul_high(o, a, b, signed=False)),
    scalar("s_mul_hi_i32", "i32 = i32, i32", lambda o, a, b: mul_high(o, a, b, signed=True)),
    scalar("s_abs_i32", "i32 {scc} = i32", _tested(lambda o, a: o.smax(a, o.sub(o.const(0), a)), 32)),
    scalar("s_absdiff_i32", "i32 {scc} = i32, i32", _tested2(_absdiff, 32)),
    scalar("s_min_i32", "i32 {scc} = i32, i32", lambda o, a, b: _choose(o, o.icmp("slt", a, b), a, b)),
    scalar("s_min_u32", "u32 {scc} = u32, u32", lambda o, a, b: _choose(o, o.icmp("ult", a, b), a, b)),
    scalar("s_max_i32", "i32 {scc} = i32, i32", lambda o, a, b: _choose(o, o.icmp("sge", a, b), a, b)),
    scalar("s_max_u32", "u32 {scc} = u32, u32", lambda o, a, b: _choose(o, o.icmp("uge", a, b), a, b)),
    *(
        scalar(f"s_lshl{n}_add_u32", "u32 {scc} = u32, u32", lambda o, a, b, n=n: _shift_add(o, a, b, n))
        for n in (1, 2, 3, 4)
    ),
    # logic
    *(
        scalar(f"s_{name}_b{bits}", f"b{bits} {{scc}} = b{bits}, b{bits}", _tested2(meaning, bits))
        for name, meaning in _LOGIC.items()
        if name not in ("andn1", "orn1")
        for bits in _WIDTHS
    ),
    *(scalar(f"s_not_b{b}", f"b{b} {{scc}} = b{b}", _tested(lambda o, a: o.not_(a), b)) for b in _WIDTHS),
    *(scalar(f"s_{name}_saveexec_b64", "b64 {exec} {scc} = b64, {exec}", _saveexec(name)) for name in _LOGIC),
    *(scalar(f"s_{name}_wrexec_b64", "b64 {exec} {scc} = b64, {exec}", _wrexec(name)) for name in ("andn1", "andn2")),
    # shifts and fields
    *(
        scalar(
            f"s_{name}_{kind}{bits}",
            f"{kind}{bits} {{scc}} = {kind}{bits}, u32",
            _tested2(lambda o, a, n, f=operation, bits=bits: getattr(o, f)(a, _amount(o, n, bits)), bits),
        )
        for name, kind, operation in (("lshl", "b", "shl"), ("lshr", "b", "lshr"), ("ashr", "i", "ashr"))
        for bits in _WIDTHS
    ),
    *(
        scalar(
            f"s_bfe_{kind}{bits}",
            f"{kind}{bits} {{scc}} = {kind}{bits}, u32",
            lambda o, a, p, bits=bits, kind=kind: scalar_bit_field(o, a, p, bits, signed=kind == "i"),
        )
        for kind in "ui"
        for bits in _WIDTHS
    ),
    *(
        scalar(f"s_bfm_b{bits}", f"b{bits} = u32, u32", lambda o, w, n, bits=bits: _bfm(o, w, n, bits))
        for bits in _WIDTHS
    ),
    *(
        scalar(
            f"s_bitset{value}_b{bits}",
            f"b{bits} = u32, @0",
            lambda o, n, old, bits=bits, value=value: _bitset(o, n, old, bits, value=value),
        )
        for value in (0, 1)
        for bits in _WIDTHS
    ),
    *(
        scalar(
            f"s_bitcmp{value}_b{bits}",
            f"{{scc}} = b{bits}, u32",
            lambda o, a, n, bits=bits, value=value: _bitcmp(o, a, n, bits, value=value),
        )
        for value in (0, 1)
        for bits in _WIDTHS
    ),
    # bit counting
    *(scalar(f"s_brev_b{b}", f"b{b} = b{b}", lambda o, a: o.bitreverse(a)) for b in _WIDTHS),
    *(scalar(f"s_ff1_i32_b{b}", f"i32 = b{b}", lambda o, a, b=b: first_one(o, a, b)) for b in _WIDTHS),
    *(scalar(f"s_ff0_i32_b{b}", f"i32 = b{b}", lambda o, a, b=b: first_one(o, o.not_(a), b)) for b in _WIDTHS),
    *(scalar(f"s_flbit_i32_b{b}", f"i32 = b{b}", lambda o, a, b=b: leading_zeros(o, a, b)) for b in _WIDTHS),
    scalar("s_flbit_i32", "i32 = i32", lambda o, a: leading_sign_bits(o, a)),
    scalar("s_flbit_i32_i64", "i32 = i64", lambda o, a: leading_sign_bits(o, a, 64)),
    *(
        scalar(f"s_bcnt1_i32_b{b}", f"i32 {{scc}} = b{b}", _tested(lambda o, a, b=b: to_32(o, o.ctpop(a), b), 32))
        for b in _WIDTHS
    ),
    *(
        scalar(
            f"s_bcnt0_i32_b{b}", f"i32 {{scc}} = b{b}", _tested(lambda o, a, b=b: to_32(o, o.ctpop(o.not_(a)), b), 32)
        )
        for b in _WIDTHS
    ),
    *(
        scalar(
            f"s_wqm_b{b}",
            f"b{b} {{scc}} = b{b}",
            _tested(lambda o, a, b=b: o.mul(quad_any(o, a, b), o.const(15, b)), b),
        )
        for b in _WIDTHS
    ),
    *(
        scalar(
            f"s_quadmask_b{b}",
            f"b{b} {{scc}} = b{b}",
            _tested(lambda o, a, b=b: compact_quads(o, quad_any(o, a, b), b), b),
        )
        for b in _WIDTHS
    ),
    scalar("s_bitreplicate_b64_b32", "b64 = b32", lambda o, a: replicate_bits(o, a)),
    # narrow values
    scalar("s_sext_i32_i8", "i32 = i32", lambda o, a: o.sext(o.trunc(a, 8), 32)),
    scalar("s_sext_i32_i16", "i32 = i32", lambda o, a: o.sext(o.trunc(a, 16), 32)),
    *(
        scalar(
            f"s_pack_{x}{y}_b32_b16",
            "b32 = b32, b32",
            lambda o, a, b, x=x, y=y: pair(o, half(o, a, "lh".index(x)), half(o, b, "lh".index(y)), 16),
        )
        for x, y in ("ll", "lh", "hh")
    ),
    # comparisons
    *(
        scalar(f"s_cmp_{name}_{kind}", f"{{scc}} = {kind}, {kind}", lambda o, a, b, p=predicate: o.icmp(p, a, b))
        for name, kind, predicate in _COMPARE
    ),
    scalar("s_cmp_eq_u64", "{scc} = u64, u64", lambda o, a, b: o.icmp("eq", a, b)),
    scalar("s_cmp_lg_u64", "{scc} = u64, u64", lambda o, a, b: o.icmp("ne", a, b)),
    *(
        scalar(
            f"s_cmpk_{name}_{kind}",
            f"{{scc}} = {kind}, imm",
            lambda o, a, k, p=predicate, extend=_k if kind == "i32" else _ku: o.icmp(p, a, extend(o, k)),
        )
        for name, kind, predicate in _COMPARE
    ),
)

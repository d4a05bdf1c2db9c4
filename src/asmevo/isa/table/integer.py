"""VALU opcodes on integers and bits. Sources: CDNA3 ISA, VOP1, VOP2, VOP3, VOPC and VOP3P."""

from __future__ import annotations

from asmevo.isa.algebra import Algebra, Value
from asmevo.isa.compose import (
    abs_difference,
    add_carry,
    bit_field,
    dot,
    first_one,
    half,
    i24,
    leading_sign_bits,
    leading_zeros,
    lerp_u8,
    low_mask,
    median,
    mul_high,
    nearest,
    pair,
    permute_bytes,
    product,
    sad_u8,
    sad_u16,
    sub_borrow,
    u24,
)
from asmevo.isa.row import Row
from asmevo.isa.table.build import Meaning, lane

_LOGIC: dict[str, Meaning] = {
    "and": lambda o, a, b: o.and_(a, b),
    "or": lambda o, a, b: o.or_(a, b),
    "xor": lambda o, a, b: o.xor(a, b),
    "xnor": lambda o, a, b: o.not_(o.xor(a, b)),
}
_SIGN = {"i": "s", "u": "u"}
_COMPARE = {"lt": "lt", "eq": "eq", "le": "le", "gt": "gt", "ne": "ne", "ge": "ge"}


def _predicate(name: str, sign: str) -> str:
    return name if name in ("eq", "ne") else _SIGN[sign] + name


def _compares(prefix: str, defs: str, *, both: bool) -> tuple[Row, ...]:
    """`v_cmp_*` (one mask) or `v_cmpx_*` (the mask and EXEC) on integers; inactive lanes give 0 in the masks."""

    def meaning(predicate: str) -> Meaning:
        def compare(o: Algebra, a: Value, b: Value) -> Value:
            answer = o.icmp(predicate, a, b)
            return (answer, answer) if both else answer

        return compare

    def constant(value: int) -> Meaning:
        def compare(o: Algebra, a: Value, b: Value) -> Value:
            answer = o.const(value, 1)
            return (answer, answer) if both else answer

        return compare

    return tuple(
        lane(f"{prefix}_{name}_{sign}{bits}", f"{defs} = {sign}{bits}, {sign}{bits}", f, latency=_speed(bits))
        for bits in (16, 32, 64)
        for sign in "iu"
        for name, f in (
            *((name, meaning(_predicate(name, sign))) for name in _COMPARE),
            ("f", constant(0)),
            ("t", constant(1)),
        )
    )


def _speed(bits: int) -> str:
    return "valu_64" if bits == 64 else "valu"


def _mad_u64(o: Algebra, a: Value, b: Value, c: Value) -> tuple[Value, Value]:
    """a * b + c of 64 bits, and its unsigned carry."""
    total = o.add(product(o, a, b, signed=False), c)
    return total, o.icmp("ult", total, c)


def _mad_i64(o: Algebra, a: Value, b: Value, c: Value) -> tuple[Value, Value]:
    """a * b + c of 64 bits, and bit 64 of the exact sum."""
    ab = product(o, a, b, signed=True)
    total = o.add(ab, c)
    overflow = o.and_(o.xor(ab, total), o.xor(c, total))
    return total, o.icmp("slt", o.xor(total, overflow), o.const(0, 64))


def _shift_64(operation: str) -> Meaning:
    return lambda o, n, a: getattr(o, operation)(a, o.zext(o.and_(n, o.const(63)), 64))


def _align(o: Algebra, a: Value, b: Value, bits: Value) -> Value:
    """The 32 bits of {a, b} from bit `bits` on."""
    return o.trunc(o.lshr(pair(o, b, a), o.zext(bits, 64)), 32)


def _field(o: Algebra, a: Value, offset: Value, width: Value, *, signed: bool) -> Value:
    five = o.const(31)
    return bit_field(o, a, o.and_(offset, five), o.and_(width, five), 32, signed=signed)


def _saturated_u8_pair(o: Algebra, a: Value) -> Value:
    """Two signed halves clamped to 0..255, as two bytes in 16 bits."""
    bytes_ = [o.trunc(o.smin(o.smax(half(o, a, i), o.const(0, 16)), o.const(255, 16)), 8) for i in (0, 1)]
    return pair(o, bytes_[0], bytes_[1], 8)


ROWS: tuple[Row, ...] = (
    # moves and choice
    lane("v_mov_b32", "b32 = b32", lambda o, a: a),
    lane("v_mov_b64", "b64 = b64", lambda o, a: a, latency="valu_64"),
    lane("v_accvgpr_read_b32", "b32 = b32", lambda o, a: a),
    lane("v_accvgpr_write_b32", "b32 = b32", lambda o, a: a),
    lane("v_accvgpr_mov_b32", "b32 = b32", lambda o, a: a),
    lane("v_swap_b32", "b32 b32 = @0, @1", lambda o, a, b: (b, a)),
    lane("v_cndmask_b32", "b32 = b32, b32, mask", lambda o, a, b, c: o.select(c, b, a)),
    # sums
    lane("v_add_u32", "u32 = u32, u32", lambda o, a, b: o.add(a, b), saturated=nearest("add", "u32")),
    lane("v_sub_u32", "u32 = u32, u32", lambda o, a, b: o.sub(a, b), saturated=nearest("sub", "u32")),
    lane("v_subrev_u32", "u32 = u32, u32", lambda o, a, b: o.sub(b, a), saturated=nearest("subrev", "u32")),
    lane("v_add_i32", "i32 = i32, i32", lambda o, a, b: o.add(a, b), saturated=nearest("add", "i32")),
    lane("v_sub_i32", "i32 = i32, i32", lambda o, a, b: o.sub(a, b), saturated=nearest("sub", "i32")),
    lane("v_add_co_u32", "u32 mask = u32, u32", lambda o, a, b: add_carry(o, a, b)),
    lane("v_sub_co_u32", "u32 mask = u32, u32", lambda o, a, b: sub_borrow(o, a, b)),
    lane("v_subrev_co_u32", "u32 mask = u32, u32", lambda o, a, b: sub_borrow(o, b, a)),
    lane("v_addc_co_u32", "u32 mask = u32, u32, mask", lambda o, a, b, c: add_carry(o, a, b, c)),
    lane("v_subb_co_u32", "u32 mask = u32, u32, mask", lambda o, a, b, c: sub_borrow(o, a, b, c)),
    lane("v_subbrev_co_u32", "u32 mask = u32, u32, mask", lambda o, a, b, c: sub_borrow(o, b, a, c)),
    lane("v_add3_u32", "u32 = u32, u32, u32", lambda o, a, b, c: o.add(o.add(a, b), c)),
    lane("v_lshl_add_u32", "u32 = u32, u32, u32", lambda o, a, n, c: o.add(o.shl(a, n), c)),
    lane("v_add_lshl_u32", "u32 = u32, u32, u32", lambda o, a, b, n: o.shl(o.add(a, b), n)),
    lane(
        "v_lshl_add_u64",
        "u64 = u64, u32, u64",
        lambda o, a, n, c: o.add(o.shl(a, o.zext(o.and_(n, o.const(7)), 64)), c),
        latency="valu_64",
    ),
    lane("v_xad_u32", "u32 = u32, u32, u32", lambda o, a, b, c: o.add(o.xor(a, b), c)),
    # products
    lane("v_mul_lo_u32", "u32 = u32, u32", lambda o, a, b: o.mul(a, b), latency="valu_mul"),
    lane("v_mul_hi_u32", "u32 = u32, u32", lambda o, a, b: mul_high(o, a, b, signed=False), latency="valu_mul"),
    lane("v_mul_hi_i32", "i32 = i32, i32", lambda o, a, b: mul_high(o, a, b, signed=True), latency="valu_mul"),
    lane("v_mul_u32_u24", "u32 = u32, u32", lambda o, a, b: o.mul(u24(o, a), u24(o, b))),
    lane("v_mul_i32_i24", "i32 = i32, i32", lambda o, a, b: o.mul(i24(o, a), i24(o, b))),
    lane("v_mul_hi_u32_u24", "u32 = u32, u32", lambda o, a, b: mul_high(o, u24(o, a), u24(o, b), signed=False)),
    lane("v_mul_hi_i32_i24", "i32 = i32, i32", lambda o, a, b: mul_high(o, i24(o, a), i24(o, b), signed=True)),
    lane("v_mad_u32_u24", "u32 = u32, u32, u32", lambda o, a, b, c: o.add(o.mul(u24(o, a), u24(o, b)), c)),
    lane("v_mad_i32_i24", "i32 = i32, i32, i32", lambda o, a, b, c: o.add(o.mul(i24(o, a), i24(o, b)), c)),
    lane("v_mad_u64_u32", "u64 mask = u32, u32, u64", _mad_u64, latency="valu_mul"),
    lane("v_mad_i64_i32", "i64 mask = i32, i32, i64", _mad_i64, latency="valu_mul"),
    # logic
    *(lane(f"v_{name}_b32", "b32 = b32, b32", meaning) for name, meaning in _LOGIC.items()),
    lane("v_not_b32", "b32 = b32", lambda o, a: o.not_(a)),
    lane("v_or3_b32", "b32 = b32, b32, b32", lambda o, a, b, c: o.or_(o.or_(a, b), c)),
    lane("v_and_or_b32", "b32 = b32, b32, b32", lambda o, a, b, c: o.or_(o.and_(a, b), c)),
    lane("v_lshl_or_b32", "b32 = b32, u32, b32", lambda o, a, n, c: o.or_(o.shl(a, n), c)),
    # shifts and fields
    lane("v_lshlrev_b32", "b32 = u32, b32", lambda o, n, a: o.shl(a, n)),
    lane("v_lshrrev_b32", "b32 = u32, b32", lambda o, n, a: o.lshr(a, n)),
    lane("v_ashrrev_i32", "i32 = u32, i32", lambda o, n, a: o.ashr(a, n)),
    lane("v_lshlrev_b64", "b64 = u32, b64", _shift_64("shl"), latency="valu_64"),
    lane("v_lshrrev_b64", "b64 = u32, b64", _shift_64("lshr"), latency="valu_64"),
    lane("v_ashrrev_i64", "i64 = u32, i64", _shift_64("ashr"), latency="valu_64"),
    lane("v_alignbit_b32", "b32 = b32, b32, u32", lambda o, a, b, n: _align(o, a, b, o.and_(n, o.const(31)))),
    lane(
        "v_alignbyte_b32",
        "b32 = b32, b32, u32",
        lambda o, a, b, n: _align(o, a, b, o.shl(o.and_(n, o.const(3)), o.const(3))),
    ),
    lane("v_bfe_u32", "u32 = u32, u32, u32", lambda o, a, n, w: _field(o, a, n, w, signed=False)),
    lane("v_bfe_i32", "i32 = i32, u32, u32", lambda o, a, n, w: _field(o, a, n, w, signed=True)),
    lane("v_bfi_b32", "b32 = b32, b32, b32", lambda o, m, a, b: o.or_(o.and_(m, a), o.and_(o.not_(m), b))),
    lane("v_bfm_b32", "b32 = u32, u32", lambda o, w, n: o.shl(low_mask(o, o.and_(w, o.const(31)), 32), n)),
    lane("v_perm_b32", "b32 = b32, b32, b32", permute_bytes),
    # bit counting
    lane("v_bfrev_b32", "b32 = b32", lambda o, a: o.bitreverse(a)),
    lane("v_ffbh_u32", "u32 = u32", lambda o, a: leading_zeros(o, a)),
    lane("v_ffbh_i32", "i32 = i32", lambda o, a: leading_sign_bits(o, a)),
    lane("v_ffbl_b32", "u32 = b32", lambda o, a: first_one(o, a)),
    lane("v_bcnt_u32_b32", "u32 = b32, u32", lambda o, a, b: o.add(o.ctpop(a), b)),
    # order
    lane("v_min_u32", "u32 = u32, u32", lambda o, a, b: o.umin(a, b)),
    lane("v_max_u32", "u32 = u32, u32", lambda o, a, b: o.umax(a, b)),
    lane("v_min_i32", "i32 = i32, i32", lambda o, a, b: o.smin(a, b)),
    lane("v_max_i32", "i32 = i32, i32", lambda o, a, b: o.smax(a, b)),
    lane("v_min3_u32", "u32 = u32, u32, u32", lambda o, a, b, c: o.umin(o.umin(a, b), c)),
    lane("v_max3_u32", "u32 = u32, u32, u32", lambda o, a, b, c: o.umax(o.umax(a, b), c)),
    lane("v_med3_u32", "u32 = u32, u32, u32", lambda o, a, b, c: median(o.umin, o.umax, a, b, c)),
    lane("v_min3_i32", "i32 = i32, i32, i32", lambda o, a, b, c: o.smin(o.smin(a, b), c)),
    lane("v_max3_i32", "i32 = i32, i32, i32", lambda o, a, b, c: o.smax(o.smax(a, b), c)),
    lane("v_med3_i32", "i32 = i32, i32, i32", lambda o, a, b, c: median(o.smin, o.smax, a, b, c)),
    *_compares("v_cmp", "mask", both=False),
    *_compares("v_cmpx", "mask {exec}", both=True),
    # bytes and halves inside a register
    lane("v_sad_u8", "u32 = b32, b32, u32", lambda o, a, b, c: sad_u8(o, a, b, c)),
    lane("v_msad_u8", "u32 = b32, b32, u32", lambda o, a, b, c: sad_u8(o, a, b, c, masked=True)),
    lane(
        "v_sad_hi_u8",
        "u32 = b32, b32, u32",
        lambda o, a, b, c: o.add(o.shl(sad_u8(o, a, b, o.const(0)), o.const(16)), c),
    ),
    lane("v_sad_u16", "u32 = b32, b32, u32", lambda o, a, b, c: sad_u16(o, a, b, c)),
    lane("v_sad_u32", "u32 = u32, u32, u32", lambda o, a, b, c: o.add(abs_difference(o, a, b), c)),
    lane("v_lerp_u8", "b32 = b32, b32, b32", lerp_u8),
    lane("v_sat_pk_u8_i16", "u16 = b32", _saturated_u8_pair),
    # dot products
    *(
        lane(
            f"v_dot{32 // bits}_{sign}32_{sign}{bits}",
            "b32 = b32, b32, b32",
            lambda o, a, b, c, bits=bits, sign=sign: dot(o, a, b, c, bits, signed=sign == "i"),
            "dot",
        )
        for sign in "iu"
        for bits in (4, 8, 16)
    ),
    *(
        lane(
            f"v_dot{32 // bits}c_i32_i{bits}",
            "b32 = b32, b32, @0",
            lambda o, a, b, c, bits=bits: dot(o, a, b, c, bits, signed=True),
            "dot",
        )
        for bits in (4, 8, 16)
    ),
)

"""VALU opcodes on 16-bit integers and floats, single and packed. Sources: CDNA3 ISA, VOP1, VOP2, VOP3 and VOP3P.

Most 16-bit results clear the upper half of their register; VOP3-only opcodes leave the other half as it was, tagged
`keeps_half` (LLVM `GCNSubtarget::zeroesHigh16BitsOfDest`, found by experiment there).
"""

from __future__ import annotations

from asmevo.isa.algebra import Algebra, Value
from asmevo.isa.compose import median, nearest
from asmevo.isa.compose_division import DIVISION_16, fixup
from asmevo.isa.compose_float import binary_exponent, fraction, mantissa, median_float
from asmevo.isa.row import Row
from asmevo.isa.table.build import Meaning, lane, packed, trans


def _low_product(o: Algebra, a: Value, b: Value, c: Value) -> Value:
    return o.add(o.mul(a, b), c)


def _widening(o: Algebra, a: Value, b: Value, c: Value, *, signed: bool) -> Value:
    widen = o.sext if signed else o.zext
    return o.add(o.mul(widen(a, 32), widen(b, 32)), c)


def _unfused(o: Algebra, a: Value, b: Value, c: Value) -> Value:
    return o.fadd(o.fmul(a, b), c)


_SUMS: tuple[tuple[str, Meaning], ...] = (
    ("add", lambda o, a, b: o.add(a, b)),
    ("sub", lambda o, a, b: o.sub(a, b)),
)
_INTEGER_3: tuple[tuple[str, str, Meaning], ...] = (
    ("min3", "u16", lambda o, a, b, c: o.umin(o.umin(a, b), c)),
    ("max3", "u16", lambda o, a, b, c: o.umax(o.umax(a, b), c)),
    ("med3", "u16", lambda o, a, b, c: median(o.umin, o.umax, a, b, c)),
    ("min3", "i16", lambda o, a, b, c: o.smin(o.smin(a, b), c)),
    ("max3", "i16", lambda o, a, b, c: o.smax(o.smax(a, b), c)),
    ("med3", "i16", lambda o, a, b, c: median(o.smin, o.smax, a, b, c)),
    ("min3", "f16", lambda o, a, b, c: o.fmin(o.fmin(a, b), c)),
    ("max3", "f16", lambda o, a, b, c: o.fmax(o.fmax(a, b), c)),
    ("med3", "f16", median_float),
    ("mad", "u16", _low_product),
    ("mad", "i16", _low_product),
    ("fma", "f16", lambda o, a, b, c: o.fma(a, b, c)),
)

ROWS: tuple[Row, ...] = (
    # integers
    lane("v_add_u16", "u16 = u16, u16", lambda o, a, b: o.add(a, b), saturated=nearest("add", "u16")),
    lane("v_sub_u16", "u16 = u16, u16", lambda o, a, b: o.sub(a, b), saturated=nearest("sub", "u16")),
    lane("v_subrev_u16", "u16 = u16, u16", lambda o, a, b: o.sub(b, a), saturated=nearest("subrev", "u16")),
    lane("v_add_i16", "i16 = i16, i16", lambda o, a, b: o.add(a, b), "keeps_half", saturated=nearest("add", "i16")),
    lane("v_sub_i16", "i16 = i16, i16", lambda o, a, b: o.sub(a, b), "keeps_half", saturated=nearest("sub", "i16")),
    lane("v_mul_lo_u16", "u16 = u16, u16", lambda o, a, b: o.mul(a, b)),
    lane("v_lshlrev_b16", "u16 = u16, u16", lambda o, n, a: o.shl(a, n)),
    lane("v_lshrrev_b16", "u16 = u16, u16", lambda o, n, a: o.lshr(a, n)),
    lane("v_ashrrev_i16", "i16 = u16, i16", lambda o, n, a: o.ashr(a, n)),
    lane("v_min_u16", "u16 = u16, u16", lambda o, a, b: o.umin(a, b)),
    lane("v_max_u16", "u16 = u16, u16", lambda o, a, b: o.umax(a, b)),
    lane("v_min_i16", "i16 = i16, i16", lambda o, a, b: o.smin(a, b)),
    lane("v_max_i16", "i16 = i16, i16", lambda o, a, b: o.smax(a, b)),
    *(lane(f"v_{name}_{t}", f"{t} = {t}, {t}, {t}", meaning, "keeps_half") for name, t, meaning in _INTEGER_3),
    lane("v_mad_legacy_u16", "u16 = u16, u16, u16", _low_product),
    lane("v_mad_legacy_i16", "i16 = i16, i16, i16", _low_product),
    lane("v_mad_u32_u16", "u32 = u16, u16, u32", lambda o, a, b, c: _widening(o, a, b, c, signed=False)),
    lane("v_mad_i32_i16", "i32 = i16, i16, i32", lambda o, a, b, c: _widening(o, a, b, c, signed=True)),
    # floats
    lane("v_add_f16", "f16 = f16, f16", lambda o, a, b: o.fadd(a, b)),
    lane("v_sub_f16", "f16 = f16, f16", lambda o, a, b: o.fsub(a, b)),
    lane("v_subrev_f16", "f16 = f16, f16", lambda o, a, b: o.fsub(b, a)),
    lane("v_mul_f16", "f16 = f16, f16", lambda o, a, b: o.fmul(a, b)),
    lane("v_mac_f16", "f16 = f16, f16, @0", _unfused),
    lane("v_madmk_f16", "f16 = f16, f16, f16", _unfused),
    lane("v_madak_f16", "f16 = f16, f16, f16", _unfused),
    lane("v_mad_f16", "f16 = f16, f16, f16", _unfused, "keeps_half"),
    lane("v_mad_legacy_f16", "f16 = f16, f16, f16", _unfused),
    *(
        lane(f"v_div_fixup{kind}_f16", "f16 = f16, f16, f16", lambda o, a, b, c: fixup(o, DIVISION_16, a, b, c), *tags)
        for kind, tags in (("", ("keeps_half",)), ("_legacy", ()))
    ),
    lane("v_fma_legacy_f16", "f16 = f16, f16, f16", lambda o, a, b, c: o.fma(a, b, c)),
    lane("v_min_f16", "f16 = f16, f16", lambda o, a, b: o.fmin(a, b)),
    lane("v_max_f16", "f16 = f16, f16", lambda o, a, b: o.fmax(a, b)),
    lane("v_floor_f16", "f16 = f16", lambda o, a: o.ffloor(a)),
    lane("v_ceil_f16", "f16 = f16", lambda o, a: o.fceil(a)),
    lane("v_trunc_f16", "f16 = f16", lambda o, a: o.ftrunc(a)),
    lane("v_rndne_f16", "f16 = f16", lambda o, a: o.frint(a)),
    lane("v_fract_f16", "f16 = f16", lambda o, a: fraction(o, a, 16)),
    lane("v_ldexp_f16", "f16 = f16, i16", lambda o, a, n: o.ldexp(a, o.sext(n, 32))),
    lane("v_frexp_exp_i16_f16", "i16 = f16", lambda o, a: binary_exponent(o, a, 16)),
    lane("v_frexp_mant_f16", "f16 = f16", lambda o, a: mantissa(o, a, 16)),
    lane("v_cvt_f16_u16", "f16 = u16", lambda o, a: o.uitofp(a, 16)),
    lane("v_cvt_f16_i16", "f16 = i16", lambda o, a: o.sitofp(a, 16)),
    lane("v_cvt_u16_f16", "u16 = f16", lambda o, a: o.fptoui(o.ftrunc(a), 16)),
    lane("v_cvt_i16_f16", "i16 = f16", lambda o, a: o.fptosi(o.ftrunc(a), 16)),
    trans("v_exp_f16", "f16 = f16", lambda o, a: o.exp2(a)),
    trans("v_log_f16", "f16 = f16", lambda o, a: o.log2(a)),
    trans("v_rcp_f16", "f16 = f16", lambda o, a: o.fdiv(o.fconst(1.0, 16), a)),
    trans("v_rsq_f16", "f16 = f16", lambda o, a: o.fdiv(o.fconst(1.0, 16), o.sqrt(a))),
    trans("v_sqrt_f16", "f16 = f16", lambda o, a: o.sqrt(a)),
    trans("v_sin_f16", "f16 = f16", lambda o, a: o.sin_turns(a)),
    trans("v_cos_f16", "f16 = f16", lambda o, a: o.cos_turns(a)),
    # packed halves
    *(
        packed(f"v_pk_{name}_{t}", "b32 = b32, b32", meaning, element=t, saturated=nearest(name, t))
        for name, meaning in _SUMS
        for t in ("u16", "i16")
    ),
    packed("v_pk_mul_lo_u16", "b32 = b32, b32", lambda o, a, b: o.mul(a, b), element="u16"),
    packed("v_pk_mad_u16", "b32 = b32, b32, b32", _low_product, element="u16"),
    packed("v_pk_mad_i16", "b32 = b32, b32, b32", _low_product, element="i16"),
    packed("v_pk_lshlrev_b16", "b32 = b32, b32", lambda o, n, a: o.shl(a, n), element="u16"),
    packed("v_pk_lshrrev_b16", "b32 = b32, b32", lambda o, n, a: o.lshr(a, n), element="u16"),
    packed("v_pk_ashrrev_i16", "b32 = b32, b32", lambda o, n, a: o.ashr(a, n), element="i16"),
    packed("v_pk_min_u16", "b32 = b32, b32", lambda o, a, b: o.umin(a, b), element="u16"),
    packed("v_pk_max_u16", "b32 = b32, b32", lambda o, a, b: o.umax(a, b), element="u16"),
    packed("v_pk_min_i16", "b32 = b32, b32", lambda o, a, b: o.smin(a, b), element="i16"),
    packed("v_pk_max_i16", "b32 = b32, b32", lambda o, a, b: o.smax(a, b), element="i16"),
    packed("v_pk_add_f16", "b32 = b32, b32", lambda o, a, b: o.fadd(a, b), element="f16"),
    packed("v_pk_mul_f16", "b32 = b32, b32", lambda o, a, b: o.fmul(a, b), element="f16"),
    packed("v_pk_fma_f16", "b32 = b32, b32, b32", lambda o, a, b, c: o.fma(a, b, c), element="f16"),
    packed("v_pk_fmac_f16", "b32 = b32, b32, @0", lambda o, a, b, c: o.fma(a, b, c), element="f16"),
    packed("v_pk_min_f16", "b32 = b32, b32", lambda o, a, b: o.fmin(a, b), element="f16"),
    packed("v_pk_max_f16", "b32 = b32, b32", lambda o, a, b: o.fmax(a, b), element="f16"),
)

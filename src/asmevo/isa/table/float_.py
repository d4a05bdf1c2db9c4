"""VALU opcodes on floats. Sources: CDNA3 ISA, VOP1, VOP2, VOP3, VOPC and VOP3P.

Fused multiply-add rounds once. Transcendentals are accurate here; the hardware's last bits differ.
"""

from __future__ import annotations

from collections.abc import Callable

from asmevo.isa.algebra import Algebra, Value
from asmevo.isa.compose import half, to_32
from asmevo.isa.compose_division import DIVISION_32, DIVISION_64, fixup, fused_step, scale
from asmevo.isa.compose_float import (
    binary_exponent,
    class_test,
    flush,
    fraction,
    mantissa,
    median_float,
    multiply_legacy,
    reciprocal,
    reciprocal_root,
)
from asmevo.isa.row import Row
from asmevo.isa.table.build import Meaning, lane, packed, trans

_PREDICATES = {
    "lt": "olt", "eq": "oeq", "le": "ole", "gt": "ogt", "lg": "one", "ge": "oge", "o": "ord", "u": "uno",
    "nge": "ult", "nlg": "ueq", "ngt": "ule", "nle": "ugt", "neq": "une", "nlt": "uge",
}  # fmt: skip
"""Comparison in a mnemonic to the algebra's predicate."""


def _speed(bits: int) -> str:
    return "valu_64" if bits == 64 else "valu"


def _compares(prefix: str, defs: str, *, both: bool) -> tuple[Row, ...]:
    """`v_cmp_*` (one mask) or `v_cmpx_*` (the mask and EXEC) on floats; inactive lanes give 0 in the masks."""

    def answer(result: Value) -> Value:
        return (result, result) if both else result

    def meanings(bits: int) -> dict[str, Meaning]:
        table: dict[str, Meaning] = {
            name: lambda o, a, b, p=predicate: answer(o.fcmp(p, a, b)) for name, predicate in _PREDICATES.items()
        }
        table["f"] = lambda o, a, b: answer(o.const(0, 1))
        table["tru"] = lambda o, a, b: answer(o.const(1, 1))
        return table

    return (
        *(
            lane(f"{prefix}_{name}_f{bits}", f"{defs} = f{bits}, f{bits}", meaning, latency=_speed(bits))
            for bits in (16, 32, 64)
            for name, meaning in meanings(bits).items()
        ),
        *(
            lane(
                f"{prefix}_class_f{bits}",
                f"{defs} = f{bits}, {'u16' if bits == 16 else 'u32'}",
                lambda o, a, m, bits=bits: answer(class_test(o, a, o.zext(m, 32) if bits == 16 else m, bits)),
                latency=_speed(bits),
            )
            for bits in (16, 32, 64)
        ),
    )


def _fma_f16(o: Algebra, a: Value, b: Value, c: Value) -> Value:
    return o.fpcast(o.fma(a, b, c), 16)


def _dot_f16(o: Algebra, a: Value, b: Value, c: Value) -> Value:
    """c + a.low * b.low + a.high * b.high with the products exact in f32 and each sum rounded."""
    for i in (0, 1):
        x, y = (o.fpcast(o.as_float(half(o, v, i)), 32) for v in (a, b))
        c = o.fadd(c, o.fmul(x, y))
    return c


_ROUNDINGS: dict[str, Meaning] = {
    "floor": lambda o, a: o.ffloor(a),
    "ceil": lambda o, a: o.fceil(a),
    "trunc": lambda o, a: o.ftrunc(a),
    "rndne": lambda o, a: o.frint(a),
}
_FMA: Callable[[Algebra, Value, Value, Value], Value] = lambda o, a, b, c: o.fma(a, b, c)  # noqa: E731

ROWS: tuple[Row, ...] = (
    # sums and products
    lane("v_add_f32", "f32 = f32, f32", lambda o, a, b: o.fadd(a, b)),
    lane("v_sub_f32", "f32 = f32, f32", lambda o, a, b: o.fsub(a, b)),
    lane("v_subrev_f32", "f32 = f32, f32", lambda o, a, b: o.fsub(b, a)),
    lane("v_mul_f32", "f32 = f32, f32", lambda o, a, b: o.fmul(a, b)),
    lane("v_mul_legacy_f32", "f32 = f32, f32", multiply_legacy),
    lane("v_fma_f32", "f32 = f32, f32, f32", _FMA),
    lane("v_fmac_f32", "f32 = f32, f32, @0", _FMA),
    lane("v_fmamk_f32", "f32 = f32, f32, f32", _FMA),
    lane("v_fmaak_f32", "f32 = f32, f32, f32", _FMA),
    lane("v_min_f32", "f32 = f32, f32", lambda o, a, b: o.fmin(a, b)),
    lane("v_max_f32", "f32 = f32, f32", lambda o, a, b: o.fmax(a, b)),
    lane("v_min3_f32", "f32 = f32, f32, f32", lambda o, a, b, c: o.fmin(o.fmin(a, b), c)),
    lane("v_max3_f32", "f32 = f32, f32, f32", lambda o, a, b, c: o.fmax(o.fmax(a, b), c)),
    lane("v_med3_f32", "f32 = f32, f32, f32", median_float),
    # packed pairs
    packed("v_pk_add_f32", "b64 = b64, b64", lambda o, a, b: o.fadd(a, b), element="f32", latency="valu_pk"),
    packed("v_pk_mul_f32", "b64 = b64, b64", lambda o, a, b: o.fmul(a, b), element="f32", latency="valu_pk"),
    packed("v_pk_fma_f32", "b64 = b64, b64, b64", _FMA, element="f32", latency="valu_pk"),
    packed("v_pk_mov_b32", "b64 = b64, b64", lambda o, a, b: a, element="b32", kind="mov", latency="valu_pk"),
    # double precision
    lane("v_add_f64", "f64 = f64, f64", lambda o, a, b: o.fadd(a, b), latency="valu_64"),
    lane("v_mul_f64", "f64 = f64, f64", lambda o, a, b: o.fmul(a, b), latency="valu_64"),
    lane("v_fma_f64", "f64 = f64, f64, f64", _FMA, "fma64", latency="valu_64"),
    lane("v_fmac_f64", "f64 = f64, f64, @0", _FMA, "fma64", latency="valu_64"),
    lane("v_min_f64", "f64 = f64, f64", lambda o, a, b: o.fmin(a, b), latency="valu_64"),
    lane("v_max_f64", "f64 = f64, f64", lambda o, a, b: o.fmax(a, b), latency="valu_64"),
    # rounding to integers
    *(
        lane(f"v_{name}_f{bits}", f"f{bits} = f{bits}", meaning, latency=_speed(bits))
        for name, meaning in _ROUNDINGS.items()
        for bits in (32, 64)
    ),
    *(lane(f"v_fract_f{b}", f"f{b} = f{b}", lambda o, a, b=b: fraction(o, a, b), latency=_speed(b)) for b in (32, 64)),
    # scale
    lane("v_ldexp_f32", "f32 = f32, i32", lambda o, a, n: o.ldexp(a, n)),
    lane("v_ldexp_f64", "f64 = f64, i32", lambda o, a, n: o.ldexp(a, n), latency="valu_64"),
    *(
        row
        for bits in (32, 64)
        for row in (
            lane(
                f"v_frexp_exp_i32_f{bits}",
                f"i32 = f{bits}",
                lambda o, a, bits=bits: to_32(o, binary_exponent(o, a, bits), bits),
                latency=_speed(bits),
            ),
            lane(
                f"v_frexp_mant_f{bits}",
                f"f{bits} = f{bits}",
                lambda o, a, bits=bits: mantissa(o, a, bits),
                latency=_speed(bits),
            ),
        )
    ),
    # division steps
    *(
        row
        for bits, d in ((32, DIVISION_32), (64, DIVISION_64))
        for row in (
            lane(
                f"v_div_scale_f{bits}",
                f"f{bits} mask = f{bits}, f{bits}, f{bits}",
                lambda o, a, b, c, d=d: scale(o, d, a, b, c),
                latency=_speed(bits),
            ),
            lane(
                f"v_div_fmas_f{bits}",
                f"f{bits} = f{bits}, f{bits}, f{bits}, {{vcc}}",
                lambda o, a, b, c, flag, d=d: fused_step(o, d, a, b, c, flag),
                "div_fmas",
                latency=_speed(bits),
            ),
            lane(
                f"v_div_fixup_f{bits}",
                f"f{bits} = f{bits}, f{bits}, f{bits}",
                lambda o, a, b, c, d=d: fixup(o, d, a, b, c),
                latency=_speed(bits),
            ),
        )
    ),
    # mixed precision and dot products
    packed("v_fma_mix_f32", "f32 = f32, f32, f32", _FMA, element="f32", kind="mix"),
    packed("v_fma_mixlo_f16", "f16 = f32, f32, f32", _fma_f16, "keeps_half", element="f32", kind="mix"),
    packed("v_fma_mixhi_f16", "f16 = f32, f32, f32", _fma_f16, "high_half", element="f32", kind="mix"),
    lane("v_dot2_f32_f16", "f32 = b32, b32, f32", _dot_f16, "dot"),
    lane("v_dot2c_f32_f16", "f32 = b32, b32, @0", _dot_f16, "dot"),
    # transcendentals; f32 forms take and give no denormals
    trans("v_exp_f32", "f32 = f32", lambda o, a: flush(o, o.exp2(a))),
    trans("v_log_f32", "f32 = f32", lambda o, a: o.log2(flush(o, a))),
    trans("v_exp_legacy_f32", "f32 = f32", lambda o, a: flush(o, o.exp2(a))),
    trans("v_log_legacy_f32", "f32 = f32", lambda o, a: o.log2(flush(o, a))),
    trans("v_rcp_f32", "f32 = f32", reciprocal),
    trans("v_rcp_iflag_f32", "f32 = f32", reciprocal),
    trans("v_rsq_f32", "f32 = f32", reciprocal_root),
    trans("v_sqrt_f32", "f32 = f32", lambda o, a: o.sqrt(flush(o, a))),
    trans("v_sin_f32", "f32 = f32", lambda o, a: o.sin_turns(a)),
    trans("v_cos_f32", "f32 = f32", lambda o, a: o.cos_turns(a)),
    trans("v_rcp_f64", "f64 = f64", lambda o, a: o.fdiv(o.fconst(1.0, 64), a), latency="valu_trans64"),
    trans("v_rsq_f64", "f64 = f64", lambda o, a: o.fdiv(o.fconst(1.0, 64), o.sqrt(a)), latency="valu_trans64"),
    trans("v_sqrt_f64", "f64 = f64", lambda o, a: o.sqrt(a), latency="valu_trans64"),
    *_compares("v_cmp", "mask", both=False),
    *_compares("v_cmpx", "mask {exec}", both=True),
)

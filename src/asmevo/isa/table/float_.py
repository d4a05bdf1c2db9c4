"""VALU opcodes on floats. Sources: CDNA3 ISA, VOP1, VOP2, VOP3, VOPC and VOP3P.

Fused multiply-add rounds once. Transcendentals are accurate here; the hardware's last bits differ.
"""

from __future__ import annotations

from asmevo.isa.algebra import Value
from asmevo.isa.compose_float import (
    class_test,
    flush,
    fraction,
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


_FMA: Meaning = lambda o, a, b, c: o.fma(a, b, c)  # noqa: E731

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
        for name, meaning in (
            ("floor", lambda o, a: o.ffloor(a)),
            ("ceil", lambda o, a: o.fceil(a)),
            ("trunc", lambda o, a: o.ftrunc(a)),
            ("rndne", lambda o, a: o.frint(a)),
            ("fract", fraction),
        )
        for bits in (32, 64)
    ),
    # scale
    lane("v_ldexp_f32", "f32 = f32, i32", lambda o, a, n: o.ldexp(a, n)),
    lane("v_ldexp_f64", "f64 = f64, i32", lambda o, a, n: o.ldexp(a, n), latency="valu_64"),
    # transcendentals; f32 forms take and give no denormals
    trans("v_exp_f32", "f32 = f32", lambda o, a: flush(o, o.exp2(a))),
    trans("v_log_f32", "f32 = f32", lambda o, a: o.log2(flush(o, a))),
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

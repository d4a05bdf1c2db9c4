"""Conversions. Sources: CDNA3 ISA, VOP1 and VOP3; LLVM `SISchedule.td` for their rate.

Conversions between f32 and integers run at a quarter of the rate of plain operations, in class `valu_cvt`.
"""

from __future__ import annotations

from asmevo.isa.compose import byte, half, pair, saturate
from asmevo.isa.compose_float import (
    BF8,
    FP8,
    fp8_pair,
    from_fp8,
    from_fp8_pair,
    pack_f16_toward_zero,
    signed_fourth_bits,
)
from asmevo.isa.compose_media import to_fp8_stochastic
from asmevo.isa.row import Row
from asmevo.isa.table.build import Meaning, lane


def _cvt(name: str, operands: str, meaning: Meaning, *tags: str) -> Row:
    return lane(name, operands, meaning, *tags, latency="valu_cvt")


ROWS: tuple[Row, ...] = (
    # integers and f32
    _cvt("v_cvt_f32_i32", "f32 = i32", lambda o, a: o.sitofp(a)),
    _cvt("v_cvt_f32_u32", "f32 = u32", lambda o, a: o.uitofp(a)),
    _cvt("v_cvt_i32_f32", "i32 = f32", lambda o, a: o.fptosi(o.ftrunc(a))),
    _cvt("v_cvt_u32_f32", "u32 = f32", lambda o, a: o.fptoui(o.ftrunc(a))),
    _cvt("v_cvt_rpi_i32_f32", "i32 = f32", lambda o, a: o.fptosi(o.ffloor(o.fadd(a, o.fconst(0.5))))),
    _cvt("v_cvt_flr_i32_f32", "i32 = f32", lambda o, a: o.fptosi(o.ffloor(a))),
    *(_cvt(f"v_cvt_f32_ubyte{n}", "f32 = b32", lambda o, a, n=n: o.uitofp(byte(o, a, n))) for n in range(4)),
    _cvt("v_cvt_off_f32_i4", "f32 = b32", signed_fourth_bits),
    # f64
    _cvt("v_cvt_f64_i32", "f64 = i32", lambda o, a: o.sitofp(a, 64)),
    _cvt("v_cvt_f64_u32", "f64 = u32", lambda o, a: o.uitofp(a, 64)),
    _cvt("v_cvt_i32_f64", "i32 = f64", lambda o, a: o.fptosi(o.ftrunc(a))),
    _cvt("v_cvt_u32_f64", "u32 = f64", lambda o, a: o.fptoui(o.ftrunc(a))),
    _cvt("v_cvt_f32_f64", "f32 = f64", lambda o, a: o.fpcast(a, 32)),
    _cvt("v_cvt_f64_f32", "f64 = f32", lambda o, a: o.fpcast(a, 64)),
    # f16
    _cvt("v_cvt_f16_f32", "f16 = f32", lambda o, a: o.fpcast(a, 16)),
    _cvt("v_cvt_f32_f16", "f32 = f16", lambda o, a: o.fpcast(a, 32)),
    _cvt("v_cvt_pkrtz_f16_f32", "b32 = f32, f32", pack_f16_toward_zero),
    lane("v_pack_b32_f16", "b32 = f16, f16", lambda o, a, b: pair(o, o.as_int(a), o.as_int(b), 16)),
    # packed integers
    lane(
        "v_cvt_pk_i16_i32",
        "b32 = i32, i32",
        lambda o, a, b: pair(
            o, half(o, saturate(o, a, -0x8000, 0x7FFF), 0), half(o, saturate(o, b, -0x8000, 0x7FFF), 0), 16
        ),
    ),
    lane(
        "v_cvt_pk_u16_u32",
        "b32 = u32, u32",
        lambda o, a, b: pair(o, half(o, o.umin(a, o.const(0xFFFF)), 0), half(o, o.umin(b, o.const(0xFFFF)), 0), 16),
    ),
    # 8-bit floats: the source byte or half is chosen by SDWA, the destination half by op_sel
    *(
        row
        for name, form in (("fp8", FP8), ("bf8", BF8))
        for row in (
            _cvt(f"v_cvt_f32_{name}", "f32 = u8", lambda o, a, form=form: from_fp8(o, a, form)),
            _cvt(f"v_cvt_pk_f32_{name}", "b64 = u16", lambda o, a, form=form: from_fp8_pair(o, a, form)),
            _cvt(
                f"v_cvt_pk_{name}_f32",
                "u16 = f32, f32",
                lambda o, a, b, form=form: fp8_pair(o, a, b, form),
                "keeps_half",
                "fp16_ovfl",
            ),
            _cvt(
                f"v_cvt_sr_{name}_f32",
                "u8 = f32, b32",
                lambda o, a, seed, form=form: to_fp8_stochastic(o, a, seed, form),
                "keeps_byte",
                "fp16_ovfl",
            ),
        )
    ),
)

"""VALU opcodes for graphics and video. Sources: CDNA3 ISA, VOP1 and VOP3; RDNA3 ISA for the cube maps.

Conversions that the ISA documents name without a rule are in the fidelity ledger of `asmevo.sim`.
"""

from __future__ import annotations

from asmevo.isa.compose_media import (
    cube_axis,
    cube_face,
    cube_s,
    cube_t,
    normalised,
    normalised_pair,
    reduction_segment,
    sad_quads,
    sad_words,
    with_byte,
)
from asmevo.isa.row import Row
from asmevo.isa.table.build import cross, lane

ROWS: tuple[Row, ...] = (
    *(
        lane(f"v_cube{name}_f32", "f32 = f32, f32, f32", meaning)
        for name, meaning in (("id", cube_face), ("sc", cube_s), ("tc", cube_t), ("ma", cube_axis))
    ),
    lane("v_qsad_pk_u16_u8", "b64 = b64, b32, b64", lambda o, a, b, c: sad_quads(o, a, b, c, masked=False)),
    lane("v_mqsad_pk_u16_u8", "b64 = b64, b32, b64", lambda o, a, b, c: sad_quads(o, a, b, c, masked=True)),
    lane("v_mqsad_u32_u8", "b128 = b64, b32, b128", lambda o, a, b, c: sad_words(o, a, b, c)),
    *(
        row
        for sign, signed in (("i", True), ("u", False))
        for row in (
            lane(
                f"v_cvt_norm_{sign}16_f16",
                f"{sign}16 = f16",
                lambda o, a, signed=signed: normalised(o, a, signed=signed),
                latency="valu_cvt",
            ),
            *(
                lane(
                    f"v_cvt_pknorm_{sign}16_f{bits}",
                    f"b32 = f{bits}, f{bits}",
                    lambda o, a, b, signed=signed: normalised_pair(o, a, b, signed=signed),
                    latency="valu_cvt",
                )
                for bits in (16, 32)
            ),
        )
    ),
    lane("v_cvt_pk_u8_f32", "b32 = f32, u32, b32", with_byte, latency="valu_cvt"),
    lane("v_cvt_pkaccum_u8_f32", "b32 = f32, u32, @0", with_byte, latency="valu_cvt"),
    lane("v_trig_preop_f64", "f64 = f64, u32", reduction_segment, latency="valu_64"),
    # a table of the rasteriser that no document gives
    cross("v_screen_partition_4se_b32", "b32 = b32", "screen_partition"),
)

"""A correctly rounded f32 division as compilers write it."""

from __future__ import annotations

DIVISION = """
    v_div_scale_f32 v5, s[8:9], {d}, {d}, {n}
    v_rcp_f32_e32 v6, v5
    v_div_scale_f32 v7, vcc, {n}, {d}, {n}
    v_fma_f32 v8, -v5, v6, 1.0
    v_fmac_f32_e32 v6, v8, v6
    v_mul_f32_e32 v8, v7, v6
    v_fma_f32 v9, -v5, v8, v7
    v_fmac_f32_e32 v8, v9, v6
    v_fma_f32 v9, -v5, v8, v7
    v_div_fmas_f32 v9, v9, v6, v8
    v_div_fixup_f32 v{out}, v9, {d}, {n}
"""
"""v[out] = n / d, to be formatted with the three; v5 to v9, s[8:9] and vcc are overwritten."""

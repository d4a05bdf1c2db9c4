"""Vector forms that emission treats apart, in the simulator against the exact interpreter: wide values, tied halves,
bytes of a register, literals."""

from __future__ import annotations

import numpy as np
import pytest

from asmevo.isa import LaneRow, rows
from asmevo.isa.evaluate import evaluate
from sim_kernels import lanes


def evaluated(name: str, *uses: int) -> int:
    row = rows()[name]
    assert isinstance(row, LaneRow)
    return evaluate(row, *uses)[0]


def words(count: int, seed: int) -> list[np.ndarray]:
    return list(np.random.default_rng(seed).integers(0, 1 << 32, (count, 64), dtype=np.uint32))


def joined(*parts: np.ndarray) -> list[int]:
    return [sum(int(p[i]) << (32 * n) for n, p in enumerate(parts)) for i in range(64)]


def test_values_of_128_bits() -> None:
    a = words(7, 1)
    got = lanes("v_mqsad_u32_u8 v[40:43], v[10:11], v12, v[14:17]", [*a[:3], a[0], *a[3:]], 4)
    uses = zip(joined(*a[:2]), joined(a[2]), joined(*a[3:]), strict=True)
    assert joined(*got) == [evaluated("v_mqsad_u32_u8", *u) for u in uses]


def test_values_of_64_bits_in_three_places() -> None:
    a = words(5, 2)
    got = lanes("v_qsad_pk_u16_u8 v[40:41], v[10:11], v12, v[14:15]", [*a[:3], a[0], *a[3:]], 2)
    uses = zip(joined(*a[:2]), joined(a[2]), joined(*a[3:]), strict=True)
    assert joined(*got) == [evaluated("v_qsad_pk_u16_u8", *u) for u in uses]


def test_packed_halves_onto_the_destination() -> None:
    g = np.random.default_rng(3)
    a, b, c = (g.integers(-32, 33, 128).astype(np.float16) for _ in range(3))
    rows_in = [v.view(np.uint32) for v in (a, b, c)]
    (got,) = lanes("v_mov_b32_e32 v40, v12\nv_pk_fmac_f16 v40, v10, v11", rows_in)
    np.testing.assert_array_equal(got.view(np.float16), a * b + c)


@pytest.mark.parametrize("byte", range(4))
def test_stochastic_conversion_into_one_byte(byte: int) -> None:
    (seed,) = words(1, 4)
    a = (np.random.default_rng(5).standard_normal(64) * 4).astype(np.float32)
    code = f"v_mov_b32_e32 v40, 0x11223344\nv_cvt_sr_fp8_f32 v40, v10, v11 op_sel:[0,0,{byte & 1},{byte >> 1}]"
    (got,) = lanes(code, [a, seed])
    for i, word in enumerate(got.tolist()):
        kept = bytearray((0x11223344).to_bytes(4, "little"))
        kept[byte] = evaluated("v_cvt_sr_fp8_f32", int(a.view(np.uint32)[i]), int(seed[i]))
        assert word == int.from_bytes(kept, "little"), i


def test_half_constants_and_accumulation() -> None:
    g = np.random.default_rng(6)
    a, b = (g.integers(-32, 33, 64).astype(np.float16) for _ in range(2))
    code = """
    v_madmk_f16 v40, v10, 0x4228, v11
    v_madak_f16 v41, v10, v11, 0x4228
    v_mov_b32_e32 v42, v10
    v_mac_f16_e32 v42, v10, v11
    """
    got = lanes(code, [v.view(np.uint16).astype(np.uint32) for v in (a, b)], 3).astype(np.uint16).view(np.float16)
    k = np.uint16(0x4228).view(np.float16)
    np.testing.assert_array_equal(got, [a * k + b, a * b + k, a * b + a])

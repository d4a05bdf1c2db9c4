"""Scalar forms beyond arithmetic: registers by number, stores and atomics, scratch; and LDS for the wave as a whole."""

from __future__ import annotations

import numpy as np
import pytest

from sim_kernels import Image, lanes, run

FIRST = """
    v_and_b32_e32 v0, 0x3ff, v0
    v_lshlrev_b32_e32 v1, 2, v0
"""


def test_sgprs_by_number() -> None:
    code = """
    s_mov_b32 s20, 0x11
    s_mov_b32 s21, 0x22
    s_mov_b32 s22, 0x33
    s_mov_b32 m0, 2
    s_movrels_b32 s30, s20
    s_movrels_b64 s[32:33], s[18:19]
    s_mov_b32 m0, 4
    s_movreld_b32 s20, s21
    s_movreld_b64 s[22:23], s[20:21]
    s_mov_b32 m0, 0x1000
    s_movrels_b32 s31, s20
    """
    names = ("s30", "s32", "s33", "s24", "s26", "s27")
    code += "\n".join(f"v_mov_b32_e32 v{40 + i}, {name}" for i, name in enumerate(names))
    got = lanes(code, outputs=len(names))
    assert got[:, 0].tolist() == [0x33, 0x11, 0x22, 0x22, 0x11, 0x22]


def test_a_mask_is_in_memory_before_it_is_moved_by_number() -> None:
    code = """
    v_and_b32_e32 v2, 0x3ff, v0
    v_cmp_gt_u32_e64 s[20:21], 3, v2
    s_mov_b32 m0, 0
    s_movrels_b64 s[30:31], s[20:21]
    v_mov_b32_e32 v40, s30
    """
    assert lanes(code, outputs=1)[0, 0] == 7


def descriptor(image: Image) -> str:
    """s[8:11] for 1 KiB of the image from byte 2048."""
    image.words(0, 1)[:] = 0
    return """
    s_add_u32 s8, s0, 0x800
    s_addc_u32 s9, s1, 0
    s_movk_i32 s10, 0x400
    s_mov_b32 s11, 0x27000
    """


def test_scalar_buffer_stores_and_atomics() -> None:
    image = Image()
    image.words(2048 + 64, 4)[:] = [10, 20, 30, 40]
    code = (
        descriptor(image)
        + """
    s_mov_b32 s20, 5
    s_mov_b32 s21, 6
    s_mov_b32 s24, 0xaa
    s_mov_b32 s25, 30
    s_buffer_store_dwordx2 s[20:21], s[8:11], 0x10
    s_buffer_atomic_add s20, s[8:11], 0x40 glc
    s_buffer_atomic_umax s21, s[8:11], 0x44
    s_buffer_atomic_cmpswap s[24:25], s[8:11], 0x48 glc
    s_waitcnt lgkmcnt(0)
    s_buffer_store_dword s20, s[8:11], 0x18
    s_buffer_store_dword s24, s[8:11], 0x1c
    s_dcache_wb
    """
    )
    _, execution = run(code, image)
    assert execution.status == "done", execution
    assert image.words(2048 + 16, 4).tolist() == [5, 6, 10, 30]
    assert image.words(2048 + 64, 4).tolist() == [15, 20, 0xAA, 40]


def test_scalar_scratch_counts_its_offset_in_64_bytes() -> None:
    image = Image()
    image.words(2048 + 128, 2)[:] = [7, 8]
    code = """
    s_add_u32 s8, s0, 0x800
    s_addc_u32 s9, s1, 0
    s_scratch_load_dwordx2 s[20:21], s[8:9], 0x2
    s_waitcnt lgkmcnt(0)
    s_scratch_store_dword s21, s[8:9], 0x1
    """
    _, execution = run(code, image)
    assert execution.status == "done", execution
    assert image.words(2048 + 64, 1)[0] == 8


@pytest.mark.parametrize("mask", [(1 << 64) - 1, 0x00FF_0000_0000_0102, 1 << 63])
def test_append_and_consume_count_the_active_lanes(mask: int) -> None:
    code = """
    s_mov_b64 s[30:31], exec
    s_mov_b64 exec, -1
    v_mov_b32_e32 v2, 0
    v_mov_b32_e32 v3, 100
    ds_write_b32 v2, v3 offset:24
    s_waitcnt lgkmcnt(0)
    s_mov_b64 exec, s[30:31]
    s_mov_b32 m0, 16
    ds_append v40 offset:8
    ds_append v41 offset:8
    ds_consume v42 offset:8
    s_waitcnt lgkmcnt(0)
    s_mov_b64 exec, -1
    ds_read_b32 v43, v2 offset:24
    s_waitcnt lgkmcnt(0)
    s_mov_b64 exec, s[30:31]
    """
    got = lanes(code, outputs=4, active=mask, lds=64)
    count = mask.bit_count()
    active = np.array([bool(mask >> i & 1) for i in range(64)])
    for row, value in zip(got[:3], (100, 100 + count, 100 + 2 * count), strict=True):
        np.testing.assert_array_equal(row, np.where(active, value, 0))
    assert np.all(got[3] == 100 + count)


def test_lds_by_lane_number() -> None:
    code = """
    s_movk_i32 m0, 0x40
    ds_write_addtid_b32 v10 offset:16
    s_waitcnt lgkmcnt(0)
    v_lshlrev_b32_e32 v3, 2, v0
    ds_read_b32 v40, v3 offset:80
    s_movk_i32 m0, 0x44
    ds_read_addtid_b32 v41 offset:16
    s_waitcnt lgkmcnt(0)
    """
    data = np.arange(100, 164, dtype=np.uint32)
    got = lanes(code.replace("v_lshlrev_b32_e32 v3, 2, v0", "v_lshlrev_b32_e32 v3, 2, v0"), [data], 2, lds=512)
    np.testing.assert_array_equal(got[0], data)
    np.testing.assert_array_equal(got[1][:63], data[1:])


@pytest.mark.parametrize(("bits", "st"), [(32, ""), (32, "st64"), (64, ""), (64, "st64")])
def test_two_exchanges_at_once(bits: int, st: str) -> None:
    """Element offsets 1 and 2, of 64 elements each with st64; old values come back next to each other."""
    words = bits // 32
    g = np.random.default_rng(bits)
    rows = [g.integers(0, 1 << 32, 64, dtype=np.uint32) for _ in range(4 * words)]
    unit = bits // 8 * (64 if st else 1)
    stride = 3 * bits // 8 if not st else bits // 8

    def registers(first: int) -> str:
        return f"v{first}" if words == 1 else f"v[{first}:{first + words - 1}]"

    old = [registers(10), registers(10 + words)]
    new = [registers(10 + 2 * words), registers(10 + 3 * words)]
    code = f"""
    v_mul_u32_u24_e32 v3, {stride}, v0
    ds_write_b{bits} v3, {old[0]} offset:{unit}
    ds_write_b{bits} v3, {old[1]} offset:{2 * unit}
    ds_wrxchg2{st}_rtn_b{bits} v[40:{39 + 2 * words}], v3, {new[0]}, {new[1]} offset0:1 offset1:2
    ds_read_b{bits} {registers(44)}, v3 offset:{unit}
    ds_read_b{bits} {registers(46)}, v3 offset:{2 * unit}
    s_waitcnt lgkmcnt(0)
    """
    got = lanes(code, rows, 8, lds=8192)
    np.testing.assert_array_equal(got[: 2 * words], rows[: 2 * words])
    np.testing.assert_array_equal(got[4 : 4 + words], rows[2 * words : 3 * words])
    np.testing.assert_array_equal(got[6 : 6 + words], rows[3 * words :])


def test_wrap_and_conditional_exchange() -> None:
    code = """
    v_lshlrev_b32_e32 v3, 3, v0
    ds_write_b32 v3, v10
    ds_wrap_rtn_b32 v40, v3, v11, v12
    ds_read_b32 v41, v3
    s_waitcnt lgkmcnt(0)
    ds_write_b64 v3, v[10:11]
    ds_condxchg32_rtn_b64 v[42:43], v3, v[12:13]
    ds_read_b64 v[44:45], v3
    s_waitcnt lgkmcnt(0)
    """
    g = np.random.default_rng(1)
    old, limit, rest, other = (g.integers(0, 1 << 32, 64, dtype=np.uint32) for _ in range(4))
    got = lanes(code, [old, limit, rest, other], 6, lds=512)
    np.testing.assert_array_equal(got[0], old)
    np.testing.assert_array_equal(got[1], np.where(old >= limit, old - limit, old + rest))
    np.testing.assert_array_equal(got[2:4], [old, limit])
    top = np.uint32(1 << 31)
    for row, before, given in ((got[4], old, rest), (got[5], limit, other)):
        np.testing.assert_array_equal(row, np.where(given & top != 0, given & ~top, before))


@pytest.mark.parametrize(
    ("name", "kind"),
    [("ubyte", np.uint8), ("sbyte", np.int8), ("ushort", np.uint16), ("sshort", np.int16), ("dword", np.int32)],
)
@pytest.mark.parametrize("space", ["buffer", "global"])
def test_loads_to_lds_of_every_width(space: str, name: str, kind: type) -> None:
    """Lane n's number, extended to a dword, goes to M0 + offset + 4 n; a lane out of range writes 0."""
    image = Image()
    size = np.dtype(kind).itemsize
    data = np.random.default_rng(size).integers(-(1 << (8 * size - 1)), 1 << (8 * size - 1), 64).astype(kind)
    image.words(2048, 64, kind)[:] = data
    limit = 60 * size if space == "buffer" else 64 * size
    load = f"buffer_load_{name} v3, s[8:11], 0 offen lds" if space == "buffer" else f"global_load_lds_{name} v3, s[8:9]"
    code = (
        FIRST
        + f"""
    v_mul_u32_u24_e32 v3, {size}, v0
    s_add_u32 s8, s0, 0x800
    s_addc_u32 s9, s1, 0
    s_movk_i32 s10, {limit}
    s_mov_b32 s11, 0x27000
    s_movk_i32 m0, 0x20
    {load}
    s_waitcnt vmcnt(0)
    ds_read_b32 v2, v1 offset:32
    s_waitcnt lgkmcnt(0)
    global_store_dword v1, v2, s[0:1] offset:3072
    """
    )
    _, execution = run(code, image, lds=512)
    assert execution.status == "done", execution
    want = data.astype(np.int32)
    want[limit // size :] = 0
    np.testing.assert_array_equal(image.words(3072, 64, np.int32), want)


@pytest.mark.parametrize(
    ("constant", "high"),
    [("-1", 0xFFFFFFFF), ("0xffffffff", 0), ("-16", 0xFFFFFFFF), ("0xfffffff0", 0), ("0x80000000", 0), ("64", 0)],
)
def test_a_literal_of_64_bits_is_extended_with_zeros_and_an_inline_constant_with_its_sign(
    constant: str, high: int
) -> None:
    code = f"s_mov_b64 s[12:13], {constant}\nv_mov_b32_e32 v40, s12\nv_mov_b32_e32 v41, s13"
    low, found = (int(register[0]) for register in lanes(code, [np.arange(64, dtype=np.uint32)], outputs=2))
    assert (low, found) == (int(constant, 0) % 2**32, high)


def test_half_of_the_lanes_are_off_behind_a_literal_in_exec() -> None:
    code = "v_mov_b32_e32 v40, 5\ns_mov_b64 exec, 0xffffffff\nv_mov_b32_e32 v40, 9\ns_mov_b64 exec, -1"
    (found,) = lanes(code, [np.arange(64, dtype=np.uint32)], outputs=1)
    assert found.tolist() == [9] * 32 + [5] * 32

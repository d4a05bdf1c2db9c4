"""Global, buffer, scratch, scalar and LDS memory: layouts, range rules, atomics, faults; against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from sim_kernels import BASE, INPUTS, SPACE, Grid, Image, lanes, run

ODD = 0x5555_AAAA_F0F0_1234


def rng() -> np.random.Generator:
    return np.random.default_rng(23)


def random_image() -> Image:
    image = Image()
    image.data[4096:] = rng().integers(0, 256, SPACE - 4096, dtype=np.uint8)
    return image


# --- global memory
SIZES = {"dword": 4, "dwordx2": 8, "dwordx3": 12, "dwordx4": 16}


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("masked", [False, True])
def test_global_copies_of_every_width(kind: str, masked: bool) -> None:
    """Lanes in a permuted order, at addresses of odd alignment."""
    size = SIZES[kind]
    image = random_image()
    before = image.data.copy()
    mask = "s_mov_b32 exec_lo, 0xf0f01234\ns_mov_b32 exec_hi, 0x5555aaaa" if masked else ""
    code = f"""
        v_and_b32_e32 v0, 0x3ff, v0
        v_xor_b32_e32 v1, 37, v0
        v_mul_u32_u24_e32 v2, {size + 1}, v1
        v_add_u32_e32 v2, 0x2001, v2
        v_mov_b32_e32 v3, s1
        v_add_co_u32_e32 v4, vcc, s0, v2
        v_addc_co_u32_e32 v5, vcc, 0, v3, vcc
        {mask}
        global_load_{kind} v[8:{7 + size // 4}], v[4:5], off offset:3
        s_waitcnt vmcnt(0)
        v_lshlrev_b32_e32 v6, 5, v0
        s_add_u32 s6, s0, 0x8000
        s_addc_u32 s7, s1, 0
        global_store_{kind} v6, v[8:{7 + size // 4}], s[6:7] offset:-2
    """.replace(f"v[8:{8}]", "v8")
    if size == 4:
        code = code.replace("v[8:8]", "v8")
    run(code, image)
    want = before.copy()
    for n in range(64):
        if masked and not ODD >> n & 1:
            continue
        source = 0x2001 + 3 + (n ^ 37) * (size + 1)
        want[0x8000 - 2 + 32 * n :][:size] = before[source : source + size]
    np.testing.assert_array_equal(image.data, want)


def test_narrow_loads_and_stores() -> None:
    image = random_image()
    source = image.data[INPUTS : INPUTS + 256].copy()
    code = """
        v_and_b32_e32 v0, 0x3ff, v0
        v_lshlrev_b32_e32 v1, 2, v0
        s_add_u32 s6, s0, 0x1000
        s_addc_u32 s7, s1, 0
        s_add_u32 s8, s0, 0x8000
        s_addc_u32 s9, s1, 0
        v_mov_b32_e32 v6, -1
        v_mov_b32_e32 v7, -1
        global_load_ubyte v2, v1, s[6:7] offset:1
        global_load_sbyte v3, v1, s[6:7] offset:2
        global_load_ushort v4, v1, s[6:7]
        global_load_sshort v5, v1, s[6:7] offset:2
        global_load_short_d16 v6, v1, s[6:7]
        global_load_short_d16_hi v7, v1, s[6:7]
        s_waitcnt vmcnt(0)
        global_store_dword v1, v2, s[8:9]
        global_store_dword v1, v3, s[8:9] offset:256
        global_store_dword v1, v4, s[8:9] offset:512
        global_store_dword v1, v5, s[8:9] offset:768
        global_store_dword v1, v6, s[8:9] offset:1024
        global_store_dword v1, v7, s[8:9] offset:1280
        global_store_byte v1, v5, s[8:9] offset:1536
        global_store_short v1, v5, s[8:9] offset:1792
        global_store_short_d16_hi v1, v7, s[8:9] offset:2048
    """
    before = image.words(0x8000, 64 * 9).reshape(9, 64).copy()
    run(code, image)
    got = image.words(0x8000, 64 * 9).reshape(9, 64)
    b, h = source.reshape(64, 4), source.view(np.uint16).reshape(64, 2).astype(np.uint32)
    wide = h[:, 1].astype(np.uint16).astype(np.int16).astype(np.int32).view(np.uint32)
    np.testing.assert_array_equal(got[0], b[:, 1])
    np.testing.assert_array_equal(got[1], b[:, 2].astype(np.int8).astype(np.int32).view(np.uint32))
    np.testing.assert_array_equal(got[2], h[:, 0])
    np.testing.assert_array_equal(got[3], wide)
    np.testing.assert_array_equal(got[4], 0xFFFF0000 | h[:, 0])
    np.testing.assert_array_equal(got[5], 0xFFFF | h[:, 0] << 16)
    np.testing.assert_array_equal(got[6], (before[6] & 0xFFFFFF00) | (wide & 0xFF))
    np.testing.assert_array_equal(got[7], (before[7] & 0xFFFF0000) | (wide & 0xFFFF))
    np.testing.assert_array_equal(got[8], (before[8] & 0xFFFF0000) | h[:, 0])


WILD = {
    "null pointer": ("v_mov_b32_e32 v4, 0\nv_mov_b32_e32 v5, 0", 0),
    "past the end": (f"v_mov_b32_e32 v4, 0x{SPACE - 2:x}\nv_add_u32_e32 v4, s0, v4\nv_mov_b32_e32 v5, s1", SPACE - 2),
    "before the start": ("v_add_u32_e32 v4, -4, v4\nv_mov_b32_e32 v5, 0x7dff", None),
    "high bits": ("v_mov_b32_e32 v4, s0\nv_mov_b32_e32 v5, 0x80007e00", None),
}


@pytest.mark.parametrize("what", WILD)
@pytest.mark.parametrize(
    "access",
    ["global_load_dword v6, v[4:5], off", "global_store_dword v[4:5], v6, off", "global_atomic_add v[4:5], v6, off"],
)
def test_wild_addresses_are_findings(what: str, access: str) -> None:
    setup, offset = WILD[what]
    image = random_image()
    before = image.data.copy()
    code = f"""
        v_mov_b32_e32 v4, s0
        v_mov_b32_e32 v5, s1
        s_mov_b64 exec, 0x40
        {setup}
        {access}
    """
    _, execution = run(code, image)
    assert execution.status == "fault"
    fault = execution.fault
    assert fault is not None and fault.rule == "sim.global"
    assert fault.facts["lane"] == 6 and fault.facts["wave"] == 0
    assert access.split()[0] in fault.message
    if offset is not None:
        assert fault.facts["address"] == (BASE + offset if offset else 0)
    np.testing.assert_array_equal(image.data, before)


def test_only_active_lanes_can_fault() -> None:
    code = """
        v_mov_b32_e32 v4, 0
        v_mov_b32_e32 v5, 0
        s_mov_b64 exec, 0
        global_load_dword v6, v[4:5], off
        global_store_dword v[4:5], v6, off
        ds_write_b32 v4, v5 offset:65535
    """
    assert run(code)[1].status == "done"


def test_scalar_loads() -> None:
    image = random_image()
    source = image.words(4096, 32).copy()
    code = """
        s_load_dwordx4 s[8:11], s[0:1], 0x1000
        s_movk_i32 s5, 0x1010
        s_load_dwordx8 s[16:23], s[0:1], s5
        s_load_dword s24, s[0:1], s5 offset:0x20
        s_add_u32 s6, s0, 0x1020
        s_addc_u32 s7, s1, 0
        s_load_dwordx2 s[26:27], s[6:7], -0x8
        v_lshlrev_b32_e32 v1, 2, v0
        s_waitcnt lgkmcnt(0)
    """ + "\n".join(
        f"v_mov_b32_e32 v2, s{r}\nglobal_store_dword v1, v2, s[0:1] offset:{16 * i + 2048}"
        for i, r in enumerate((8, 11, 16, 23, 24, 26, 27))
    )
    run(code, image, Grid(block=(1, 1, 1)))
    got = image.words(2048, 28)[::4]
    np.testing.assert_array_equal(got, source[[0, 3, 4, 11, 12, 6, 7]])


def test_a_wild_scalar_load_is_a_finding() -> None:
    _, execution = run("s_mov_b64 s[6:7], 0x1234\ns_load_dwordx2 s[8:9], s[6:7], 0x0")
    assert execution.fault is not None and execution.fault.rule == "sim.scalar"
    assert execution.fault.facts["address"] == 0x1234 and execution.fault.facts["lane"] is None


# --- buffers
def descriptor(offset: int, records: int, stride: int = 0) -> list[int]:
    base = BASE + offset
    return [base & 0xFFFFFFFF, base >> 32 | stride << 16, records, 0x20000]


RAW = {
    "offen": ("buffer_load_dword v40, v10, s[20:23], 0 offen offset:4", lambda o: o + 4),
    "soffset": ("buffer_load_dword v40, v10, s[20:23], s24 offen", lambda o: o + 36),
    "fixed": ("buffer_load_dword v40, off, s[20:23], s24 offset:8", lambda o: 0 * o + 44),
}


@pytest.mark.parametrize("form", RAW)
@pytest.mark.parametrize("stride", [0, 4])
def test_raw_buffer_loads_outside_give_zero(form: str, stride: int) -> None:
    """Bytes are checked with the scalar offset, also when the descriptor has a stride that no index uses."""
    data = np.arange(1, 65, dtype=np.uint32)
    offset = np.arange(64, dtype=np.uint32) * 8 % 240
    offset[::7] = 0x80000000
    text, place = RAW[form]
    (got,) = lanes(text + "\ns_waitcnt vmcnt(0)", [offset, data], scalars=[*descriptor(INPUTS + 256, 180, stride), 36])
    at = place(offset.astype(np.int64))
    inside = at + 4 <= 180
    np.testing.assert_array_equal(got, np.where(inside, data[np.where(inside, at // 4, 0)], 0))


def test_wide_buffer_access_is_checked_by_dword() -> None:
    data = np.arange(1, 65, dtype=np.uint32)
    offset = np.arange(64, dtype=np.uint32) * 4
    code = "buffer_load_dwordx4 v[40:43], v10, s[20:23], 0 offen\ns_waitcnt vmcnt(0)"
    got = lanes(code, [offset, data], 4, scalars=descriptor(INPUTS + 256, 100))
    for i in range(4):
        at = np.arange(64) + i
        np.testing.assert_array_equal(got[i], np.where(at < 25, np.arange(1, 68)[at], 0))


def test_structured_buffer_checks_the_index() -> None:
    data = np.arange(1, 65, dtype=np.uint32)
    index = np.arange(64, dtype=np.uint32)
    code = """
        v_mov_b32_e32 v16, v10
        v_mov_b32_e32 v17, 4
        buffer_load_dword v40, v10, s[20:23], 0 idxen
        buffer_load_dword v41, v[16:17], s[20:23], 0 idxen offen
        s_waitcnt vmcnt(0)
    """
    got = lanes(code, [index, data], 2, scalars=descriptor(INPUTS + 256, 20, 8))
    inside = index < 20
    np.testing.assert_array_equal(got[0], np.where(inside, 2 * index + 1, 0))
    np.testing.assert_array_equal(got[1], np.where(inside, 2 * index + 2, 0))


def test_buffer_stores_outside_are_dropped() -> None:
    image = random_image()
    before = image.data.copy()
    low, high, records, last = descriptor(0x3000, 130)
    code = f"""
        v_and_b32_e32 v0, 0x3ff, v0
        v_lshlrev_b32_e32 v1, 3, v0
        s_mov_b32 s8, 0x{low:x}
        s_mov_b32 s9, 0x{high:x}
        s_mov_b32 s10, {records}
        s_mov_b32 s11, 0x{last:x}
        v_mov_b32_e32 v2, v0
        v_mov_b32_e32 v3, -1
        buffer_store_dwordx2 v[2:3], v1, s[8:11], 0 offen
        buffer_store_short v3, v1, s[8:11], 0 offen offset:256
    """
    run(code, image)
    want = before.copy()
    for n in range(64):
        for i, value in enumerate((n, 0xFFFFFFFF)):
            if 8 * n + 4 * i + 4 <= 130:
                want[0x3000 + 8 * n + 4 * i :][:4] = np.frombuffer(value.to_bytes(4, "little"), np.uint8)
    np.testing.assert_array_equal(image.data, want)


def test_a_buffer_that_leaves_memory_is_a_finding() -> None:
    low, high, _, last = descriptor(SPACE - 64, 0)
    code = f"""
        s_mov_b32 s8, 0x{low:x}
        s_mov_b32 s9, 0x{high:x}
        s_mov_b32 s10, -1
        s_mov_b32 s11, 0x{last:x}
        v_and_b32_e32 v0, 0x3ff, v0
        v_lshlrev_b32_e32 v1, 2, v0
        buffer_load_dword v2, v1, s[8:11], 0 offen
    """
    _, execution = run(code)
    assert execution.fault is not None and execution.fault.rule == "sim.global"
    assert execution.fault.facts["lane"] == 16 and execution.fault.facts["address"] == BASE + SPACE


def test_buffer_to_lds_adds_the_offset_on_both_sides() -> None:
    """Lane n goes to M0 + offset + 4 n; lanes out of range write 0, inactive lanes write nothing."""
    data = np.arange(100, 164, dtype=np.uint32)
    code = """
        s_mov_b64 s[30:31], exec
        v_lshlrev_b32_e32 v12, 2, v0
        v_mov_b32_e32 v13, -1
        ds_write_b32 v12, v13 offset:40
        s_movk_i32 m0, 0x20
        s_mov_b32 exec_hi, 0xffff
        buffer_load_dword v10, s[20:23], 0 offen offset:8 lds
        s_waitcnt vmcnt(0)
        s_mov_b64 exec, s[30:31]
        ds_read_b32 v40, v12 offset:40
        s_waitcnt lgkmcnt(0)
    """
    offset = np.arange(64, dtype=np.uint32) * 4
    (got,) = lanes(code, [offset, data], scalars=descriptor(INPUTS + 256, 160), lds=512)
    lane = np.arange(64)
    want = np.where(4 * lane + 8 + 4 <= 160, 100 + lane + 2, 0)
    np.testing.assert_array_equal(got[:48], want[:48])
    assert np.all(got[48:] == 0xFFFFFFFF)


# --- LDS
def test_lds_of_every_width() -> None:
    a = [rng().integers(0, 1 << 32, 64, dtype=np.uint32) for _ in range(4)]
    code = """
        v_xor_b32_e32 v20, 21, v0
        v_lshlrev_b32_e32 v20, 4, v20
        ds_write_b128 v20, v[10:13]
        s_waitcnt lgkmcnt(0)
        ds_read_b32 v40, v20 offset:4
        ds_read_b64 v[42:43], v20 offset:8
        ds_read_b128 v[44:47], v20
        ds_read_b96 v[48:50], v20 offset:4
        ds_read_u16 v51, v20 offset:2
        ds_read_i8 v52, v20 offset:3
        v_mov_b32_e32 v54, v20
        ds_read2_b32 v[54:55], v54 offset1:3
        ds_read2_b64 v[56:59], v20 offset0:1
        s_waitcnt lgkmcnt(0)
    """
    got = lanes(code, a, 20, lds=1024)
    for row, source in ((0, 1), (2, 2), (3, 3), (4, 0), (5, 1), (6, 2), (7, 3), (8, 1), (9, 2), (10, 3)):
        np.testing.assert_array_equal(got[row], a[source])
    np.testing.assert_array_equal(got[11], a[0] >> 16)
    np.testing.assert_array_equal(got[12], (a[0] >> 24).astype(np.int8).astype(np.int32).view(np.uint32))
    for row, source in ((14, 0), (15, 3), (16, 2), (17, 3), (18, 0), (19, 1)):
        np.testing.assert_array_equal(got[row], a[source])


def test_lds_st64_and_two_element_stores() -> None:
    a = [rng().integers(0, 1 << 32, 64, dtype=np.uint32) for _ in range(4)]
    code = """
        v_lshlrev_b32_e32 v20, 3, v0
        ds_write2st64_b64 v20, v[10:11], v[12:13] offset0:1 offset1:3
        v_lshlrev_b32_e32 v21, 2, v0
        ds_write2_b32 v21, v10, v12 offset0:0 offset1:64
        s_waitcnt lgkmcnt(0)
        ds_read2st64_b64 v[40:43], v20 offset0:3 offset1:1
        ds_read2st64_b32 v[44:45], v21 offset0:0 offset1:1
        s_waitcnt lgkmcnt(0)
    """
    got = lanes(code, a, 6, lds=4096)
    for row, source in enumerate((2, 3, 0, 1, 0, 2)):
        np.testing.assert_array_equal(got[row], a[source])


@pytest.mark.parametrize(
    "access", ["ds_read_b32 v4, v2 offset:4", "ds_write_b64 v2, v[4:5]", "ds_read2_b32 v[4:5], v3 offset1:128"]
)
def test_lds_beyond_the_allocation_is_a_finding(access: str) -> None:
    code = f"""
        v_and_b32_e32 v0, 0x3ff, v0
        v_lshlrev_b32_e32 v2, 3, v0
        v_mov_b32_e32 v3, 0
        {access}
    """
    _, execution = run(code, lds=511)
    assert execution.fault is not None and execution.fault.rule == "sim.lds"
    assert execution.fault.facts["lane"] == (0 if "read2" in access else 63)


def test_dynamic_lds_comes_on_top() -> None:
    code = "v_mov_b32_e32 v2, 0x204\nds_write_b32 v2, v2"
    assert run(code, grid=Grid(dynamic_lds=8), lds=512)[1].status == "done"
    assert run(code, grid=Grid(dynamic_lds=4), lds=512)[1].status == "fault"


# --- scratch
def test_scratch_is_each_lanes_own() -> None:
    code = """
        scratch_store_dword off, v10, off offset:4
        v_lshlrev_b32_e32 v20, 2, v0
        v_and_b32_e32 v20, 12, v20
        scratch_store_dword v20, v11, off offset:16
        s_waitcnt vmcnt(0)
        scratch_load_dword v40, off, off offset:4
        scratch_load_dword v41, v20, off offset:16
        s_waitcnt vmcnt(0)
    """
    a, b = (rng().integers(0, 1 << 32, 64, dtype=np.uint32) for _ in range(2))
    got = lanes(code, [a, b], 2, private=64)
    np.testing.assert_array_equal(got[0], a)
    np.testing.assert_array_equal(got[1], b)
    _, execution = run("scratch_load_dword v2, off, off offset:64", private=64)
    assert execution.fault is not None and execution.fault.rule == "sim.scratch"


# --- atomics
def test_global_atomics_of_all_lanes_on_few_places() -> None:
    image = random_image()
    start = image.words(4096, 64).copy()
    start[8:12] = np.float32([1, 2, 3, 4]).view(np.uint32)
    start[16:20] = 0x3F803F80  # bf16 1.0 and 1.0
    image.words(4096, 64)[:] = start
    code = """
        v_and_b32_e32 v0, 0x3ff, v0
        v_and_b32_e32 v1, 3, v0
        v_lshlrev_b32_e32 v1, 2, v1
        s_add_u32 s6, s0, 0x1000
        s_addc_u32 s7, s1, 0
        v_mov_b32_e32 v2, 1.0
        v_mov_b32_e32 v3, 0x3f804000
        global_atomic_add v1, v0, s[6:7]
        global_atomic_add_f32 v1, v2, s[6:7] offset:32
        global_atomic_pk_add_bf16 v1, v3, s[6:7] offset:64
        global_atomic_umax v1, v0, s[6:7] offset:96
        global_atomic_add v4, v1, v0, s[6:7] offset:128 sc0
        v_mov_b32_e32 v6, 0
        v_mov_b32_e32 v7, v0
        v_mov_b32_e32 v6, 0x77
        global_atomic_cmpswap v5, v1, v[6:7], s[6:7] offset:160 sc0
        s_waitcnt vmcnt(0)
        v_lshlrev_b32_e32 v8, 2, v0
        global_store_dword v8, v4, s[6:7] offset:1024
        global_store_dword v8, v5, s[6:7] offset:1280
    """
    image.words(4096 + 160, 4)[:] = [0, 1, 1, 1]
    start = image.words(4096, 64).copy()
    run(code, image)
    got = image.words(4096, 64)
    n = np.arange(64, dtype=np.uint32)
    of = [n[n % 4 == i] for i in range(4)]
    for i in range(4):
        assert got[i] == np.uint32(start[i] + of[i].sum(dtype=np.uint32))
        assert got[24 + i] == max(start[24 + i], of[i].max())
    np.testing.assert_array_equal(got[8:12].view(np.float32), np.float32([17, 18, 19, 20]))
    np.testing.assert_array_equal(got[16:20], 0x41884204)  # 1 + 16, and 1 + 32
    returned, swapped = image.words(4096 + 1024, 64), image.words(4096 + 1280, 64)
    for i in range(4):
        before = start[32 + i] + np.cumsum([0, *of[i][:-1]], dtype=np.uint32)
        np.testing.assert_array_equal(returned[i::4], before)
    # lane 0 finds 0 and puts 0x77 there; lane 4 then expects 4
    np.testing.assert_array_equal(got[40:44], [0x77, 0x77, 1, 1])
    assert swapped[0] == 0 and swapped[4] == 0x77 and swapped[1] == 1 and swapped[5] == 0x77


@pytest.mark.parametrize(
    "form", ["global_atomic_cmpswap_x2 v[2:3], v[4:7], off", "flat_atomic_cmpswap_x2 v[2:3], v[4:7]"]
)
def test_a_wide_compare_and_swap_takes_data_and_expectation(form: str) -> None:
    image = Image()
    image.words(4096, 4)[:] = [5, 6, 7, 8]
    code = f"""
        v_mov_b32_e32 v2, s0
        v_add_u32_e32 v2, 0x1000, v2
        v_mov_b32_e32 v3, s1
        v_mov_b32_e32 v4, 0x77
        v_mov_b32_e32 v5, 0x88
        v_mov_b32_e32 v6, 5
        v_mov_b32_e32 v7, 6
        {form}
        v_add_u32_e32 v2, 8, v2
        {form}
        s_waitcnt vmcnt(0) lgkmcnt(0)
    """
    _, execution = run(code, image)
    assert execution.status == "done", execution.fault
    assert image.words(4096, 4).tolist() == [0x77, 0x88, 7, 8]


def test_lds_and_buffer_atomics() -> None:
    n = np.arange(64, dtype=np.uint32)
    code = """
        v_mov_b32_e32 v20, 0
        v_mov_b32_e32 v21, 1.0
        ds_write2_b32 v20, v20, v20 offset1:1
        ds_add_u32 v20, v0
        ds_add_rtn_f32 v40, v20, v21 offset:4
        s_waitcnt lgkmcnt(0)
        ds_read2_b32 v[42:43], v20 offset1:1
        v_mov_b32_e32 v44, v0
        buffer_atomic_add v44, off, s[20:23], 0 sc0
        s_waitcnt vmcnt(0) lgkmcnt(0)
        buffer_load_dword v45, off, s[20:23], 0
        s_waitcnt vmcnt(0)
    """
    got = lanes(code, [np.zeros(64, np.uint32)], 6, scalars=descriptor(INPUTS, 4), lds=64)
    np.testing.assert_array_equal(got[0].view(np.float32), n.astype(np.float32))
    assert np.all(got[2] == n.sum()) and np.all(got[3].view(np.float32) == 64)
    np.testing.assert_array_equal(got[4], np.cumsum([0, *n[:-1]]))
    assert np.all(got[5] == n.sum())


def test_scalar_stores_and_atomics() -> None:
    image = Image()
    image.words(4096, 8)[:] = [5, 9, 7, 0, 0, 0, 0, 0]
    code = """
        s_add_u32 s6, s0, 0x1000
        s_addc_u32 s7, s1, 0
        s_mov_b32 s8, 100
        s_mov_b32 s9, 7
        s_atomic_inc s8, s[6:7], 0x0
        s_atomic_dec s8, s[6:7], 0x4 glc
        s_mov_b32 s10, 77
        s_mov_b32 s11, 7
        s_atomic_cmpswap s[10:11], s[6:7], 0x8 glc
        s_store_dwordx4 s[8:11], s[6:7], 0x10
        s_waitcnt lgkmcnt(0)
    """
    assert run(code, image)[1].status == "done"
    np.testing.assert_array_equal(image.words(4096, 8), [6, 8, 77, 0, 9, 7, 7, 7])
    _, execution = run("s_mov_b64 s[6:7], 0\ns_store_dword s6, s[6:7], 0x0")
    assert execution.fault is not None and execution.fault.rule == "sim.scalar"

"""Buffer descriptors against a plain reference: strides, indices, lane numbers, swizzling, ranges; and bad ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim_kernels import BASE, INPUTS, SPACE, Image, lanes, run

DATA = INPUTS + 512
SIZE = 8192
"""Bytes of the tested buffer, behind the two rows of inputs."""
FORMAT = 4 << 15
OFFEN, IDXEN = 1, 2
FORMS = {0: ("off", ""), OFFEN: ("v10", "offen"), IDXEN: ("v11", "idxen"), OFFEN | IDXEN: ("v[16:17]", "idxen offen")}


def rows() -> list[np.ndarray]:
    """The bytes of the buffer as rows of 64 words."""
    words = np.random.default_rng(7).integers(1, 1 << 32, SIZE // 4, dtype=np.uint32)
    return list(words.reshape(-1, 64))


def place(
    lane: int, index: int, offset: int, soffset: int, *, stride: int, width: int, swizzle: bool, tid: bool, form: int
) -> tuple[int, int]:
    """(index, byte from the base) of an access, by the formulas of the ISA document."""
    record = (index if form & IDXEN else 0) + (lane if tid else 0)
    if not swizzle:
        return record, soffset + record * stride + offset
    major, minor = divmod(record, width)
    element, byte = divmod(offset, 4)
    return record, soffset + (major * stride + element * 4) * width + minor * 4 + byte


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    form=st.sampled_from(sorted(FORMS)),
    stride=st.sampled_from([0, 4, 8, 16, 64]),
    width=st.integers(0, 3),
    swizzle=st.booleans(),
    tid=st.booleans(),
    records=st.integers(0, 1500),
    soffset=st.sampled_from([0, 4, 100]),
    fixed=st.sampled_from([0, 4, 12, 60]),
    words=st.sampled_from([1, 2, 4]),
    seed=st.integers(0, 100),
)
def test_addresses_and_ranges(
    form: int, stride: int, width: int, swizzle: bool, tid: bool, records: int, soffset: int, fixed: int, words: int,
    seed: int,
) -> None:  # fmt: skip
    random = np.random.default_rng(seed)
    offset = random.integers(0, 40, 64, dtype=np.uint32) * 4
    index = random.integers(0, 40, 64, dtype=np.uint32)
    address, flags = FORMS[form]
    name = "dword" if words == 1 else f"dwordx{words}"
    target = "v40" if words == 1 else f"v[40:{39 + words}]"
    code = f"""
        v_mov_b32_e32 v16, v11
        v_mov_b32_e32 v17, v10
        buffer_load_{name} {target}, {address}, s[20:23], s24 {flags} offset:{fixed}
        s_waitcnt vmcnt(0)
    """
    base = BASE + DATA
    high = base >> 32 | stride << 16 | int(swizzle) << 31
    last = width << 21 | (1 << 23 if tid else FORMAT)
    scalars = [base & 0xFFFFFFFF, high, records, last, soffset]
    buffer = rows()
    got = lanes(code, [offset, index], words, scalars=scalars, extra_rows=buffer)
    memory = np.concatenate([*buffer, np.zeros(SIZE, np.uint32)])
    structured = bool(form & IDXEN) and stride != 0
    for lane in range(64):
        for word in range(words):
            within = (int(offset[lane]) if form & OFFEN else 0) + fixed + 4 * word
            record, at = place(
                lane, int(index[lane]), within, soffset, stride=stride, width=8 << width, swizzle=swizzle, tid=tid,
                form=form,
            )  # fmt: skip
            inside = record < records if structured else at + 4 <= records
            assert got[word][lane] == (memory[at // 4] if inside else 0), (lane, word)


def test_swizzled_stores_land_apart() -> None:
    """Four dwords of each lane, thread ids as the index: as a wave's private memory used to be laid out."""
    image = Image()
    base = BASE + DATA
    code = f"""
        v_and_b32_e32 v0, 0x3ff, v0
        s_mov_b32 s8, 0x{base & 0xFFFFFFFF:x}
        s_mov_b32 s9, 0x{base >> 32 | 16 << 16 | 1 << 31:x}
        s_mov_b32 s10, {64 * 16 - 4}
        s_mov_b32 s11, 0x{3 << 21 | 1 << 23:x}
        v_mov_b32_e32 v4, v0
        v_add_u32_e32 v5, 0x100, v0
        v_add_u32_e32 v6, 0x200, v0
        v_add_u32_e32 v7, 0x300, v0
        buffer_store_dwordx4 v[4:7], off, s[8:11], 0
    """
    assert run(code, image)[1].status == "done"
    want = np.arange(64)[None, :] + 0x100 * np.arange(4)[:, None]
    want[3, 63] = 0  # the last dword is out of range
    np.testing.assert_array_equal(image.words(DATA, 256).reshape(4, 64), want)


def test_swizzled_atomics() -> None:
    base = BASE + DATA
    code = "v_mov_b32_e32 v40, 1\n buffer_atomic_add v40, v10, s[20:23], 0 idxen sc0\n s_waitcnt vmcnt(0)"
    index = np.arange(64, dtype=np.uint32) // 2
    scalars = [base & 0xFFFFFFFF, base >> 32 | 8 << 16 | 1 << 31, 32, FORMAT]
    (got,) = lanes(code, [index], scalars=scalars)
    np.testing.assert_array_equal(got, np.arange(64) % 2)


def test_a_swizzled_buffer_that_leaves_memory_is_a_finding() -> None:
    base = BASE + SPACE - 256
    code = "buffer_load_dwordx2 v[40:41], v10, s[20:23], 0 idxen\n s_waitcnt vmcnt(0)"
    setup = "\n".join(
        f"s_mov_b32 s{20 + i}, 0x{v:x}"
        for i, v in enumerate((base & 0xFFFFFFFF, base >> 32 | 8 << 16 | 1 << 31, 1000, 3 << 21 | FORMAT))
    )
    _, execution = run(f"v_and_b32_e32 v10, 0x3ff, v0\n{setup}\n{code}")
    assert execution.fault is not None and execution.fault.rule == "sim.global"
    assert execution.fault.facts["address"] == BASE + SPACE and execution.fault.facts["lane"] == 0


@pytest.mark.parametrize("last", [0, FORMAT | 1 << 30, 1 << 31 | 1 << 23])
@pytest.mark.parametrize("access", ["buffer_load_dword v2, off, s[8:11], 0", "buffer_atomic_add v2, off, s[8:11], 0"])
def test_descriptors_of_no_buffer_are_findings(last: int, access: str) -> None:
    code = f"s_mov_b32 s8, s0\n s_mov_b32 s9, s1\n s_mov_b32 s10, 0x100\n s_mov_b32 s11, 0x{last:x}\n {access}"
    _, execution = run(code)
    assert execution.fault is not None and execution.fault.rule == "sim.descriptor"
    assert execution.fault.facts["address"] == BASE


@pytest.mark.parametrize(("stride", "records", "inside"), [(0, 40, 10), (8, 5, 10), (16, 2, 8)])
def test_scalar_loads_count_records(stride: int, records: int, inside: int) -> None:
    """NUM_RECORDS counts records of a stride for scalar loads; each dword is checked."""
    base = BASE + DATA
    code = "s_buffer_load_dwordx16 s[32:47], s[20:23], 0x0\n s_waitcnt lgkmcnt(0)\n" + "\n".join(
        f"v_mov_b32_e32 v{40 + i}, s{32 + i}" for i in range(16)
    )
    scalars = [base & 0xFFFFFFFF, base >> 32 | stride << 16, records, FORMAT]
    buffer = rows()
    got = lanes(code, [np.zeros(64, np.uint32)] * 2, 16, scalars=scalars, extra_rows=buffer)
    np.testing.assert_array_equal(got[:, 0], np.where(np.arange(16) < inside, buffer[0][:16], 0))


# --- flat addresses
def test_flat_reaches_lds_scratch_and_memory_at_once() -> None:
    """Lanes 0-15 use LDS, 16-31 scratch, the others global memory, with one instruction each."""
    code = """
        s_mov_b64 s[40:41], src_shared_base
        s_mov_b64 s[42:43], src_private_base
        v_lshlrev_b32_e32 v20, 2, v0
        v_mov_b32_e32 v21, s41
        v_mov_b32_e32 v22, s43
        v_cmp_gt_u32_e32 vcc, 32, v0
        v_add_u32_e32 v24, s20, v20
        v_mov_b32_e32 v25, s21
        v_cndmask_b32_e32 v25, v25, v22, vcc
        v_mov_b32_e32 v26, 8
        v_cndmask_b32_e32 v24, v24, v26, vcc
        v_cmp_gt_u32_e32 vcc, 16, v0
        v_cndmask_b32_e32 v25, v25, v21, vcc
        v_cndmask_b32_e32 v24, v24, v20, vcc
        flat_store_dword v[24:25], v10 offset:4
        s_waitcnt vmcnt(0) lgkmcnt(0)
        flat_load_dword v40, v[24:25] offset:4
        ds_read_b32 v41, v20 offset:4
        scratch_load_dword v42, off, off offset:12
        global_load_dword v43, v20, s[20:21] offset:4
        flat_atomic_add v[24:25], v10 offset:4
        s_waitcnt vmcnt(0) lgkmcnt(0)
        flat_load_dword v44, v[24:25] offset:4
        s_waitcnt vmcnt(0) lgkmcnt(0)
    """
    data = np.random.default_rng(3).integers(0, 1 << 31, 64, dtype=np.uint32)
    base = BASE + DATA
    got = lanes(code, [data], 5, scalars=[base & 0xFFFFFFFF, base >> 32], lds=512, private=32)
    np.testing.assert_array_equal(got[0], data)
    np.testing.assert_array_equal(got[1][:16], data[:16])
    np.testing.assert_array_equal(got[2][16:32], data[16:32])
    np.testing.assert_array_equal(got[3][32:], data[32:])
    np.testing.assert_array_equal(got[4], 2 * data)


@pytest.mark.parametrize(
    ("aperture", "low", "address"),
    [("shared", 512, 1 << 48 | 512), ("private", 29, 2 << 48 | 29), ("shared", -8, (1 << 48) + 0xFFFFFFF8)],
)
def test_flat_outside_of_an_aperture_is_a_finding(aperture: str, low: int, address: int) -> None:
    code = f"""
        s_mov_b64 s[8:9], src_{aperture}_base
        v_mov_b32_e32 v2, 0x{low & 0xFFFFFFFF:x}
        v_mov_b32_e32 v3, s9
        flat_load_dword v4, v[2:3]
    """
    _, execution = run(code, lds=512, private=32)
    assert execution.fault is not None and execution.fault.rule == "sim.global"
    assert execution.fault.facts["address"] == address


def test_scratch_takes_both_a_register_and_a_scalar() -> None:
    code = """
        s_mov_b32 s40, 8
        v_lshlrev_b32_e32 v20, 2, v0
        v_and_b32_e32 v20, 4, v20
        scratch_store_dword v20, v10, s40 offset:4
        scratch_store_dword off, v10, s40 offset:-8
        scratch_load_dword v40, v20, off offset:12
        scratch_load_dword v41, off, off
        s_waitcnt vmcnt(0)
    """
    data = np.random.default_rng(4).integers(0, 1 << 31, 64, dtype=np.uint32)
    got = lanes(code, [data], 2, private=32)
    np.testing.assert_array_equal(got, [data, data])


# --- alignment
@pytest.mark.parametrize(
    ("access", "address"),
    [
        ("global_atomic_add v[2:3], v4, off offset:2", BASE + 4096 + 2),
        ("global_atomic_add_x2 v[2:3], v[4:5], off offset:4", BASE + 4096 + 4),
        ("flat_atomic_add v[2:3], v4 offset:1", BASE + 4096 + 1),
        ("ds_add_u32 v6, v4 offset:6", 6),
        ("ds_add_u64 v6, v[4:5] offset:4", 4),
    ],
)
def test_atomics_that_are_not_aligned_are_findings(access: str, address: int) -> None:
    code = (
        f"v_mov_b32_e32 v2, s0\n v_add_u32_e32 v2, 0x1000, v2\n v_mov_b32_e32 v3, s1\n v_mov_b32_e32 v6, 0\n {access}"
    )
    image, execution = run(code, lds=64)
    assert execution.fault is not None and execution.fault.rule == "sim.alignment"
    assert execution.fault.facts["address"] == address and execution.fault.facts["lane"] == 0
    assert not image.data[:8192].any()

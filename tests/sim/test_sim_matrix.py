"""Every matrix opcode against float64 products of values that make the result exact."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from asmevo.isa import MatrixRow, rows
from asmevo.isa.row import TYPE_UNITS
from asmevo.sim.block import refusal
from sim_kernels import lanes

MATRIX = {name: row for name, row in rows().items() if isinstance(row, MatrixRow) and not row.sparse}
SPARSE = {name: row for name, row in rows().items() if isinstance(row, MatrixRow) and row.sparse}
DTYPES = {
    "f32": np.float32, "xf32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "fp8": ml_dtypes.float8_e4m3fnuz, "bf8": ml_dtypes.float8_e5m2fnuz, "i8": np.int8, "f64": np.float64,
}  # fmt: skip


def input_place(row: MatrixRow, block: int, index: int, k: int) -> tuple[int, int]:
    """Lane and element of A[index, k] or B[k, index] (AMD matrix instruction calculator, CDNA3)."""
    per_lane = row.k // (64 // (row.m * row.blocks))
    return block * row.m + k // per_lane * row.m * row.blocks + index, k % per_lane


def output_place(row: MatrixRow, block: int, i: int, j: int) -> tuple[int, int]:
    """Lane and number of D[i, j]."""
    height = 1 if row.c_type == "f64" else 4
    rows_in_register = 64 // row.n
    blocks_in_register = -(-64 // (row.n * row.m // height))
    number = block * (row.m * row.n // 64) + i // (height * rows_in_register) * height + i % height
    lane = block % blocks_in_register * row.n + i // height % rows_in_register * blocks_in_register * row.n + j
    return lane, number


def pack(values: NDArray[np.generic]) -> list[NDArray[np.uint32]]:
    """[64, elements] of any type to rows of registers."""
    words = np.ascontiguousarray(values).view(np.uint32).reshape(64, -1)
    return [words[:, i].copy() for i in range(words.shape[1])]


def operand(row: MatrixRow, kind: str, values: NDArray[np.float64], *, is_b: bool) -> list[NDArray[np.uint32]]:
    """Registers of A [blocks, m, k], or of B [blocks, k, n]."""
    per_lane = row.k // (64 // (row.m * row.blocks))
    out = np.zeros((64, max(per_lane, 4 // np.dtype(DTYPES[kind]).itemsize)), DTYPES[kind])
    for block in range(row.blocks):
        for index in range(row.n if is_b else row.m):
            for k in range(row.k):
                lane, element = input_place(row, block, index, k)
                out[lane, element] = values[(block, k, index) if is_b else (block, index, k)]
    return pack(out)


def accumulator(row: MatrixRow, values: NDArray[np.float64]) -> list[NDArray[np.uint32]]:
    kind = {"f32": np.float32, "i32": np.int32, "f64": np.float64}[row.c_type]
    out = np.zeros((64, row.m * row.n * row.blocks // 64), kind)
    for block, i, j in np.ndindex(values.shape):
        lane, number = output_place(row, block, i, j)
        out[lane, number] = values[block, i, j]
    return pack(out)


def values(row: MatrixRow, kind: str, shape: tuple[int, ...], g: np.random.Generator) -> NDArray[np.float64]:
    """Numbers whose products and sums are exact in the accumulator, all over the range of the type."""
    if kind == "i8":
        return g.integers(-128, 128, shape).astype(np.float64)
    if kind in ("fp8", "bf8"):
        return g.integers(-8, 9, shape) * 2.0 ** g.integers(-2, 2, shape)
    return g.integers(-16, 17, shape).astype(np.float64)


@pytest.mark.parametrize("name", sorted(MATRIX))
def test_matrix_opcode(name: str) -> None:
    row = MATRIX[name]
    g = np.random.default_rng(len(name))
    a = values(row, row.a_type, (row.blocks, row.m, row.k), g)
    b = values(row, row.b_type, (row.blocks, row.k, row.n), g)
    c = g.integers(-1000, 1000, (row.blocks, row.m, row.n)).astype(np.float64)
    d = accumulator(row, a @ b + c)
    inputs = [operand(row, row.a_type, a, is_b=False), operand(row, row.b_type, b, is_b=True), accumulator(row, c)]
    counts = [TYPE_UNITS[s.type] for s in row.slots]
    loaded = run_matrix(name, counts, inputs)
    for got, want in zip(loaded, d, strict=True):
        np.testing.assert_array_equal(got, want)


def registers(file: str, first: int, count: int) -> str:
    return f"{file}{first}" if count == 1 else f"{file}[{first}:{first + count - 1}]"


def run_matrix(
    name: str, counts: list[int], inputs: list[list[NDArray[np.uint32]]], modifiers: str = "", last: str = ""
) -> NDArray[np.uint32]:
    """A in VGPRs, B in AGPRs, C and D in AGPRs; EXEC is 1, which must not matter.

    `last` is the operand in the place of C; a fourth input is in v99.
    """
    d_count, a_count, b_count = counts[:3]
    rows_in = [*inputs[0], *inputs[1], *inputs[2]]
    moves: list[str] = []
    for i in range(len(rows_in)):
        offset = 256 * i
        moves.append(
            f"s_add_u32 s8, s0, 0x{4096 + offset:x}\ns_addc_u32 s9, s1, 0\nglobal_load_dword v{100 + i}, v1, s[8:9]"
        )
    if len(inputs) > 3:
        moves.append(f"s_add_u32 s8, s0, 0x{4096 + 256 * len(rows_in):x}\ns_addc_u32 s9, s1, 0")
        moves.append("global_load_dword v99, v1, s[8:9]")
    moves.append("s_waitcnt vmcnt(0)")
    moves += [f"v_accvgpr_write_b32 a{64 + i}, v{100 + a_count + i}" for i in range(b_count)]
    moves += [f"v_accvgpr_write_b32 a{i}, v{100 + a_count + b_count + i}" for i in range(d_count)]
    d = registers("a", 0, d_count)
    code = (
        "\n".join(moves)
        + f"""
        s_mov_b64 exec, 1
        {name} {d}, {registers("v", 100, a_count)}, {registers("a", 64, b_count)}, {last or d} {modifiers}
        s_mov_b64 exec, -1
        s_nop 15
        """
        + "\n".join(f"v_accvgpr_read_b32 v{40 + i}, a{i}" for i in range(d_count))
    )
    return lanes(code, rows_in[:0], d_count, extra_rows=[*rows_in, *(inputs[3] if len(inputs) > 3 else [])])


BROADCASTS = [
    ("v_mfma_f32_4x4x1_16b_f32", 4, 13), ("v_mfma_f32_4x4x4_16b_f16", 2, 1), ("v_mfma_i32_4x4x4_16b_i8", 3, 6),
    ("v_mfma_f32_16x16x1_4b_f32", 1, 1), ("v_mfma_f32_16x16x4_4b_bf16", 2, 3), ("v_mfma_f32_32x32x4_2b_f16", 1, 0),
    ("v_mfma_f32_32x32x1_2b_f32", 1, 1),
]  # fmt: skip


@pytest.mark.parametrize(("name", "size", "chosen"), BROADCASTS)
def test_blocks_of_a_are_broadcast(name: str, size: int, chosen: int) -> None:
    """Of each 2**cbsz blocks of A, number abid stands for all."""
    row = MATRIX[name]
    g = np.random.default_rng(size)
    a = values(row, row.a_type, (row.blocks, row.m, row.k), g)
    b = values(row, row.b_type, (row.blocks, row.k, row.n), g)
    c = g.integers(-1000, 1000, (row.blocks, row.m, row.n)).astype(np.float64)
    taken = a[[(block & -(1 << size)) | chosen for block in range(row.blocks)]]
    inputs = [operand(row, row.a_type, a, is_b=False), operand(row, row.b_type, b, is_b=True), accumulator(row, c)]
    got = run_matrix(name, [TYPE_UNITS[s.type] for s in row.slots], inputs, f"cbsz:{size} abid:{chosen}")
    np.testing.assert_array_equal(got, accumulator(row, taken @ b + c))


LANE_PATTERNS = {
    1: lambda n: n % 32, 2: lambda n: 32 + n % 32, 3: lambda n: (n + 16) % 64, 4: lambda n: n % 16,
    5: lambda n: 16 + n % 16, 6: lambda n: 32 + n % 16, 7: lambda n: 48 + n % 16,
}  # fmt: skip
"""BLGP to the lane of B that a lane reads (AMD matrix instruction calculator)."""


@pytest.mark.parametrize("pattern", sorted(LANE_PATTERNS))
@pytest.mark.parametrize("name", ["v_mfma_f32_32x32x2_f32", "v_mfma_f32_16x16x4_4b_f16", "v_mfma_i32_4x4x4_16b_i8"])
def test_lanes_of_b_are_moved(name: str, pattern: int) -> None:
    """The same as moving the registers of B before a plain product."""
    row = MATRIX[name]
    g = np.random.default_rng(pattern)
    a = values(row, row.a_type, (row.blocks, row.m, row.k), g)
    b = values(row, row.b_type, (row.blocks, row.k, row.n), g)
    zero = accumulator(row, np.zeros((row.blocks, row.m, row.n)))
    left, right = operand(row, row.a_type, a, is_b=False), operand(row, row.b_type, b, is_b=True)
    counts = [TYPE_UNITS[s.type] for s in row.slots]
    got = run_matrix(name, counts, [left, right, zero], f"blgp:{pattern}")
    moved = [r[[LANE_PATTERNS[pattern](n) for n in range(64)]] for r in right]
    np.testing.assert_array_equal(got, run_matrix(name, counts, [left, moved, zero]))


@pytest.mark.parametrize("name", ["v_mfma_f64_16x16x4_f64", "v_mfma_f64_4x4x4_4b_f64"])
@pytest.mark.parametrize("signs", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)])
def test_operands_of_f64_products_are_negated(name: str, signs: tuple[int, int, int]) -> None:
    row = MATRIX[name]
    g = np.random.default_rng(8)
    a = values(row, "f64", (row.blocks, row.m, row.k), g)
    b = values(row, "f64", (row.blocks, row.k, row.n), g)
    c = g.integers(-1000, 1000, (row.blocks, row.m, row.n)).astype(np.float64)
    inputs = [operand(row, "f64", a, is_b=False), operand(row, "f64", b, is_b=True), accumulator(row, c)]
    counts = [TYPE_UNITS[s.type] for s in row.slots]
    sa, sb, sc = ((-1) ** bit for bit in signs)
    modifiers = f"neg:[{signs[0]},{signs[1]},{signs[2]}]"
    got = run_matrix(name, counts, inputs, modifiers)
    np.testing.assert_array_equal(got, accumulator(row, sa * a @ (sb * b) + sc * c))
    constant = run_matrix(name, counts, inputs, modifiers, last="2.0")
    np.testing.assert_array_equal(constant, accumulator(row, sa * a @ (sb * b) + sc * np.full_like(c, 2)))


@pytest.mark.parametrize("name", sorted(SPARSE))
@pytest.mark.parametrize("modifiers", ["", "abid:1", "cbsz:1 abid:1"])
def test_sparse_matrix_opcode(name: str, modifiers: str) -> None:
    """Two of each four elements of A along k, against the dense product of what they stand for.

    B has infinities where no element of A reaches.
    """
    row = SPARSE[name]
    g = np.random.default_rng(len(name) + len(modifiers))
    bits = 2 * row.k // (64 // row.m) // 2
    compressed = values(row, row.a_type, (1, row.m, row.k // 2), g)
    index = np.sort(np.array([g.choice(4, 2, replace=False) for _ in range(row.m * row.k // 4)]), axis=1)
    index = index.reshape(row.m, row.k // 2)
    index[:, :2] = (0, 2)  # no row takes k = 1 and k = 3
    dense = np.zeros((1, row.m, row.k))
    for i, e in np.ndindex(index.shape):
        dense[0, i, 4 * (e // 2) + index[i, e]] += compressed[0, i, e]
    b = values(row, row.b_type, (1, row.k, row.n), g)
    c = g.integers(-1000, 1000, (1, row.m, row.n)).astype(np.float64)
    want = accumulator(row, dense @ b + c)
    if row.b_type in ("f16", "bf16"):
        b[0, [1, 3]] = np.inf
    per_lane = row.k // (64 // row.m) // 2
    left = np.zeros((64, per_lane), DTYPES[row.a_type])
    sets = np.zeros(64, np.uint32)
    for i, e in np.ndindex(index.shape):
        lane = i + row.m * (e // per_lane)
        left[lane, e % per_lane] = compressed[0, i, e]
        sets[lane] |= np.uint32(index[i, e] << (2 * (e % per_lane)))
    moved = bits if modifiers == "abid:1" else 0
    noise = g.integers(0, 1 << 32, 64, dtype=np.uint32) & ~np.uint32(((1 << bits) - 1) << moved)
    register = noise | sets << np.uint32(moved)
    inputs = [pack(left), operand(row, row.b_type, b, is_b=True), accumulator(row, c), [register]]
    got = run_matrix(name, [TYPE_UNITS[s.type] for s in row.slots], inputs, modifiers, last="v99")
    for x, y in zip(got, want, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(
    "code",
    [
        "v_mfma_f32_32x32x8_f16 v[0:15], v[20:21], v[22:23], 1.0 cbsz:1",
        "v_mfma_f32_16x16x16_bf16 v[0:3], v[20:21], v[22:23], 1.0 blgp:3",
        "v_mfma_f32_16x16x4_4b_f16 v[0:15], v[20:21], v[22:23], 1.0 cbsz:1 abid:2",
        "v_mfma_f32_16x16x4_4b_f16 v[0:15], v[20:21], v[22:23], 1.0 cbsz:3",
    ],
)
def test_modifiers_without_a_meaning_are_refused(code: str) -> None:
    assert "matrix" in refusal(code)


def test_d_may_overlap_c_in_part() -> None:
    row = MATRIX["v_mfma_f32_16x16x16_f16"]
    g = np.random.default_rng(3)
    a, b = (g.integers(-4, 5, (1, 16, 16)).astype(np.float64) for _ in range(2))
    c = g.integers(-100, 100, (1, 16, 16)).astype(np.float64)
    inputs = [*operand(row, "f16", a, is_b=False), *operand(row, "f16", b, is_b=True), *accumulator(row, c)]
    code = "v_mfma_f32_16x16x16_f16 v[16:19], v[10:11], v[12:13], v[14:17]\ns_nop 15\n"
    code += "\n".join(f"v_mov_b32_e32 v{40 + i}, v{16 + i}" for i in range(4))
    got = lanes(code, inputs, 4)
    for x, y in zip(got, accumulator(row, a @ b + c), strict=True):
        np.testing.assert_array_equal(x, y)


def test_d_may_overlap_the_operands() -> None:
    row = MATRIX["v_mfma_f32_16x16x4_f32"]
    g = np.random.default_rng(4)
    a, b = g.integers(-4, 5, (1, 16, 4)).astype(np.float64), g.integers(-4, 5, (1, 4, 16)).astype(np.float64)
    inputs = [*operand(row, "f32", a, is_b=False), *operand(row, "f32", b, is_b=True)]
    code = "v_mfma_f32_16x16x4_f32 v[8:11], v10, v11, 1.0\ns_nop 15\n"
    code += "\n".join(f"v_mov_b32_e32 v{40 + i}, v{8 + i}" for i in range(4))
    got = lanes(code, inputs, 4)
    for x, y in zip(got, accumulator(row, a @ b + 1), strict=True):
        np.testing.assert_array_equal(x, y)


def test_changed_operands_are_unpacked_again() -> None:
    """The same register as operand before and after a write."""
    row = MATRIX["v_mfma_f32_16x16x16_bf16"]
    g = np.random.default_rng(5)
    a, b = g.integers(-4, 5, (1, 16, 16)).astype(np.float64), g.integers(-4, 5, (1, 16, 16)).astype(np.float64)
    inputs = [*operand(row, "bf16", a, is_b=False), *operand(row, "bf16", b, is_b=True)]
    code = """
        v_mfma_f32_16x16x16_bf16 v[40:43], v[10:11], v[12:13], 0
        v_xor_b32_e32 v10, 0x80008000, v10
        v_xor_b32_e32 v11, 0x80008000, v11
        s_nop 15
        v_mfma_f32_16x16x16_bf16 v[44:47], v[10:11], v[12:13], 0
        s_nop 15
    """
    got = lanes(code, inputs, 8)
    product = accumulator(row, a @ b)
    for i in range(4):
        np.testing.assert_array_equal(got[i], product[i])
        np.testing.assert_array_equal(got[4 + i].view(np.float32), -product[i].view(np.float32))


@pytest.mark.parametrize(
    ("kind", "name"), [("fp8", "v_mfma_f32_16x16x32_fp8_fp8"), ("bf8", "v_mfma_f32_16x16x32_bf8_bf8")]
)
@pytest.mark.parametrize("flush", [False, True])
def test_every_code_of_the_8_bit_floats(kind: str, name: str, flush: bool) -> None:
    """All 256 codes, denormals and NaN among them, times 1; also in a kernel that flushes f32 denormals."""
    codes = np.arange(256, dtype=np.uint8)
    one = int(np.array([1.0], DTYPES[kind]).view(np.uint8)[0])
    for part in range(4):
        # row i of A holds four codes at k = 0, 8, 16, 24; B picks one of them
        a = np.zeros((64, 8), np.uint8)
        b = np.zeros((64, 8), np.uint8)
        for lane in range(64):
            a[lane, 0] = codes[64 * part + lane] if codes[64 * part + lane] != 0x80 else 0
        for column in range(16):
            b[16 * (column % 4) + column, 0] = one
        got = lanes(f"{name} v[40:43], v[10:11], v[12:13], 0\ns_nop 15", [*pack(a), *pack(b)], 4, flush=flush).view(
            np.float32
        )
        with np.errstate(invalid="ignore"):
            want = np.array(a[:, 0]).view(DTYPES[kind]).astype(np.float32)
        for i in range(16):
            for column in range(4):
                lane, number = 16 * (i // 4) + column, i % 4
                assert got[number, lane] == want[16 * column + i]


@pytest.mark.parametrize("name", ["v_mfma_f32_16x16x32_fp8_fp8", "v_mfma_f32_32x32x16_bf8_fp8"])
def test_nan_code_spreads_over_its_row(name: str) -> None:
    a = np.full((64, 8), 0x40, np.uint8)
    a[5, 3] = 0x80
    b = np.full((64, 8), 0x40, np.uint8)
    n = 16 if "16x16" in name else 32
    count = n * n // 64
    d = f"v[40:{39 + count}]"
    got = lanes(f"{name} {d}, v[10:11], v[12:13], 0\ns_nop 15", [*pack(a), *pack(b)], count).view(np.float32)
    for lane in range(64):
        for number in range(count):
            row = 4 * (64 // n) * (number // 4) + 4 * (lane // n) + number % 4
            assert np.isnan(got[number, lane]) == (row == 5)


def test_denormal_inputs_count_in_kernels_that_flush() -> None:
    tiny = np.float32(2.0**-130).astype(ml_dtypes.bfloat16)
    a = np.zeros((64, 4), ml_dtypes.bfloat16)
    b = np.zeros((64, 4), ml_dtypes.bfloat16)
    a[:, 0], b[:, 0] = tiny, ml_dtypes.bfloat16(2.0**20)
    code = "v_mfma_f32_16x16x16_bf16 v[40:43], v[10:11], v[12:13], 0\ns_nop 15"
    got = lanes(code, [*pack(a), *pack(b)], 4, flush=True).view(np.float32)
    assert np.all(got == 4 * 2.0**-110)

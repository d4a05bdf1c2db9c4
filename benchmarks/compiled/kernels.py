"""Triton sources of the kernels that `benchmarks.emulator` runs."""

import triton
import triton.language as tl


@triton.jit
def bf16_gemm(
    a, b, c, M, N, K, stride_am, stride_bn, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """c = a @ b.T for row-major a [M, K] and b [N, K] in bf16, summed in f32; sizes are multiples of the tile."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    steps = tl.arange(0, BLOCK_K)
    a_tile = a + rows[:, None] * stride_am + steps[None, :]
    b_tile = b + columns[None, :] * stride_bn + steps[:, None]
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, K, BLOCK_K):
        total = tl.dot(tl.load(a_tile), tl.load(b_tile), total)
        a_tile += BLOCK_K
        b_tile += BLOCK_K
    tl.store(c + rows[:, None] * stride_cm + columns[None, :], total.to(tl.bfloat16))


@triton.jit
def softmax(x, y, columns, BLOCK: tl.constexpr):
    """y = softmax of each row of x, f32, rows of `columns` <= BLOCK elements."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * columns + at, powers / tl.sum(powers, axis=0), mask=at < columns)

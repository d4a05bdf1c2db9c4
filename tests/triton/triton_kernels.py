"""Small Triton kernels for the tests of the driver."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n) + tl.load(y_ptr + i, mask=i < n), mask=i < n)


@triton.jit
def softmax(x_ptr, out_ptr, columns, stride, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + i, mask=i < columns, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * stride + i, e / tl.sum(e, axis=0), mask=i < columns)


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    n = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        ka, kb = k + tl.arange(0, BK)[None, :], k + tl.arange(0, BK)[:, None]
        a = tl.load(a_ptr + m * K + ka, mask=(m < M) & (ka < K), other=0.0)
        b = tl.load(b_ptr + kb * N + n, mask=(kb < K) & (n < N), other=0.0)
        total = tl.dot(a, b, total)
    tl.store(c_ptr + m * N + n, total, mask=(m < M) & (n < N))


@triton.jit
def histogram(x_ptr, counts_ptr, total_ptr, most_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0)
    tl.atomic_add(counts_ptr + x, 1, mask=i < n)
    tl.atomic_add(total_ptr, tl.sum(tl.where(i < n, x, 0).to(tl.float32), axis=0))
    tl.atomic_max(most_ptr, tl.max(x, axis=0))


@triton.jit
def reductions(x_ptr, sum_ptr, scan_ptr, arg_ptr, sort_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    r, c = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    at = r[:, None] * COLUMNS + c[None, :]
    x = tl.load(x_ptr + at)
    tl.store(sum_ptr + c, tl.sum(x, axis=0))
    tl.store(arg_ptr + r, tl.argmax(x, axis=1))
    tl.store(scan_ptr + at, tl.cumsum(x, axis=1))
    tl.store(sort_ptr + at, tl.sort(x, dim=1))


@triton.jit
def copy_tile(source, target_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    target = tl.make_tensor_descriptor(target_ptr, [M, N], [N, 1], [BM, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    target.store([row, column], source.load([row, column]) * 2)


@triton.jit
def scalars(out_ptr, pair, flag, wide, real, absent, SCALE: tl.constexpr):
    if absent is None:
        tl.store(out_ptr, pair[0] * SCALE)
    tl.store(out_ptr + 1, pair[1].to(tl.float32))
    tl.store(out_ptr + 2, flag.to(tl.float32))
    tl.store(out_ptr + 3, (wide >> 32).to(tl.float32))
    tl.store(out_ptr + 4, real)
    tl.store(out_ptr + 5, tl.num_programs(1).to(tl.float32))


@triton.jit
def gather(x_ptr, index_ptr, out_ptr):
    i = tl.arange(0, 64)
    tl.store(out_ptr + i, tl.load(x_ptr + tl.load(index_ptr + i)))


@triton.jit
def spin(flag_ptr):
    while tl.load(flag_ptr, volatile=True) == 0:
        pass


@triton.jit
def below(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.device_assert(x < 5, "too large", mask=i < n)
    tl.store(out_ptr + i, x + 1, mask=i < n)


tuned_add = triton.autotune([triton.Config({"BLOCK": 64}, 1), triton.Config({"BLOCK": 1024}, 4)], ["n"])(add)

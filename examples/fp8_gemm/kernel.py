"""FP8 GEMM with block scales (A8W8): C = (A * a_scale) @ (B * b_scale).T, as LLM serving engines run it.

A is [M, K] with a scale for each row and 128 columns; B is [N, K] with a scale for each 128 x 128 block; C is bf16.
"""

import triton
import triton.language as tl


@triton.jit
def fp8_block_scaled_gemm(
    a,
    b,
    c,
    a_scale,
    b_scale,
    M,
    N,
    K,
    stride_am,
    stride_bn,
    stride_cm,
    stride_as_m,
    stride_bs_n,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    # Programs of GROUP_M row tiles walk the columns together, so that their tiles of B stay in the L2 cache.
    pid = tl.program_id(0)
    num_m = tl.cdiv(M, BLOCK_M)
    num_n = tl.cdiv(N, BLOCK_N)
    per_group = GROUP_M * num_n
    group = pid // per_group
    first = group * GROUP_M
    size = min(num_m - first, GROUP_M)
    pid_m = first + (pid % per_group) % size
    pid_n = (pid % per_group) // size

    # Rows and columns past the end wrap around: their results are computed and not stored.
    rows = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    cols = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    k = tl.arange(0, BLOCK_K)
    a_tile = a + rows[:, None] * stride_am + k[None, :]
    b_tile = b + cols[None, :] * stride_bn + k[:, None]
    a_scales = a_scale + rows * stride_as_m
    b_scales = b_scale + (cols // 128) * stride_bs_n

    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for i in range(tl.cdiv(K, BLOCK_K)):
        left = K - i * BLOCK_K
        a_codes = tl.load(a_tile, mask=k[None, :] < left, other=0.0)
        b_codes = tl.load(b_tile, mask=k[:, None] < left, other=0.0)
        block = i * BLOCK_K // 128
        sa = tl.load(a_scales + block)
        sb = tl.load(b_scales + block)
        acc += tl.dot(a_codes, b_codes) * sa[:, None] * sb[None, :]
        a_tile += BLOCK_K
        b_tile += BLOCK_K

    m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_tile = c + m[:, None] * stride_cm + n[None, :]
    tl.store(c_tile, acc.to(tl.bfloat16), mask=(m[:, None] < M) & (n[None, :] < N))

"""A small program with a Triton kernel: products of matrices of small integers, whose bits are written as hashes.

    python program.py RESULTS

`import asmevo.triton` makes the simulated chip Triton's device; without that line, and with torch tensors in place of
`Array`, it is a program for a GPU.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import numpy as np
import triton
import triton.language as tl

import asmevo.triton
from asmevo.triton import Array


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


def main(results: Path) -> None:
    rng = np.random.default_rng(1)
    lines: list[str] = []
    for m, n, k in ((64, 64, 128), (40, 48, 80), (64, 64, 128)):
        a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((m, k), (k, n)))
        c = np.zeros((m, n), np.float32)
        grid = (triton.cdiv(m, 32), triton.cdiv(n, 64))
        matmul[grid](Array(a), Array(b), Array(c), m, n, k, BM=32, BN=64, BK=64, num_warps=4, num_stages=1)
        assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32))
        lines.append(f"{m} x {n} x {k}: {hashlib.sha256(c.tobytes()).hexdigest()}")
    results.write_text("\n".join([*lines, f"{asmevo.triton.launches()} launches", ""]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

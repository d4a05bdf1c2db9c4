"""Triton kernels that reduce or multiply through LDS, compiled for gfx942 without a GPU.

    python -m benchmarks.triton_subjects FOLDER

writes `NAME.hsaco` and `NAME.json` (bytes of LDS, warps) for each. Needs triton==3.9.0.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
os.environ["TRITON_ALWAYS_COMPILE"] = "1"

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def softmax(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row * columns + at, mask=inside, other=-float("inf"))
    e = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * columns + at, e / tl.sum(e, axis=0), mask=inside)


@triton.jit
def layer_norm(x, y, weight, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row * columns + at, mask=inside, other=0.0)
    mean = tl.sum(values, axis=0) / columns
    centred = tl.where(inside, values - mean, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=0) / columns + 1e-5)
    tl.store(y + row * columns + at, centred * scale * tl.load(weight + at, mask=inside), mask=inside)


@triton.jit
def matmul(a, b, c, N, K, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    k = tl.arange(0, BLOCK_K)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        left = tl.load(a + m[:, None] * K + (start + k)[None, :])
        right = tl.load(b + (start + k)[:, None] * N + n[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + m[:, None] * N + n[None, :], total.to(tl.bfloat16))


KERNELS: dict[str, tuple[Any, dict[str, str], dict[str, int]]] = {
    "softmax": (softmax, {"x": "*fp32", "y": "*fp32", "columns": "i32"}, {"BLOCK": 1024}),
    "layer_norm": (
        layer_norm,
        {"x": "*fp32", "y": "*fp32", "weight": "*fp32", "columns": "i32"},
        {"BLOCK": 1024},
    ),
    "matmul": (
        matmul,
        {"a": "*bf16", "b": "*bf16", "c": "*bf16", "N": "i32", "K": "i32"},
        {"BLOCK": 64, "BLOCK_K": 32},
    ),
}
"""Kernel, types of its arguments, and its constants."""


def compile_kernel(name: str) -> Any:
    """Triton's compiled kernel."""
    function, types, constants = KERNELS[name]
    signature = types | dict.fromkeys(constants, "constexpr")
    attributes = {(i,): [["tt.divisibility", 16]] for i in range(len(types))}
    source = ASTSource(function, signature, dict(constants), attributes)
    return triton.compile(source, target=GPUTarget("hip", "gfx942", 64), options={"num_warps": 4, "num_stages": 2})


def main() -> None:
    folder = Path(sys.argv[1])
    for name in KERNELS:
        kernel = compile_kernel(name)
        (folder / f"{name}.hsaco").write_bytes(kernel.asm["hsaco"])
        facts = {"lds": kernel.metadata.shared, "warps": kernel.metadata.num_warps}
        (folder / f"{name}.json").write_text(json.dumps(facts))


if __name__ == "__main__":
    main()

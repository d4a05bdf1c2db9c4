"""AMD's bf16 GEMM (AITer `bf16gemm_*_tn_*`): plain, shuffled weights, split along k, with semaphores.

Layouts and kernel arguments were checked by execution against numpy; the host code they come from is ROCm/aiter,
`asm_gemm_a16w16`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from asmevo.launch.fills import Zeros
from asmevo.launch.formats import Array, decode_bf16, encode_bf16, format_of
from asmevo.launch.recipes.agreement import Bounds, Expectation
from asmevo.launch.recipes.base import Argument, Recipe, slots
from asmevo.launch.recipes.weights import shuffle_weights, unshuffle_weights
from asmevo.launch.values import Buffer, Launch
from asmevo.verdict import InputError

TILE_N = 64
"""Columns of D that a workgroup computes, and the step along k."""
SEMAPHORES = 1024


@dataclass(frozen=True, kw_only=True)
class Bf16Gemm(Recipe):
    """D[m,n] = A[m] . B[n] + bias[n].

    A [m, k] and B [n, k] are bf16, B shuffled in (16, 16) tiles where `shuffled`; D is float32 or bf16, the bias bf16.
    n and k are multiples of 64, and each of `splitk` slices has at least 64 of k. The slices add their part to D, which
    is zero before; an object with semaphores (`_clean` in its name) does that itself and D may hold anything. The
    kernel ignores alpha and beta.
    """

    name: ClassVar[str] = "aiter.bf16_gemm"
    m: int
    n: int
    k: int
    seed: int = 0
    splitk: int = 1
    """Slices of k, each a workgroup of its own."""
    tile_m: int = 64
    out: str = "float32"
    """`float32` or `bf16`."""
    shuffled: bool = False
    bias: bool = False
    semaphores: bool = False
    kernarg: int = 336
    """Bytes of kernel arguments: 288 (float32 only, no bias), 336, or 352 with semaphores."""

    def __post_init__(self) -> None:
        self.require_positive("m", "n", "k", "splitk", "tile_m")
        self.require("out", ("float32", "bf16"))
        if self.n % TILE_N or self.k % TILE_N or self.splitk * TILE_N > self.k:
            raise InputError(
                f"{self.name} cannot do n={self.n}, k={self.k}, splitk={self.splitk}; n and k must be multiples of 64, "
                "with 64 of k or more in each slice."
            )
        least = 352 if self.semaphores else 336 if self.bias or self.out == "bf16" else 288
        if self.kernarg < least:
            raise InputError(f"{self.name} needs kernarg={least} or more here, not {self.kernarg}.")

    def launch(self, name: str) -> Launch:
        element = format_of(self.out).size
        arguments: tuple[Argument, ...] = (
            ("D", "d"), ("C", None), ("A", "a"), ("B", "b"), ("alpha", 1.0), ("beta", 0.0),
            ("strideD0", self.n * element), ("strideD1", 0), ("strideC0", self.n * element), ("strideC1", 0),
            ("strideA0", 2 * self.k), ("strideA1", 0), ("strideB0", 2 * self.k), ("strideB1", 0), ("M", self.m),
            ("N", self.n), ("K", self.k), ("splitk", self.splitk), ("is_out_b16", int(self.out == "bf16")),
            ("Bias", "bias" if self.bias else None), ("add_bias", int(self.bias)),
            ("semaphore", "semaphore" if self.semaphores else None),
        )  # fmt: skip
        adds = self.splitk > 1 and not self.semaphores
        buffers = [
            Buffer("d", "inout" if adds else "out", self.out, (self.m, self.n), Zeros() if adds else None),
            Buffer("a", "in", "bf16", (self.m, self.k), self.fill("a")),
            Buffer("b", "in", "bf16", (self.n, self.k), self.fill("b")),
        ]
        if self.bias:
            buffers.append(Buffer("bias", "in", "bf16", (self.n,), self.fill("bias")))
        if self.semaphores:
            buffers.append(Buffer("semaphore", "inout", "uint32", (SEMAPHORES,), Zeros()))
        return Launch(
            name=name,
            grid=(self.n // TILE_N, -(-self.m // self.tile_m), self.splitk),
            block=(256, 1, 1),
            kernarg=slots(arguments, self.kernarg),
            buffers=tuple(buffers),
            recipe=self,
        )

    def make_inputs(self) -> Mapping[str, Array]:
        rng = np.random.default_rng((self.seed, self.m, self.n, self.k))
        a, b = (encode_bf16(rng.standard_normal((rows, self.k))) for rows in (self.m, self.n))
        bias = {"bias": encode_bf16(rng.standard_normal(self.n))} if self.bias else {}
        return {"a": a, "b": shuffle_weights(b, self.k) if self.shuffled else b, **bias}

    def expectations(self) -> tuple[Expectation, ...]:
        """Bounds on bf16: float32 results are rounded for the comparison and bounded by their accumulation, too."""
        arrays = self.inputs()
        b = unshuffle_weights(arrays["b"], self.k) if self.shuffled else arrays["b"]
        a, b = decode_bf16(arrays["a"]).astype(np.float64), decode_bf16(b).astype(np.float64)
        result = a @ b.T
        if self.bias:
            result += decode_bf16(arrays["bias"])
        if self.splitk > 1 and self.out == "bf16":
            most_off = 5e-4 if self.splitk <= 4 else 7e-3
            return (Expectation("d", result, bounds=Bounds(most_off=most_off), wording="few elements off by over 1 %"),)
        accumulation = (self.k + self.splitk) * 2.0**-24 * (np.abs(a) @ np.abs(b).T)
        exact = Expectation(
            "d",
            result,
            format_of("bf16").ulp(result) + accumulation,
            Bounds(least_exact=0.9997),
            as_bf16=True,
            wording="99.97 % bit-equal in bf16, all within one ulp plus float32 accumulation",
        )
        if self.out == "bf16":
            return (exact,)
        wording = "float32 accumulation: k * 2**-24 * sum of |terms|"
        return exact, Expectation("d", result, accumulation, wording=wording)

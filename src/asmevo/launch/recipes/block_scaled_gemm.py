"""FP8 GEMM with 128x128 block scales, as serving engines launch it through Triton (A8W8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from asmevo.launch.fills import FromRecipe
from asmevo.launch.formats import Array, encode_fp8, fp8_values, ulp_bf16
from asmevo.launch.recipes.agreement import Expectation
from asmevo.launch.recipes.base import Recipe
from asmevo.launch.recipes.numbers import SCALE_BLOCK, fp8_codes, put_special
from asmevo.launch.values import Buffer, Field, Launch
from asmevo.verdict import InputError

VALUES = ("normal", "integers", "zero_scales", "special")


@dataclass(frozen=True, kw_only=True)
class BlockScaledGemm(Recipe):
    """C[m,n] = bf16(sum over 128-wide blocks j of k: a_scale[m,j] * b_scale[n/128,j] * A_j[m] . B_j[n]).

    A is [m, k] and B [n, k] in fp8 e4m3fnuz, scales f32, C bf16, all row-major and dense. Arguments of the kernel in
    order: a, b, c, a_scale, b_scale, m, n, k, the row strides of a, b, c, a_scale, b_scale, and Triton's two scratch
    pointers (null). n and k are multiples of 16, which the object was compiled for.
    """

    name: ClassVar[str] = "triton.block_scaled_gemm"
    m: int
    n: int
    k: int
    seed: int = 0
    values: str = "normal"
    """`normal`; `integers`: every partial sum is exact, in any order; `zero_scales`: a third of the scales is 0;
    `special`: NaN codes, infinite, NaN and denormal scales are mixed in."""
    block_m: int = 64
    """Rows of C that a workgroup computes."""
    block_n: int = 128
    threads: int = 256
    lds: int = 24576
    """Dynamic LDS in bytes, `shared` in Triton's metadata."""

    def __post_init__(self) -> None:
        if min(self.m, self.n, self.k) < 1 or self.k % 16 or self.n % 16:
            raise InputError(
                f"{self.name} cannot do m={self.m}, n={self.n}, k={self.k}; n and k must be multiples of 16."
            )
        self.require("values", VALUES)

    @property
    def k_blocks(self) -> int:
        return -(-self.k // SCALE_BLOCK)

    @property
    def n_blocks(self) -> int:
        return -(-self.n // SCALE_BLOCK)

    def launch(self, name: str) -> Launch:
        tiles = -(-self.m // self.block_m) * -(-self.n // self.block_n)
        strides = (self.k, self.k, self.n, self.k_blocks, self.k_blocks)
        pointers = tuple(
            Field(label, 8 * i, buffer=label) for i, label in enumerate(("a", "b", "c", "a_scale", "b_scale"))
        )
        labels = ("m", "n", "k", "stride_am", "stride_bn", "stride_cm", "stride_as_m", "stride_bs_n")
        numbers = zip(labels, (self.m, self.n, self.k, *strides), strict=True)
        scalars = tuple(Field(label, 40 + 4 * i, value=v) for i, (label, v) in enumerate(numbers))
        scratch = tuple(
            Field(label, 72 + 8 * i, 0, type="u64") for i, label in enumerate(("global_scratch", "profile_scratch"))
        )
        return Launch(
            name=name,
            grid=(tiles, 1, 1),
            block=(self.threads, 1, 1),
            dynamic_lds=self.lds,
            kernarg=pointers + scalars + scratch,
            buffers=(
                Buffer("a", "in", "fp8_e4m3fnuz", (self.m, self.k), FromRecipe(self, "a")),
                Buffer("b", "in", "fp8_e4m3fnuz", (self.n, self.k), FromRecipe(self, "b")),
                Buffer("c", "out", "bf16", (self.m, self.n)),
                Buffer("a_scale", "in", "float32", (self.m, self.k_blocks), FromRecipe(self, "a_scale")),
                Buffer("b_scale", "in", "float32", (self.n_blocks, self.k_blocks), FromRecipe(self, "b_scale")),
            ),
            recipe=self,
        )

    def make_inputs(self) -> Mapping[str, Array]:
        rng = np.random.default_rng((self.seed, self.m, self.n, self.k))
        return {
            "a": self._codes(rng, self.m).reshape(self.m, self.k),
            "b": self._codes(rng, self.n).reshape(self.n, self.k),
            "a_scale": self._scales(rng, self.m),
            "b_scale": self._scales(rng, self.n_blocks),
        }

    def _codes(self, rng: np.random.Generator, rows: int) -> NDArray[np.uint8]:
        count = rows * self.k
        if self.values == "integers":
            return encode_fp8(np.arange(-4.0, 5.0))[rng.integers(0, 9, count)]
        codes = fp8_codes(rng, count, 60.0)
        if self.values == "special":
            codes = np.where(rng.random(count) < 0.2 / self.k, np.uint8(0x80), codes)
        return codes

    def _scales(self, rng: np.random.Generator, rows: int) -> NDArray[np.float32]:
        shape = (rows, self.k_blocks)
        if self.values == "integers":
            return np.exp2(rng.integers(-1, 2, shape)).astype(np.float32)
        scales = (rng.uniform(0.5, 1.5, shape) / 60).astype(np.float32)
        if self.values == "zero_scales":
            scales[rng.random(shape) < 1 / 3] = 0.0
        if self.values == "special":
            put_special(scales, (np.inf, -np.inf, np.nan, 1e-41, -1e-41, -0.0, 1e30), 1 / 16, rng)
        return scales

    def expectations(self) -> tuple[Expectation, ...]:
        """Reference, and one ulp plus a bound of the f32 accumulation error: k + 3 k/128 roundings."""
        arrays = self.inputs()
        table = fp8_values().astype(np.float64)
        total, moduli = np.zeros((self.m, self.n)), np.zeros((self.m, self.n))
        columns = np.arange(self.n) // SCALE_BLOCK
        with np.errstate(invalid="ignore", over="ignore"):
            for j in range(self.k_blocks):
                span = slice(j * SCALE_BLOCK, (j + 1) * SCALE_BLOCK)
                a, b = table[arrays["a"][:, span]], table[arrays["b"][:, span]]
                sa = arrays["a_scale"][:, j, None].astype(np.float64)
                sb = arrays["b_scale"][columns, j][None, :].astype(np.float64)
                total += (a @ b.T) * sa * sb
                moduli += (np.abs(a) @ np.abs(b).T) * np.abs(sa) * np.abs(sb)
            accumulation = (self.k + 3 * self.k_blocks) * 2.0**-24 * moduli
        tolerance = np.where(np.isfinite(total), ulp_bf16(np.nan_to_num(total)) + accumulation, 0.0)
        exact = self.values == "integers"
        result = Expectation(
            buffer="c",
            values=total,
            tolerance=np.zeros_like(tolerance) if exact else tolerance,
            wording="bit-equal"
            if exact
            else "one bf16 ulp plus (k + 3k/128) * 2**-24 * sum of |terms| for f32 accumulation",
        )
        return (result,)

"""AMD's GEMMs of one-byte operands: int8 with token scales (AITer `I8gemm_bf16_perTokenI8_BpreShuffle_*`) and fp8 with
block scales (`fp8gemm_bf16_blockscale_BpreShuffle_*`).

Layouts, kernel arguments and the truncation of results were checked by execution against numpy.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from asmevo.launch.fills import Zeros
from asmevo.launch.formats import Array, decode_bf16, format_of, truncate_bf16
from asmevo.launch.recipes.agreement import Bounds, Expectation
from asmevo.launch.recipes.base import Argument, Recipe, slots
from asmevo.launch.recipes.numbers import DEVIATION, SCALE_BLOCK, edges, normal_codes, spread, values_of
from asmevo.launch.recipes.weights import shuffle_weights, unshuffle_weights
from asmevo.launch.values import Buffer, Launch
from asmevo.verdict import InputError


@dataclass(frozen=True, kw_only=True)
class _QuantisedGemm(Recipe):
    """C[m,n] = bf16, truncated, of (A[m] . B[n], scaled) + bias[n].

    A [m, k] and B [n, k] have one byte an element, B shuffled in (16, 16) tiles; scales and bias are float32. n is a
    multiple of `tile_n` and k of 128. With `ks` slices of k, C is zero before and each slice adds its truncated part.
    """

    m: int
    n: int
    k: int
    seed: int = 0
    ks: int = 1
    """Slices of k, each a workgroup of its own."""
    tile_m: int = 128
    tile_n: int = 128
    weight_tile: int = 16
    """Rows of a tile of the shuffled B: 16, or 32 for older objects."""
    values: str = "normal"
    """`normal`; or `edges`: the products are zero, so that results are the bias, which runs over `EDGES`."""

    dtype: ClassVar[str]
    exact: ClassVar[float]
    """Fraction of results that are bit-equal without slices."""
    off: ClassVar[float]
    """Fraction off by more than 1 % with slices."""

    def __post_init__(self) -> None:
        self.require_positive("m", "n", "k", "ks", "tile_m", "tile_n")
        self.require("values", ("normal", "edges"))
        if self.n % self.tile_n or self.k % SCALE_BLOCK or self.ks * SCALE_BLOCK > self.k:
            raise InputError(
                f"{self.name} cannot do n={self.n}, k={self.k}, ks={self.ks}; n must be a multiple of {self.tile_n} "
                "and k of 128, with 128 of k or more in each slice."
            )
        if self.weight_tile not in (16, 32):
            raise InputError(f"{self.name} has no weight_tile {self.weight_tile}; use 16, or 32 for older objects.")

    @property
    def truncated(self) -> bool:
        """Whether results are cut to bf16 rather than rounded."""
        return True

    @abstractmethod
    def scale_shapes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shapes of the scales of A and B."""

    @abstractmethod
    def scaled(self, values: NDArray[np.float64], scale: NDArray[np.float64], *, weights: bool) -> NDArray[np.float64]:
        """A or B times its scales."""

    def last_arguments(self) -> tuple[Argument, ...]:
        """Arguments behind the common ones."""
        return ()

    def launch(self, name: str) -> Launch:
        arguments: tuple[Argument, ...] = (
            ("C", "c"), ("A", "a"), ("B", "b"), ("a_scale", "a_scale"), ("b_scale", "b_scale"), ("bias", "bias"),
            ("m", self.m), ("n", self.n), ("k", self.k), ("lda", self.k), ("ldb", self.k), ("ldc", 2 * self.n),
            ("ks", self.ks), *self.last_arguments(),
        )  # fmt: skip
        code = format_of(self.dtype).name
        a_scale, b_scale = self.scale_shapes()
        shape = (self.m, self.n)
        c = Buffer("c", "inout", "bf16", shape, Zeros()) if self.ks > 1 else Buffer("c", "out", "bf16", shape)
        return Launch(
            name=name,
            grid=(self.n // self.tile_n * self.ks, -(-self.m // self.tile_m), 1),
            block=(256, 1, 1),
            kernarg=slots(arguments),
            buffers=(
                c,
                Buffer("a", "in", code, (self.m, self.k), self.fill("a")),
                Buffer("b", "in", code, (self.n, self.k), self.fill("b")),
                Buffer("a_scale", "in", "float32", a_scale, self.fill("a_scale")),
                Buffer("b_scale", "in", "float32", b_scale, self.fill("b_scale")),
                Buffer("bias", "in", "float32", (self.n,), self.fill("bias")),
            ),
            recipe=self,
        )

    def make_inputs(self) -> Mapping[str, Array]:
        rng = np.random.default_rng((self.seed, self.m, self.n, self.k))
        a, b = (normal_codes(rng, rows * self.k, self.dtype).reshape(rows, self.k) for rows in (self.m, self.n))
        unit = DEVIATION[self.dtype]
        a_scale, b_scale = ((rng.uniform(0.5, 1.5, s) / unit).astype(np.float32) for s in self.scale_shapes())
        bias = rng.standard_normal(self.n).astype(np.float32)
        if self.values == "edges":
            a_scale[...], bias = 0.0, edges(self.n)
        return {
            "a": a,
            "b": shuffle_weights(b, self.k, self.weight_tile),
            "a_scale": a_scale,
            "b_scale": b_scale,
            "bias": bias,
        }

    def expectations(self) -> tuple[Expectation, ...]:
        arrays = self.inputs()
        a = self.scaled(values_of(arrays["a"], self.dtype), arrays["a_scale"].astype(np.float64), weights=False)
        b = values_of(unshuffle_weights(arrays["b"], self.k, self.weight_tile), self.dtype)
        b = self.scaled(b, arrays["b_scale"].astype(np.float64), weights=True)
        bias = arrays["bias"].astype(np.float64)
        if self.ks > 1:
            return (self._sliced(a, b, bias),)
        result = a @ b.T + bias
        tolerance = format_of("bf16").ulp(np.nan_to_num(result)) + (self.k + 4) * 2.0**-24 * (np.abs(a) @ np.abs(b).T)
        wording = f"{100 * self.exact:.3f} % bit-equal, all within one ulp plus float32 accumulation"
        return (Expectation("c", result, tolerance, Bounds(self.exact), truncated=self.truncated, wording=wording),)

    def _sliced(self, a: NDArray[np.float64], b: NDArray[np.float64], bias: NDArray[np.float64]) -> Expectation:
        """The sum of the truncated parts. Two parts are added with one rounding, more in an order nobody knows."""
        step = -(-self.k // (self.ks * SCALE_BLOCK)) * SCALE_BLOCK
        result = np.zeros((self.m, self.n))
        for first in range(0, self.k, step):
            part = a[:, first : first + step] @ b[:, first : first + step].T + (bias if first == 0 else 0.0)
            result += decode_bf16(truncate_bf16(part))
        bounds = Bounds(self.exact if self.ks == 2 else 0.0, self.off)
        wording = f"at most {100 * self.off:.2g} % of elements off by over 1 % of the sum of truncated parts"
        return Expectation("c", result, bounds=bounds, wording=wording)


@dataclass(frozen=True, kw_only=True)
class Int8Gemm(_QuantisedGemm):
    """int8 with a scale for each row of A and of B; see `_QuantisedGemm`. Tiles of 112x256 know no slices.

    Older objects (`weight_tile` 32) round to nearest even, and need k of at least 384: their row offsets to A begin
    with `lda - 260`, which must not be negative for the range check of the buffer. With slices each of their workgroups
    clears a part of C itself, while others may already have added to it; so they take no slices here.
    """

    name: ClassVar[str] = "aiter.int8_gemm"
    dtype: ClassVar[str] = "int8"
    exact: ClassVar[float] = 0.99995
    off: ClassVar[float] = 1.5e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ks > 1 and self.tile_n != 128:
            raise InputError(f"{self.name} with tile_n={self.tile_n} cannot slice k; use ks=1.")
        if self.weight_tile == 32 and (self.ks > 1 or self.k < 384):
            raise InputError(
                f"{self.name} with weight_tile=32 cannot do k={self.k}, ks={self.ks}; use k of at least 384 and ks=1."
            )

    @property
    def truncated(self) -> bool:
        return self.weight_tile == 16

    def last_arguments(self) -> tuple[Argument, ...]:
        """The object of 256 columns declares three pointers that it does not read."""
        return (("scale_m", None), ("scale_n", None), ("scale_k", None)) if self.tile_n == 256 else ()

    def scale_shapes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return (self.m,), (self.n,)

    def scaled(self, values: NDArray[np.float64], scale: NDArray[np.float64], *, weights: bool) -> NDArray[np.float64]:
        return values * scale[:, None]


@dataclass(frozen=True, kw_only=True)
class Fp8BlockGemm(_QuantisedGemm):
    """fp8 e4m3fnuz with scales of A [k/128, m] and of B [n/128, k/128]; see `_QuantisedGemm`."""

    name: ClassVar[str] = "aiter.fp8_gemm_blockscale"
    dtype: ClassVar[str] = "fp8"
    exact: ClassVar[float] = 0.99988
    off: ClassVar[float] = 2.4e-4

    def last_arguments(self) -> tuple[Argument, ...]:
        """Of the strides of the scales, only that of B's rows has an effect."""
        return ("scale_m", 1), ("scale_n", 1), ("scale_k", self.k // SCALE_BLOCK)

    def scale_shapes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return (self.k // SCALE_BLOCK, self.m), (self.n // SCALE_BLOCK, self.k // SCALE_BLOCK)

    def scaled(self, values: NDArray[np.float64], scale: NDArray[np.float64], *, weights: bool) -> NDArray[np.float64]:
        if weights:
            return values * spread(scale, self.n, self.k)
        return values * np.repeat(scale.T, SCALE_BLOCK, axis=1)

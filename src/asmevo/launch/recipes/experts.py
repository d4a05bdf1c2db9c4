"""The gated first half that AMD's mixture-of-experts kernels share: operands, scales, and act(gate) * up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from asmevo.launch.formats import Array, format_of
from asmevo.launch.recipes.numbers import (
    DEVIATION,
    SCALE_BLOCK,
    edges,
    normal_codes,
    put_special,
    small_integers,
    spread,
    values_of,
)
from asmevo.launch.recipes.routing import RoutedRecipe
from asmevo.launch.recipes.weights import shuffle_weights, unshuffle_weights
from asmevo.launch.values import RED_ZONE, Buffer
from asmevo.verdict import InputError

ACTIVATIONS = ("silu", "gelu")
VALUES = ("normal", "integers", "special", "edges")
_ODD = ("special", "edges")


@dataclass(frozen=True, kw_only=True)
class GatedExperts(RoutedRecipe):
    """h[t,s] = act(g) * u with g, u = X[t] . W[e,row], e the s-th expert of token t, everything scaled.

    X [tokens, dim] and W [experts, 2 inter, dim] (gate rows first, then up rows) are fp8 e4m3fnuz or int8, W shuffled
    in (16, 16) tiles. Scales are float32: one for each row of X and W (`token`), or one for 128 columns of a row of X
    and for 128x128 of W (`block`).
    """

    takes_special: ClassVar[bool] = False
    """Whether the reference is right for NaN and infinities, with scales for tokens."""
    dim: int
    inter: int
    tile_n: int
    """Columns of h that a workgroup computes, as in the object's name."""
    dtype: str = "fp8"
    """`fp8` or `int8`."""
    scaling: str = "token"
    """`token` or `block`."""
    activation: str = "silu"
    """`silu`, or `gelu` (its tanh form)."""
    doweight: bool = False
    """The routing weight multiplies gate and up, before the activation."""
    values: str = "normal"
    """`normal`; `integers`: every dot product is exact, in any order; `special`, with scales for tokens: an eighth of
    the scales is NaN, infinite or a zero, so that NaN stands beside numbers in rows and in columns; `edges`, as well:
    every row of h runs over `numbers.EDGES`, exactly."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("dim", "inter", "tile_n")
        self.require("dtype", DEVIATION)
        self.require("scaling", ("token", "block"))
        self.require("activation", ACTIVATIONS)
        self.require("values", VALUES)
        if self.values in _ODD and not (self.takes_special and self.scaling == "token"):
            raise InputError(f"{self.name} with {self.scaling} scales has no {self.values} values; use others.")
        if self.values == "edges" and self.doweight:
            raise InputError(f"{self.name} with doweight has no edges values; use others.")
        if self.scaling == "block" and self.inter % SCALE_BLOCK:
            raise InputError(f"{self.name} with block scales needs inter in multiples of 128, not {self.inter}.")

    def gate_up_shapes(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """Types and shapes of the operands."""
        t, e, dim, rows = self.tokens, self.experts, self.dim, 2 * self.inter
        code = format_of(self.dtype).name
        x_scale, gu_scale = (t,), (e, rows)
        if self.scaling == "block":
            x_scale, gu_scale = (dim // SCALE_BLOCK, t), (e, rows // SCALE_BLOCK, dim // SCALE_BLOCK)
        return {
            "x": (code, (t, dim)),
            "gu": (code, (e, rows, dim)),
            "x_scale": ("float32", x_scale),
            "gu_scale": ("float32", gu_scale),
        }

    def buffers(self, shapes: Mapping[str, tuple[str, tuple[int, ...]]], **red_zones: int) -> tuple[Buffer, ...]:
        """Input buffers of these types and shapes; some with larger red zones."""
        return tuple(
            Buffer(key, "in", dtype, shape, self.fill(key), red_zone=red_zones.get(key, RED_ZONE))
            for key, (dtype, shape) in shapes.items()
        )

    def gate_up_inputs(self) -> dict[str, Array]:
        """Codes of the operands, W shuffled."""
        if self.values == "edges":
            return self._at_edges()
        rng = np.random.default_rng((self.seed, self.dim, self.inter, self.tokens))
        shapes = self.gate_up_shapes()
        return {
            "x": self.codes(rng, shapes["x"][1]),
            "gu": shuffle_weights(self.codes(rng, shapes["gu"][1]), self.dim),
            "x_scale": self.scales(rng, shapes["x_scale"][1], self.dim),
            "gu_scale": self.scales(rng, shapes["gu_scale"][1], self.dim),
        }

    def _at_edges(self) -> dict[str, Array]:
        """128 products of one in every sum: gates are 128, as after an activation, and 128 times up is an edge."""
        shapes = self.gate_up_shapes()
        (zero, one) = format_of(self.dtype).encode(np.array([0.0, 1.0]))
        x, gu = (np.full(shapes[key][1], zero) for key in ("x", "gu"))
        x[:, :128], gu[:, :, :128] = one, one
        scales = np.concatenate([np.ones(self.inter, np.float32), edges(self.inter) * np.float32(2.0**-14)])
        return {
            "x": x,
            "gu": shuffle_weights(gu, self.dim),
            "x_scale": np.ones(self.tokens, np.float32),
            "gu_scale": np.broadcast_to(scales, shapes["gu_scale"][1]).copy(),
        }

    def codes(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        count = int(np.prod(shape))
        make = small_integers if self.values == "integers" else normal_codes
        return make(rng, count, self.dtype).reshape(shape)

    def scales(self, rng: np.random.Generator, shape: tuple[int, ...], length: int) -> NDArray[np.float32]:
        """Scales with which dot products of this length have a deviation of about 1.5."""
        if self.values == "integers":
            return np.exp2(rng.integers(-4, -1, shape)).astype(np.float32)
        scales = (rng.uniform(0.5, 1.5, shape) / DEVIATION[self.dtype] * (2.25 / length) ** 0.25).astype(np.float32)
        if self.values == "special":
            put_special(scales, (np.nan, -0.0, np.inf), 1 / 8, rng)
        return scales

    def gate_up(self, arrays: Mapping[str, Array], expert: int, tokens: Array) -> NDArray[np.float64]:
        """Gate and up before the activation, [len(tokens), 2 inter]."""
        w = values_of(unshuffle_weights(arrays["gu"][expert], self.dim), self.dtype)
        scale = arrays["gu_scale"][expert].astype(np.float64)
        if self.scaling == "token":  # scaled behind the sums: an infinite scale of a zero is no NaN
            sums = values_of(arrays["x"][tokens], self.dtype) @ w.T
            with np.errstate(invalid="ignore"):
                return sums * arrays["x_scale"].astype(np.float64)[tokens, None] * scale
        return self.rows_of_x(arrays, tokens) @ (w * spread(scale, 2 * self.inter, self.dim)).T

    def rows_of_x(self, arrays: Mapping[str, Array], tokens: Array) -> NDArray[np.float64]:
        """What the kernel multiplies for these tokens with scales for blocks, scaled, [len(tokens), dim]."""
        x, scale = values_of(arrays["x"][tokens], self.dtype), arrays["x_scale"].astype(np.float64)
        return x * np.repeat(scale[:, tokens].T, SCALE_BLOCK, axis=1)

    def hidden(self, arrays: Mapping[str, Array], expert: int, tokens: Array, slots: Array) -> NDArray[np.float64]:
        """h of an expert's tokens, [len(tokens), inter]."""
        both = self.gate_up(arrays, expert, tokens)
        if self.doweight:
            both *= self.routing_weights()[tokens, slots].astype(np.float64)[:, None]
        with np.errstate(invalid="ignore", over="ignore"):  # of special values
            return activated(both[:, : self.inter], self.activation) * both[:, self.inter :]


def activated(x: NDArray[np.float64], activation: str) -> NDArray[np.float64]:
    """silu, or gelu by tanh."""
    if activation == "silu":
        return x / (1 + np.exp(-x))
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))

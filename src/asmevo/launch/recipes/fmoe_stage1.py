"""Stage 1 of AMD's two-stage mixture of experts (AITer `fmoe_stage1_bf16_pertokenFp8_g1u1_*`), FP8 with token scales.

Layouts, kernel arguments and the sorting rule were checked by execution against numpy; the host code they come from is
ROCm/aiter, `moe_sorting` and `asm_moe_2stage`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from asmevo.launch.fills import FromRecipe
from asmevo.launch.formats import Array, encode_fp8, fp8_values, ulp_bf16
from asmevo.launch.recipes.base import Expectation, Recipe, fp8_codes
from asmevo.launch.values import Buffer, Field, Launch
from asmevo.verdict import InputError

VALUES = ("normal", "integers")
ROUTINGS = ("random", "levels")


@dataclass(frozen=True, slots=True)
class Sorting:
    """Tokens grouped by expert in blocks of `tile_m`."""

    ids: NDArray[np.int32]
    """slot << 24 | token for each row; padding is topk << 24 | tokens."""
    experts: NDArray[np.int32]
    """Expert of each block."""
    padded: int
    """Rows in use, a multiple of the block."""


@dataclass(frozen=True, kw_only=True)
class FmoeStage1(Recipe):
    """O[t,s] = bf16(silu(g) * u) with g, u = x_scale[t] * w_scale[e,row] * X[t] . W[e,row], e the s-th expert of t.

    X [tokens, dim] and W [experts, 2 inter, dim] are fp8 e4m3fnuz (gate rows first, then up rows), W shuffled in
    (16, 16) tiles; O is bf16 [tokens, topk, inter]. dim is a multiple of 128 and inter of `tile_n`: the kernel does
    not check columns.
    """

    name: ClassVar[str] = "aiter.fmoe_stage1"
    tokens: int
    experts: int
    topk: int
    dim: int
    inter: int
    seed: int = 0
    values: str = "normal"
    """`normal`, or `integers`: every dot product is exact, in any order."""
    routing: str = "random"
    """`random`, or `levels` (topk 1): expert e gets e + 1 rows, so that every fill level of a block occurs."""
    tile_m: int = 32
    """Rows of a block, as in the object's name (`32x128`)."""
    tile_n: int = 128

    def __post_init__(self) -> None:
        if min(self.tokens, self.experts, self.topk, self.dim, self.inter, self.tile_m, self.tile_n) < 1:
            raise InputError(f"{self.name} has an argument below 1.")
        if self.dim % 128 or self.inter % self.tile_n:
            raise InputError(
                f"{self.name} cannot do dim={self.dim}, inter={self.inter}; dim must be a multiple of 128 and inter of "
                f"{self.tile_n}."
            )
        if self.topk > self.experts or self.tokens >= 1 << 24:
            raise InputError(
                f"{self.name} cannot do topk={self.topk} of {self.experts} experts for {self.tokens} tokens."
            )
        if self.values not in VALUES:
            raise InputError(f"{self.name} has no values {self.values!r}; use one of {', '.join(VALUES)}.")
        if self.routing not in ROUTINGS:
            raise InputError(f"{self.name} has no routing {self.routing!r}; use one of {', '.join(ROUTINGS)}.")
        levels = self.experts * (self.experts + 1) // 2
        if self.routing == "levels" and (self.topk != 1 or self.tokens != levels):
            raise InputError(f"{self.name} with routing by levels needs topk=1 and tokens={levels} here.")

    @property
    def blocks(self) -> int:
        """Row blocks of the grid: the host's upper bound, whatever the routing; surplus workgroups leave at once."""
        return -(-(self.tokens * self.topk + self.experts * self.tile_m - self.topk) // self.tile_m)

    def launch(self, name: str) -> Launch:
        t, e, dim, inter = self.tokens, self.experts, self.dim, self.inter
        fields: list[Field] = []
        arguments: tuple[tuple[str, str | int], ...] = (
            ("O", "o"), ("X", "x"), ("GU", "gu"), ("num_valid_ids", "num_valid_ids"), ("XQ", "x_scale"),
            ("GUQ", "gu_scale"), ("SMQ", 0), ("sorted_ids", "sorted_ids"), ("sorted_expert_ids", "sorted_expert_ids"),
            ("dim", dim), ("inter", inter), ("T", t), ("E", e), ("Xs", dim), ("GUs", dim),
            ("Os", 2 * self.topk * inter), ("eGUs", 2 * inter * dim), ("eGUQs", 2 * inter * 4), ("eSMQs", inter * 4),
            ("topk", self.topk), ("splitk", 0), ("activation", 0), ("SW", "sorted_weights"),
        )  # fmt: skip
        for slot, (label, what) in enumerate(arguments):
            if isinstance(what, str):
                fields.append(Field(label, 16 * slot, buffer=what))
            else:
                fields.append(Field(label, 16 * slot, what, type="u64" if label == "SMQ" else "i32"))
        rows = self.blocks * self.tile_m
        shapes: dict[str, tuple[str, tuple[int, ...]]] = {
            "x": ("fp8_e4m3fnuz", (t, dim)),
            "gu": ("fp8_e4m3fnuz", (e, 2 * inter, dim)),
            "num_valid_ids": ("int32", (2,)),
            "x_scale": ("float32", (t,)),
            "gu_scale": ("float32", (e, 2 * inter)),
            "sorted_ids": ("int32", (rows,)),
            "sorted_expert_ids": ("int32", (self.blocks,)),
            "sorted_weights": ("float32", (rows,)),
        }
        inputs = tuple(Buffer(key, "in", dtype, shape, FromRecipe(self, key)) for key, (dtype, shape) in shapes.items())
        return Launch(
            name=name,
            grid=(inter // self.tile_n, self.blocks, 1),
            block=(256, 1, 1),
            kernarg=tuple(fields),
            buffers=(Buffer("o", "out", "bf16", (t, self.topk, inter)), *inputs),
            recipe=self,
        )

    def chosen(self) -> NDArray[np.int32]:
        """Experts of each token, [tokens, topk], all different in a row."""
        rng = np.random.default_rng((self.seed, self.tokens, self.experts))
        if self.routing == "levels":
            experts = np.arange(self.experts, dtype=np.int32)
            return rng.permutation(np.repeat(experts, experts + 1))[:, None]
        return np.argsort(rng.random((self.tokens, self.experts)), axis=1)[:, : self.topk].astype(np.int32)

    def sorting(self) -> Sorting:
        """What the host's sorting kernel hands to stage 1."""
        chosen = self.chosen()
        ids = np.full(self.blocks * self.tile_m, self.topk << 24 | self.tokens, np.int32)
        experts = np.zeros(self.blocks, np.int32)
        row = 0
        for expert in range(self.experts):
            tokens, slots = np.nonzero(chosen == expert)
            ids[row : row + len(tokens)] = slots << 24 | tokens
            count = -(-len(tokens) // self.tile_m)
            experts[row // self.tile_m :][:count] = expert
            row += count * self.tile_m
        return Sorting(ids, experts, row)

    def make_inputs(self) -> Mapping[str, Array]:
        rng = np.random.default_rng((self.seed, self.dim, self.inter, self.tokens))
        order = self.sorting()
        weights = np.full(len(order.ids), 1 / self.topk, np.float32)
        return {
            "x": self._codes(rng, self.tokens * self.dim).reshape(self.tokens, self.dim),
            "gu": shuffle_weights(self._codes(rng, self.experts * 2 * self.inter * self.dim), self.dim),
            "num_valid_ids": np.array([order.padded, self.tokens], np.int32),
            "x_scale": self._scales(rng, (self.tokens,)),
            "gu_scale": self._scales(rng, (self.experts, 2 * self.inter)),
            "sorted_ids": order.ids,
            "sorted_expert_ids": order.experts,
            "sorted_weights": weights,
        }

    def _codes(self, rng: np.random.Generator, count: int) -> NDArray[np.uint8]:
        if self.values == "integers":
            return encode_fp8(np.arange(-2.0, 3.0))[rng.integers(0, 5, count)]
        return fp8_codes(rng, count, 60.0)

    def _scales(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float32]:
        if self.values == "integers":
            return np.exp2(rng.integers(-4, -1, shape)).astype(np.float32)
        # a dot product of dim such codes has the deviation 60 * 60 * sqrt(dim): scaled to about 1.5
        return (rng.uniform(0.5, 1.5, shape) / 60 * (2.25 / self.dim) ** 0.25).astype(np.float32)

    def expectation(self) -> Expectation:
        """Reference; two bf16 ulp and 99.95 % bit-equal, because exp2 and rcp are approximate on the device."""
        arrays = self.inputs()
        table = fp8_values().astype(np.float64)
        chosen = self.chosen()
        weights = unshuffle_weights(arrays["gu"], self.dim).reshape(self.experts, 2 * self.inter, self.dim)
        result = np.zeros((self.tokens, self.topk, self.inter))
        for expert in range(self.experts):
            tokens, slots = np.nonzero(chosen == expert)
            if len(tokens):
                dot = table[arrays["x"][tokens]] @ table[weights[expert]].T
                dot *= arrays["x_scale"][tokens, None].astype(np.float64) * arrays["gu_scale"][expert].astype(
                    np.float64
                )
                gate, up = dot[:, : self.inter], dot[:, self.inter :]
                result[tokens, slots] = gate / (1 + np.exp(-gate)) * up
        bound = 2 * ulp_bf16(result) + 1e-5
        return Expectation("o", result, bound, 0.9995, "99.95 % bit-equal, all within two bf16 ulp plus 1e-5")


def shuffle_weights(codes: Array, k: int) -> Array:
    """One-byte weights [..., rows, k] in the (16, 16) layout: tiles of 16 rows by 32 columns, in runs of 16 bytes."""
    flat = codes.reshape(-1, 16, k // 32, 2, 16)
    return np.ascontiguousarray(flat.transpose(0, 2, 3, 1, 4)).reshape(codes.shape)


def unshuffle_weights(codes: Array, k: int) -> Array:
    """The inverse of `shuffle_weights`."""
    flat = codes.reshape(-1, k // 32, 2, 16, 16)
    return np.ascontiguousarray(flat.transpose(0, 3, 1, 2, 4)).reshape(codes.shape)


def tile_of(name: str) -> tuple[int, int]:
    """(tile_m, tile_n) in the name of an AITer object, e.g. `..._32x128_3tg_pf3`. Raises `InputError` without one."""
    found = re.search(r"_(\d+)x(\d+)(_|E|\.|$)", name)
    if found is None:
        raise InputError(f"The name {name!r} holds no tile size such as 32x128; give tile_m and tile_n.")
    return int(found[1]), int(found[2])

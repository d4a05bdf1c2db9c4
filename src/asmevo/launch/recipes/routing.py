"""Tokens routed to experts, and their order in blocks of one expert as AMD's sorting kernel makes it.

The sorting rule comes from the host code of ROCm/aiter, `moe_sorting`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from asmevo.launch.formats import Array
from asmevo.launch.recipes.base import Recipe
from asmevo.verdict import InputError

ROUTINGS = ("random", "levels")


@dataclass(frozen=True, slots=True)
class Sorting:
    """Tokens grouped by expert in blocks of `tile_m`."""

    ids: NDArray[np.int32]
    """slot << 24 | token for each row; padding is topk << 24 | tokens."""
    weights: NDArray[np.float32]
    """Routing weight of each row; padding is 0."""
    experts: NDArray[np.int32]
    """Expert of each block."""
    padded: int
    """Rows in use, a multiple of the block."""


@dataclass(frozen=True, kw_only=True)
class RoutedRecipe(Recipe):
    """Tokens, each of which goes to `topk` of the experts with a weight."""

    tokens: int
    experts: int
    topk: int
    seed: int = 0
    routing: str = "random"
    """`random`, or `levels` (topk 1): expert e gets e + 1 rows, so that every fill level of a block occurs."""
    tile_m: int = 32
    """Rows of a block, as in the object's name (`32x128`)."""

    def __post_init__(self) -> None:
        self.require_positive("tokens", "experts", "topk", "tile_m")
        if self.topk > self.experts or self.tokens >= 1 << 24:
            raise InputError(
                f"{self.name} cannot do topk={self.topk} of {self.experts} experts for {self.tokens} tokens; give "
                "topk <= experts and fewer than 2**24 tokens."
            )
        self.require("routing", ROUTINGS)
        levels = self.experts * (self.experts + 1) // 2
        if self.routing == "levels" and (self.topk != 1 or self.tokens != levels):
            raise InputError(f"{self.name} with routing by levels needs topk=1 and tokens={levels} here.")

    @property
    def blocks(self) -> int:
        """Row blocks of the grid: the host's upper bound, whatever the routing; surplus workgroups leave at once."""
        return -(-(self.tokens * self.topk + self.experts * self.tile_m - self.topk) // self.tile_m)

    def chosen(self) -> NDArray[np.int32]:
        """Experts of each token, [tokens, topk], all different in a row."""
        rng = np.random.default_rng((self.seed, self.tokens, self.experts))
        if self.routing == "levels":
            experts = np.arange(self.experts, dtype=np.int32)
            return rng.permutation(np.repeat(experts, experts + 1))[:, None]
        return np.argsort(rng.random((self.tokens, self.experts)), axis=1)[:, : self.topk].astype(np.int32)

    def routing_weights(self) -> NDArray[np.float32]:
        """Weight of each slot of each token, [tokens, topk]; they sum to about 1."""
        rng = np.random.default_rng((self.seed, self.tokens, self.topk, 1))
        return (rng.uniform(0.5, 1.5, (self.tokens, self.topk)) / self.topk).astype(np.float32)

    def sorting(self) -> Sorting:
        """What the host's sorting kernel hands over."""
        chosen, given = self.chosen(), self.routing_weights()
        rows = self.blocks * self.tile_m
        ids = np.full(rows, self.topk << 24 | self.tokens, np.int32)
        weights = np.zeros(rows, np.float32)
        experts = np.zeros(self.blocks, np.int32)
        row = 0
        for expert in range(self.experts):
            tokens, slots = np.nonzero(chosen == expert)
            ids[row : row + len(tokens)] = slots << 24 | tokens
            weights[row : row + len(tokens)] = given[tokens, slots]
            count = -(-len(tokens) // self.tile_m)
            experts[row // self.tile_m :][:count] = expert
            row += count * self.tile_m
        return Sorting(ids, weights, experts, row)

    def sorted_arrays(self) -> Mapping[str, Array]:
        """The four arrays of a sorting that kernels read."""
        order = self.sorting()
        return {
            "num_valid_ids": np.array([order.padded, self.tokens], np.int32),
            "sorted_ids": order.ids,
            "sorted_weights": order.weights,
            "sorted_expert_ids": order.experts,
        }

    def sorted_shapes(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """Types and shapes of `sorted_arrays`."""
        rows = self.blocks * self.tile_m
        return {
            "num_valid_ids": ("int32", (2,)),
            "sorted_ids": ("int32", (rows,)),
            "sorted_weights": ("float32", (rows,)),
            "sorted_expert_ids": ("int32", (self.blocks,)),
        }

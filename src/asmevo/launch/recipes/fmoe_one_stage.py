"""AMD's mixture of experts in one kernel: gate and up, activation, quantisation, down (AITer `fmoe_*_g1u1_*`).

Layouts, kernel arguments and the quantisation between the halves were checked by execution against numpy; the host code
they come from is ROCm/aiter, `asm_fmoe`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from asmevo.launch.fills import Zeros
from asmevo.launch.formats import Array, format_of
from asmevo.launch.recipes.agreement import Bounds, Expectation
from asmevo.launch.recipes.base import Argument, slots
from asmevo.launch.recipes.experts import GatedExperts
from asmevo.launch.recipes.numbers import SCALE_BLOCK, quantised, spread, values_of
from asmevo.launch.recipes.weights import shuffle_weights, unshuffle_weights
from asmevo.launch.values import Buffer, Launch
from asmevo.verdict import InputError

BOUNDS = {"block": Bounds(most_off=6e-4, mean_relative=4e-3), "token": Bounds(most_off=7e-3)}
"""Agreement with this model of the kernel. What remains is the rounding of atomic additions."""
RUN = 32
"""Columns of D in a row that holds numbers in one run only: those of one matrix instruction."""
PREFETCHED = 512
"""Rows of D that the kernel may read beyond the last expert's: it fetches ahead without looking at dim (up to 256 rows
and 16 KiB were seen). What it reads there has no effect."""


@dataclass(frozen=True, kw_only=True)
class FmoeOneStage(GatedExperts):
    """O[t] = sum over slots s of weight[t,s] * q(h[t,s]) . D[e], see `GatedExperts` for h.

    D [experts, dim, inter] is quantised and shuffled like W, its scales one for each row (`token`) or for 128x128
    (`block`). q quantises each row of h inside the kernel: for each run of 128 columns (`block`) or of `tile_n`
    (`token`). O [tokens, dim] is zero before; each workgroup adds its part with packed bf16 atomics. With `doweight`
    the weight multiplies gate and up instead.
    """

    name: ClassVar[str] = "aiter.fmoe_one_stage"
    tile_n: int = 256
    persistent: int = 0
    """Workgroups of a kernel that walks over the blocks itself (`_ps_`); 0 for one that does not."""
    kernarg: int = 448
    """Bytes of kernel arguments: 416 for older objects, which have none for persistence."""
    apart: bool = False
    """A row of D holds numbers for one expert only, in one run of columns, and zeros elsewhere. An element of O then
    gets at most one number that is not zero, and no order of the atomic additions shows in it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        narrow = (self.tile_m, self.tile_n) != (32, 256) or self.dim == 256
        if self.dim % (256 if narrow else 512) or self.inter % self.tile_n:
            raise InputError(
                f"{self.name} cannot do dim={self.dim}, inter={self.inter}; dim must be a multiple of 256 (tile "
                f"32x256: 256, or a multiple of 512) and inter of {self.tile_n}."
            )
        if self.kernarg not in (416, 448) or self.persistent < 0 or (self.persistent and self.kernarg == 416):
            raise InputError(
                f"{self.name} cannot do kernarg={self.kernarg} with persistent={self.persistent}; use 448, or 416 "
                "without persistence."
            )
        if 0 < self.persistent < self.inter // self.tile_n:
            raise InputError(f"{self.name} needs at least {self.inter // self.tile_n} persistent workgroups here.")

    def launch(self, name: str) -> Launch:
        dim, inter, parts = self.dim, self.inter, self.inter // self.tile_n
        shapes = self.gate_up_shapes() | self.down_shapes() | self.sorted_shapes()
        per_gu, per_d = (prod(shapes[key][1][1:]) for key in ("gu_scale", "d_scale"))
        arguments: tuple[Argument, ...] = (
            ("O", "o"), ("X", "x"), ("GU", "gu"), ("num_valid_ids", "num_valid_ids"), ("D", "d"), ("XQ", "x_scale"),
            ("GUQ", "gu_scale"), ("DQ", "d_scale"), ("SMQ", None), ("sorted_ids", "sorted_ids"),
            ("SW", "sorted_weights"), ("sorted_expert_ids", "sorted_expert_ids"), ("dim", dim), ("inter", inter),
            ("T", self.tokens), ("E", self.experts), ("Xs", dim), ("GUs", dim), ("Ds", inter), ("Os", 2 * dim),
            ("eGUs", 2 * inter * dim), ("eDs", dim * inter), ("eGUQs", 4 * per_gu), ("eDQs", 4 * per_d),
            ("eSMQs", 4 * inter), ("topk", self.topk), ("total_tgs", self.persistent // parts * parts),
            ("ps_deno", parts),
        )  # fmt: skip
        o = Buffer("o", "inout", "bf16", (self.tokens, dim), Zeros())
        return Launch(
            name=name,
            grid=(self.persistent, 1, 1) if self.persistent else (parts, self.blocks, 1),
            block=(256, 1, 1),
            kernarg=slots(arguments, self.kernarg),
            buffers=(o, *self.buffers(shapes, d=PREFETCHED * inter)),
            recipe=self,
        )

    def down_shapes(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """Types and shapes of D and its scales."""
        e, dim, inter = self.experts, self.dim, self.inter
        scale = (e, dim) if self.scaling == "token" else (e, dim // SCALE_BLOCK, inter // SCALE_BLOCK)
        return {"d": (format_of(self.dtype).name, (e, dim, inter)), "d_scale": ("float32", scale)}

    def make_inputs(self) -> Mapping[str, Array]:
        rng = np.random.default_rng((self.seed, self.inter, self.dim, 2))
        shapes = self.down_shapes()
        return {
            **self.gate_up_inputs(),
            "d": shuffle_weights(self._down(rng, shapes["d"][1]), self.inter),
            "d_scale": self.scales(rng, shapes["d_scale"][1], self.inter),
            **self.sorted_arrays(),
        }

    def _down(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        codes = self.codes(rng, shape)
        if self.apart:
            experts, rows, _ = shape
            runs = rng.integers(0, self.inter // RUN, (experts, rows, 1))
            others = np.arange(rows)[:, None] % experts != np.arange(experts)[:, None, None]
            codes[others | (np.arange(self.inter) // RUN != runs)] = format_of(self.dtype).encode(np.zeros(1))[0]
        return codes

    def expectations(self) -> tuple[Expectation, ...]:
        arrays, chosen, given = self.inputs(), self.chosen(), self.routing_weights().astype(np.float64)
        width = SCALE_BLOCK if self.scaling == "block" else self.tile_n
        result = np.zeros((self.tokens, self.dim))
        for expert in range(self.experts):
            tokens, slots_ = np.nonzero(chosen == expert)
            if not len(tokens):
                continue
            codes, scales = quantised(self.hidden(arrays, expert, tokens, slots_), width, self.dtype)
            down = values_of(unshuffle_weights(arrays["d"][expert], self.inter), self.dtype)
            scale = arrays["d_scale"][expert].astype(np.float64)
            down *= scale[:, None] if self.scaling == "token" else spread(scale, self.dim, self.inter)
            part = (codes * np.repeat(scales, width, axis=1)) @ down.T
            result[tokens] += part if self.doweight else part * given[tokens, slots_][:, None]
        bounds = BOUNDS[self.scaling]
        wording = f"at most {100 * bounds.most_off:.2g} % of elements off by over 1 %"
        return (Expectation("o", result, bounds=bounds, wording=wording),)

"""AMD's mixture of experts in one kernel with bf16 activations (AITer `fmoe_bf16_a16_blockscaleFp8_g1u1_*`).

Layouts and kernel arguments were checked by execution against numpy; the host code they come from is ROCm/aiter,
`asm_fmoe`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from asmevo.launch.fills import Zeros
from asmevo.launch.formats import Array, decode_bf16, encode_bf16
from asmevo.launch.recipes.agreement import Bounds, Expectation
from asmevo.launch.recipes.fmoe_one_stage import FmoeOneStage
from asmevo.launch.recipes.numbers import SCALE_BLOCK, quantised
from asmevo.launch.values import Buffer, Field, Launch
from asmevo.verdict import InputError

SORTS = ("host", "none", "kernel")
TAIL = 8
"""Bytes behind O that a kernel without sorting writes to."""

BOUNDS = Bounds(most_off=6e-3, mean_relative=4e-3)


@dataclass(frozen=True, kw_only=True)
class FmoeOneStageWide(FmoeOneStage):
    """`FmoeOneStage` with block scales, whose X [tokens, dim] is bf16 and quantised inside the kernel, for each run of
    128 columns.

    `sort` says who groups tokens by expert: the `host` as for the others; `none`: a workgroup takes one slot of one
    token (`_flat_`); `kernel`: the kernel does it with `persistent` workgroups (`_emsort_`). Without the host it reads
    the chosen experts and their weights as they are, [tokens, topk].
    """

    name: ClassVar[str] = "aiter.fmoe_one_stage_a16"
    scaling: str = "block"
    tile_m: int = 16
    sort: str = "host"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require("sort", SORTS)
        self.require("scaling", ("block",))
        self.require("dtype", ("fp8",))
        if self.dim % 512 or (self.sort == "kernel") > bool(self.persistent):
            raise InputError(
                f"{self.name} cannot do dim={self.dim} with persistent={self.persistent}; dim must be a multiple of "
                "512, and a kernel that sorts needs persistent workgroups."
            )

    def launch(self, name: str) -> Launch:
        made = super().launch(name)
        changed = {"Xs": (2 * self.dim, "i32"), "XQ": (0, "u64")}
        if self.sort == "kernel":
            changed["total_tgs"] = (self.persistent, "i32")
        kernarg = tuple(
            Field(f.name, f.offset, changed[f.name][0], type=changed[f.name][1]) if f.name in changed else f
            for f in made.kernarg
        )
        buffers = [b for b in made.buffers if b.name != "x_scale"]
        if self.sort != "host":
            room = self.tokens * self.dim * 2 + TAIL
            buffers[0] = Buffer("o", "inout", "uint8", (room,), Zeros())
        grid = made.grid if self.sort != "none" else (self.inter // self.tile_n, self.topk, self.tokens)
        return replace(made, grid=grid, kernarg=kernarg, buffers=tuple(buffers))

    def gate_up_shapes(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        return super().gate_up_shapes() | {"x": ("bf16", (self.tokens, self.dim))}

    def sorted_shapes(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        if self.sort == "host":
            return super().sorted_shapes()
        shape = (self.tokens, self.topk)
        unread = {"num_valid_ids": ("int32", (2,)), "sorted_expert_ids": ("int32", (1,))}
        return {**unread, "sorted_ids": ("int32", shape), "sorted_weights": ("float32", shape)}

    def sorted_arrays(self) -> Mapping[str, Array]:
        if self.sort == "host":
            return super().sorted_arrays()
        unread = {"num_valid_ids": np.zeros(2, np.int32), "sorted_expert_ids": np.zeros(1, np.int32)}
        return {**unread, "sorted_ids": self.chosen(), "sorted_weights": self.routing_weights()}

    def gate_up_inputs(self) -> dict[str, Array]:
        rng = np.random.default_rng((self.seed, self.dim, self.tokens, 3))
        return super().gate_up_inputs() | {"x": encode_bf16(rng.standard_normal((self.tokens, self.dim)))}

    def rows_of_x(self, arrays: Mapping[str, Array], tokens: Array) -> NDArray[np.float64]:
        codes, scales = quantised(decode_bf16(arrays["x"][tokens]).astype(np.float64), SCALE_BLOCK, self.dtype)
        return codes * np.repeat(scales, SCALE_BLOCK, axis=1)

    def expectations(self) -> tuple[Expectation, ...]:
        (expected,) = super().expectations()
        part = (0, "bf16") if self.sort != "host" else None
        return (replace(expected, part=part, bounds=BOUNDS, wording="mean relative error 4e-3, 0.6 % off by over 1 %"),)

"""Stage 1 of AMD's two-stage mixture of experts (AITer `fmoe_stage1_bf16_*_g1u1_*`).

Layouts, kernel arguments and number rules were checked by execution against numpy; the host code they come from is
ROCm/aiter, `asm_moe_2stage`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from asmevo.launch.fills import Zeros
from asmevo.launch.formats import Array, format_of
from asmevo.launch.recipes.agreement import Bounds, Expectation
from asmevo.launch.recipes.base import Argument, slots
from asmevo.launch.recipes.experts import GatedExperts
from asmevo.launch.recipes.numbers import SCALE_BLOCK, quantised
from asmevo.launch.values import Buffer, Launch
from asmevo.verdict import InputError


@dataclass(frozen=True, kw_only=True)
class FmoeStage1(GatedExperts):
    """O[t,s] = act(g) * u, see `GatedExperts`.

    With token scales O is bf16 [tokens, topk, inter]. With block scales O holds fp8 codes [tokens, topk, inter] and
    behind them float32 scales [tokens, topk, inter/128]: the largest magnitude of 128 columns over 240. With `splitk`
    O is float32 [tokens, topk, 2 inter], zero before, and gets gate and up without activation, added atomically.
    dim is a multiple of 128 and inter of `tile_n`: the kernel does not check columns.
    """

    name: ClassVar[str] = "aiter.fmoe_stage1"
    takes_special: ClassVar[bool] = True
    tile_n: int = 128
    splitk: int = 0
    """Logarithm to base 2 of the number of slices of dim."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dim % 128 or self.inter % self.tile_n:
            raise InputError(
                f"{self.name} cannot do dim={self.dim}, inter={self.inter}; dim must be a multiple of 128 and inter of "
                f"{self.tile_n}."
            )
        plain = self.scaling == "token" and not self.doweight
        if not 0 <= self.splitk <= 4 or (self.splitk and not (plain and self.dim % (128 << self.splitk) == 0)):
            raise InputError(
                f"{self.name} cannot do splitk={self.splitk} with {self.scaling} scales, doweight={self.doweight} and "
                f"dim={self.dim}; use token scales without weights and a multiple of 128 of dim for each slice."
            )

    def launch(self, name: str) -> Launch:
        dim, inter = self.dim, self.inter
        scales, row = inter // SCALE_BLOCK, self.topk * inter
        if self.splitk:
            o, stride = Buffer("o", "inout", "float32", (self.tokens, self.topk, 2 * inter), Zeros()), 8 * row
        elif self.scaling == "token":
            o, stride = Buffer("o", "out", "bf16", (self.tokens, self.topk, inter)), 2 * row
        else:
            o, stride = Buffer("o", "out", "uint8", (self.tokens * self.topk * (inter + 4 * scales),)), row
        per_expert = 2 * inter if self.scaling == "token" else 2 * scales * (dim // SCALE_BLOCK)
        arguments: tuple[Argument, ...] = (
            ("O", "o"), ("X", "x"), ("GU", "gu"), ("num_valid_ids", "num_valid_ids"), ("XQ", "x_scale"),
            ("GUQ", "gu_scale"), ("SMQ", None), ("sorted_ids", "sorted_ids"),
            ("sorted_expert_ids", "sorted_expert_ids"), ("dim", dim), ("inter", inter), ("T", self.tokens),
            ("E", self.experts), ("Xs", dim), ("GUs", dim), ("Os", stride), ("eGUs", 2 * inter * dim),
            ("eGUQs", 4 * per_expert), ("eSMQs", 4 * inter), ("topk", self.topk), ("splitk", self.splitk),
            ("activation", int(self.activation == "gelu")), ("SW", "sorted_weights"),
        )  # fmt: skip
        return Launch(
            name=name,
            grid=(inter // self.tile_n, self.blocks, 1 << self.splitk),
            block=(256, 1, 1),
            kernarg=slots(arguments),
            buffers=(o, *self.buffers(self.gate_up_shapes() | self.sorted_shapes())),
            recipe=self,
        )

    def make_inputs(self) -> Mapping[str, Array]:
        return {**self.gate_up_inputs(), **self.sorted_arrays()}

    def expectations(self) -> tuple[Expectation, ...]:
        """Token scales: two bf16 ulp and 99.95 % bit-equal, because exp2 and rcp are approximate on the device."""
        if self.splitk:
            sums = self._rows(2 * self.inter, activate=False)
            bound = np.full(sums.shape, 4e-7 * np.abs(sums).max())
            return (Expectation("o", sums, bound, wording="4e-7 of the largest"),)
        result = self._rows(self.inter, activate=True)
        if self.scaling == "block":
            return self._quantised(result)
        bound = 2 * format_of("bf16").ulp(np.where(np.isfinite(result), result, 0.0)) + 1e-5
        wording = "99.95 % bit-equal, all within two bf16 ulp plus 1e-5"
        return (Expectation("o", result, bound, Bounds(least_exact=0.9995), wording=wording),)

    def _rows(self, width: int, *, activate: bool) -> NDArray[np.float64]:
        """The result of every token and slot, [tokens, topk, width]."""
        arrays, chosen = self.inputs(), self.chosen()
        result = np.zeros((self.tokens, self.topk, width))
        for expert in range(self.experts):
            tokens, slots_ = np.nonzero(chosen == expert)
            if len(tokens):
                result[tokens, slots_] = (
                    self.hidden(arrays, expert, tokens, slots_) if activate else self.gate_up(arrays, expert, tokens)
                )
        return result

    def _quantised(self, result: NDArray[np.float64]) -> tuple[Expectation, ...]:
        rows = self.tokens * self.topk
        codes, scales = quantised(result.reshape(rows, self.inter), SCALE_BLOCK, "fp8")
        step = format_of("fp8").ulp(codes)
        return (
            Expectation(
                "o",
                codes,
                step,
                Bounds(least_exact=0.9999),
                part=(0, "fp8"),
                wording="99.99 % of codes equal, the others next to it",
            ),
            Expectation("o", scales, 3.7e-7 * scales, part=(rows * self.inter, "float32"), wording="relative 3.7e-7"),
        )

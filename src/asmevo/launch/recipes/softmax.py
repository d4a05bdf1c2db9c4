"""Softmax along rows, as a Triton program a row computes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from asmevo.launch.formats import Array, format_of
from asmevo.launch.recipes.agreement import Expectation
from asmevo.launch.recipes.base import Recipe
from asmevo.launch.recipes.numbers import put_special
from asmevo.launch.values import Buffer, Field, Launch
from asmevo.verdict import InputError

VALUES = ("normal", "integers", "wide", "special")
_SPECIAL = (np.inf, -np.inf, np.nan, -0.0, 1e-41, 3e38, -3e38)


@dataclass(frozen=True, kw_only=True)
class Softmax(Recipe):
    """y[r] = exp(x[r] - max x[r]) / sum of exp(x[r] - max x[r]), rows of `columns` f32, row-major and dense.

    Arguments of the kernel in order: x, y, columns, and Triton's two scratch pointers (null). One workgroup a row.
    """

    name: ClassVar[str] = "triton.softmax"
    rows: int
    columns: int
    """A multiple of 16, which objects are compiled for, and at most `most`."""
    seed: int = 0
    values: str = "normal"
    """`normal`; `integers` from -3 to 3; `wide`: differences of up to 200, so that many results are 0 or denormal;
    `special`: some infinities, NaN, denormal and huge numbers."""
    most: int = 1024
    """Elements that a workgroup holds."""
    threads: int = 256
    lds: int = 16
    """Dynamic LDS in bytes, `shared` in Triton's metadata."""

    def __post_init__(self) -> None:
        self.require_positive("rows", "columns")
        if self.columns % 16 or self.columns > self.most:
            raise InputError(
                f"{self.name} cannot do columns={self.columns}; give a multiple of 16, at most {self.most}."
            )
        self.require("values", VALUES)

    def launch(self, name: str) -> Launch:
        shape = (self.rows, self.columns)
        scratch = (
            Field(label, 24 + 8 * i, 0, type="u64") for i, label in enumerate(("global_scratch", "profile_scratch"))
        )
        return Launch(
            name=name,
            grid=(self.rows, 1, 1),
            block=(self.threads, 1, 1),
            dynamic_lds=self.lds,
            kernarg=(
                Field("x", 0, buffer="x"),
                Field("y", 8, buffer="y"),
                Field("columns", 16, self.columns, type="i32"),
                *scratch,
            ),
            buffers=(Buffer("x", "in", "float32", shape, self.fill("x")), Buffer("y", "out", "float32", shape)),
            recipe=self,
        )

    def make_inputs(self) -> Mapping[str, Array]:
        rng = np.random.default_rng((self.seed, self.rows, self.columns))
        shape = (self.rows, self.columns)
        if self.values == "integers":
            return {"x": rng.integers(-3, 4, shape).astype(np.float32)}
        if self.values == "wide":
            return {"x": rng.uniform(-100, 100, shape).astype(np.float32)}
        x = rng.standard_normal(shape, np.float32)
        if self.values == "special":
            put_special(x, _SPECIAL, 1 / self.columns, rng)
        return {"x": x}

    def expectations(self) -> tuple[Expectation, ...]:
        """Reference, and one ulp plus what float32 arithmetic makes of exponents and sums.

        Difference to the maximum, log2(e) and their product are rounded, which an exponential multiplies by the
        difference; eight roundings more each for it and for the sum in a tree.
        """
        x = self.inputs()["x"].astype(np.float64)
        with np.errstate(invalid="ignore"):
            below = x.max(axis=1, keepdims=True) - x
            powers = np.exp(-below)
            values = powers / powers.sum(axis=1, keepdims=True)
        finite, known = np.nan_to_num(values), np.isfinite(values)
        reach = np.where(finite > 0, np.nan_to_num(below), 0.0)
        in_sum = (finite * reach).sum(axis=1, keepdims=True)
        rounding = (3 * reach + 3 * in_sum + 16) * 2.0**-24
        tolerance = format_of("f32").ulp(finite) + rounding * finite + 2.0**-126
        wording = (
            "one f32 ulp plus (3 |x - max| + 3 of its mean + 16) * 2**-24 of the result; below 2**-126 it may be 0"
        )
        return (Expectation("y", values, np.where(known, tolerance, 0.0), wording=wording),)

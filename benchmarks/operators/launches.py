"""What each operator takes: constants and options to choose from, arguments, and launches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asmevo.launch import Buffer, Fill, Integers, Launch, Random
from asmevo.launch import Field as Argument

_OPTIONS = ("num_warps", "num_stages", "matrix_instr_nonkdim", "kpack")
Sizes = Mapping[str, int]
"""Values of the integer arguments, and other extents that buffers need."""


@dataclass(frozen=True, slots=True)
class Operator:
    """One kernel of `kernels.py`."""

    name: str
    arguments: Mapping[str, str]
    """Argument to type, `*f32` for a pointer, in order."""
    grid: tuple[Mapping[str, int], ...]
    """Constants and `num_warps` to choose from."""
    shapes: Mapping[str, Callable[[Sizes], tuple[int, ...]]]
    """Shape of each buffer."""
    outputs: tuple[str, ...]
    workgroups: Callable[[Sizes, Mapping[str, int]], tuple[int, int, int]]
    sizes: tuple[Sizes, Sizes]
    """Of a small ragged launch, and of the one that is timed."""
    function: str = ""
    """Name in the source, where it is another one."""
    aligned: tuple[str, ...] = ()
    """Integers that are multiples of 16 in every launch, as the compiler is told."""
    values: Callable[[str, Sizes], Fill | None] = lambda name, sizes: None
    """What inputs hold that are not just any numbers: indices, say."""
    reached: Callable[[Sizes], tuple[Buffer, ...]] = lambda sizes: ()
    """Buffers that no argument points to: other buffers hold their addresses."""

    def spec(self, source: Path, choice: Mapping[str, int], out: Path) -> dict[str, Any]:
        """What `benchmarks.operators.build` compiles for one choice of the grid."""
        options = {name: value for name, value in choice.items() if name in _OPTIONS}
        return {
            "source": str(source),
            "function": self.function or self.name,
            "arguments": dict(self.arguments),
            "constants": {name: value for name, value in choice.items() if name not in _OPTIONS},
            "options": options,
            "aligned": list(self.aligned),
            "out": str(out),
        }

    def launches(self, constants: Mapping[str, int], lds: int) -> tuple[Launch, ...]:
        """A ragged launch, the same with small integers, and the one that is timed."""
        small, large = self.sizes
        return (
            self._launch("ragged", small, constants, lds, exact=False),
            self._launch("integers", small, constants, lds, exact=True),
            self._launch("timed", large, constants, lds, exact=False, objective=True),
        )

    def _launch(
        self, name: str, sizes: Sizes, constants: Mapping[str, int], lds: int, *, exact: bool, objective: bool = False
    ) -> Launch:
        buffers: list[Buffer] = []
        fields: list[Argument] = []
        offset = 0
        for number, (argument, kind) in enumerate(self.arguments.items()):
            size = 8 if kind.startswith("*") else 4
            offset = -(-offset // size) * size
            if kind.startswith("*"):
                is_output = argument in self.outputs
                fill = None if is_output else self._fill(argument, kind[1:], sizes, number, exact=exact)
                role, shape = "out" if is_output else "in", self.shapes[argument](sizes)
                buffers.append(Buffer(argument, role, kind[1:], shape, fill))
                fields.append(Argument(offset=offset, buffer=argument))
            else:
                fields.append(Argument(offset=offset, value=sizes[argument], type=kind))
            offset += size
        offset = -(-offset // 8) * 8
        fields += [Argument(offset=offset + 8 * n, value=0, type="u64") for n in range(2)]
        more: dict[str, Any] = {"objective": True, "sample": 2} if objective else {}
        return Launch(
            name=name,
            grid=self.workgroups(sizes, constants),
            block=(64 * constants["num_warps"], 1, 1),
            kernarg=tuple(fields),
            buffers=(*buffers, *self.reached(sizes)),
            dynamic_lds=lds,
            **more,
        )

    def _fill(self, argument: str, dtype: str, sizes: Sizes, seed: int, *, exact: bool) -> Fill:
        """Values of an input: its own, labels below the number of columns, small integers, or normal ones."""
        if own := self.values(argument, sizes):
            return own
        if dtype == "i32":
            return Integers(seed=seed, low=0, high=sizes["columns"] - 1)
        if exact:
            return Integers(seed=seed, low=-3, high=3)
        return Random(seed=seed, distribution="normal", high=1.0)


def _warps(*counts: int, **constants: int) -> list[dict[str, int]]:
    return [{**constants, "num_warps": n} for n in counts]


def _rows(z: Sizes, _: Mapping[str, int]) -> tuple[int, int, int]:
    return (z["count"], 1, 1)


def _matrix(z: Sizes) -> tuple[int, ...]:
    return (z["count"], z["columns"])


def _columns(z: Sizes) -> tuple[int, ...]:
    return (z["columns"],)


OPERATORS: tuple[Operator, ...] = (
    Operator(
        "softmax",
        {"x": "*f32", "y": "*f32", "columns": "i32"},
        (*_warps(1, 2, 4, 8, BLOCK=1024),),
        {"x": _matrix, "y": _matrix},
        ("y",),
        _rows,
        ({"count": 3, "columns": 1000}, {"count": 4096, "columns": 1024}),
    ),
    Operator(
        "layer_norm",
        {"x": "*f32", "weight": "*f32", "bias": "*f32", "y": "*f32", "columns": "i32"},
        (*_warps(1, 2, 4, 8, BLOCK=1024),),
        {"x": _matrix, "weight": _columns, "bias": _columns, "y": _matrix},
        ("y",),
        _rows,
        ({"count": 3, "columns": 1000}, {"count": 4096, "columns": 1024}),
    ),
    Operator(
        "depthwise_conv",
        {"x": "*f32", "weight": "*f32", "y": "*f32", "height": "i32", "width": "i32"},
        (*_warps(1, 2, 4, BLOCK=256),),
        {
            "x": lambda z: (z["channels"], z["height"], z["width"]),
            "weight": lambda z: (z["channels"], 9),
            "y": lambda z: (z["channels"], z["height"] - 2, z["width"] - 2),
        },
        ("y",),
        lambda z, _: (z["height"] - 2, z["channels"], 1),
        ({"channels": 2, "height": 5, "width": 250}, {"channels": 64, "height": 256, "width": 256}),
    ),
    Operator(
        "gelu",
        {"x": "*f32", "y": "*f32", "count": "i32"},
        tuple(c for block in (1024, 2048) for c in _warps(4, 8, BLOCK=block)),
        {"x": lambda z: (z["count"],), "y": lambda z: (z["count"],)},
        ("y",),
        lambda z, c: (-(-z["count"] // c["BLOCK"]), 1, 1),
        ({"count": 5000}, {"count": 1 << 22}),
    ),
    Operator(
        "cross_entropy",
        {"x": "*f32", "labels": "*i32", "loss": "*f32", "columns": "i32"},
        (*_warps(1, 2, 4, 8, BLOCK=1024),),
        {"x": _matrix, "labels": lambda z: (z["count"],), "loss": lambda z: (z["count"],)},
        ("loss",),
        _rows,
        ({"count": 3, "columns": 1000}, {"count": 4096, "columns": 1024}),
    ),
    Operator(
        "max_pool",
        {"x": "*f32", "y": "*f32", "height": "i32", "width": "i32"},
        (*_warps(1, 2, 4, BLOCK=256),),
        {
            "x": lambda z: (z["channels"], z["height"], z["width"]),
            "y": lambda z: (z["channels"], z["height"] // 2, z["width"] // 2),
        },
        ("y",),
        lambda z, _: (z["height"] // 2, z["channels"], 1),
        ({"channels": 2, "height": 6, "width": 250}, {"channels": 64, "height": 256, "width": 512}),
    ),
    Operator(
        "sum_reduction",
        {"x": "*f32", "y": "*f32", "rows": "i32", "columns": "i32"},
        tuple(c for block in (256, 512) for c in _warps(2, 4, BLOCK=block)),
        {"x": lambda z: (z["batch"], z["rows"], z["columns"]), "y": lambda z: (z["batch"], z["columns"])},
        ("y",),
        lambda z, c: (-(-z["columns"] // c["BLOCK"]), z["batch"], 1),
        ({"batch": 2, "rows": 7, "columns": 500}, {"batch": 16, "rows": 256, "columns": 4096}),
    ),
    Operator(
        "matmul_swish_norm",
        {"a": "*bf16", "b": "*bf16", "y": "*f32", "K": "i32", "N": "i32"},
        tuple(
            c
            for m, n, k in ((64, 64, 32), (128, 64, 32), (128, 128, 32), (64, 64, 64))
            for c in _warps(4, BLOCK_M=m, BLOCK_N=n, BLOCK_K=k)
        ),
        {
            "a": lambda z: (z["M"], z["K"]),
            "b": lambda z: (z["N"], z["K"]),
            "y": lambda z: (z["M"], z["N"]),
        },
        ("y",),
        lambda z, c: (z["M"] // c["BLOCK_M"], z["N"] // c["BLOCK_N"], 1),
        ({"M": 128, "N": 128, "K": 192}, {"M": 2048, "N": 2048, "K": 1024}),
    ),
)
"""The eight, with the configurations that K0 is the best of under the timing model."""

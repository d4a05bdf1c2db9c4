"""The kernels that the gate's benchmark seeds faults into, each with launches that run in no time."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from asmevo.codeobject import CodeObject
from asmevo.gate.strength import spread
from asmevo.launch import Buffer, Field, Fill, Integers, Launch, Random, Zeros, load_launches
from asmevo.launch.recipes import (
    AttentionForward,
    BlockScaledGemm,
    FmoeOneStage,
    FmoeStage1,
    Fp8BlockGemm,
    Int8Gemm,
    for_object,
)
from asmevo.verdict import EnvironmentError_, UnsupportedError
from benchmarks.generated import clang
from benchmarks.objects import FP8_GEMM_FOLDER, fmoe_stage1
from benchmarks.wheels import AITER, ROOT, fetch_wheel

TARGET = "gfx942"
SOURCE = Path(__file__).with_name("gate_kernels.c")
_OPTIONS = ("-O1", "-O3")
_ELEMENTS = 192
_NORMAL = Random(2, "normal", high=4.0)
_TILES = ((16, 64), (32, 128), (64, 64))


@dataclass(frozen=True, slots=True)
class Subject:
    """A kernel and the launches that judge it."""

    name: str
    made_by: str
    """`aiter`, `triton` or `clang`."""
    data: bytes
    launches: tuple[Launch, ...]


def subjects() -> Iterator[Subject]:
    """All kernels, those of the project first. Sources that are not installed are left out."""
    yield from _examples()
    yield from _compiled()
    yield from _tiles()
    yield from _wheel()


def _examples() -> Iterator[Subject]:
    quick = {"tile", "special", "integers", "ragged"}
    (path,) = FP8_GEMM_FOLDER.glob("*.hsaco")
    launches = tuple(x for x in load_launches(FP8_GEMM_FOLDER / "launches") if x.name in quick)
    yield Subject("fp8_gemm", "triton", path.read_bytes(), launches)
    path = fmoe_stage1()
    quick = {"one_token", "ragged", "integers", "special", "edges"}
    launches = tuple(x for x in load_launches(ROOT / "examples" / "fmoe_stage1" / "launches") if x.name in quick)
    yield Subject(path.name, "aiter", path.read_bytes(), launches)


def _compiled() -> Iterator[Subject]:
    """Every kernel of `gate_kernels.c`, compiled with several options."""
    compiler = clang()
    if compiler is None:
        return
    for option in _OPTIONS:
        data = compiled(compiler, option)
        for kernel in CodeObject.parse(data, "gate_kernels.c").kernels:
            few = _ELEMENTS - 29
            launches = (
                _launch(kernel.name, _ELEMENTS),
                _launch(kernel.name, few),
                _launch(kernel.name, few, Zeros(), ", b of zeros"),
            )
            yield Subject(f"{kernel.name} {option}", "clang", data, launches)


def _launch(kernel: str, size: int, b: Fill = _NORMAL, what: str = "") -> Launch:
    """Buffers `a` and `b` of floats and `k` of small integers in, `out` out, and a number of elements.

    Where `b` is zero, a sum or a product that begins with something else than it should is not absorbed.
    """
    inputs: Sequence[tuple[str, str, Any]] = (
        ("a", "float32", Random(1, "normal", high=4.0)),
        ("b", "float32", b),
        ("k", "int32", Integers(3, 1, 9)),
    )
    return Launch(
        name=f"{size} elements{what}",
        kernel=kernel,
        grid=(3, 1, 1),
        block=(64, 1, 1),
        kernarg=(
            *(Field(name, 8 * at, buffer=name) for at, name in enumerate(("out", "a", "b", "k"))),
            Field("n", 32, value=size),
        ),
        buffers=(
            Buffer("out", "out", "float32", (_ELEMENTS,), red_zone=512),
            *(Buffer(name, "in", kind, (_ELEMENTS,), fill, red_zone=512) for name, kind, fill in inputs),
        ),
    )


def compiled(compiler: Path, option: str) -> bytes:
    """The object of `gate_kernels.c`. Raises `EnvironmentError_` when the compiler fails."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "k.co")
        fixed = ("-x", "c", "--target=amdgcn-amd-amdhsa", f"-mcpu={TARGET}", "-nogpulib", "-Wno-everything")
        command = [str(compiler), *fixed, option, "-o", str(out), str(SOURCE)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise EnvironmentError_(f"{compiler} failed: {done.stderr.strip()[:200]}; check clang-22.")
        return out.read_bytes()


_TRITON = """
import sys
sys.path.insert(0, "examples/fp8_gemm")
import build
for m, n in {tiles}:
    build.CONSTANTS |= {{"BLOCK_M": m, "BLOCK_N": n}}
    with open(f"{{sys.argv[1]}}/{{m}}x{{n}}.hsaco", "wb") as out:
        kernel = build.compile_kernel()
        out.write(kernel.asm["hsaco"])
    with open(f"{{sys.argv[1]}}/{{m}}x{{n}}.txt", "w") as out:
        out.write(f"{{32 * 2 * kernel.metadata.num_warps}} {{kernel.metadata.shared}}")
"""


def _tiles() -> Iterator[Subject]:
    """The example's GEMM, compiled by Triton for other tiles, where Triton is installed."""
    if importlib.util.find_spec("triton") is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        code = _TRITON.format(tiles=_TILES)
        done = subprocess.run([sys.executable, "-c", code, folder], cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            raise EnvironmentError_(f"Triton failed: {done.stderr.strip()[-200:]}; install triton==3.9.0.")
        for m, n in _TILES:
            path = Path(folder, f"{m}x{n}.hsaco")
            threads, lds = map(int, path.with_suffix(".txt").read_text().split())
            shape: dict[str, Any] = {"block_m": m, "block_n": n, "threads": threads, "lds": lds}
            recipes = {
                "tile": BlockScaledGemm(m=m, n=n, k=128, seed=4, **shape),
                "ragged": BlockScaledGemm(m=m + 3, n=n, k=384, seed=4, **shape),
                "special": BlockScaledGemm(m=m, n=n, k=256, seed=4, values="special", **shape),
            }
            launches = tuple(recipe.launch(name) for name, recipe in recipes.items())
            yield Subject(f"triton {m}x{n}", "triton", path.read_bytes(), launches)


_OF_A_FOLDER = 2
"""Kernels that are taken of each folder of the wheel."""


def _wheel() -> Iterator[Subject]:
    """AMD's kernels of the families that have recipes, with small launches."""
    with zipfile.ZipFile(fetch_wheel(AITER)) as archive:
        folders: dict[str, list[Subject]] = {}
        for name in sorted(archive.namelist()):
            path = PurePosixPath(name)
            if path.suffix == ".co" and f"/{TARGET}/" in name and path.name != fmoe_stage1().name:
                data = archive.read(name)
                try:
                    launches = for_object(CodeObject.parse(data, name))
                except UnsupportedError:
                    continue
                folders.setdefault(path.parent.name, []).append(
                    Subject(f"{path.parent.name}/{path.name}", "aiter", data, (*launches[:2], *_others(launches[1])))
                )
        for found in folders.values():
            yield from spread(found, _OF_A_FOLDER)


def _others(launch: Launch) -> Iterator[Launch]:
    """Launches whose tiles have no padded rows, with NaN beside numbers and roundings at their edges where the recipe
    has such values."""
    recipe = launch.recipe
    if isinstance(recipe, Int8Gemm | Fp8BlockGemm):
        yield replace(recipe, values="edges").launch("edges")
    if isinstance(recipe, AttentionForward):  # an odd and an even number of runs of 32 keys, the last nearly full
        for keys in (351, 383):
            shape = replace(recipe, batch=1, heads=1, kv_heads=1, queries=128, keys=keys)
            yield shape.launch(f"{keys} keys")
    if isinstance(recipe, FmoeStage1 | FmoeOneStage):
        filled = replace(recipe, tokens=2 * recipe.tile_m, experts=1, topk=1)
        odd = isinstance(recipe, FmoeStage1) and recipe.scaling == "token"
        for values in ("special", "edges") if odd else ("normal",):
            if values != "edges" or not recipe.doweight:
                yield replace(filled, values=values).launch(f"filled, {values}")

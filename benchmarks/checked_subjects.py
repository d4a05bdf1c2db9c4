"""Kernels whose faults checked execution must find: from AMD, from Triton and from clang."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from asmevo.codeobject import CodeObject
from asmevo.launch import BlockScaledGemm, Buffer, Field, Integers, Launch, Random, load_launches
from asmevo.program import Program, recover
from asmevo.verdict import EnvironmentError_
from benchmarks import objects
from benchmarks.generated import clang
from benchmarks.wheels import ROOT

SOURCE = Path(__file__).with_name("lds_kernels.c")


@dataclass(frozen=True, slots=True)
class Subject:
    """A kernel and launches that take it along its paths."""

    name: str
    program: Program
    launches: tuple[Launch, ...]
    """The first one is the one that most faults show on."""
    timing: Launch | None = None
    """A launch long enough to measure how much longer checks take."""


def subjects(wanted: str = "") -> Iterator[Subject]:
    """Those with `wanted` in their name; what needs Triton or clang only where that is installed."""
    for source, make in (("fp8_gemm fmoe_stage1", _examples), ("triton", _triton), ("clang", _clang)):
        if wanted.split(" ")[0] in source:
            yield from (subject for subject in make() if wanted in subject.name)


def _examples() -> Iterator[Subject]:
    gemm = objects.FP8_GEMM_FOLDER / "fp8_block_scaled_gemm.hsaco"
    yield _example("fp8_gemm", gemm, BlockScaledGemm(m=256, n=512, k=1024, seed=1).launch("square"))
    yield _example("fmoe_stage1", objects.fmoe_stage1(), None)


def _example(name: str, path: Path, timing: Launch | None) -> Subject:
    """An example kernel on its check launches; without another one, the longest of them is timed."""
    launches = [one for one in load_launches(ROOT / "examples" / name / "launches") if not one.objective]
    launches.sort(key=lambda one: (one.name != "ragged", one.name))
    (levels,) = [one for one in launches if one.name == "levels"] or [timing]
    return Subject(name, recover(CodeObject.parse(path.read_bytes(), path.name)), tuple(launches), timing or levels)


# --- Triton
def _rows(count: int, columns: int) -> tuple[Buffer, Buffer]:
    shape = (count, columns)
    return Buffer("x", "in", "float32", shape, Random(1)), Buffer("y", "out", "float32", shape)


def _triton_launch(name: str, lds: int, warps: int, rows: int = 3) -> Launch:
    if name == "matmul":
        buffers = (
            Buffer("a", "in", "bf16", (64, 160), Integers(1)),
            Buffer("b", "in", "bf16", (160, 128), Integers(2)),
            Buffer("c", "out", "bf16", (64, 128)),
        )
        numbers, grid = (128, 160), (1, 2, 1)
    else:
        buffers = _rows(rows, 992)
        buffers += (Buffer("weight", "in", "float32", (992,), Random(2)),) if name == "layer_norm" else ()
        numbers, grid = (992,), (rows, 1, 1)
    fields = [Field(b.name, 8 * i, buffer=b.name) for i, b in enumerate(buffers)]
    fields += [Field(f"n{i}", 8 * len(buffers) + 4 * i, value=n) for i, n in enumerate(numbers)]
    end = 8 * len(buffers) + 8 * -(-len(numbers) // 2)
    fields += [Field(f"scratch{i}", end + 8 * i, value=0, type="u64") for i in range(2)]
    return Launch(name, grid, (64 * warps, 1, 1), tuple(fields), buffers, dynamic_lds=lds)


def _triton() -> Iterator[Subject]:
    if importlib.util.find_spec("triton") is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.triton_subjects", folder]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise EnvironmentError_(f"Triton failed: {done.stderr.strip()[-200:]}; install triton==3.9.0.")
        for path in sorted(Path(folder).glob("*.hsaco")):
            facts = json.loads(path.with_suffix(".json").read_text())
            obj = CodeObject.parse(path.read_bytes(), path.name)
            lds = max(facts["lds"] - obj.kernel(None).lds_size, 0)
            launch = _triton_launch(path.stem, lds, facts["warps"])
            timing = _triton_launch(path.stem, lds, facts["warps"], 400) if path.stem == "softmax" else None
            yield Subject(f"triton {path.stem}", recover(obj), (launch,), timing)


# --- clang
def _ints(name: str, shape: tuple[int, ...], seed: int = 0) -> Buffer:
    return Buffer(name, "in" if seed else "out", "int32", shape, Integers(seed, -999, 999) if seed else None)


_CLANG: dict[str, tuple[tuple[Buffer, ...], tuple[int, ...], int]] = {
    "reduce": ((_ints("in", (512,), 1), _ints("out", (2,))), (), 2),
    "transpose": ((_ints("in", (64, 32), 1), _ints("out", (64, 32))), (), 2),
    "product": (
        (
            Buffer("a", "in", "float32", (16, 64), Random(1)),
            Buffer("b", "in", "float32", (64, 16), Random(2)),
            Buffer("c", "out", "float32", (16, 16)),
        ),
        (64,),
        1,
    ),
    "scan": ((_ints("in", (512,), 1), _ints("out", (512,))), (), 2),
    "stencil": ((_ints("in", (256,), 1), _ints("out", (256,))), (5,), 1),
    "histogram": ((_ints("in", (1000,), 1), _ints("out", (64,))), (1000,), 1),
    "sort": ((_ints("in", (256,), 1), _ints("out", (256,))), (), 1),
}
"""Buffers, numbers and workgroups of each kernel of `lds_kernels.c`."""


def _clang() -> Iterator[Subject]:
    compiler = clang()
    if compiler is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "k.co")
        fixed = ("-x", "c", "--target=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-nogpulib", "-Wno-everything", "-O2")
        command = [str(compiler), *fixed, "-o", str(out), str(SOURCE)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise EnvironmentError_(f"{compiler} failed: {done.stderr.strip()[:200]}; check clang-22.")
        obj = CodeObject.parse(out.read_bytes(), SOURCE.name)
    for name, (buffers, numbers, groups) in _CLANG.items():
        fields = [Field(b.name, 8 * i, buffer=b.name) for i, b in enumerate(buffers)]
        fields += [Field(f"n{i}", 8 * len(buffers) + 4 * i, value=n) for i, n in enumerate(numbers)]
        launch = Launch(name, (groups, 1, 1), (256, 1, 1), tuple(fields), buffers, kernel=name)
        yield Subject(f"clang {name}", recover(obj, name), (launch,))

"""Code objects made on this machine: by clang from `kernels.c`, and by Triton from the example's kernel."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from asmevo.isa import Toolchain
from asmevo.verdict import EnvironmentError_
from benchmarks.wheels import ROOT

TARGETS = ("gfx908", "gfx90a", "gfx942", "gfx950", "gfx1250")
OPTIONS = (("-O0",), ("-O1",), ("-O2",), ("-O2", "-g"), ("-O3", "-funroll-loops"), ("-Os", "-Wl,--strip-all"))
LAYOUTS = ((), ("-Wl,-z,norelro",), ("-Wl,--no-rosegment",), ("-Wl,-z,separate-code",))
SOURCE = Path(__file__).with_name("kernels.c")
_TRITON = """
import sys
sys.path.insert(0, "examples/fp8_gemm")
import build
from triton.backends.compiler import GPUTarget
compile_ = build.triton.compile
for arch in ("gfx942", "gfx950"):
    build.triton.compile = lambda source, target, options: compile_(source, target=GPUTarget("hip", arch, 64))
    for m, n in ((16, 64), (32, 128), (64, 64)):
        build.CONSTANTS |= {"BLOCK_M": m, "BLOCK_N": n}
        with open(f"{sys.argv[1]}/{arch}_{m}x{n}.hsaco", "wb") as out:
            out.write(build.compile_kernel().asm["hsaco"])
"""
"""Compiles the example's kernel for other tiles and targets into a folder."""


def clang() -> Path | None:
    """The clang of the tool chain in use; None when it is not installed."""
    for name in ("clang", "clang-22"):
        path = Toolchain.find().bin / name
        if path.exists():
            return path
    return None


def clang_objects() -> Iterator[tuple[str, bytes]]:
    """(name, bytes) of every combination of target, options and layout. Nothing without clang."""
    compiler = clang()
    if compiler is None:
        return
    for target in TARGETS:
        for options in OPTIONS:
            for layout in LAYOUTS:
                name = " ".join((target, *options, *layout))
                yield name, compiled(compiler, target, (*options, *layout))


def compiled(compiler: Path, target: str, options: tuple[str, ...]) -> bytes:
    """The object of `kernels.c`. Raises `EnvironmentError_` when the compiler fails."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "k.co")
        fixed = ("-x", "c", "--target=amdgcn-amd-amdhsa", f"-mcpu={target}", "-nogpulib", "-Wno-everything")
        link = "-Wl,--unresolved-symbols=ignore-all"  # dynamic LDS stays undefined
        command = [str(compiler), *fixed, *options, link, "-o", str(out), str(SOURCE)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise EnvironmentError_(f"{compiler} failed for {target}: {done.stderr.strip()[:200]}; check clang-22.")
        return out.read_bytes()


def triton_objects() -> Iterator[tuple[str, bytes]]:
    """(name, bytes) of the example's object and, where Triton is installed, of other tiles and targets."""
    for path in sorted((ROOT / "examples").rglob("*.hsaco")):
        yield path.name, path.read_bytes()
    if importlib.util.find_spec("triton") is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", _TRITON, folder], cwd=ROOT, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise EnvironmentError_(f"Triton failed: {done.stderr.strip()[-200:]}; install triton==3.9.0.")
        for path in sorted(Path(folder).glob("*.hsaco")):
            yield path.name, path.read_bytes()

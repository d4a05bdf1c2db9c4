"""How fast the simulator is, on one machine and in one process.

    python -m benchmarks.emulator [--json]

Rates are per CPU-second. JSON keys:

- `isa`: vectors of the host that code is made for.
- `numpy_sgemm_gflop_per_cpu_s`: numpy's float32 matmul of 1024 on one thread, the yardstick.
- `bf16_gemm_1024_gflop_per_cpu_s`, `bf16_gemm_4096_cpu_s`: Triton's bf16 GEMM with tiles of 128 x 128 x 32 (best of
  several; once); `gemm_ratio_to_numpy` is the first against numpy. `fp8_gemm_gflop_per_cpu_s`: the example's kernel.
- `valu_mwi_per_cpu_s`, `softmax_mwi_per_cpu_s`: million wave instructions of the vector mix and of a softmax.
- `compile_ms_per_1000`: code of 1,000 instructions of AMD's mixture of experts, when nothing is in a cache.
- `edit_recompile_ms`: from an edited program of that kernel to code, one instruction inserted; the median.
- `two_thread_scaling`: wall time of the bf16 GEMM on one thread over two; null on a machine on which two spinning
  threads do not scale by 1.9.
- `checked_slowdown`: checked over plain execution, the worst of the two demo kernels and the softmax.
- `opcode_rows`; `corpus_objects` of the two wheels and `corpus_executable` that have no instruction without meaning.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from asmevo.codeobject import CodeObject
from asmevo.edit import Insert
from asmevo.isa import rows
from asmevo.launch import BlockScaledGemm, Buffer, Field, Integers, Launch, Random, build_image, load_launches
from asmevo.program import Program, recover
from asmevo.sim import BlockCache, Checking, Executable, Execution, execute
from asmevo.sim.native import Host
from benchmarks import objects
from benchmarks.common import numpy_gflop_per_cpu_s, print_json, second_core, wall
from benchmarks.mix import LENGTH, mix_object

COMPILED = Path(__file__).with_name("compiled")
TILE, GEMM_LDS, SOFTMAX_LDS = 128, 16384, 16
REPEATS, EDITS = 12, 21
MIX_TURNS, MIX_WAVES = 2000, 16
SOFTMAX_ROWS, SOFTMAX_COLUMNS = 2048, 992


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def program_of(path: Path) -> Program:
    return recover(CodeObject.parse(path.read_bytes(), path.name))


def must_end(done: Execution) -> Execution:
    if done.status != "done":
        raise SystemExit(f"A benchmark kernel ended with {done.status}: {done.fault}")
    return done


class Subject:
    """A program with a launch, run as often as wanted on one image."""

    def __init__(self, program: Program, launch: Launch, cache: BlockCache) -> None:
        self.program, self.launch = program, launch
        self.executable = Executable.build(program, cache)
        self.image = build_image(launch, program.source, program.kernel)

    def run(self, **options: Any) -> Execution:
        return must_end(execute(self.executable, self.launch, self.image, **options))

    def best(self, repeats: int = REPEATS, **options: Any) -> tuple[float, Execution]:
        """CPU-seconds of the fastest of several runs, after one that compiles."""
        done = self.run(**options)
        return min(self.run(**options).cpu_seconds for _ in range(repeats)), done


def bf16_gemm(size: int) -> Launch:
    names = ("a", "b", "c")
    pointers = [Field(name, offset=8 * i, buffer=name) for i, name in enumerate(names)]
    numbers = [Field(f"n{i}", offset=24 + 4 * i, value=size) for i in range(6)]
    scratch = [Field(f"scratch{i}", offset=48 + 8 * i, value=0, type="u64") for i in range(2)]
    buffers = [Buffer(n, "in", "bf16", (size, size), Random(seed=i)) for i, n in enumerate(names[:2])]
    return Launch(
        name=f"bf16_{size}",
        grid=(size // TILE, size // TILE, 1),
        block=(256, 1, 1),
        kernarg=(*pointers, *numbers, *scratch),
        buffers=(*buffers, Buffer("c", "out", "bf16", (size, size))),
        dynamic_lds=GEMM_LDS,
    )


def softmax(rows: int = SOFTMAX_ROWS) -> Launch:
    shape = (rows, SOFTMAX_COLUMNS)
    return Launch(
        name="softmax",
        grid=(rows, 1, 1),
        block=(256, 1, 1),
        kernarg=(
            Field("x", offset=0, buffer="x"),
            Field("y", offset=8, buffer="y"),
            Field("columns", offset=16, value=SOFTMAX_COLUMNS),
            *(Field(f"scratch{i}", offset=24 + 8 * i, value=0, type="u64") for i in range(2)),
        ),
        buffers=(Buffer("x", "in", "f32", shape, Random(seed=3)), Buffer("y", "out", "f32", shape)),
        dynamic_lds=SOFTMAX_LDS,
    )


def mix(turns: int = MIX_TURNS) -> Launch:
    return Launch(
        name="mix",
        grid=(MIX_WAVES, 1, 1),
        block=(64, 1, 1),
        kernarg=(Field("turns", value=turns),),
        buffers=(Buffer("nothing", "inout", "i32", (1,), Integers(0, 0, 1)),),
    )


def check_gemm(subject: Subject) -> None:
    """The product agrees with numpy, or the benchmark measures nothing."""
    a, b, c = (subject.image.values(n).astype(np.float32) for n in "abc")
    want = a @ b.T
    if not np.allclose(c, want, rtol=1e-2, atol=1e-2 * float(np.abs(want).max())):
        raise SystemExit("The simulated GEMM differs from numpy; run the tests.")


def check_softmax(subject: Subject) -> None:
    x, y = (subject.image.values(n).astype(np.float64) for n in "xy")
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    if not np.allclose(y, powers / powers.sum(axis=1, keepdims=True), rtol=1e-4, atol=1e-8):
        raise SystemExit("The simulated softmax differs from numpy; run the tests.")


def compile_figures(program: Program, folder: Path) -> tuple[float, float]:
    """ms of CPU for 1,000 instructions compiled cold, and for one inserted instruction."""
    cache = BlockCache(folder)
    cache.function("sim_run")
    start = time.process_time()
    compile_all(Executable.build(program, cache))
    cold = time.process_time() - start
    rng = random.Random(1)
    ids = [line.id for block in program.blocks for line in program.lines[block.first : block.last]]
    edits: list[float] = []
    for _ in range(EDITS):
        edited = Insert(rng.choice(ids), "s_nop 0").apply(program)[0]
        start = time.process_time()
        compile_all(Executable.build(edited, cache))
        edits.append(time.process_time() - start)
    return 1e6 * cold / len(ids), 1e3 * statistics.median(edits)


def compile_all(executable: Executable) -> None:
    for chunk in range(len(executable.chunks)):
        executable.compile(chunk, 0)


def two_thread_scaling(subject: Subject) -> float | None:
    """Best wall time on one thread over that on two; None where the machine has no second core to give."""
    if not second_core():
        return None
    one, two = (min(wall(lambda n=n: subject.run(threads=n)) for _ in range(REPEATS)) for n in (1, 2))
    return one / two


def checked_slowdown(subjects: dict[str, Subject]) -> float:
    """The worst ratio of checked to plain CPU time."""
    worst = 0.0
    for name, subject in subjects.items():
        plain, _ = subject.best(3)
        slow, _ = subject.best(2, checking=Checking.of(subject.image))
        say(f"{name}: checked execution takes {slow / plain:.1f} times as long")
        worst = max(worst, slow / plain)
    return worst


def vector_set() -> str:
    """The widest vectors that the host's code may use."""
    features = Host.this().features
    for name, flag in (("AVX-512", "+avx512f"), ("AVX2", "+avx2"), ("NEON", "+neon")):
        if flag in features.split(","):
            return name
    return "baseline"


def corpus_counts() -> tuple[int | None, int | None]:
    """Objects of the wheels, and how many of them the simulator executes; None without `benchmarks.executable`."""
    if importlib.util.find_spec("benchmarks.executable") is None:
        return None, None
    objects_, executable, _ = importlib.import_module("benchmarks.executable").corpus()
    return objects_, executable


def measure() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        cache = BlockCache(Path(folder, "kernels"))
        numpy_speed = numpy_gflop_per_cpu_s()
        say(f"numpy: {numpy_speed:.1f} GFLOP/CPU-s")
        gemm = Subject(program_of(COMPILED / "bf16_gemm.hsaco"), bf16_gemm(1024), cache)
        seconds, _ = gemm.best()
        check_gemm(gemm)
        gemm_speed = 2 * 1024**3 / seconds / 1e9
        say(f"bf16 GEMM 1024: {gemm_speed:.1f} GFLOP/CPU-s")
        scaling = two_thread_scaling(gemm)
        large = Subject(gemm.program, bf16_gemm(4096), cache).run().cpu_seconds
        say(f"bf16 GEMM 4096: {large:.2f} CPU-s")
        (fp8_path,) = objects.FP8_GEMM_FOLDER.glob("*.hsaco")
        fp8 = Subject(program_of(fp8_path), BlockScaledGemm(m=1024, n=1024, k=1024, seed=1).launch("square"), cache)
        fp8_speed = 2 * 1024**3 / fp8.best()[0] / 1e9
        say(f"FP8 GEMM 1024: {fp8_speed:.1f} GFLOP/CPU-s")
        vector = mix_object()
        vector_seconds, done = Subject(recover(vector), mix(), cache).best()
        valu = done.instructions / vector_seconds / 1e6
        say(f"vector mix of {LENGTH}: {valu:.0f} million wave instructions per CPU-s")
        rowwise = Subject(program_of(COMPILED / "softmax.hsaco"), softmax(), cache)
        row_seconds, done = rowwise.best()
        check_softmax(rowwise)
        softmax_speed = done.instructions / row_seconds / 1e6
        say(f"softmax: {softmax_speed:.0f} million wave instructions per CPU-s")
        experts = program_of(objects.fmoe_stage1())
        cold, edit = compile_figures(experts, Path(folder, "compile"))
        say(f"compile: {cold:.0f} ms for 1,000 instructions, {edit:.1f} ms for one edit")
        small = {
            name: Subject(program, _ragged(name), cache)
            for name, program in (("fmoe_stage1", experts), ("fp8_gemm", fp8.program))
        }
        slowdown = checked_slowdown({**small, "softmax": rowwise})
    counted, executable = corpus_counts()
    return {
        "isa": vector_set(),
        "numpy_sgemm_gflop_per_cpu_s": numpy_speed,
        "bf16_gemm_1024_gflop_per_cpu_s": gemm_speed,
        "bf16_gemm_4096_cpu_s": large,
        "gemm_ratio_to_numpy": gemm_speed / numpy_speed,
        "fp8_gemm_gflop_per_cpu_s": fp8_speed,
        "valu_mwi_per_cpu_s": valu,
        "softmax_mwi_per_cpu_s": softmax_speed,
        "compile_ms_per_1000": cold,
        "edit_recompile_ms": edit,
        "two_thread_scaling": scaling,
        "checked_slowdown": slowdown,
        "opcode_rows": len(rows()),
        "corpus_objects": counted,
        "corpus_executable": executable,
    }


def _ragged(name: str) -> Launch:
    launches = load_launches(objects.ROOT / "examples" / name / "launches")
    return next(item for item in launches if item.name == "ragged")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    result = measure()
    if options.json:
        print_json(result)
    else:
        for key, value in result.items():
            print(f"{key:32s} {value if isinstance(value, str | int | None) else f'{value:.3g}'}")


if __name__ == "__main__":
    main()

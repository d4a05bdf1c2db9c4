"""How fast the simulator is: a matrix product in GFLOP per CPU-second, and the price of an edit.

    python -m benchmarks.simulator_speed [--json]

The product is the Triton FP8 GEMM at 1024 x 1024 x 1024, best of several runs, against numpy's float32 matmul on one
thread. An edit inserts one instruction before a line that the check launch `ragged` executes; what is measured is
preparing the program, compiling what changed and running the launch. Compiled code is kept in a folder of its own, so
that nothing comes from earlier processes.

JSON: `gemm_gflop_per_cpu_s`, `numpy_gflop_per_cpu_s`, `ratio`, and for each of `kernels` its `name`, `lines`,
`first_run_s` (everything compiled), `warm_run_s`, `edit_s` (mean), `edit_max_s`, `blocks_per_edit`.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path
from typing import Any

from asmevo.codeobject import CodeObject
from asmevo.edit import Insert
from asmevo.launch import BlockScaledGemm, Launch, build_image, load_launches
from asmevo.program import Program, recover
from asmevo.sim import BlockCache, Executable, execute
from benchmarks import objects
from benchmarks.common import numpy_gflop_per_cpu_s, print_json

SIZE = 1024
REPEATS = 5
EDITS = 20


def run_seconds(program: Program, launch: Launch, cache: BlockCache) -> float:
    """CPU-seconds to prepare a program and run a launch on a fresh image, whose making does not count."""
    image = build_image(launch, program.source, program.kernel)
    start = time.process_time()
    done = execute(Executable.build(program, cache), launch, image)
    seconds = time.process_time() - start
    if done.status != "done":
        raise SystemExit(f"The launch {launch.name} ended with {done.status}: {done.fault}")
    return seconds


def edit_figures(name: str, path: Path, launch: Launch, cache: BlockCache) -> dict[str, Any]:
    """First run, warm run, and the mean and the largest price of one inserted instruction."""
    program = recover(CodeObject.parse(path.read_bytes(), path.name))
    first = run_seconds(program, launch, cache)
    warm = run_seconds(program, launch, cache)
    image = build_image(launch, program.source, program.kernel)
    executed = sorted(execute(Executable.build(program, cache), launch, image).line_counts)
    rng = random.Random(1)
    before = cache.compiled
    prices = [
        run_seconds(Insert(rng.choice(executed), "s_nop 0").apply(program)[0], launch, cache) for _ in range(EDITS)
    ]
    return {
        "name": name,
        "lines": len(program.lines),
        "first_run_s": first,
        "warm_run_s": warm,
        "edit_s": sum(prices) / EDITS,
        "edit_max_s": max(prices),
        "blocks_per_edit": (cache.compiled - before) / EDITS,
    }


def gemm_speed(path: Path, cache: BlockCache) -> float:
    """GFLOP per CPU-second of the FP8 GEMM, compiled."""
    program = recover(CodeObject.parse(path.read_bytes(), path.name))
    launch = BlockScaledGemm(m=SIZE, n=SIZE, k=SIZE, seed=1).launch("square")
    executable = Executable.build(program, cache)
    image = build_image(launch, program.source, program.kernel)
    return 2 * SIZE**3 / min(execute(executable, launch, image).cpu_seconds for _ in range(REPEATS + 1)) / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    (gemm,) = objects.FP8_GEMM_FOLDER.glob("*.hsaco")
    subjects = (("fmoe_stage1", objects.fmoe_stage1()), ("fp8_gemm", gemm))
    with tempfile.TemporaryDirectory() as folder:
        speed, yardstick = gemm_speed(gemm, BlockCache(Path(folder, "product"))), numpy_gflop_per_cpu_s()
        print(f"FP8 GEMM {SIZE}^3: {speed:.1f} GFLOP/CPU-s, numpy {yardstick:.1f}, ratio {speed / yardstick:.2f}")
        kernels: list[dict[str, Any]] = []
        for name, path in subjects:
            launches = load_launches(objects.ROOT / "examples" / name / "launches")
            launch = next(item for item in launches if item.name == "ragged")
            kernels.append(edit_figures(name, path, launch, BlockCache(Path(folder, name))))
            k = kernels[-1]
            print(
                f"{name}: {k['lines']} lines; first run {k['first_run_s']:.2f} s, warm {1e3 * k['warm_run_s']:.1f} ms, "
                f"one edit {1e3 * k['edit_s']:.1f} ms (at most {1e3 * k['edit_max_s']:.1f}), "
                f"{k['blocks_per_edit']:.2f} blocks compiled"
            )
    if options.json:
        print_json(
            {
                "gemm_gflop_per_cpu_s": speed,
                "numpy_gflop_per_cpu_s": yardstick,
                "ratio": speed / yardstick,
                "kernels": kernels,
            }
        )


if __name__ == "__main__":
    main()

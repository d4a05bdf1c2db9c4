"""How fast a candidate is timed: the cycle model on the objective launches of the two demo kernels.

    python -m benchmarks.timing_speed [--json]

Traces come from the simulator once; what is measured is `estimate` and `profile` on them, best of several, in
CPU-seconds.

JSON: `kernels` with `name`, `modelled_us`, `instructions` (wave instructions replayed), `estimate_s`, `profile_s`,
`minstr_per_cpu_s` (million replayed wave instructions per CPU-second of `estimate`).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from asmevo.codeobject import CodeObject
from asmevo.launch import build_image, load_launches
from asmevo.program import recover
from asmevo.sim import BlockCache, Executable
from asmevo.timing import chip, estimate, profile, record, traces_needed
from benchmarks import objects
from benchmarks.common import print_json

CHIP = "mi300x"
REPEATS = 5


def best(work: Callable[[], object]) -> float:
    """CPU-seconds of the fastest of several runs, after one that warms up."""
    work()
    times: list[float] = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def measure(name: str, path: Path, launches: Path) -> dict[str, Any]:
    """Figures of one kernel on the first objective launch of a folder."""
    obj = CodeObject.parse(path.read_bytes(), path.name)
    program = recover(obj)
    launch = next(item for item in load_launches(launches) if item.objective)
    executable = Executable.build(program, BlockCache())
    image = build_image(launch, obj, program.kernel)
    recorded = record(executable, launch, image, workgroups=traces_needed(launch))
    traces, accesses = recorded.execution.traces, recorded.accesses
    model = chip(CHIP)
    found = estimate(program, launch, traces, model, accesses)
    seconds = best(lambda: estimate(program, launch, traces, model, accesses))
    instructions = float(found.lines.count.sum()) * found.replayed / found.workgroups_of_cu
    return {
        "name": name,
        "modelled_us": found.microseconds,
        "instructions": round(instructions),
        "estimate_s": seconds,
        "profile_s": best(lambda: profile(program, found)),
        "minstr_per_cpu_s": instructions / seconds / 1e6,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    folder = objects.ROOT / "examples"
    (gemm,) = objects.FP8_GEMM_FOLDER.glob("*.hsaco")
    kernels = [
        measure("fp8_gemm", gemm, folder / "fp8_gemm" / "launches"),
        measure("fmoe_stage1", objects.fmoe_stage1(), folder / "fmoe_stage1" / "launches"),
    ]
    print(f"{'kernel':<14}{'modelled us':>12}{'instructions':>14}{'estimate ms':>13}{'profile ms':>12}{'M/CPU-s':>9}")
    for k in kernels:
        print(
            f"{k['name']:<14}{k['modelled_us']:>12.2f}{k['instructions']:>14}{1e3 * k['estimate_s']:>13.1f}"
            f"{1e3 * k['profile_s']:>12.1f}{k['minstr_per_cpu_s']:>9.2f}"
        )
    if options.json:
        print_json({"kernels": kernels})


if __name__ == "__main__":
    main()

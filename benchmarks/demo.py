"""The main job end to end on two real compiled kernels, on a simulated MI300X.

    python -m benchmarks.demo [--json] [--budget N] [--time S] [--seed N] [--out DIR]

For each kernel: round trip, execution against numpy, a search with a budget in candidates, and the result. Then the
speed of the simulator on the FP8 GEMM at 1024 x 1024 x 1024 against numpy's float32 matmul, both on one thread of this
process.

JSON: `kernels` with `name`, `instructions`, `roundtrip_identical`, `max_error` (largest absolute difference to numpy's
float64 result rounded to bf16, over all launches), `agrees` (all within the recipe's tolerance), `k0_us` and `best_us`
(modelled), `speedup`, `verdict`, `attempts`, `attempts_per_s`; `gemm_gflop_per_cpu_s`; `gemm_ratio_to_numpy`.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asmevo.codeobject import CodeObject
from asmevo.device import Device, RunLimits, simulator
from asmevo.device.simulated import SimDevice
from asmevo.launch import BlockScaledGemm, Comparison, Launch, build_image, load_launches
from asmevo.program import rebuild, recover
from asmevo.report import basis_text, figure, gain_text, summary_text, table, time_text
from asmevo.search import RunSummary, Settings, Update, start
from asmevo.verdict import AsmEvoError
from benchmarks import objects
from benchmarks.common import numpy_gflop_per_cpu_s, print_json

CHIP = "mi300x"
BUDGET = 60
"""Candidates for each kernel."""
SECONDS = 90.0
"""Limit for each kernel on a slow machine; a search that reaches it is not repeatable."""


@dataclass(frozen=True, slots=True)
class Example:
    """A kernel with its launches."""

    name: str
    path: Path
    launches: tuple[Launch, ...]


def examples() -> tuple[Example, ...]:
    """The two kernels; fetches AMD's."""
    folder = objects.ROOT / "examples"
    gemm = objects.FP8_GEMM_FOLDER / "fp8_block_scaled_gemm.hsaco"
    return (
        Example("fp8_gemm", gemm, load_launches(objects.FP8_GEMM_FOLDER / "launches")),
        Example("fmoe_stage1", objects.fmoe_stage1(), load_launches(folder / "fmoe_stage1" / "launches")),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.demo", description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    parser.add_argument("--budget", type=int, default=BUDGET, help="candidates for each kernel")
    parser.add_argument("--time", type=float, default=SECONDS, help="most seconds for each kernel")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=objects.ROOT / "runs" / "demo", help="folder of the runs")
    options = parser.parse_args(arguments)
    settings = Settings(seed=options.seed).with_budgets(options.budget, options.time)
    results: list[dict[str, Any]] = []
    with simulator(CHIP) as device:
        for example in examples():
            results.append(optimized(example, device, settings, options.out / example.name))
    speed = simulated_gflop_per_cpu_s()
    ratio = speed / numpy_gflop_per_cpu_s()
    say(f"\n{kernels_table(results)}\n{basis_text('modelled', CHIP)}")
    say(f"simulator on the FP8 GEMM, 1024^3: {speed:.1f} GFLOP per CPU-second, {ratio:.2f} of numpy's float32 matmul")
    say(f"optimized objects and their certificates: {options.out}/*/best.co, certificate.json")
    if options.json:
        print_json({"kernels": results, "gemm_gflop_per_cpu_s": speed, "gemm_ratio_to_numpy": ratio})
    return 0 if all(result["roundtrip_identical"] and result["agrees"] for result in results) else 1


def say(text: str) -> None:
    print(text, flush=True)


def optimized(example: Example, device: Device, settings: Settings, folder: Path) -> dict[str, Any]:
    """One kernel through the whole chain."""
    data = example.path.read_bytes()
    obj = CodeObject.parse(data, str(example.path))
    program = recover(obj)
    identical = rebuild(program) == data
    say(f"\n{example.name}: {example.path.name}")
    say(f"  {len(program.lines)} instructions; rebuilt without an edit: {'identical' if identical else 'DIFFERENT'}")
    comparisons = agreement(example, obj, device)
    if folder.exists():
        shutil.rmtree(folder)  # what an earlier demo left
    say(f"  searching: {settings.attempts} candidates, at most {settings.seconds:g} s")
    summary = start(folder, data, example.launches, device, chip=CHIP, settings=settings, progress=commits)
    say("  " + summary_text(summary).replace("\n", "\n  "))
    if summary.interrupted:
        raise KeyboardInterrupt
    return row(example, len(program.lines), identical, max(c.max_abs for c in comparisons), summary) | {
        "agrees": all(c.within for c in comparisons)
    }


def agreement(example: Example, obj: CodeObject, device: Device) -> list[Comparison]:
    """Runs K0 on every launch and says how it agrees with numpy."""
    module = device.load(obj.data)
    comparisons: list[Comparison] = []
    for launch in example.launches:
        image = build_image(launch, obj)
        outcome = device.run(module, launch, image, limits=RunLimits(seconds=120.0))
        if not outcome.done:
            raise SystemExit(f"  {launch.name}: {outcome.status}: {outcome.fault and outcome.fault.message}")
        assert launch.recipe is not None
        for comparison in launch.recipe.compare(image):
            say(f"  {launch.name:12} {comparison}")
            comparisons.append(comparison)
    return comparisons


def commits(update: Update) -> None:
    """Progress: a line for each commit."""
    if update.kind == "commit":
        gain = gain_text(update.k0_microseconds, update.best_microseconds)
        best = time_text(update.best_microseconds, update.source)
        say(f"  candidate {update.ordinal:3}: {best} ({gain})  {update.strategy}: {update.note}")


def row(example: Example, instructions: int, identical: bool, error: float, summary: RunSummary) -> dict[str, Any]:
    """The result in the keys of the JSON."""
    return {
        "name": example.name,
        "instructions": instructions,
        "roundtrip_identical": identical,
        "max_error": error,
        "k0_us": summary.k0_microseconds,
        "best_us": summary.best_microseconds,
        "speedup": summary.speedup,
        "verdict": summary.verdict.value,
        "attempts": summary.attempts,
        "attempts_per_s": summary.attempts_per_second,
    }


def kernels_table(results: Sequence[dict[str, Any]]) -> str:
    """The results for a person."""
    header = ["kernel", "instructions", "round trip", "max error", "K0 modelled us", "best modelled us", "speedup"]
    rows = [
        [
            r["name"],
            str(r["instructions"]),
            "identical" if r["roundtrip_identical"] else "DIFFERENT",
            figure(r["max_error"]),
            f"{r['k0_us']:.2f}",
            f"{r['best_us']:.2f}" if r["speedup"] > 1 else "none faster",
            f"{r['speedup']:.4f}",
            r["verdict"],
            str(r["attempts"]),
            f"{r['attempts_per_s']:.2f}",
        ]
        for r in results
    ]
    return table([*header, "verdict", "attempts", "attempts/s"], rows)


def simulated_gflop_per_cpu_s(repeats: int = 3) -> float:
    """Speed of the simulator on the FP8 GEMM at 1024^3, all blocks compiled; median of some runs of this process."""
    (launch,) = load_launches(objects.FP8_GEMM_FOLDER / "benchmark.toml")
    obj = CodeObject.parse((objects.FP8_GEMM_FOLDER / "fp8_block_scaled_gemm.hsaco").read_bytes())
    seconds: list[float] = []
    with SimDevice(CHIP) as device:
        module = device.load(obj.data)
        for _ in range(repeats + 1):
            image = build_image(launch, obj)
            began = time.process_time()
            outcome = device.run(module, launch, image)
            seconds.append(time.process_time() - began)
            if not outcome.done:
                raise SystemExit(f"the benchmark launch ended with {outcome.status}")
    shape = launch.recipe
    assert isinstance(shape, BlockScaledGemm)
    return 2 * shape.m * shape.n * shape.k / statistics.median(seconds[1:]) / 1e9


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AsmEvoError as error:
        print(f"asmevo: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)

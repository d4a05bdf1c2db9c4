"""The timing model against measured times, published microbenchmarks, and edits whose effect is certain.

    python -m benchmarks.timing [--json] [--measured FILE] [--fit]

Measured times are those of AMD's mixture-of-experts kernels, of shapes for which every candidate was timed; the table
is looked for where `docs/timing.md` says, or given. Objects come from the wheel `amd-aiter`. The objects of a third of
the tiles, drawn by a fixed seed, are held out: no parameter was fitted to them, and they are scored apart. Baselines
are computed in the same run.

JSON: `shapes`, `fitted_parameters`, `held_objects` (the scores of the held objects), `spearman`, `pair_accuracy`,
`pair_accuracy_close`, `mean_regret`, `median_abs_error`, `baselines` (scores by name), `microbench_cells`,
`microbench_within_10pct`, `ordered_pairs`, `ordered_right`, `mwi_per_cpu_s` (millions of replayed wave instructions in
a CPU-second), `retime_s` (CPU-seconds to time a traced candidate of the demo GEMM).

`--fit` searches the fitted parameters anew, on the other two thirds, and prints them.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from asmevo.codeobject import CodeObject
from asmevo.launch import build_image, load_launches
from asmevo.program import recover
from asmevo.sim import BlockCache, Executable
from asmevo.timing import Prepared, chip, prepare, record, traces_needed
from asmevo.verdict import AsmEvoError
from benchmarks import objects
from benchmarks.common import print_json
from benchmarks.timing_baselines import Mca, nearest, roofline
from benchmarks.timing_bench import Cell
from benchmarks.timing_cases import Candidate, Cases, chip_of, find_table, read_table
from benchmarks.timing_micro import cells
from benchmarks.timing_order import misordered
from benchmarks.timing_scores import Predictions, Scores, group, held_tiles, prefetch_pairs, scores

FITTED: Final[dict[str, tuple[float, ...]]] = {
    "clock_ghz_8": (1.4, 1.45, 1.5, 1.55, 1.6),
    "hbm_bytes_per_s": (3.3e12, 3.5e12, 3.7e12, 3.9e12, 4.2e12),
    "hbm_latency_ns": (400, 450, 500, 525, 550),
    "fabric_bytes_per_clk": (560, 640, 720, 800),
    "lds_dma_clk": (4, 8, 10, 12, 14, 16),
}
"""The fitted parameters of MI308X and the values that `--fit` tries."""
FIT_TOKENS: Final = (1, 16, 128, 512, 2048, 16384)
REPEATS: Final = 5


@dataclass(frozen=True)
class Case:
    """A candidate and its launch with each routing, ready for the model."""

    candidate: Candidate
    routed: tuple[Prepared, ...]


def ready(candidates: Sequence[Candidate]) -> list[Case]:
    """The candidates that the model can time; the others are named on standard error."""
    cases, found = Cases(), list[Case]()
    for candidates_ in group(candidates).values():
        print(f"shape {candidates_[0].shape}", file=sys.stderr)
        for candidate in candidates_:
            if candidate.walks:
                print(f"  left out: {candidate.name} walks over blocks, which no sample stands for", file=sys.stderr)
            else:
                found.append(Case(candidate, cases.ready(candidate)))
    return found


def modelled(cases: Sequence[Case], **changes: float) -> dict[Candidate, float]:
    """Modelled times in microseconds, means over the routings; with changed parameters of the chip where given."""
    return {
        case.candidate: statistics.fmean(
            routed.replay(chip_of(case.candidate.shape).with_(**changes)).microseconds for routed in case.routed
        )
        for case in cases
    }


def only(predictions: Mapping[Candidate, float], tiles: frozenset[tuple[int, int]], *, held: bool) -> Predictions:
    """The predictions for the held objects, or for the others."""
    return {c: t for c, t in predictions.items() if (c.tile in tiles) is held}


def fit(cases: Sequence[Case], held: frozenset[tuple[int, int]]) -> dict[str, float]:
    """One pass over the parameters, each set to the value with the least error on objects that are not held."""
    seen = [c for c in cases if c.candidate.tile not in held and c.candidate.shape.tokens in FIT_TOKENS]
    best = {name: float(getattr(chip("mi308x"), name)) for name in FITTED}

    def loss(values: Mapping[str, float]) -> float:
        found = scores(modelled(seen, **{k: round(v) if k == "lds_dma_clk" else v for k, v in values.items()}))
        return (found.median_abs_error or 0.0) + 1.0 - (found.pair_accuracy or 0.0)

    for name, values in FITTED.items():
        losses = {value: loss(best | {name: value}) for value in values}
        best[name] = min(values, key=lambda value: losses[value])
        print(name, {v: round(x, 4) for v, x in losses.items()}, file=sys.stderr)
    return best


def misses(predictions: Predictions, count: int = 10) -> list[str]:
    """The pairs that are ordered wrongly by most, with what explains it."""
    found: list[tuple[float, str]] = []
    for shape, candidates in group(predictions).items():
        for a, b in combinations(candidates, 2):
            faster, slower = sorted((a, b), key=lambda c: c.microseconds)
            measured = slower.microseconds / faster.microseconds
            ratio = predictions[slower] / predictions[faster]
            if ratio >= 1.0:
                continue
            text = (
                f"{shape}: {faster.name} {faster.microseconds:.1f} us (modelled {predictions[faster]:.1f}) before "
                f"{slower.name} {slower.microseconds:.1f} us (modelled {predictions[slower]:.1f}): "
                f"{_cause(faster, slower, predictions)}"
            )
            found.append((measured / ratio, text))
    return [text for _, text in sorted(found, reverse=True)[:count]]


def _cause(faster: Candidate, slower: Candidate, predictions: Predictions) -> str:
    """Which of the two is off, and what is known of that regime."""
    if max(faster.spread, slower.spread) > 0.1:
        return f"repeats differ by {100 * max(faster.spread, slower.spread):.0f} %"
    off = max((faster, slower), key=lambda c: abs(predictions[c] / c.microseconds - 1))
    shape, error = off.shape, predictions[off] / off.microseconds - 1
    load = shape.tokens * shape.topk / shape.experts
    if load < 2:
        why = "few tokens an expert: how many experts get any depends on the routing, whose seed is not known"
    elif load < 32:
        why = "bandwidth-bound: the HBM share of concurrent streams is one number here"
    else:
        why = "many rounds: how well the L2 serves neighbours that drift apart is not modelled"
    return f"{off.name} is off by {100 * error:+.0f} %; {why}"


def speed() -> tuple[float, float]:
    """(millions of replayed wave instructions in a CPU-second, CPU-seconds to time a candidate) of the demo GEMM."""
    (path,) = objects.FP8_GEMM_FOLDER.glob("*.hsaco")
    obj = CodeObject.parse(path.read_bytes(), path.name)
    program = recover(obj)
    launch = next(item for item in load_launches(objects.ROOT / "examples" / "fp8_gemm" / "launches") if item.objective)
    image = build_image(launch, obj, program.kernel)
    executable, model = Executable.build(program, BlockCache()), chip("mi300x")
    recorded = record(executable, launch, image, workgroups=traces_needed(launch))
    traces, accesses = recorded.execution.traces, recorded.accesses
    count = prepare(program, launch, traces, model, accesses).replay(model).run.count.sum()
    seconds: list[float] = []
    for _ in range(REPEATS):
        start = time.process_time()
        prepare(program, launch, traces, model, accesses).replay(model)
        seconds.append(time.process_time() - start)
    return float(count) / min(seconds) / 1e6, min(seconds)


def report(name: str, found: Scores) -> str:
    """A line of the table."""
    figures = (
        found.spearman,
        found.pair_accuracy,
        found.pair_accuracy_close,
        found.mean_regret,
        found.median_abs_error,
    )
    return f"{name:<28}{found.shapes:>7}" + "".join(f"{'-' if f is None else f'{f:.3f}':>10}" for f in figures)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; 1 when a pair that is certain is ordered wrongly."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    parser.add_argument("--measured", type=Path, help="table of measured times")
    parser.add_argument("--fit", action="store_true", help="search the fitted parameters anew")
    options = parser.parse_args(arguments)
    candidates = [c for c in read_table(find_table(options.measured)) if c.every]
    held = held_tiles(candidates)
    cases = ready(candidates)
    if options.fit:
        print(fit(cases, held))
        return 0
    predictions = modelled(cases)
    mca = Mca()
    baselines: dict[str, Predictions] = {
        "roofline": {c.candidate: roofline(c.candidate) for c in cases},
        "llvm-mca": {c.candidate: mca.time(c.candidate, c.routed[0]) for c in cases},
        "nearest measured shape": nearest([c.candidate for c in cases]),
    }
    small: list[Cell] = list(cells())
    pairs, wrong = misordered()
    mwi, retime = speed()
    total, apart = scores(predictions), scores(only(predictions, held, held=True))
    prefetch = prefetch_pairs(predictions)
    clocks = sorted({(m.name, m.at(c.routed[0].bits).clock_ghz) for c in cases for m in [chip_of(c.candidate.shape)]})
    print("times modelled on " + ", ".join(f"{name} at {ghz:g} GHz (8-bit matrix types)" for name, ghz in clocks))
    print(f"{'':<28}{'shapes':>7}{'spearman':>10}{'pairs':>10}{'close':>10}{'regret':>10}{'error':>10}")
    print(report("model", total))
    print(report("  held objects", apart))
    print(report("  other objects", scores(only(predictions, held, held=False))))
    for name, found in baselines.items():
        print(report(name, scores(found)))
    print("held tiles: " + ", ".join(f"{m}x{n}" for m, n in sorted(held)) + f"; fitted: {', '.join(FITTED)}")
    print(f"pf3 faster and told {prefetch.pf3_right}/{prefetch.pf3_wins}, pf2 {prefetch.pf2_right}/{prefetch.pf2_wins}")
    for text in misses(predictions):
        print(f"miss: {text}")
    for cell in small:
        if not cell.within:
            print(f"cell: {cell.name}: {cell.measured:g} {cell.unit}, modelled {cell.modelled:.1f}; {cell.cause}")
    for why in wrong:
        print(f"ordered wrongly: {why}")
    within = sum(cell.within for cell in small)
    print(f"{within}/{len(small)} cells within 10 %; {pairs - len(wrong)}/{pairs} certain pairs right")
    print(f"{mwi:.2f} million wave instructions in a CPU-second; a candidate is timed anew in {retime:.3f} CPU-s")
    if options.json:
        print_json(facts(total, apart, {k: scores(v) for k, v in baselines.items()})
                   | {"microbench_cells": len(small), "microbench_within_10pct": within, "ordered_pairs": pairs,
                      "ordered_right": pairs - len(wrong), "mwi_per_cpu_s": mwi, "retime_s": retime})  # fmt: skip
    return 1 if wrong else 0


def facts(total: Scores, apart: Scores, baselines: Mapping[str, Scores]) -> dict[str, Any]:
    """The JSON of the scores."""
    keys = ("shapes", "spearman", "pair_accuracy", "pair_accuracy_close", "mean_regret", "median_abs_error")

    def short(found: Scores) -> dict[str, Any]:
        return {key: value for key, value in found.to_json().items() if key in keys}

    return short(total) | {
        "fitted_parameters": len(FITTED),
        "held_objects": short(apart),
        "baselines": {name: short(found) for name, found in baselines.items()},
    }


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AsmEvoError as problem:
        sys.exit(f"asmevo: {problem}")

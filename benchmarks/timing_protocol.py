"""How far measured claims can be believed: false ones, and true ones that are found.

    python -m benchmarks.timing_protocol [--json] [--runs N] [--seed S]

A run is 138 candidates that are exactly as fast as the object to beat, on a planted machine; one claim makes it a false
one. Half of the runs are on a quiet machine, half on one with drift, throttling and spikes; both have 0.5 % noise a
sample. A candidate with a true gain of 2 % comes after the 138, when the least risk is left for a claim. The decisions
are those of `asmevo.device.measure`, on many runs at once; tests hold the two together.

JSON: `false_positive_rate` (share of runs with a false claim), `power_2pct` (share of true gains claimed, on the worse
machine), `samples_median` (samples until a claim of the 2 %, screening and both caches together).
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asmevo.device.measure import FALSE_CLAIMS, Plan
from asmevo.device.measure.evidence import decided, log_growth, units
from asmevo.device.measure.spending import level
from benchmarks.common import print_json
from benchmarks.planted_machine import QUIET, ROUGH, Trouble

ATTEMPTS = 138
GAIN = 0.02
EARLY = 40
"""Blocks after which most confirmations are decided."""
AT_ONCE = 250
"""Runs side by side."""
MACHINES = {"quiet": QUIET, "rough": ROUGH}


def ratios(rng: np.random.Generator, trouble: Trouble, count: int, blocks: int, gain: float) -> NDArray[np.float64]:
    """[count, blocks] log ratios of ABBA or BAAB blocks, as `measure.Block.ratio` gives them."""
    logs = trouble.logs(rng, (count, 4 * blocks)).reshape(count, blocks, 4)
    outer, inner = logs[..., [0, 3]].mean(-1), logs[..., [1, 2]].mean(-1)
    coin = np.where(rng.integers(2, size=(count, blocks)) == 0, 1.0, -1.0)
    return coin * (outer - inner) - np.log1p(-gain)


def decide(found: NDArray[np.float64], level: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Which series [series, blocks] are decided for the candidate at these levels [series]; after how many blocks."""
    answer, blocks = decided(*_both(found[:, :EARLY]), level[:, None])
    undecided = np.flatnonzero(answer == 0)
    if found.shape[1] > EARLY and len(undecided):
        answer[undecided], blocks[undecided] = decided(*_both(found[undecided]), level[undecided, None])
    return answer == 1, blocks


def _both(found: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Evidence for and against."""
    bounded = units(found)
    return log_growth(bounded), log_growth(-bounded)


@dataclass
class Runs:
    """Many runs side by side, each on a machine of its own."""

    rng: np.random.Generator
    trouble: Trouble
    confirmations: NDArray[np.int64]
    """Used so far, by run."""
    plan: Plan = field(default_factory=Plan)

    def candidates(self, count: int, gain: float) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """The next candidates of each run, [runs, count]: which are claimed to be faster, and the samples of each."""
        total = len(self.confirmations) * count
        screens = ratios(self.rng, self.trouble, total, self.plan.screen_blocks, gain)
        promising, blocks = decide(screens, np.full(total, self.plan.screen_level))
        by_run = promising.reshape(-1, count)
        number = (self.confirmations[:, None] + np.cumsum(by_run, axis=1))[by_run]
        self.confirmations += by_run.sum(axis=1)
        levels = np.array([level(FALSE_CLAIMS, int(k)) for k in number])
        claimed = promising.copy()
        for _ in self.plan.caches:
            at = np.flatnonzero(claimed)
            rest = levels[np.cumsum(promising)[at] - 1]
            fresh = ratios(self.rng, self.trouble, len(at), self.plan.confirm_blocks, gain)
            claimed[at], used = decide(fresh, rest)
            blocks[at] += used
        return claimed.reshape(-1, count), 4 * blocks.reshape(-1, count)


def measure(runs: int, seed: int) -> dict[str, Any]:
    """All figures, with those by machine."""
    by_machine: dict[str, dict[str, float]] = {}
    for number, (name, trouble) in enumerate(MACHINES.items()):
        parts: list[tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]] = []
        for part in range(-(-runs // (len(MACHINES) * AT_ONCE))):
            these = Runs(np.random.default_rng([seed, number, part]), trouble, np.zeros(AT_ONCE, np.int64))
            false = these.candidates(ATTEMPTS, 0.0)[0].any(axis=1)
            confirmations = these.confirmations.copy()
            claimed, samples = these.candidates(1, GAIN)
            parts.append((false, claimed[:, 0], samples[claimed], confirmations))
            print(f"{name}: {(part + 1) * AT_ONCE} runs", file=sys.stderr)
        false, claimed, samples, confirmations = (np.concatenate(each) for each in zip(*parts, strict=True))
        by_machine[name] = {
            "runs": len(false),
            "false_positive_rate": float(false.mean()),
            "power_2pct": float(claimed.mean()),
            "samples_median": float(np.median(samples)),
            "confirmations_mean": float(confirmations.mean()),
        }
    each = by_machine.values()
    return {
        "false_positive_rate": float(np.mean([m["false_positive_rate"] for m in each])),
        "power_2pct": min(m["power_2pct"] for m in each),
        "samples_median": float(np.median([m["samples_median"] for m in each])),
        "machines": by_machine,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--runs", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    found = measure(arguments.runs, arguments.seed)
    machines = found.pop("machines")
    if not arguments.json:
        for name, figures in machines.items():
            print(f"{name}: " + ", ".join(f"{key} {value:g}" for key, value in figures.items()))
        print(f"allowed: {FALSE_CLAIMS:g} false claims a run")
    print_json(found)


if __name__ == "__main__":
    main()

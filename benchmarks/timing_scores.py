"""How well times rank candidates: scores of predictions against measured times, within shapes."""

from __future__ import annotations

import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.timing_cases import Candidate, Shape

CLOSE: Final = 1.10
"""Ratio of measured times up to which a pair is close."""
HELD_SEED: Final = 6
Predictions = Mapping[Candidate, float]


@dataclass(frozen=True, slots=True)
class Scores:
    """Means over shapes where a figure belongs to a shape, over pairs and candidates otherwise."""

    shapes: int
    pairs: int
    spearman: float | None
    pair_accuracy: float | None
    """Share of pairs in the measured order; a tie of predictions counts half."""
    pair_accuracy_close: float | None
    mean_regret: float | None
    """How much slower the candidate predicted fastest is than the fastest."""
    median_abs_error: float | None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def scores(predictions: Predictions) -> Scores:
    """Scores of predicted times in microseconds."""
    by_shape = group(predictions)
    spearman: list[float] = []
    regret: list[float] = []
    right: list[float] = []
    close: list[float] = []
    errors = [abs(time / c.microseconds - 1) for c, time in predictions.items()]
    for candidates in by_shape.values():
        if len(candidates) < 2:
            continue
        measured = np.array([c.microseconds for c in candidates])
        predicted = np.array([predictions[c] for c in candidates])
        spearman.append(rank_correlation(measured, predicted))
        regret.append(float(np.mean(measured[predicted == predicted.min()]) / measured.min() - 1))
        for i, j in combinations(range(len(candidates)), 2):
            product = (measured[i] - measured[j]) * (predicted[i] - predicted[j])
            found = 1.0 if product > 0 else 0.5 if predicted[i] == predicted[j] else 0.0
            right.append(found)
            if max(measured[i], measured[j]) < CLOSE * min(measured[i], measured[j]):
                close.append(found)
    return Scores(
        shapes=len(spearman),
        pairs=len(right),
        spearman=_mean(spearman),
        pair_accuracy=_mean(right),
        pair_accuracy_close=_mean(close),
        mean_regret=_mean(regret),
        median_abs_error=statistics.median(errors) if errors else None,
    )


def group(candidates: Sequence[Candidate] | Predictions) -> dict[Shape, list[Candidate]]:
    """Candidates by shape, in order."""
    found: dict[Shape, list[Candidate]] = {}
    for candidate in candidates:
        found.setdefault(candidate.shape, []).append(candidate)
    return found


def held_tiles(candidates: Sequence[Candidate], seed: int = HELD_SEED) -> frozenset[tuple[int, int]]:
    """The tiles, a third of them, whose objects no fitting may see."""
    tiles = sorted({c.tile for c in candidates})
    return frozenset(random.Random(seed).sample(tiles, -(-len(tiles) // 3)))


def rank_correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Spearman's; 0 where either is constant."""
    first, second = _ranks(a), _ranks(b)
    if first.std() == 0 or second.std() == 0:
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks; equal values share their mean rank."""
    return np.array([(values < v).sum() + ((values == v).sum() - 1) / 2 for v in values], np.float64)


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


@dataclass(frozen=True, slots=True)
class Prefetch:
    """Pairs of objects that differ in prefetch depth (pf2, pf3), whose gap exceeds the noise of repeats."""

    pf3_wins: int
    pf3_right: int
    pf2_wins: int
    pf2_right: int


def prefetch_pairs(predictions: Predictions) -> Prefetch:
    """Counted both where pf3 wins and where pf2 does; a gap counts above three times the spread of either's rows."""
    counts = {"pf2": [0, 0], "pf3": [0, 0]}
    for candidates in group(predictions).values():
        for a, b in combinations(candidates, 2):
            if a.tile != b.tile or {a.name[-3:], b.name[-3:]} != {"pf2", "pf3"}:
                continue
            faster, slower = sorted((a, b), key=lambda c: c.microseconds)
            if slower.microseconds / faster.microseconds - 1 <= 3 * max(a.spread, b.spread):
                continue
            counts[faster.name[-3:]][0] += 1
            counts[faster.name[-3:]][1] += predictions[faster] < predictions[slower]
    return Prefetch(*counts["pf3"], *counts["pf2"])

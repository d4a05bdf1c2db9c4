"""Evidence from paired blocks: a betting process whose value may be looked at after every block.

Each block gives one log ratio x. Which of two equal objects goes first in a block is decided by a fair coin, so x and
-x are equally likely whatever the machine does: drift, throttling, spikes and coarse clocks move both alike. For such x
the product of 2 / (1 + exp(-2 b u)), with u any odd function of x and b fixed in advance, is a fair bet, and exceeds
1/alpha at any time with a probability of at most alpha (Ville's inequality). Several b are averaged, small ones for
gains within the noise, large ones for gains beyond it.

Source: randomisation inference (Fisher 1935); de la Pena's self-normalised bound for symmetric variables (Ann. Probab.
27, 1999); Ville (1939).
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Ratios: TypeAlias = NDArray[np.float64]
"""Log ratios of blocks in the order in which they were taken, along the last axis."""

BETS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
"""Sizes of the bets, averaged."""
AGAINST = 0.05
"""Evidence against a gain of 1 over this ends the search for it; no claim rests on it."""
CLIP = 1.5
"""A block counts at most as this many times the typical size of those so far: the policy for outliers."""


def unit(ratios: Ratios) -> Ratios:
    """The last ratio over the median size of all up to it, clipped; no sign is looked at, so the bet stays fair.

    A ratio of exactly 0, as coarse clocks give, stays 0: it is evidence of nothing.
    """
    return np.clip(ratios[..., -1] / _median_of_nonzero(np.abs(ratios)), -CLIP, CLIP)


def _median_of_nonzero(sizes: Ratios) -> Ratios:
    """Along the last axis; 1 where all are 0."""
    ordered = np.sort(sizes, axis=-1)
    zeros = (ordered == 0).sum(axis=-1)
    last = ordered.shape[-1] - 1
    at = np.minimum(zeros + (last - zeros) // 2, last)
    found = np.take_along_axis(ordered, at[..., None], axis=-1)[..., 0]
    return np.where(found > 0, found, 1.0)


def units(ratios: Ratios) -> Ratios:
    """`unit` after each block."""
    return np.stack([unit(ratios[..., : end + 1]) for end in range(ratios.shape[-1])], axis=-1)


def log_factors(bounded: Ratios) -> Ratios:
    """[bet, ...] logarithm of what each bet wins or loses by each unit."""
    bets = np.array(BETS).reshape(-1, *([1] * bounded.ndim))
    return np.log(2.0) - np.logaddexp(0.0, -2.0 * bets * bounded)


def log_mean(grown: Ratios) -> Ratios:
    """Logarithm of the mean over the bets, which are along the first axis."""
    top = grown.max(axis=0)
    return top + np.log(np.exp(grown - top).mean(axis=0))


def log_growth(bounded: Ratios) -> Ratios:
    """Natural logarithm of the evidence after each of these units; with opposite signs, of the evidence against."""
    return log_mean(np.cumsum(log_factors(bounded), axis=-1))


def log_evidence(ratios: Ratios) -> Ratios:
    """Natural logarithm of the evidence that the second object is faster, after each block."""
    return log_growth(units(ratios))


def decided(evidence: Ratios, against: Ratios, level: float | Ratios) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Along the last axis: 1 where the evidence reaches 1/`level` first, -1 where that against reaches 1/`AGAINST`
    first, 0 where neither does; and after how many blocks."""
    first_yes, first_no = _first(evidence >= np.log(1 / level)), _first(against >= np.log(1 / AGAINST))
    most = evidence.shape[-1]
    answer = np.where(np.minimum(first_yes, first_no) == most, 0, np.where(first_yes <= first_no, 1, -1))
    return answer, np.minimum(np.minimum(first_yes, first_no) + 1, most)


def _first(hit: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Index of the first hit along the last axis; its length where there is none."""
    padded = np.concatenate([hit, np.ones((*hit.shape[:-1], 1), np.bool_)], axis=-1)
    return np.asarray(np.argmax(padded, axis=-1), np.int64)


def interval(ratios: Ratios, level: float) -> tuple[float, float]:
    """An interval that holds the true log ratio with probability 1 - `level`, whenever one stopped.

    It is what is left of the observed ratios, 0 and twice the median after leaving out those that the evidence speaks
    against, on either side, so that a claimed gain has an interval of gains even where all blocks agree; (-inf, inf)
    where there are too few blocks to leave out any.
    """
    if not ratios.size:
        return -np.inf, np.inf
    shifts = np.sort([*ratios, 0.0, 2 * float(np.median(ratios))])
    shifted = ratios[None, :] - shifts[:, None]
    least = np.log(2.0 / level)
    bounded = units(shifted)
    too_low = (log_growth(bounded) >= least).any(axis=-1)
    too_high = (log_growth(-bounded) >= least).any(axis=-1)
    low = shifts[too_low].max() if too_low.any() else -np.inf
    high = shifts[too_high].min() if too_high.any() else np.inf
    return float(low), float(high)

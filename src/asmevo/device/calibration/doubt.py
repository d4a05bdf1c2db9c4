"""Which doubtful numbers of a chip the measured times would move, one at a time, and of which they say nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from statistics import fmean
from typing import Any, Final

from asmevo.device.calibration.clock import LEAST, Subject
from asmevo.timing import Chip

SHOWS: Final = 0.01
"""A parameter that changes no launch's time by more than this share, anywhere in its range, is not told."""
BETTER: Final = 0.01
"""An end of a range fits better when it lowers the mean error by more than this."""


class Told(StrEnum):
    """What the times say of a parameter."""

    MOVES = "moves"
    STAYS = "stays"
    SILENT = "not told"


@dataclass(frozen=True, slots=True)
class Move:
    """One doubtful parameter."""

    name: str
    unit: str
    value: float
    told: Told
    end: float
    """The end of its range that fits better."""
    error: float
    """Mean over the launches of the absolute logarithm of measured over modelled time, with the value."""
    error_at_end: float
    shows: float
    """Largest change of the logarithm of a launch's time from the value to either end."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"told": self.told.value}


def moves(subjects: Sequence[Subject], chip: Chip, fitted: Collection[str] = ()) -> tuple[Move, ...]:
    """All parameters in doubt, those first that would lower the error most; none for few launches.

    `chip` has the fitted clocks, which are left out. Each is tried alone, so of two that do the same both are named.
    """
    if len(subjects) < LEAST:
        return ()
    errors = [s.error(chip) for s in subjects]
    ranges = {name: chip.range(name) for name in chip.parameters if name not in fitted}
    found = [_move(name, ends, subjects, chip, errors) for name, ends in ranges.items() if ends[0] != ends[1]]
    return tuple(sorted(found, key=lambda m: (m.told is Told.SILENT, m.error_at_end, m.name)))


def _move(
    name: str, ends: tuple[float, float], subjects: Sequence[Subject], chip: Chip, errors: Sequence[float]
) -> Move:
    whole = isinstance(getattr(chip, name), int)
    tried: list[tuple[float, float]] = []
    shows = 0.0
    for end in ends:
        other = chip.with_(**{name: round(end) if whole else end})
        changed = [s.error(other) for s in subjects]
        tried.append((_size(changed), end))
        shows = max(shows, *(abs(now - before) for now, before in zip(changed, errors, strict=True)))
    error, (at_end, end) = _size(errors), min(tried)
    told = Told.SILENT if shows <= SHOWS else Told.MOVES if error - at_end > BETTER else Told.STAYS
    value = float(getattr(chip, name))
    return Move(name, chip.parameters[name].unit, value, told, end, error, at_end, shows)


def _size(errors: Sequence[float]) -> float:
    return fmean(abs(e) for e in errors)

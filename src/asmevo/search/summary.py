"""What a run found, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from asmevo.search.expense import Expense
from asmevo.verdict import Verdict


@dataclass(frozen=True, slots=True)
class RunSummary:
    """The result of a search. Where nothing faster was found, `best` is K0 itself and no file is written."""

    folder: Path
    chip: str
    source: str
    """Of the times: `modelled` or `measured`."""
    k0_microseconds: float
    best_microseconds: float
    k0_sha256: str
    best_sha256: str
    best_ordinal: int
    """Attempt whose candidate is the result; 0 for K0."""
    verdict: Verdict
    """Of the result."""
    edits: int
    """How many edits lead from K0 to the result."""
    attempts: int
    """Candidates put through the gate, K0 and trims not counted."""
    trims: int
    """Candidates put through the gate to drop edits that do not pay."""
    commits: int
    verdicts: Mapping[str, int]
    reason: str
    """Why the search ended."""
    interrupted: bool
    """It was stopped by a signal; `asmevo resume` goes on."""
    seconds: float
    """Wall seconds of all attempts of the run."""
    files: Mapping[str, Path]
    """What was written: `object` and `certificate`, where there is a faster candidate."""
    cost: Expense | None = None
    """Of the driver, over the whole run; None without one."""
    inexact: Mapping[str, Any] | None = None
    """Bound, metric and errors against float64 where the results are not K0's bit for bit."""

    @property
    def speedup(self) -> float:
        """K0's time over the result's; 1.0 where nothing was found."""
        return self.k0_microseconds / self.best_microseconds

    @property
    def attempts_per_second(self) -> float:
        return (self.attempts + self.trims) / self.seconds if self.seconds > 0 else 0.0

    def to_json(self) -> dict[str, Any]:
        values = asdict(self)
        if self.inexact is None:
            del values["inexact"]
        return values | {
            "folder": str(self.folder),
            "files": {name: str(path) for name, path in self.files.items()},
            "verdict": self.verdict.value,
            "verdicts": dict(self.verdicts),
            "speedup": self.speedup,
            "attempts_per_second": self.attempts_per_second,
        }

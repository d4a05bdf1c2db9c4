"""What the gate says of one candidate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from asmevo.verdict import Check, Verdict, weakest


@dataclass(frozen=True, slots=True)
class Report:
    """The checks that were made, in order; the last one is the one that refused, if one did."""

    checks: tuple[Check, ...]

    @property
    def verdict(self) -> Verdict:
        """The weakest of the checks; UNKNOWN when none was made.

        PROVED where all checks admit and the proof covers every changed block: the other checks then stand for what a
        proof of values does not speak of (waits, hazards, resources, and the launches as a test of the proof itself).
        """
        verdict = weakest(check.verdict for check in self.checks)
        proved = any(check.name == "proof" and check.verdict is Verdict.PROVED for check in self.checks)
        return Verdict.PROVED if proved and verdict.admitted else verdict

    @property
    def refused_by(self) -> Check | None:
        """The first check that does not admit."""
        return next((check for check in self.checks if not check.verdict.admitted), None)

    @property
    def inexact(self) -> Mapping[str, Any] | None:
        """What was found of results that are not K0's bit for bit: bound, metric and errors; None where all are."""
        return next((dict(check.facts) for check in self.checks if check.facts.get("inexact")), None)

    def to_json(self) -> dict[str, Any]:
        return {"verdict": self.verdict.value, "checks": [check.to_json() for check in self.checks]}

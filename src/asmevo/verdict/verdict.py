"""The four verdicts, and how several combine into one."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Verdict(StrEnum):
    """What is known of a candidate. Used alike in exit codes, the store and reports.

    Only `PROVED` and `TESTED` admit. Missing evidence, an unknown instruction, a time-out or a tool that failed is
    `UNKNOWN`, never a pass.
    """

    PROVED = "PROVED"
    """Equivalent to K0 for every input, by a proof."""
    TESTED = "TESTED"
    """Every static rule holds, and the candidate behaved like K0 on every launch."""
    REFUTED = "REFUTED"
    """A rule is broken or a launch showed a difference; there is a counterexample."""
    UNKNOWN = "UNKNOWN"
    """The evidence is missing."""

    @property
    def admitted(self) -> bool:
        """Whether a candidate with this verdict may be timed and committed."""
        return self in (Verdict.PROVED, Verdict.TESTED)

    @property
    def exit_code(self) -> int:
        """Exit code of `asmevo verify`: 0 admitted, 1 refuted, 3 unknown."""
        return {Verdict.REFUTED: 1, Verdict.UNKNOWN: 3}.get(self, 0)


_WEAKEST_FIRST = (Verdict.REFUTED, Verdict.UNKNOWN, Verdict.TESTED, Verdict.PROVED)


def weakest(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict of a conjunction of checks; that of no check at all is UNKNOWN."""
    return min(verdicts, key=_WEAKEST_FIRST.index, default=Verdict.UNKNOWN)

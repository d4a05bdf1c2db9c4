"""What a check found and what it says: values that every package may make and that go into certificates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from asmevo.verdict.verdict import Verdict


class Severity(StrEnum):
    """ERROR refuses a candidate; WARNING and NOTE are written into the certificate."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a check has to say of one place."""

    rule: str
    """Stable dotted name of the rule, e.g. `wait.raw`, `hazard.mfma_valu_read`, `diff.bytes`."""
    message: str
    """A sentence with the instruction, the register or address, and what was expected."""
    severity: Severity = Severity.ERROR
    line: int | None = None
    """Id of the program line it is about, where there is one."""
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """JSON-able details (path, distance, both values, lane, address)."""


@dataclass(frozen=True, slots=True)
class Check:
    """The outcome of one gate stage."""

    name: str
    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """JSON-able evidence: what was run, hashes, counts."""

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "verdict": self.verdict.value,
            "findings": [asdict(f) | {"facts": dict(f.facts)} for f in self.findings],
            "facts": dict(self.facts),
        }

"""The gate: what admits a candidate."""

from asmevo.gate.baseline import Baseline
from asmevo.gate.certificate import (
    bound_of,
    canonical,
    certificate,
    check_certificate,
    evidence,
    require_bound,
    tools,
)
from asmevo.gate.changes import Changes, changes
from asmevo.gate.checked import CheckedStage
from asmevo.gate.coverage import coverage
from asmevo.gate.differential import differential
from asmevo.gate.gate import Gate
from asmevo.gate.matching import align
from asmevo.gate.report import Report
from asmevo.gate.resources import resources
from asmevo.gate.verify import Verification, verify

__all__ = [
    "Baseline",
    "Changes",
    "CheckedStage",
    "Gate",
    "Report",
    "Verification",
    "align",
    "bound_of",
    "canonical",
    "certificate",
    "changes",
    "check_certificate",
    "coverage",
    "differential",
    "evidence",
    "require_bound",
    "resources",
    "tools",
    "verify",
]

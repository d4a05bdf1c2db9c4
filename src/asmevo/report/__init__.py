"""What a user sees: facts as JSON-able values and the same as text."""

from asmevo.report.checks import checks_text
from asmevo.report.objects import coverage_facts, coverage_text, object_facts, object_text, program_facts
from asmevo.report.rebuilt import rebuild_facts, rebuild_text
from asmevo.report.table import figure, table

__all__ = [
    "checks_text",
    "coverage_facts",
    "coverage_text",
    "figure",
    "object_facts",
    "object_text",
    "program_facts",
    "rebuild_facts",
    "rebuild_text",
    "table",
]

"""What a user sees: facts as JSON-able values and the same as text."""

from asmevo.report.attempts import attempt_facts, attempt_text, by_weight, refusing
from asmevo.report.calibration import calibration_text, chip_remark
from asmevo.report.captures import captured_text
from asmevo.report.checks import checks_text, verification_text
from asmevo.report.containers import container_facts, container_text
from asmevo.report.diff import diff
from asmevo.report.execution import execution_facts, execution_text, measured_text, require_done
from asmevo.report.figures import basis_text, cost_text, gain_text, time_text
from asmevo.report.objects import coverage_facts, coverage_text, object_facts, object_text, program_facts
from asmevo.report.oddities import oddities
from asmevo.report.overlay import installed_text, overlay_text
from asmevo.report.rebuilt import rebuild_facts, rebuild_text
from asmevo.report.repaired import repair_facts, repair_text
from asmevo.report.run import counts_text, result_text, run_facts, run_text
from asmevo.report.stepping import comparison_facts, comparison_text, stop_facts, stop_text
from asmevo.report.strength import strength_text
from asmevo.report.summary import summary_text
from asmevo.report.table import figure, table

__all__ = [
    "attempt_facts",
    "attempt_text",
    "basis_text",
    "by_weight",
    "calibration_text",
    "captured_text",
    "checks_text",
    "chip_remark",
    "comparison_facts",
    "comparison_text",
    "container_facts",
    "container_text",
    "cost_text",
    "counts_text",
    "coverage_facts",
    "coverage_text",
    "diff",
    "execution_facts",
    "execution_text",
    "figure",
    "gain_text",
    "installed_text",
    "measured_text",
    "object_facts",
    "object_text",
    "oddities",
    "overlay_text",
    "program_facts",
    "rebuild_facts",
    "rebuild_text",
    "refusing",
    "repair_facts",
    "repair_text",
    "require_done",
    "result_text",
    "run_facts",
    "run_text",
    "stop_facts",
    "stop_text",
    "strength_text",
    "summary_text",
    "table",
    "time_text",
    "verification_text",
]

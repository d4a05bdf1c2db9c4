"""The result of a search in a few lines."""

from __future__ import annotations

from asmevo.report.figures import basis_text, cost_text, gain_text, time_text
from asmevo.report.run import counts_text
from asmevo.search import RunSummary


def summary_text(summary: RunSummary) -> str:
    """What was found, what it rests on, and where it is. Times name their source; modelled ones chip and clock."""
    found = summary.best_microseconds < summary.k0_microseconds
    best = (
        f"best  {time_text(summary.best_microseconds, summary.source)}, "
        f"{gain_text(summary.k0_microseconds, summary.best_microseconds)}, {summary.verdict} "
        f"(attempt {summary.best_ordinal}, {summary.edits} edits)"
    )
    out = [
        f"K0    {time_text(summary.k0_microseconds, summary.source)}",
        best if found else "best  no admitted candidate was faster than K0",
        f"tried {summary.attempts} candidates, and {summary.trims} to drop edits that do not pay, in "
        f"{summary.seconds:.0f} s: {counts_text(summary.verdicts) or 'none'}",
        f"ended {summary.reason}",
        basis_text(summary.source, summary.chip),
    ]
    if summary.cost:
        out.insert(-2, f"cost  {cost_text(summary.cost)}")
    if found and summary.inexact is not None:
        facts = summary.inexact
        out.append(
            f"INEXACT     results differ from K0's: error against float64 at most {facts['largest_ratio']:.3g} times "
            f"K0's, {facts['bound']:g} allowed"
        )
    out += [f"{name:11} {path}" for name, path in summary.files.items()]
    out.append(f"run         {summary.folder} (`asmevo show {summary.folder}`)")
    if summary.interrupted:
        out.append(f"interrupted; `asmevo resume {summary.folder}` goes on")
    return "\n".join(out)

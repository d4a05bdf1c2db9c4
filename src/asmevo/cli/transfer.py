"""`asmevo transfer`: what paid on one kernel, tried on others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from asmevo.cli.inputs import read_launches, read_object
from asmevo.cli.output import INTERRUPTED, emit
from asmevo.cli.parameters import CHIP, Budget, ChipName, Json, JsonLines, LaunchPaths, Quiet, RunFolder
from asmevo.cli.progress import watching
from asmevo.device import simulator
from asmevo.report import summary_text
from asmevo.search import RunSummary, Settings, patterns_of, start
from asmevo.strategies import Transfer
from asmevo.verdict import UsageError


def transfer(
    run: RunFolder,
    objects: Annotated[list[Path], Argument(metavar="K1...", help="Other code objects.", show_default=False)],
    launch: LaunchPaths,
    budget: Budget = None,
    out: Annotated[Path | None, Option(help="Folder of the new runs; without it the one that holds RUN.")] = None,
    chip: ChipName = CHIP,
    quiet: Quiet = False,
    json_lines: JsonLines = False,
    json: Json = False,
) -> int:
    """Try the commits of a run on sibling kernels: another tile, another version of the compiler.

    Each kernel gets a run of its own, under the whole gate; all of them are run on the launches given. Where code is
    alike, the edits are tried as they are and then what the strategy behind them makes of this code.
    """
    patterns = patterns_of(run)
    if not patterns:
        raise UsageError(f"The run {run} has no commits that could be transferred; give one that found something.")
    summaries: list[RunSummary] = []
    settings = Settings(trims=0).with_budgets(4 * len(patterns) if budget is None else budget, None)
    for path in objects:
        folder = (out or run.parent) / f"{run.name}-on-{path.stem}"
        obj = read_object(path)
        launches = read_launches(launch, obj)
        with simulator(chip) as device, watching(chip, settings, quiet=quiet, json_lines=json_lines) as progress:
            strategies = {Transfer.name: Transfer(patterns)}
            summary = start(
                folder, obj.data, launches, device,
                chip=chip, settings=settings, progress=progress, strategies=strategies,
            )  # fmt: skip
        summaries.append(summary)
        if summary.interrupted:
            break
    facts = {"runs": [summary.to_json() for summary in summaries]}
    emit(facts, lambda: "\n\n".join(summary_text(summary) for summary in summaries), json or json_lines)
    return INTERRUPTED if any(summary.interrupted for summary in summaries) else 0

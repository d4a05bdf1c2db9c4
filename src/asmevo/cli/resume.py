"""`asmevo resume`: go on with a run."""

from __future__ import annotations

from contextlib import nullcontext

from asmevo.agent.llm import Models
from asmevo.cli.models import require_models, tell_models
from asmevo.cli.output import emit_summary
from asmevo.cli.parameters import (
    DEVICE,
    Budget,
    DeviceName,
    Gpus,
    Json,
    JsonLines,
    MaxCost,
    Quiet,
    RunFolder,
    Seconds,
)
from asmevo.cli.progress import watching
from asmevo.cli.workers import Executor, ExecutorName, RayAddress, Workers, cluster
from asmevo.device import open_device
from asmevo.search import resume as go_on
from asmevo.search import run_settings


def resume(
    run: RunFolder,
    budget: Budget = None,
    seconds: Seconds = None,
    max_cost: MaxCost = None,
    workers: Workers = None,
    executor: ExecutorName = Executor.PROCESSES,
    ray_address: RayAddress = None,
    device: DeviceName = DEVICE,
    gpu: Gpus = None,
    quiet: Quiet = False,
    json_lines: JsonLines = False,
    json: Json = False,
) -> int:
    """Go on with a run that was interrupted, killed, or whose budget was too small.

    The budgets are those of the run unless new ones are given; they count the candidates, seconds and money that the
    run has used already. A run that was measured goes on with `--device hip` on the same kind of chip only.
    """
    nodes = cluster(executor, ray_address, device)
    chip, settings = run_settings(run, budget, seconds)
    models = Models.of_run(run, max_cost)
    require_models(models, max_cost)
    place, _ = open_device(device, chip, gpu or ())
    with (
        models or nullcontext(),
        place,
        watching(chip, settings, quiet=quiet, json_lines=json_lines) as progress,
    ):
        summary = go_on(
            run, place, settings,
            progress=progress, driver=models, workers=workers, cluster=nodes,
        )  # fmt: skip
        tell_models(models)
    return emit_summary(summary, json or json_lines)

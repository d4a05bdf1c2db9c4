"""`asmevo optimize`: search for a faster candidate."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

from typer import Option

from asmevo.cli.inputs import read_launches, read_object
from asmevo.cli.models import Driver, models_wanted, tell_models
from asmevo.cli.output import emit_summary
from asmevo.cli.parameters import (
    CHIP,
    DEVICE,
    AllowInexact,
    Budget,
    ChipName,
    DeviceName,
    Gpus,
    Json,
    JsonLines,
    LaunchPaths,
    MaxCost,
    ObjectPath,
    Quiet,
    Seconds,
)
from asmevo.cli.progress import watching
from asmevo.cli.workers import Executor, ExecutorName, RayAddress, Workers, cluster
from asmevo.device import open_device
from asmevo.search import Settings, start


def optimize(
    k0: ObjectPath,
    launch: LaunchPaths,
    budget: Budget = None,
    seconds: Seconds = None,
    max_cost: MaxCost = None,
    seed: Annotated[int, Option(help="Seed of everything random.")] = 0,
    out: Annotated[Path | None, Option(help="Run folder; without it runs/<name of K0>.")] = None,
    chip: ChipName = CHIP,
    device: DeviceName = DEVICE,
    gpu: Gpus = None,
    llm: Annotated[Path | None, Option(help="Language models to ask: a TOML file, see docs/agent.md.")] = None,
    model: Annotated[str | None, Option(help="The same for one model, by its name.")] = None,
    base_url: Annotated[str | None, Option(help="OpenAI-compatible server of --model.")] = None,
    driver: Annotated[
        Driver | None, Option(help="Who proposes; `mixed` where models are given: rules, and models where those stall.")
    ] = None,
    replay: Annotated[Path | None, Option(help="Run whose models' replies are taken, instead of asking any.")] = None,
    strategy: Annotated[
        list[str] | None, Option(help="Use only this strategy (repeat for several); docs/search.md lists them.")
    ] = None,
    allow_inexact: AllowInexact = None,
    workers: Workers = None,
    executor: ExecutorName = Executor.PROCESSES,
    ray_address: RayAddress = None,
    quiet: Quiet = False,
    json_lines: JsonLines = False,
    json: Json = False,
) -> int:
    """Search for a faster object that behaves like K0 on every launch.

    Ends at a budget (200 candidates where none is given) or when nothing new is left to try. Ctrl-C stops cleanly, and
    `asmevo resume` goes on. A seed with a budget in candidates gives the same lineage on every machine, for any number
    of workers. A faster object is written into the run folder with its certificate. With `--device hip` candidates run
    and are timed on a GPU as well, one at a time; a gain then counts when fresh samples confirm it.
    With `--allow-inexact` results may differ from K0's, within a bound on the error that launches with recipes tell.
    """
    nodes = cluster(executor, ray_address, device)
    folder = out or Path("runs") / k0.stem
    settings = Settings(seed=seed).with_budgets(budget, seconds).allowing(allow_inexact).with_strategies(strategy)
    models = models_wanted(llm, model, base_url, driver, replay, max_cost)
    obj = read_object(k0)
    launches = read_launches(launch, obj)
    place, chip = open_device(device, chip, gpu or ())
    with (
        models or nullcontext(),
        place,
        watching(chip, settings, quiet=quiet, json_lines=json_lines) as progress,
    ):
        summary = start(
            folder, obj.data, launches, place,
            chip=chip, settings=settings, progress=progress, driver=models, workers=workers,
            cluster=nodes,
        )  # fmt: skip
        tell_models(models)
    return emit_summary(summary, json or json_lines)

"""`asmevo fork`: a new run from any attempt of another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from asmevo.cli.parameters import (
    DEVICE,
    Budget,
    DeviceName,
    Gpus,
    Json,
    JsonLines,
    Quiet,
    RunFolder,
    Seconds,
)
from asmevo.cli.resume import resume
from asmevo.cli.workers import Executor, ExecutorName, RayAddress, Workers, cluster
from asmevo.search import fork as make


def fork(
    run: RunFolder,
    at: Annotated[int, Option("--at", help="Ordinal of the last attempt to keep.", min=0)],
    out: Annotated[Path | None, Option(help="Folder of the new run; without it <RUN>-<attempt>.")] = None,
    seed: Annotated[int | None, Option(help="Seed of what follows; without it that of the run.")] = None,
    budget: Budget = None,
    seconds: Seconds = None,
    workers: Workers = None,
    executor: ExecutorName = Executor.PROCESSES,
    ray_address: RayAddress = None,
    device: DeviceName = DEVICE,
    gpu: Gpus = None,
    quiet: Quiet = False,
    json_lines: JsonLines = False,
    json: Json = False,
) -> int:
    """Begin a new run with the attempts of another one, up to one of them, and go on from there.

    The other run is left as it is. With the seed of the run and its strategies it goes the same way again; give another
    seed to try another way.
    """
    cluster(executor, ray_address, device)  # nothing is made for a wrong one
    folder = out or run.with_name(f"{run.name}-{at}")
    make(run, at, folder, seed)
    return resume(
        folder, budget, seconds,
        workers=workers, executor=executor, ray_address=ray_address,
        device=device, gpu=gpu, quiet=quiet, json_lines=json_lines, json=json,
    )  # fmt: skip

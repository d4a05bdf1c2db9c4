"""Options about who examines candidates, and where."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Annotated

from typer import Option

from asmevo.cli.parameters import DEVICE
from asmevo.search import GPU_ALONE, LOCAL
from asmevo.verdict import UsageError

Workers = Annotated[
    int | None, Option("--workers", "-j", help="Processes that examine candidates; all cores without it.", min=1)
]


class Executor(StrEnum):
    """Where they are."""

    PROCESSES = "processes"
    RAY = "ray"


ExecutorName = Annotated[Executor, Option("--executor", help="Where they are: here, or on a Ray cluster.")]
RayAddress = Annotated[
    str | None,
    Option(
        "--ray-address",
        help="host:port of the cluster's head, or auto for the cluster of this machine; without it what the "
        "environment names as RAY_ADDRESS, or a local one.",
        show_default=False,
    ),
]


def cluster(executor: Executor, address: str | None, device: str) -> str | None:
    """Address of the Ray cluster to use; None for none. Raises `UsageError` for an address that nothing would use, and
    for a GPU with a cluster; an address in the environment may be for other programs."""
    if executor is Executor.RAY:
        if device != DEVICE:
            raise UsageError(GPU_ALONE)  # before a device is opened
        return address or os.environ.get("RAY_ADDRESS") or LOCAL
    if address is not None:
        raise UsageError("--ray-address is of no use here; add --executor ray, or leave it out.")
    return None

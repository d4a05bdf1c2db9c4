"""Options about who examines candidates, and where."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from typer import Option

from asmevo.search import LOCAL

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
        envvar="RAY_ADDRESS",
        help="host:port of the cluster's head, or auto for the cluster of this machine; a local one without it.",
        show_default=False,
    ),
]


def cluster(executor: Executor, address: str | None) -> str | None:
    """Address of the Ray cluster to use; None for none."""
    return (address or LOCAL) if executor is Executor.RAY else None

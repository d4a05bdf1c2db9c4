"""Arguments and options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from asmevo.timing import chip, chip_of_file

ObjectPath = Annotated[Path, Argument(metavar="K0", help="The code object (.co, .hsaco).", show_default=False)]
KernelName = Annotated[str | None, Option("--kernel", help="Kernel of an object that has several.")]
LaunchPaths = Annotated[
    list[Path],
    Option(
        "--launch",
        "-l",
        help="Launch file (.toml), captured dispatch, or a folder of them; may be given several times.",
        show_default=False,
    ),
]
LaunchName = Annotated[str | None, Option("--name", help="Name of the launch, when there are several.")]


def _chip(value: str) -> str:
    """The name of a chip, of which a file ends with .toml."""
    return chip_of_file(Path(value), chip).name if value.endswith(".toml") else value


ChipName = Annotated[
    str,
    Option("--chip", callback=_chip, help="Chip whose time is modelled, or a TOML file of one that differs from it."),
]
DeviceName = Annotated[str, Option("--device", help="Where it runs: sim, or hip for an AMD GPU of this machine.")]
Gpus = Annotated[
    list[int] | None,
    Option("--gpu", help="GPU to use; several times for those that take over when one stops answering."),
]
Json = Annotated[bool, Option("--json", help="Print one JSON object instead of text.")]
Output = Annotated[Path | None, Option("--output", "-o", help="File to write; standard output without it.")]

CHIP, DEVICE = "mi300x", "sim"

Quiet = Annotated[bool, Option("--quiet", "-q", help="Show no progress.")]
JsonLines = Annotated[bool, Option("--json-lines", help="Print each step, and the result, as a line of JSON.")]
Budget = Annotated[int | None, Option("--budget", "-n", help="Most candidates to try.", min=0)]
AllowInexact = Annotated[
    float | None,
    Option(
        "--allow-inexact",
        metavar="BOUND",
        help="Results may be further from float64 than K0's, by up to so many times; see docs/search.md.",
        show_default=False,
    ),
]
Seconds = Annotated[float | None, Option("--time", "-t", help="Most seconds to search.", min=0)]
MaxCost = Annotated[
    float | None,
    Option("--max-cost", metavar="USD", help="Most that models may cost in the whole run; rules cost nothing.", min=0),
]
RunFolder = Annotated[Path, Argument(metavar="RUN", help="Folder of a run.", show_default=False)]

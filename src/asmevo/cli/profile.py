"""`asmevo profile`: where the modelled time goes."""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import Annotated

from typer import Option

from asmevo.cli.inputs import read_launches, read_object
from asmevo.cli.output import emit, write
from asmevo.cli.parameters import CHIP, ChipName, Json, LaunchPaths, ObjectPath
from asmevo.device import objective_of
from asmevo.device.simulated import SimDevice
from asmevo.timing import render
from asmevo.verdict import UsageError


def profile(
    k0: ObjectPath,
    launch: LaunchPaths,
    chip: ChipName = CHIP,
    top: Annotated[int, Option(help="Hot windows to name.", min=1)] = 8,
    summary: Annotated[bool, Option("--summary", help="Leave out the instructions.")] = False,
    trace: Annotated[
        Path | None, Option("--trace", help="File for a timeline of the waves, which ui.perfetto.dev opens.")
    ] = None,
    json: Json = False,
) -> None:
    """Say where the modelled time of the objective launches goes: hot windows, then every executed instruction."""
    obj = read_object(k0)
    launches = objective_of(read_launches(launch, obj))
    if trace is not None and len(launches) != 1:
        raise UsageError(f"A timeline is of one launch and {len(launches)} are profiled; give one with --launch.")
    with SimDevice(chip) as device:
        if trace is not None:
            write(trace, dumps(device.timeline(device.load(obj.data, launches[0].kernel), launches[0])))
        found = {one.name: device.profile(device.load(obj.data, one.kernel), one) for one in launches}
    facts = {"launches": [{"launch": name} | profile.to_json() for name, profile in found.items()]}
    texts = (f"launch {name}\n{render(p, top=top, listing=not summary)}" for name, p in found.items())
    emit(facts, lambda: "\n".join(texts), json)

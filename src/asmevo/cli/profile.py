"""`asmevo profile`: where the modelled time goes."""

from __future__ import annotations

from collections.abc import Sequence
from json import dumps
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from asmevo.cli.inputs import read_launches, read_object
from asmevo.cli.output import emit, write
from asmevo.cli.parameters import CHIP, DEVICE, ChipName, DeviceName, Gpus, Json, LaunchPaths, ObjectPath
from asmevo.codeobject import CodeObject
from asmevo.device import Timing, objective_of, open_device
from asmevo.device.counters import KernelCounters, beside, of_kernel, read_counters, render_beside
from asmevo.device.simulated import SimDevice
from asmevo.launch import Launch
from asmevo.program import recover
from asmevo.report import measured_text
from asmevo.search import kernel_of
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
    counters: Annotated[
        Path | None, Option(help="Counter file of rocprofv3 (.csv, .db or .json) to show beside the model.")
    ] = None,
    device: DeviceName = DEVICE,
    gpu: Gpus = None,
    json: Json = False,
) -> None:
    """Say where the modelled time of the objective launches goes: hot windows, then every executed instruction.

    With `--device hip` the measured times of the launches stand beside it, with `--counters` what hardware counted.
    """
    obj = read_object(k0)
    launches = objective_of(read_launches(launch, obj))
    if trace is not None and len(launches) != 1:
        raise UsageError(f"A timeline is of one launch and {len(launches)} are profiled; give one with --launch.")
    counted = None if counters is None else _counted(counters, obj, launches)
    measured, chip = _measured(device, chip, gpu or (), obj, launches)
    parts: list[tuple[dict[str, Any], str]] = []
    with SimDevice(chip) as model:
        if trace is not None:
            write(trace, dumps(model.timeline(model.load(obj.data, launches[0].kernel), launches[0])))
        for one in launches:
            found = model.profile(model.load(obj.data, one.kernel), one)
            facts, text = {"launch": one.name} | found.to_json(), render(found, top=top, listing=not summary)
            if measured is not None:
                time = next(t for t in measured.launches if t.launch == one.name)
                facts["measured"] = {"microseconds": time.microseconds, **time.facts}
                text = f"{measured_text(time)}\n{text}"
            if counted is not None:
                pairs = beside(counted, one, recover(obj, one.kernel), found)
                facts["counters"] = {**counted.to_json(), "beside": [pair.to_json() for pair in pairs]}
                text = f"{text}\n{render_beside(counted, pairs)}"
            parts.append((facts, f"launch {one.name}\n{text}"))
    emit({"launches": [facts for facts, _ in parts]}, lambda: "\n".join(text for _, text in parts), json)


def _counted(path: Path, obj: CodeObject, launches: Sequence[Launch]) -> KernelCounters:
    """Counters of the kernel of these launches. A counter file does not say which launch a dispatch was, so one is all
    that can stand beside it."""
    if len(launches) != 1:
        names = ", ".join(one.name for one in launches)
        raise UsageError(f"Counters are of one launch and {len(launches)} are given ({names}); name one file.")
    name = obj.kernel(launches[0].kernel).name
    return of_kernel(read_counters(path), name, str(path))


def _measured(
    device: str, chip: str, gpus: Sequence[int], obj: CodeObject, launches: Sequence[Launch]
) -> tuple[Timing | None, str]:
    """Times by a GPU and the name of its table; none where only a model was asked for."""
    if device == DEVICE:
        return None, chip
    place, table = open_device(device, chip, gpus)
    with place:
        return place.time(place.load(obj.data, kernel_of(launches)), launches), table

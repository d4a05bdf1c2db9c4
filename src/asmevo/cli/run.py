"""`asmevo run`: execute launches on a device."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from typer import Option

from asmevo.cli.inputs import read_launches, read_object
from asmevo.cli.output import emit, write
from asmevo.cli.parameters import CHIP, DEVICE, DeviceName, Gpus, Json, LaunchPaths, ObjectPath
from asmevo.device import RunLimits, open_device
from asmevo.launch import Launch, MemoryImage, build_image
from asmevo.report import execution_facts, execution_text, require_done
from asmevo.verdict import Verdict, weakest


def run(
    k0: ObjectPath,
    launch: LaunchPaths,
    out: Annotated[Path | None, Option(help="Folder for the results, one .npy file for each buffer written.")] = None,
    limit: Annotated[float, Option("--limit", help="Most seconds for one launch.", min=0)] = 600.0,
    checked: Annotated[
        bool, Option("--checked", help="Find what is late, racy, unwritten or out of bounds; slower.")
    ] = False,
    turn: Annotated[
        int | None,
        Option(help="Instructions after which a wave lets the others go on; else each goes as far as it can.", min=1),
    ] = None,
    device: DeviceName = DEVICE,
    gpu: Gpus = None,
    json: Json = False,
) -> int:
    """Execute launches on the simulator or a GPU and compare with numpy where the launch has a recipe.

    Results without a reference have no verdict. Exit code 1 when a result differs from the reference or `--checked`
    finds something, 4 when the kernel does not end as it should, 3 when the device gave no answer.
    """
    obj = read_object(k0)
    launches = read_launches(launch, obj)
    limits = RunLimits(seconds=limit, turn=turn, checked=checked, threads=0 if turn is None else 1)
    results: list[dict[str, Any]] = []
    with open_device(device, CHIP, gpu or ())[0] as place:
        for one in launches:
            image = build_image(one, obj)
            outcome = place.run(place.load(obj.data, one.kernel), one, image, limits=limits)
            agreement = one.recipe.compare(image) if one.recipe and outcome.done else ()
            results.append(execution_facts(one, outcome, image, agreement))
            if out is not None and outcome.done:
                _save(out, one, image)
    judged = [Verdict(result["verdict"]) for result in results if result["verdict"]]
    verdict = weakest(judged) if judged else None
    facts = {"verdict": verdict and verdict.value, "launches": results}
    emit(facts, lambda: "\n".join(execution_text(result) for result in results), json)
    for result in results:
        if not result["findings"]:  # else that is what it ended with
            require_done(result)
    return verdict.exit_code if verdict else 0


def _save(folder: Path, launch: Launch, image: MemoryImage) -> None:
    """The codes of every buffer that is a result: bf16 as uint16, fp8 as uint8."""
    for place in image.placements:
        if place.role != "in":
            data = io.BytesIO()
            np.save(data, image.buffer(place.name))
            write(folder / f"{launch.name}.{place.name}.npy", data.getvalue())

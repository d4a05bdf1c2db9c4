"""`asmevo calibrate`: measured times and counters against the model, and the clock that they give."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from asmevo.cli.inputs import read_launches, read_object
from asmevo.cli.output import emit, write
from asmevo.cli.parameters import CHIP, ChipName, Json, LaunchPaths, ObjectPath
from asmevo.device.calibration import Measured, own_times
from asmevo.device.calibration import calibrate as calibrated
from asmevo.device.counters import Reading, read_rows
from asmevo.device.simulated import SimDevice
from asmevo.report import calibration_text, chip_remark
from asmevo.timing import to_toml
from asmevo.verdict import UsageError, Verdict


def calibrate(
    k0: ObjectPath,
    launch: LaunchPaths,
    measured: Annotated[
        list[Path],
        Option(
            "--measured",
            "-m",
            help="Kernel trace or counters of rocprofv3 (.csv, .db, .json), or what `profile --device hip --json` "
            "printed; may be given several times.",
            show_default=False,
        ),
    ],
    chip: ChipName = CHIP,
    agent: Annotated[str | None, Option(help="GPU of the files, where they have several, e.g. 'Agent 4'.")] = None,
    output: Annotated[
        Path | None, Option("--output", "-o", help="TOML file for the chip with the fitted clocks, for --chip.")
    ] = None,
    json: Json = False,
) -> int:
    """Compare measured times and counters of launches with the model, and fit the clocks of the chip to the times.

    Dispatches are found by kernel, grid and workgroup size; what fits no launch, or several, is listed. Exit code 3
    when the times tell no clock; then no file is written.
    """
    obj = read_object(k0)
    launches = read_launches(launch, obj)
    rows: list[Reading] = []
    own: dict[str, Measured] = {}
    for path in measured:
        times = own_times(path)
        if twice := sorted(set(own) & set(times or ())):
            raise UsageError(f"The launch {twice[0]!r} is timed by two files; give one of them.")
        own |= times or {}
        rows += read_rows(path) if times is None else ()
    with SimDevice(chip) as model:
        found = calibrated(model, obj, launches, rows, own, agent)
    written = output if found.told else None
    if written is not None:
        write(written, to_toml(found.fitted, chip_remark(found)))
    facts = {**found.to_json(), "file": None if written is None else str(written)}
    emit(facts, lambda: calibration_text(found, None if written is None else str(written)), json)
    return 0 if found.told else Verdict.UNKNOWN.exit_code

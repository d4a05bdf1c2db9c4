"""`asmevo repair`: an object without races through LDS, which results of candidates can be compared with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from asmevo.cli.inputs import read_launches, read_object
from asmevo.cli.output import emit, keep_inputs, write
from asmevo.cli.parameters import CHIP, ChipName, Json, LaunchPaths, ObjectPath
from asmevo.device import simulator
from asmevo.repair import repair as repaired
from asmevo.report import repair_facts, repair_text
from asmevo.search import kernel_of
from asmevo.timing import chip as chips


def repair(
    k0: ObjectPath,
    launch: LaunchPaths,
    out: Annotated[Path, Option("--out", "-o", help="Code object to write.", show_default=False)],
    chip: ChipName = CHIP,
    json: Json = False,
) -> int:
    """Put barriers where waves of a workgroup race through LDS, so that the result depends on no order of waves.

    The object does nothing that K0 could not do; `optimize` and `verify` take it as K0 where they refuse K0 itself.
    It is written when it was shown to be free of the races and to leave, on every launch, what K0 leaves in some order.
    Exit code 0 also where there is no race, and nothing is written then; 3 where no barrier can be placed.
    """
    keep_inputs(out, k0)
    obj = read_object(k0)
    launches = read_launches(launch, obj)
    with simulator(chip) as device:
        found = repaired(obj, launches, device, kernel_of(launches), chips(chip).fetch_bytes)
        times = None
        if found.data is not None and found.verdict.admitted:
            modules = (device.load(data, found.kernel) for data in (obj.data, found.data))
            first, second = (device.time(module, launches).microseconds for module in modules)
            times = first, second
            write(out, found.data)
    facts = repair_facts(found, times, str(out) if times else None)
    emit(facts, lambda: repair_text(found, facts), json)
    return found.verdict.exit_code if found.races else 0

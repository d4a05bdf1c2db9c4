"""`asmevo strength`: how much the gate catches of faults seeded into a kernel, with these launches."""

from __future__ import annotations

import sys
from typing import Annotated

from typer import Option

from asmevo.cli.inputs import read_launches, read_object
from asmevo.cli.output import emit
from asmevo.cli.parameters import Json, LaunchPaths, ObjectPath
from asmevo.device import IsolatedDevice
from asmevo.gate import Gate
from asmevo.gate.strength import strength as measured
from asmevo.report import strength_text
from asmevo.search import kernel_of
from asmevo.verdict import Verdict


def strength(
    k0: ObjectPath,
    launch: LaunchPaths,
    faults: Annotated[int, Option(help="Most faults of each kind, evenly spread over the kernel.", min=1)] = 8,
    json: Json = False,
) -> int:
    """Seed faults of many kinds into a kernel and say how many the gate refuses, and which launch would help.

    Exit code 0 when at least 99.9 % of those that are not equivalent are refused, else 3.
    """
    obj = read_object(k0)
    launches = read_launches(launch, obj)
    with IsolatedDevice() as device:
        gate = Gate(obj.data, launches, device, kernel=kernel_of(launches))
        found = measured(gate, faults, _said if sys.stderr.isatty() else lambda _: None)
    emit(found.to_json(), lambda: strength_text(found), json)
    return 0 if found.is_enough else Verdict.UNKNOWN.exit_code


def _said(text: str) -> None:
    print(text, file=sys.stderr, flush=True)

"""`asmevo compare`: the first instruction at which two objects differ on a launch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from asmevo.cli.inputs import read_object, the_launch
from asmevo.cli.output import emit
from asmevo.cli.parameters import Json, LaunchName, LaunchPaths
from asmevo.gate import align
from asmevo.launch import build_image
from asmevo.program import recover
from asmevo.report import comparison_facts, comparison_text
from asmevo.sim import BlockCache, differing_workgroup, lockstep
from asmevo.verdict import Verdict


def compare(
    a: Annotated[Path, Argument(metavar="A", help="A code object.", show_default=False)],
    b: Annotated[Path, Argument(metavar="B", help="Another one, such as an edited A.", show_default=False)],
    launch: LaunchPaths,
    name: LaunchName = None,
    workgroup: Annotated[
        int | None, Option("--workgroup", help="Compare this one; else the first that leaves other memory.", min=0)
    ] = None,
    json: Json = False,
) -> int:
    """Run two objects side by side and name the first execution of an instruction whose result differs.

    Exit code 1 when they differ.
    """
    first, second = read_object(a), read_object(b)
    one = the_launch(launch, name, first)
    k0 = recover(first, one.kernel)
    other = align(k0, recover(second, one.kernel))
    image, cache = build_image(one, first, k0.kernel).on_device, BlockCache()
    chosen = differing_workgroup(k0, other, one, image, cache) if workgroup is None else workgroup
    found = None if chosen is None else lockstep(k0, other, one, image, cache, workgroups=[chosen])
    facts = comparison_facts(one.name, found, chosen)
    emit(facts, lambda: comparison_text(facts), json)
    same = found is None or (found.first is None and found.status_a == found.status_b)
    return (Verdict.TESTED if same else Verdict.REFUTED).exit_code

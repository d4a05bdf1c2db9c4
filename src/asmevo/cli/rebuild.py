"""`asmevo rebuild`: listing to code object."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from asmevo.cli.inputs import read_object, read_text
from asmevo.cli.output import emit, keep_inputs, write
from asmevo.cli.parameters import Json, KernelName, ObjectPath
from asmevo.program import check_in_place, check_rebuild, parse_listing, patch_in_place, recover, refuse_overflow
from asmevo.program import rebuild as rebuilt
from asmevo.report import rebuild_facts, rebuild_text
from asmevo.verdict import UsageError


def rebuild(
    k0: ObjectPath,
    output: Annotated[Path, Option("--output", "-o", help="Code object to write.", show_default=False)],
    listing: Annotated[Path | None, Argument(help="Listing made by `recover`; without one K0 is rebuilt.")] = None,
    kernel: KernelName = None,
    in_place: Annotated[
        bool, Option("--in-place", help="Write over K0's instructions and touch nothing else; for edits of one size.")
    ] = False,
    json: Json = False,
) -> int:
    """Assemble a listing into a drop-in code object; without an edit it is K0 byte for byte.

    The result is parsed and compared with K0 and the listing, and written only when that check passes.
    """
    keep_inputs(output, k0, listing)
    obj = read_object(k0)
    program = recover(obj, kernel) if listing is None else parse_listing(read_text(listing), obj)
    if kernel is not None and obj.kernel(kernel).name != program.kernel.name:
        raise UsageError(f"The listing is of the kernel {program.kernel.name}, not of {kernel}; leave --kernel out.")
    if listing is not None:
        refuse_overflow(program)
    data = patch_in_place(program) if in_place else rebuilt(program)
    check = check_in_place(program, data) if in_place else check_rebuild(program, data)
    if check.verdict.admitted:
        write(output, data)
    facts = rebuild_facts(program, data, check)
    emit(facts, lambda: rebuild_text(facts, check), json)
    return check.verdict.exit_code

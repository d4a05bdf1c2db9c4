"""The conservative way to put an edit into an object: written over K0's instructions, nothing else touched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from asmevo.codeobject.writer import patch
from asmevo.program.layout import Layout, lay_out
from asmevo.program.program import COMPUTED_JUMPS, Line, Program, control_kind
from asmevo.program.recover import line_addresses, recover
from asmevo.program.references import named_lines, strange_jump
from asmevo.verdict import InputError


class InPlaceError(InputError):
    """An edit does more than a patch in place can do."""


def patch_in_place(program: Program) -> bytes:
    """K0's file with the instructions of the program written over its own.

    For objects that `rebuild` refuses because some address in them cannot be followed. Raises `InPlaceError` unless
    the edit keeps the size of the code and leaves resources alone, and every line that an address may lead to stays
    where it is: targets of branches, what symbols and data name, jumps, and what follows a jump.
    """
    if program.resources.given():
        raise InPlaceError("A patch in place changes no resources; rebuild the object, or leave them as they are.")
    layout, source = lay_out(program), program.source
    more = len(layout.text) - source.text.size
    if more:
        raise InPlaceError(
            f"The edit changes the size of the code by {more} bytes; for a patch in place keep it, as with `s_nop`."
        )
    _check_pinned(layout)
    if jump := strange_jump(recover(source, program.kernel.name), line_addresses(source)):
        _check_places(layout, jump)
    return patch(source, {source.sections.index(source.text): layout.text}, {})


def _check_pinned(layout: Layout) -> None:
    program, old = layout.program, line_addresses(layout.program.source)
    for line_id, itself in _pinned(program, old):
        position = program.position.get(line_id if itself else program.anchor(line_id))
        if position is None or layout.addresses[position] != old[line_id]:
            raise InPlaceError(
                f"The edit moves or removes line {line_id}, which a jump or an address may lead to; for a patch in "
                "place change only what is inside of a basic block."
            )


def _check_places(layout: Layout, jump: Line) -> None:
    """Every line is where it was: a jump may come to any of them."""
    old = line_addresses(layout.program.source)
    if [line.id for line in layout.program.lines] != list(range(len(old))) or tuple(layout.addresses) != old:
        raise InPlaceError(
            f"Line {jump.id}, `{jump.instruction}`, may go to any instruction, so that each must stay where it is; "
            "replace instructions by others of the same size only."
        )


def _pinned(program: Program, addresses: Sequence[int]) -> Iterator[tuple[int, bool]]:
    """Ids of lines of K0 that must stay where they are; and whether it must be they, or what stands for them."""
    k0 = recover(program.source, program.kernel.name)
    yield from ((line_id, False) for line_id in (*named_lines(program.source, addresses), *k0.labels))
    for line, following in pairwise(k0.lines):
        base = line.instruction.base
        if base in COMPUTED_JUMPS or control_kind(line.instruction) in ("branch", "cbranch", "endpgm", "getpc"):
            yield line.id, True
            yield following.id, False

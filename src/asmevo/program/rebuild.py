"""From an edited program to the bytes of its code object."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from operator import eq

from asmevo.codeobject import Descriptor
from asmevo.codeobject.plan import UnmovableError
from asmevo.codeobject.writer import patch, write
from asmevo.program.layout import EntryError, Layout, lay_out
from asmevo.program.notes import new_note
from asmevo.program.program import Program
from asmevo.program.recover import address_index, data_ranges, decode_text, line_addresses
from asmevo.program.references import entered_addresses, flow_of, named_addresses, not_understood


def rebuild(program: Program) -> bytes:
    """The code object file of a program; without an edit, the bytes it was recovered from.

    Untouched lines are emitted from their words, edited ones are assembled in one batch; branches, addresses relative
    to the program counter, symbols, relocations and headers follow what they point at. Raises `InputError` for a text
    that does not assemble, and `UnmovableError` for an object in which instructions cannot be moved safely.
    """
    layout = lay_out(program)
    contents = {program.source.sections.index(program.source.text): layout.text}
    if note := new_note(program):
        contents[note[0]] = note[1]
    if not is_moved(layout):
        return patch(program.source, contents, changed_descriptors(program))
    refuse_unknown(layout.program)
    return write(layout.plan, contents, CodeMap(layout), changed_descriptors(program))


def is_moved(layout: Layout) -> bool:
    """Whether some line of K0, or what stands for it, is at another address, or a section changes its size."""
    program = layout.program
    if not layout.plan.rigid:
        return True
    old, lines, position = line_addresses(program.source), program.lines, program.position
    if tuple(layout.addresses) == old and all(map(eq, position, range(len(old)))):  # nothing but texts changed
        return False
    named = named_addresses(program.source)
    anchors = ((old[k0], line_id) for k0, line_id in program.anchors.items() if k0 < len(old) and old[k0] in named)
    stand_ins = [(program.kernel.entry, program.position[program.entry])]
    stand_ins += [(address, position.get(line_id, -1)) for address, line_id in anchors]
    return any(at < 0 or layout.addresses[at] != address for address, at in stand_ins) or any(
        x.id < len(old) and a != old[x.id] for x, a in zip(lines, layout.addresses, strict=True)
    )


def refuse_unknown(program: Program) -> None:
    """Refuse code that uses the program counter in a way that is not understood, and edits of data in `.text`."""
    addresses = line_addresses(program.source)
    if line := not_understood(program, addresses):
        raise UnmovableError(
            f"Line {line.id}, `{line.instruction}`, computes with code addresses in a way that is not understood, so "
            "instructions cannot be moved; keep to edits that leave every instruction at its place, or patch in place."
        )
    if (broken := broken_data(program)) is not None:
        raise UnmovableError(
            f"Line {broken} is part of data in .text, which an edit changes, divides, or would take for a "
            "branch; edit only instructions, and keep every instruction at its place."
        )


def broken_data(program: Program) -> int | None:
    """A line of K0 that is data in `.text` and is no longer as it was, behind the line it was behind; None for none.

    Every line must have words.
    """
    source, position = program.source, program.position
    decoded, index = decode_text(source), address_index(source)
    blocks = [range(index[r.start], bisect_left(line_addresses(source), r.stop)) for r in data_ranges(source)]
    named = {r.line for i in program.referring if (r := program.lines[i].reference) is not None and r.line is not None}
    if named:
        reached = flow_of(program, line_addresses(source)).reached
        for first in sorted(named):
            if position.get(first, -1) not in reached and not any(first in block for block in blocks):
                ends = (i for i in range(first, len(decoded)) if position.get(i, -1) in reached)
                blocks.append(range(first, next(ends, max(len(decoded), first + 1))))
    for block in blocks:
        at = position.get(program.anchor(block.start), -1)
        for line_id in block:
            line = program.lines[at] if 0 <= at < len(program.lines) else None
            if line is None or line.id != line_id or line.target is not None or line.reference is not None:
                return line_id
            if line_id >= len(decoded) or line.words != decoded[line_id].words:
                return line_id
            at += 1
    return None


def changed_descriptors(program: Program) -> dict[int, Descriptor]:
    """By address, the descriptor that an edit of resources changed."""
    return {
        kernel.descriptor_address: program.kernel.descriptor
        for kernel in program.source.kernels
        if kernel.name == program.kernel.name and program.resources.given()
    }


class CodeMap:
    """Old address in `.text` to new address, for what is kept outside of the instructions.

    That of a line is where the line went that stands for it now; that of a deleted line is where the next line of K0
    went.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        program = layout.program
        self._old = line_addresses(program.source)
        text = program.source.text
        self._end = text.address + text.size
        self._new_end = layout.plan.address(text.address) + len(layout.text)

    def __call__(self, address: int) -> int:
        if address >= self._end:
            return self._new_end + address - self._end
        number = bisect_right(self._old, address) - 1
        rest = address - self._old[number]
        program = self._layout.program
        while number < len(self._old):
            if self._old[number] == program.kernel.entry:
                line_id = program.entry
            else:
                line_id = program.anchor(number) if not rest else number
            if line_id in program.position:
                return self._layout.addresses[program.position[line_id]] + rest
            number, rest = number + 1, 0
        if address in entered_addresses(program.source):
            raise EntryError(
                f"An edit removes all code from 0x{address:x} on, which a function or a pointer in data leads to; keep "
                "its first line."
            )
        return self._new_end

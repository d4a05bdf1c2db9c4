"""From an edited program to the bytes of its code object."""

from __future__ import annotations

from asmevo.codeobject.writer import TextMove, write_text
from asmevo.program.layout import Layout, encode, lay_out
from asmevo.program.program import COMPUTED_JUMPS, Program
from asmevo.program.recover import decode_text
from asmevo.verdict import InputError

_USES_ITS_ADDRESS = COMPUTED_JUMPS | {"s_getpc_b64", "s_get_pc_i64", "s_prefetch_inst_pc_rel"}


def rebuild(program: Program) -> bytes:
    """The code object file of a program; without an edit, the bytes it was recovered from.

    Untouched lines are emitted from their words, edited ones are assembled in one batch, and branches are encoded to
    reach their targets. Raises `InputError` for a text that does not assemble, a branch out of range, or an
    object in which instructions cannot be moved safely.
    """
    program = encode(program)
    layout = lay_out(program)
    old = [d.address for d in decode_text(program.source)]
    if not _moved(program, layout, old):
        return write_text(program.source, layout.text)
    for line in program.lines:
        if line.instruction.base in _USES_ITS_ADDRESS:
            raise InputError(
                f"Line {line.id}, `{line.instruction}`, computes with code addresses, so instructions cannot be moved; "
                "keep to edits that leave every instruction at its place."
            )
    return write_text(program.source, layout.text, TextMove(_Moves(program, layout, old), layout.entries))


def _moved(program: Program, layout: Layout, old: list[int]) -> bool:
    """Whether some line of K0, or the entry, is at another address, or the size changed."""
    return (
        len(layout.text) != program.source.text.size
        or layout.entries != {k.name: k.entry for k in program.source.kernels}
        or any(x.id < len(old) and a != old[x.id] for x, a in zip(program.lines, layout.addresses, strict=True))
    )


class _Moves:
    """Old address in `.text` to new address; that of a deleted line is where the next line of K0 went."""

    def __init__(self, program: Program, layout: Layout, old: list[int]) -> None:
        self._new: dict[int, int] = {}
        text = program.source.text
        self._end = text.address + text.size
        following = text.address + len(layout.text)
        self._new[self._end] = following
        for number in range(len(old) - 1, -1, -1):
            position = program.position.get(number)
            following = following if position is None else layout.addresses[position]
            self._new[old[number]] = following

    def __call__(self, address: int) -> int:
        rest = 0
        while address not in self._new:  # inside an instruction: keep the distance to its first byte
            address, rest = address - 1, rest + 1
        return self._new[address] + rest

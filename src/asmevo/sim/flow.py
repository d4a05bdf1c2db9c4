"""The code that a kernel may execute, in basic blocks; with computed jumps, everything that one may go to."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from asmevo.isa import Imm
from asmevo.program.program import COMPUTED_JUMPS, LEAVES, Line, Program, control_kind
from asmevo.program.recover import address_index
from asmevo.program.references import entered_addresses
from asmevo.verdict import UnsupportedError


def jumps_anywhere(program: Program) -> bool:
    """Whether there are jumps to computed addresses in the object, so that only `basic_blocks` finds its blocks."""
    return not COMPUTED_JUMPS.isdisjoint([line.instruction.base for line in program.lines])


def basic_blocks(program: Program) -> list[tuple[int, int]]:
    """(first, last) of the blocks in address order; lines [first, last) of the program.

    A computed jump may go to a function, to a place that the code or a pointer in the data names, or behind a call.
    """
    if not jumps_anywhere(program):
        return [(b.first, b.last) for b in program.blocks]
    lines, position = program.lines, program.position
    leaders = {position[program.entry], *_entered(program)}
    work, reachable = list(leaders), set[int]()
    offsets: list[int] = []
    while work:
        i = work.pop()
        while i < len(lines) and i not in reachable:
            reachable.add(i)
            line, kind = lines[i], control_kind(lines[i].instruction)
            targets = [position[t] for t in _named(line) if t in position]
            if kind == "call":
                offsets = offsets or byte_offsets(program)
                targets.append(_called(program, i, offsets))
            leaders.update(targets)
            work.extend(targets)
            if kind in LEAVES:
                break
            i += 1
            if line.target is not None or kind in ("swappc", "call"):
                leaders.add(i)
    return list(_cut(leaders & reachable, reachable, len(lines)))


def byte_offsets(program: Program) -> list[int]:
    """Byte offset of each line in the code, and of its end.

    Raises `UnsupportedError` when a line has no encoding yet.
    """
    if any(line.words is None for line in program.lines):
        raise UnsupportedError(
            "The code reads its own address and has lines without encoding; rebuild the program first."
        )
    return list(accumulate((len(line.words or b"") for line in program.lines), initial=0))


def _named(line: Line) -> Iterator[int]:
    if line.target is not None:
        yield line.target
    if line.reference is not None and line.reference.line is not None and not line.reference.offset:
        yield line.reference.line


def _entered(program: Program) -> Iterator[int]:
    """Positions of functions and of code that pointers in the data name; other kernels are not called."""
    index = address_index(program.source)
    kernels = {kernel.entry for kernel in program.source.kernels}
    for address in entered_addresses(program.source) - kernels:
        if address in index and (line := program.anchor(index[address])) in program.position:
            yield program.position[line]


def _called(program: Program, at: int, offsets: list[int]) -> int:
    """The line that an `s_call_b64` goes to: its simm16 counts dwords from the next instruction."""
    instruction = program.lines[at].instruction
    distance = instruction.operands[-1]
    words = distance.bits & 0xFFFF if isinstance(distance, Imm) else 0
    target = offsets[at + 1] + 4 * (words - 0x10000 if words >> 15 else words)
    if target not in offsets[:-1]:
        raise UnsupportedError(f"`{instruction}` goes to a place where no instruction begins.")
    return offsets.index(target)


def _cut(leaders: set[int], reachable: set[int], count: int) -> Iterator[tuple[int, int]]:
    starts = sorted(leaders)
    for start, limit in zip(starts, [*starts[1:], count], strict=True):
        yield start, next((i for i in range(start + 1, limit) if i not in reachable), limit)

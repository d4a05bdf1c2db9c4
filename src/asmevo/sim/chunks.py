"""The blocks that native code is made of: basic blocks, cut further where the set of active lanes may change."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

from asmevo.isa import effects, parse_instruction
from asmevo.isa.registers import EXEC
from asmevo.program.program import Program, control_kind
from asmevo.sim.layout import BARRIER, END, NEXT
from asmevo.verdict import UnsupportedError

LONGEST = 64
"""Most instructions of a block: bounds what one edit recompiles."""
SHORTEST = 24
"""Fewest instructions of a part of a longer basic block."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Lines [first, last) of the program, compiled as one function."""

    first: int
    last: int
    kind: int
    """What happens at the end: NEXT, BARRIER or END."""
    successors: tuple[int, int]
    """Numbers of the blocks that follow: on fall-through, and on a taken branch."""


def chunks_of(program: Program) -> tuple[Chunk, ...]:
    """The blocks of the reachable code, in address order.

    Raises `UnsupportedError` when control can run past the end of the code.
    """
    spans: list[tuple[int, int]] = []
    starts: dict[int, int] = {}
    for block in program.blocks:
        for first, last in _cut(program, block.first, block.last):
            starts[first] = len(spans)
            spans.append((first, last))
    chunks: list[Chunk] = []
    for first, last in spans:
        line = program.lines[last - 1]
        kind = {"endpgm": END, "barrier": BARRIER}.get(control_kind(line.instruction), NEXT)
        jump = starts[program.position[line.target]] if line.target is not None else -1
        fall = starts.get(last, -1)
        if control_kind(line.instruction) == "branch":
            fall = jump
        if fall < 0 and kind != END:
            raise UnsupportedError(f"The code runs past its end after `{line.instruction}` (line {line.id}).")
        chunks.append(Chunk(first, last, kind, (fall, jump if jump >= 0 else fall)))
    return tuple(chunks)


@lru_cache(maxsize=1 << 16)
def _ends_chunk(text: str) -> bool:
    """Whether the lanes that are active may be others after this instruction, or the wave may wait."""
    instruction = parse_instruction(text)
    if control_kind(instruction) in ("barrier", "setvskip"):
        return True
    return bool(effects(instruction).writes & EXEC)


def _cut(program: Program, first: int, last: int) -> list[tuple[int, int]]:
    """Parts of a basic block. Long parts are cut at places chosen by content, so that an edit moves few of them."""
    parts: list[tuple[int, int]] = []
    start = first
    for position in range(first, last):
        if position + 1 == last or _ends_chunk(program.lines[position].instruction.text):
            parts.extend(_shorten(program, start, position + 1))
            start = position + 1
    return parts


def _shorten(program: Program, first: int, last: int) -> list[tuple[int, int]]:
    parts: list[tuple[int, int]] = []
    while last - first > LONGEST:
        window = range(first + SHORTEST, first + LONGEST + 1)
        cut = min(window, key=lambda p: (_rank(program.lines[p - 1].instruction.text), p))
        parts.append((first, cut))
        first = cut
    return [*parts, (first, last)]


def _rank(text: str) -> int:
    """A number that depends on nothing but the text of the instruction before the cut."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "little")

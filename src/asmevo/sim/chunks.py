"""The blocks that native code is made of: basic blocks, cut further where the set of active lanes may change."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from asmevo.isa import effects, parse_instruction
from asmevo.isa.registers import EXEC
from asmevo.program.program import Program, control_kind
from asmevo.sim.flow import basic_blocks
from asmevo.sim.layout import BARRIER, COMPUTED, END, NEW_MODE, NEXT
from asmevo.verdict import UnsupportedError

LONGEST = 64
"""Most instructions of a block: bounds what one edit recompiles."""
SHORTEST = 24
"""Fewest instructions of a part of a longer basic block."""

_KINDS = {
    "endpgm": END, "barrier": BARRIER, "setpc": COMPUTED, "swappc": COMPUTED, "call": COMPUTED, "setreg": NEW_MODE,
}  # fmt: skip
_INDEXING = {"s_set_gpr_idx_on": True, "s_set_gpr_idx_off": False}
"""Opcodes that begin and end code with indexed registers."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Lines [first, last) of the program, compiled as one function."""

    first: int
    last: int
    kind: int
    """What happens at the end: NEXT, BARRIER, END, COMPUTED or NEW_MODE."""
    successors: tuple[int, int]
    """Numbers of the blocks that follow: on fall-through, and on a taken branch."""


def chunks_of(program: Program, *, single: bool = False) -> tuple[Chunk, ...]:
    """The blocks of the reachable code, in address order; with `single` of one instruction each where that can be.

    Raises `UnsupportedError` when control can run past the end of the code.
    """
    spans: list[tuple[int, int]] = []
    starts: dict[int, int] = {}
    for begin, end in basic_blocks(program):
        for first, last in _cut(program, begin, end, single):
            starts[first] = len(spans)
            spans.append((first, last))
    chunks: list[Chunk] = []
    for first, last in spans:
        line = program.lines[last - 1]
        kind = _KINDS.get(control_kind(line.instruction), NEXT)
        jump = starts[program.position[line.target]] if line.target is not None else -1
        fall = starts.get(last, -1)
        if control_kind(line.instruction) == "branch":
            fall = jump
        if fall < 0 and kind == COMPUTED:
            fall = len(chunks)  # never taken
        if fall < 0 and kind != END:
            raise UnsupportedError(f"The code runs past its end after `{line.instruction}` (line {line.id}).")
        chunks.append(Chunk(first, last, kind, (fall, jump if jump >= 0 else fall)))
    return tuple(chunks)


@lru_cache(maxsize=1 << 16)
def _ends_chunk(text: str) -> bool:
    """Whether the lanes that are active may be others after this instruction, or the wave may wait."""
    instruction = parse_instruction(text)
    if control_kind(instruction) in ("barrier", "setvskip", "setreg"):
        return True
    return bool(effects(instruction).writes & EXEC)


def _cut(program: Program, first: int, last: int, single: bool) -> list[tuple[int, int]]:
    """Parts of a basic block. Long parts are cut at places chosen by content, so that an edit moves few of them.

    Code between `s_set_gpr_idx_on` and `s_set_gpr_idx_off` stays in one part, which knows its registers; raises
    `UnsupportedError` where that cannot be.
    """
    parts: list[tuple[int, int]] = []
    start = first
    inside: set[int] = set()
    indexing = False
    for position in range(first, last):
        instruction = program.lines[position].instruction
        if instruction.base in _INDEXING:
            indexing = _INDEXING[instruction.base]
        if indexing:
            inside.add(position)
        if position + 1 == last or _ends_chunk(instruction.text):
            if indexing:
                raise UnsupportedError(
                    f"`{instruction}` (line {program.lines[position].id}) ends a block in which registers are indexed, "
                    "which the simulator does not model."
                )
            parts.extend(
                _singles(start, position + 1, inside) if single else _shorten(program, start, position + 1, inside)
            )
            start = position + 1
    return parts


def _singles(first: int, last: int, inside: set[int]) -> list[tuple[int, int]]:
    """Parts of one instruction; what is `inside` stays together."""
    starts = [p for p in range(first, last) if p == first or p - 1 not in inside]
    return list(pairwise([*starts, last]))


def _shorten(program: Program, first: int, last: int, inside: set[int]) -> list[tuple[int, int]]:
    """Cut a part until none is long; a cut behind a position of `inside` is not possible."""
    parts: list[tuple[int, int]] = []
    while last - first > LONGEST:
        window = [p for p in range(first + SHORTEST, first + LONGEST + 1) if p - 1 not in inside]
        if not window:
            break
        cut = min(window, key=lambda p: (_rank(program.lines[p - 1].instruction.text), p))
        parts.append((first, cut))
        first = cut
    return [*parts, (first, last)]


@lru_cache(maxsize=1 << 16)
def _rank(text: str) -> int:
    """A number that depends on nothing but the text of the instruction before the cut."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "little")

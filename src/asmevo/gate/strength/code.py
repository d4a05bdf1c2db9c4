"""The code that faults are seeded into: which lines launches execute, and ways to say a line anew.

What is wrong is decided by texts and register numbers, not by the analyses that the gate judges with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from asmevo.isa import MemoryRow, Reg, effects
from asmevo.isa.registers import AGPR_BASE, SGPR_COUNT, UNNUMBERED_SGPRS, VGPR_BASE
from asmevo.program import Line, Program
from asmevo.program.hazards import HazardAnalysis, smallest_distances
from asmevo.verdict import UnsupportedError

_SPLIT = re.compile(r",\s*(?![^\[(]*[\])])")
_REGISTER = re.compile(r"\b[vsa](\d+|\[\d+:\d+\])")


@dataclass(frozen=True)
class Code:
    """One K0 with what its launches execute."""

    program: Program
    alive: frozenset[int]
    """Positions that some launch executes, without the header of fixed size for preloaded arguments."""

    @classmethod
    def of(cls, program: Program, executed: frozenset[int]) -> Code:
        """The code that edits may touch."""
        preloads = program.kernel.descriptor.kernarg_preload_length
        header = program.blocks[1].first if preloads else 0
        return cls(program, executed - set(range(header)))

    def lines(self, pattern: str = "") -> Iterator[Line]:
        """Executed lines whose text begins with a match of the pattern, in order."""
        wanted = re.compile(pattern)
        for position in sorted(self.alive):
            line = self.program.lines[position]
            if wanted.match(line.instruction.text):
                yield line

    def neighbours(self) -> Iterator[tuple[Line, Line]]:
        """Executed neighbours inside a block, neither of which is a branch or entered by one."""
        lines, labels, block_of = self.program.lines, self.program.labels, self.program.block_of
        for i, j in pairwise(sorted(self.alive)):
            a, b = lines[i], lines[j]
            same = j == i + 1 and block_of.get(a.id) == block_of.get(b.id)
            if same and not {a.id, b.id} & labels and a.target is b.target is None:
                yield a, b

    def behind(self, line: Line) -> tuple[Line, ...]:
        """The rest of a line's block."""
        block = self.program.blocks[self.program.block_of[line.id]]
        return self.program.lines[self.program.position[line.id] + 1 : block.last]

    @cached_property
    def hazards(self) -> HazardAnalysis:
        """An analysis that remembers K0's blocks."""
        return HazardAnalysis(self.program.source.target)

    @cached_property
    def distances(self) -> Mapping[str, int]:
        """By pair of classes, the smallest distance in K0 where that is under its rule."""
        return smallest_distances(self.hazards.hazards(self.program))

    @cached_property
    def granted(self) -> dict[str, int]:
        """Registers of each file that the descriptor grants."""
        descriptor = self.program.kernel.descriptor
        return {
            "v": descriptor.accum_offset,
            "a": max(descriptor.vgpr_alloc - descriptor.accum_offset, 0),
            "s": min(SGPR_COUNT, descriptor.sgpr_alloc - UNNUMBERED_SGPRS),
        }

    @cached_property
    def unused(self) -> dict[str, tuple[int, ...]]:
        """Granted registers of each file that no line of the whole text names."""
        named: set[int] = set()
        for line in self.program.lines:
            named |= registers(line)
        bases = {"v": VGPR_BASE, "a": AGPR_BASE, "s": 0}
        return {f: tuple(n for n in range(self.granted[f]) if bases[f] + n not in named) for f in bases}

    @cached_property
    def alive_reads(self) -> frozenset[int]:
        """Units that some executed line reads."""
        found: set[int] = set()
        for line in self.lines():
            found |= registers(line, reads_from(line))
        return frozenset(found)


def registers(line: Line, first: int = 0, last: int | None = None) -> set[int]:
    """Units of the printed register operands [first:last]."""
    units: set[int] = set()
    for operand in line.instruction.operands[first:last]:
        if isinstance(operand, Reg):
            units |= set(range(operand.first, operand.first + operand.count))
    return units


def reads_from(line: Line) -> int:
    """Index of the first printed operand that is read: 0 where an instruction prints no result."""
    try:
        row = effects(line.instruction).row
    except UnsupportedError:
        return 1
    slots = [slot for slot in row.slots_for(line.instruction) if not slot.hidden and slot.tied < 0]
    return sum(slot.is_def and not slot.is_use for slot in slots)


def is_access(line: Line, kind: str = "", space: str = "") -> bool:
    """Whether a line loads, stores or is an atomic; of one kind, of one address space."""
    try:
        row = effects(line.instruction).row
    except UnsupportedError:
        return False
    return isinstance(row, MemoryRow) and kind in ("", row.kind) and space in ("", row.space.value)


def operands(text: str) -> tuple[str, list[str], str]:
    """(mnemonic, printed operands, what follows the last one)."""
    mnemonic, _, rest = text.partition(" ")
    parts = _SPLIT.split(rest) if rest else []
    if not parts:
        return mnemonic, [], ""
    last, space, tail = parts[-1].partition(" ")
    return mnemonic, [*parts[:-1], last], space + tail


def joined(mnemonic: str, parts: list[str], tail: str) -> str:
    """The text of these pieces."""
    return f"{mnemonic} {', '.join(parts)}{tail}"


def with_operand(text: str, index: int, value: str) -> str:
    """The instruction with one printed operand replaced."""
    mnemonic, parts, tail = operands(text)
    return joined(mnemonic, [*parts[:index], value, *parts[index + 1 :]], tail)


def operand_text(text: str, index: int) -> str:
    """One printed operand."""
    return operands(text)[1][index]


def with_register(part: str, name: str) -> str:
    """An operand such as `-|v3|` with another register in it."""
    return _REGISTER.sub(name, part, count=1)


def register_name(first: int, count: int) -> str:
    """`v3`, `s[4:5]`, of a unit and a number of registers."""
    file, base = ("a", AGPR_BASE) if first >= AGPR_BASE else ("v", VGPR_BASE) if first >= VGPR_BASE else ("s", 0)
    low = first - base
    return f"{file}{low}" if count == 1 else f"{file}[{low}:{low + count - 1}]"


def is_numbered(operand: object) -> bool:
    """A VGPR, an AGPR, or an SGPR that has a number."""
    return isinstance(operand, Reg) and (operand.first >= VGPR_BASE or operand.first + operand.count <= SGPR_COUNT)

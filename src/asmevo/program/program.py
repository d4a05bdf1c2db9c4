"""The editable program of a code object: lines with stable ids, basic blocks and the control-flow graph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from asmevo.codeobject import CodeObject, Kernel
from asmevo.isa import ControlRow, Instruction, rows
from asmevo.verdict import InputError


@dataclass(frozen=True, slots=True)
class Line:
    """One instruction of the program."""

    id: int
    """Stable anchor: the position in K0 for original lines, higher numbers for inserted ones."""
    instruction: Instruction
    words: bytes | None = None
    """Its encoding: the original bytes, or what the assembler gave; None until the assembler has seen an edited line."""
    target: int | None = None
    """For a branch, the id of the line it goes to."""


@dataclass(frozen=True, slots=True)
class Block:
    """A basic block: lines[first:last] of the program."""

    number: int
    first: int
    last: int
    successors: tuple[int, ...]
    """Block numbers; a conditional branch lists fall-through first, then the target."""


@dataclass(frozen=True)
class Program:
    """An immutable program over the whole `.text` of one code object.

    Invariants: ids are unique; every branch has a `target` that is a line of the program; `entry` is the line id of the
    kernel's entry. Edits make new programs; untouched lines are shared.
    """

    source: CodeObject
    """The object it was recovered from; carries everything that is not instructions."""
    kernel: Kernel
    lines: tuple[Line, ...]
    entry: int

    @cached_property
    def position(self) -> dict[int, int]:
        """Line id to index in `lines`."""
        return {line.id: i for i, line in enumerate(self.lines)}

    @cached_property
    def next_id(self) -> int:
        """The id for the next inserted line."""
        return max((line.id for line in self.lines), default=-1) + 1

    def line(self, line_id: int) -> Line:
        """The line with this id. Raises `InputError` when an edit names a line that is gone."""
        try:
            return self.lines[self.position[line_id]]
        except KeyError:
            raise InputError(f"The program has no line {line_id}; list its lines with `asmevo recover`.") from None

    def with_lines(self, lines: tuple[Line, ...], entry: int | None = None) -> Program:
        """The program with other lines."""
        return replace(self, lines=lines, entry=self.entry if entry is None else entry)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Basic blocks of the code reachable from the entry, in address order."""
        return _blocks(self)

    @cached_property
    def block_of(self) -> dict[int, int]:
        """Line id to block number, for reachable lines."""
        return {self.lines[i].id: b.number for b in self.blocks for i in range(b.first, b.last)}


def control_kind(instruction: Instruction) -> str:
    """`branch`, `cbranch`, `endpgm`, `barrier`, `waitcnt`, `nop`, ... or the empty string for other opcodes."""
    row = rows().get(instruction.base)
    return row.kind if isinstance(row, ControlRow) else ""


def _blocks(program: Program) -> tuple[Block, ...]:
    lines, position = program.lines, program.position
    leaders, reachable, work = {position[program.entry]}, set[int](), [position[program.entry]]
    while work:
        i = work.pop()
        while i < len(lines) and i not in reachable:
            reachable.add(i)
            kind = control_kind(lines[i].instruction)
            target = lines[i].target
            if target is not None:
                leaders.add(position[target])
                work.append(position[target])
            if kind in ("branch", "endpgm"):
                break
            i += 1
            if target is not None:
                leaders.add(i)
    ends = {i + 1 for i in reachable if i + 1 not in reachable or i + 1 in leaders}
    starts = sorted(i for i in reachable if i in leaders or i - 1 not in reachable)
    bounds = [(a, min(e for e in (*_next_end(ends, a, len(lines)), b) if e > a)) for a, b in pairwise([*starts, len(lines)])]
    number = {a: n for n, (a, _) in enumerate(bounds)}
    return tuple(Block(n, a, e, _successors(program, e, number)) for n, (a, e) in enumerate(bounds))


def _next_end(ends: set[int], start: int, limit: int) -> tuple[int, ...]:
    i = start + 1
    while i < limit and i not in ends:
        i += 1
    return (i,)


def _successors(program: Program, end: int, number: dict[int, int]) -> tuple[int, ...]:
    last = program.lines[end - 1]
    kind = control_kind(last.instruction)
    if kind == "endpgm":
        return ()
    jump = () if last.target is None else (number[program.position[last.target]],)
    return jump if kind == "branch" else ((number[end],) if end in number else ()) + jump

"""The editable program of a code object: lines with stable ids, basic blocks and the control-flow graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from operator import attrgetter
from typing import Literal, TypeAlias

from asmevo.codeobject import CodeObject, Kernel, Resources
from asmevo.isa import ControlRow, Instruction, Reg, rows
from asmevo.verdict import InputError, UnsupportedError

_JUMP_KINDS = ("setpc", "swappc", "call", "fork", "rfe")
COMPUTED_JUMPS = frozenset(r.name for r in rows().values() if isinstance(r, ControlRow) and r.kind in _JUMP_KINDS) | {
    "s_set_pc_i64",
    "s_swap_pc_i64",
    "s_call_i64",
    "s_add_pc_i64",
    "s_rfe_i64",
}
"""Opcodes whose target is not, or not only, in the encoding: the control-flow graph ends in doubt there, except at an
`s_setpc_b64` whose address the lines in front tell (see `known_jump`).

Those that are spelled out are of targets that no row is made for.
"""
_KINDS = {row.name: row.kind for row in rows().values() if isinstance(row, ControlRow)}
LEAVES = frozenset({"branch", "endpgm", "setpc", "rfe"})
"""Kinds of control instructions that never go on with the next line."""


_ID, _TARGET, _REFERENCE = attrgetter("id"), attrgetter("target"), attrgetter("reference")

Part: TypeAlias = Literal["low", "high", "whole"]
"""Of a distance of 64 bits, what the constant of one addition holds."""


@dataclass(frozen=True, slots=True)
class Reference:
    """What the constant of an addition holds: a part of the distance to a place in the object.

    The distance counts from the instruction behind an `s_getpc_b64`, to whose result it is added.
    """

    origin: int
    """Id of the `s_getpc_b64`."""
    part: Part
    """The lower half in an `s_add_u32`, the upper in an `s_addc_u32`; all of it in gfx1250's `s_add_nc_u64`."""
    line: int | None
    """Id of the line that the place is in; None for one outside of `.text`."""
    section: int = 0
    """Index of the section that the place counts from when it is outside of `.text`."""
    offset: int = 0
    """Bytes from the begin of the line or section; negative where the compiler folded a negative index."""


@dataclass(frozen=True, slots=True)
class Line:
    """One instruction of the program."""

    id: int
    """Stable anchor: the position in K0 for original lines, higher numbers for inserted ones."""
    instruction: Instruction
    words: bytes | None = None
    """Its encoding: the original bytes, or what the assembler gave; None until the assembler has seen an edited line.

    The simm16 of a branch is as it was when the words were made; `target` says where the branch goes.
    """
    target: int | None = None
    """For a branch, the id of the line it goes to; its text prints that line as the label `L<id>`."""
    reference: Reference | None = None
    """For a part of an address relative to the program counter, its place; text and words keep the literal they had."""


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
    kernel's entry. Edits make new programs; untouched lines are shared. `kernel` carries the descriptor as it shall
    be, so an edit of resources makes it differ from the source's.
    """

    source: CodeObject
    """The object it was recovered from; carries everything that is not instructions."""
    kernel: Kernel
    lines: tuple[Line, ...]
    entry: int
    anchors: Mapping[int, int] = field(default_factory=dict[int, int], compare=False)
    """Where addresses that are kept outside of the instructions (symbols, pointers in data, entries of other kernels)
    go when no longer to the line of K0 that they named: id of that line to the id of the line that stands for it."""
    resources: Resources = field(default_factory=Resources)
    """What the kernel asks for other than in K0; set by `with_resources`, which keeps `kernel` in step."""

    @cached_property
    def position(self) -> dict[int, int]:
        """Line id to index in `lines`."""
        return dict(zip(map(_ID, self.lines), range(len(self.lines)), strict=True))

    @cached_property
    def jumps(self) -> tuple[int, ...]:
        """Positions of the lines that have a target."""
        return tuple(i for i, target in enumerate(map(_TARGET, self.lines)) if target is not None)

    @cached_property
    def referring(self) -> tuple[int, ...]:
        """Positions of the lines that have a reference."""
        found = list(map(_REFERENCE, self.lines))
        return tuple(i for i, x in enumerate(found) if x is not None) if found.count(None) < len(found) else ()

    @cached_property
    def next_id(self) -> int:
        """The id for the next inserted line: above every line, and above every line K0 could have."""
        return max(self.first_new_id, max((line.id for line in self.lines), default=-1) + 1)

    @property
    def first_new_id(self) -> int:
        """Ids below are lines of K0, gone or not; those from here on were inserted."""
        return len(self.source.text_bytes) // 4

    def line(self, line_id: int) -> Line:
        """The line with this id. Raises `InputError` when an edit names a line that is gone."""
        try:
            return self.lines[self.position[line_id]]
        except KeyError:
            raise InputError(f"The program has no line {line_id}; list its lines with `asmevo recover`.") from None

    def anchor(self, line_id: int) -> int:
        """The line that an address outside of the instructions goes to which named this line of K0."""
        return self.anchors.get(line_id, line_id)

    def with_lines(self, lines: tuple[Line, ...], entry: int | None = None) -> Program:
        """The program with other lines."""
        return replace(self, lines=lines, entry=self.entry if entry is None else entry)

    @cached_property
    def labels(self) -> frozenset[int]:
        """Ids of lines that the program's own code goes to or names, and its entry."""
        found = {self.entry, *(self.lines[i].target for i in self.jumps)}
        found |= {r.line for i in self.referring if (r := self.lines[i].reference) is not None}
        return frozenset(line for line in found if line is not None)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Basic blocks of the code reachable from the entry, in address order.

        Raises `UnsupportedError` where reachable code jumps to a computed address.
        """
        return _blocks(self)

    @cached_property
    def block_of(self) -> dict[int, int]:
        """Line id to block number, for reachable lines."""
        return {self.lines[i].id: b.number for b in self.blocks for i in range(b.first, b.last)}


def control_kind(instruction: Instruction) -> str:
    """`branch`, `cbranch`, `endpgm`, `barrier`, `waitcnt`, `nop`, ... or the empty string for other opcodes."""
    return _KINDS.get(instruction.base, "")


def _blocks(program: Program) -> tuple[Block, ...]:
    lines, position = program.lines, program.position
    reachable = set[int]()
    leaders = {position[program.entry]}
    work = [position[program.entry]]
    while work:
        i = work.pop()
        while i < len(lines) and i not in reachable:
            reachable.add(i)
            kind, target = control_kind(lines[i].instruction), lines[i].target
            if lines[i].instruction.base in COMPUTED_JUMPS:
                target = known_jump(program, i)
                if target is None:
                    raise UnsupportedError(f"Line {lines[i].id}, `{lines[i].instruction}`, goes to a computed address.")
            if target is not None:
                leaders.add(position[target])
                work.append(position[target])
            if kind in LEAVES:
                break
            i += 1
            if target is not None:
                leaders.add(i)
    starts = sorted(leaders & reachable)
    number = {start: n for n, start in enumerate(starts)}
    blocks: list[Block] = []
    for n, (start, limit) in enumerate(pairwise([*starts, len(lines)])):
        end = next((i for i in range(start + 1, limit) if i not in reachable), limit)
        blocks.append(Block(n, start, end, _successors(program, end, number)))
    return tuple(blocks)


def _successors(program: Program, end: int, number: dict[int, int]) -> tuple[int, ...]:
    kind = control_kind(program.lines[end - 1].instruction)
    if kind == "endpgm":
        return ()
    last = program.lines[end - 1]
    target = known_jump(program, end - 1) if last.instruction.base in COMPUTED_JUMPS else last.target
    jump = () if target is None else (number[program.position[target]],)
    return jump if kind in LEAVES else ((number[end],) if end in number else ()) + jump


def known_jump(program: Program, position: int) -> int | None:
    """Id of the line that the `s_setpc_b64` at a position goes to; None unless the lines in front compute it.

    They are what compilers make of a branch that is out of reach: `s_getpc_b64`, the additions of the lower and the
    upper half, one behind the other, with no way in between them.
    """
    if position < 3 or program.lines[position].instruction.base != "s_setpc_b64":
        return None
    origin, low, high, jump = program.lines[position - 3 : position + 1]
    if low.reference is None or high.reference is None or low.reference.offset or low.reference.part != "low":
        return None
    whole = low.reference.origin == origin.id and high.reference == replace(low.reference, part="high")
    entered = any(line.id in program.labels for line in (low, high, jump))
    (source,) = jump.instruction.operands
    (first, count), wanted = _destination(low), (source.first, 1) if isinstance(source, Reg) else None
    same = wanted == (first, count) and _destination(high) == (first + 1, 1)
    return low.reference.line if whole and same and not entered else None


def _destination(line: Line) -> tuple[int, int]:
    """First register and number of registers of what a scalar instruction writes."""
    operand = line.instruction.operands[0]
    return (operand.first, operand.count) if isinstance(operand, Reg) else (-1, 0)

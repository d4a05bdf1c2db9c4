"""The editable program of a code object: lines with stable ids, basic blocks and the control-flow graph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from asmevo.codeobject import CodeObject, Kernel
from asmevo.isa import ControlRow, Instruction, rows
from asmevo.verdict import InputError, UnsupportedError

_JUMP_KINDS = ("setpc", "swappc", "call")
COMPUTED_JUMPS = frozenset(r.name for r in rows().values() if isinstance(r, ControlRow) and r.kind in _JUMP_KINDS) | {
    "s_cbranch_g_fork",
    "s_cbranch_i_fork",
    "s_cbranch_join",
    "s_rfe_b64",
    "s_rfe_restore_b64",
    "s_set_pc_i64",
    "s_swap_pc_i64",
    "s_call_i64",
    "s_add_pc_i64",
    "s_rfe_i64",
}
"""Opcodes whose target is not, or not only, in the encoding: the control-flow graph ends in doubt there.

Those that are spelled out have no row; some are of targets that no row is made for.
"""


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

    def with_lines(self, lines: tuple[Line, ...], entry: int | None = None) -> Program:
        """The program with other lines."""
        return replace(self, lines=lines, entry=self.entry if entry is None else entry)

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
    row = rows().get(instruction.base)
    return row.kind if isinstance(row, ControlRow) else ""


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
                raise UnsupportedError(f"Line {lines[i].id}, `{lines[i].instruction}`, goes to a computed address.")
            if target is not None:
                leaders.add(position[target])
                work.append(position[target])
            if kind in ("branch", "endpgm"):
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
    last = program.lines[end - 1]
    kind = control_kind(last.instruction)
    if kind == "endpgm":
        return ()
    jump = () if last.target is None else (number[program.position[last.target]],)
    return jump if kind == "branch" else ((number[end],) if end in number else ()) + jump

"""The elementary edits: insert, delete, replace and reorder lines."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Any, ClassVar

from asmevo.edit.edit import Fields, register
from asmevo.edit.forward import Forward
from asmevo.program import Line, Program, make_line, redirected
from asmevo.program.program import COMPUTED_JUMPS, control_kind
from asmevo.program.recover import entered_lines
from asmevo.verdict import InputError

_LEAVE = ("branch", "cbranch", "endpgm", "setpc", "swappc", "call")


@register
@dataclass(frozen=True)
class Insert:
    """Insert instructions in front of a line.

    Branches to that line go to the first inserted one, so that the insertion is executed on every way to the line; with
    `fallthrough` they still go to the line itself. New ids count up from `Program.next_id`.
    """

    before: int
    text: str | tuple[str, ...]
    fallthrough: bool = False
    kind: ClassVar[str] = "insert"

    def __post_init__(self) -> None:
        if isinstance(self.text, str):
            object.__setattr__(self, "text", (self.text,))

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts as a tuple, which `text` is after construction."""
        return (self.text,) if isinstance(self.text, str) else self.text

    def apply(self, program: Program) -> tuple[Program, Forward]:
        program.line(self.before)
        if not self.texts:
            raise InputError("An insertion needs the text of at least one instruction.")
        first = program.next_id
        new = tuple(make_line(first + i, text) for i, text in enumerate(self.texts))
        at = program.position[self.before]
        _check_targets(new, {*program.position, *(line.id for line in new)})
        moved = {} if self.fallthrough else {self.before: first}
        edited = redirected(program, program.lines, moved)  # the new lines go where their texts say
        return edited.with_lines((*edited.lines[:at], *new, *edited.lines[at:])), Forward()

    def to_json(self) -> dict[str, Any]:
        flag = {"fallthrough": True} if self.fallthrough else {}
        return {"kind": self.kind, "before": self.before, "text": list(self.texts), **flag}

    @classmethod
    def from_fields(cls, fields: Fields) -> Insert:
        return cls(fields.integer("before"), fields.texts("text"), fields.flag("fallthrough"))


@register
@dataclass(frozen=True)
class Delete:
    """Delete lines. Branches to a deleted line, and an entry there, go to the next line that stays."""

    lines: tuple[int, ...]
    kind: ClassVar[str] = "delete"

    def apply(self, program: Program) -> tuple[Program, Forward]:
        gone = set(self.lines)
        if not gone or len(gone) != len(self.lines):
            raise InputError("A deletion needs the ids of lines, each once.")
        for line_id in self.lines:
            program.line(line_id)
        following: dict[int, int | None] = {}
        successor: int | None = None
        for line in reversed(program.lines):
            if line.id in gone:
                following[line.id] = successor
            else:
                successor = line.id
        kept = tuple(line for line in program.lines if line.id not in gone)
        targets = program.labels if None in following.values() else frozenset[int]()
        moved: dict[int, int] = {}
        for line_id, successor in following.items():
            if successor is not None:
                moved[line_id] = successor
            elif line_id in targets:
                raise InputError(f"Line {line_id} is the target of a branch and has no line behind it; keep it.")
        if not kept:
            raise InputError("A deletion must leave at least one line.")
        return redirected(program, kept, moved), Forward(dict.fromkeys(self.lines))

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "lines": list(self.lines)}

    @classmethod
    def from_fields(cls, fields: Fields) -> Delete:
        return cls(fields.integers("lines"))


@register
@dataclass(frozen=True)
class Replace:
    """Give a line another text. It keeps its id; with the text it already has, it keeps its words too."""

    line: int
    text: str
    kind: ClassVar[str] = "replace"

    def apply(self, program: Program) -> tuple[Program, Forward]:
        old = program.line(self.line)
        new = make_line(self.line, self.text)
        _check_targets((new,), program.position)
        if new.instruction == old.instruction and new.reference is None:
            return program, Forward()
        at = program.position[self.line]
        return program.with_lines((*program.lines[:at], new, *program.lines[at + 1 :])), Forward()

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "line": self.line, "text": self.text}

    @classmethod
    def from_fields(cls, fields: Fields) -> Replace:
        return cls(fields.integer("line"), fields.text("text"))


@register
@dataclass(frozen=True)
class Reorder:
    """Put a contiguous run of lines into another order.

    The run lies inside one basic block: it holds no branch, and no other line that control leaves or is computed at
    unless at its end and last afterwards too. Only its first line may be the target of a branch, an entry, or named by
    a function or a pointer in data; the line that comes first afterwards then is.
    """

    order: tuple[int, ...]
    """Ids of the run in their new order."""
    kind: ClassVar[str] = "reorder"

    def apply(self, program: Program) -> tuple[Program, Forward]:
        if not self.order or len(set(self.order)) != len(self.order):
            raise InputError("A reordering needs the ids of a run of lines, each once.")
        positions = [program.position[program.line(i).id] for i in self.order]
        low, high = min(positions), max(positions) + 1
        if high - low != len(positions):
            missing = high - low - len(positions)
            raise InputError(f"A reordering must name all lines of a contiguous run; {missing} of them are missing.")
        run = program.lines[low:high]
        inside = {line.id for line in run[1:]}
        free = run[:-1] if run[-1].id == self.order[-1] else run
        for line in run:
            leaves = control_kind(line.instruction) in _LEAVE or line.instruction.base in COMPUTED_JUMPS
            if line.target is not None or (leaves and line in free):
                raise InputError(f"Line {line.id}, `{line.instruction}`, is a branch; reorder only inside one block.")
        if entered := inside & program.labels:
            raise InputError(f"A branch goes to line {min(entered)}; reorder only inside one block.")
        if entered := inside & entered_lines(program):
            raise InputError(
                f"A function or a pointer in data begins at line {min(entered)}; reorder on one side of it."
            )
        lines = (*program.lines[:low], *(program.line(i) for i in self.order), *program.lines[high:])
        moved = {run[0].id: self.order[0]} if run[0].id != self.order[0] else {}
        return redirected(program, lines, moved), Forward()

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "order": list(self.order)}

    @classmethod
    def from_fields(cls, fields: Fields) -> Reorder:
        return cls(fields.integers("order"))


def _check_targets(new: tuple[Line, ...], known: Container[int]) -> None:
    for line in new:
        if line.target is not None and line.target not in known:
            raise InputError(f"`{line.instruction}` goes to line {line.target}, which the program does not have.")
        reference = line.reference
        named = () if reference is None else (reference.origin, reference.line)
        if unknown := [i for i in named if i is not None and i not in known]:
            raise InputError(f"`{line.instruction}` names line {unknown[0]}, which the program does not have.")

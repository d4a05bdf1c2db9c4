"""The edit that gives a run of lines new contents in one go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from asmevo.edit.edit import Fields, register
from asmevo.edit.forward import Forward
from asmevo.program import Line, Program, make_line, redirected
from asmevo.verdict import InputError


@register
@dataclass(frozen=True)
class Rewrite:
    """Reorder, delete and insert lines of one contiguous run at once.

    The run lies inside one basic block: only its first line may be the target of a branch (or the entry), which what
    comes first afterwards then is, and only its last line may be a branch, which then stays last. Lines of the run that
    `order` does not name are deleted.
    """

    run: tuple[int, int]
    """Ids of the first and the last line of the run."""
    order: tuple[int, ...]
    """What the run holds afterwards: ids of its lines, and -1, -2, ... for the first, second, ... new line."""
    new: tuple[str, ...] = ()
    """Texts of the new lines. Their ids count up from `Program.next_id`."""
    kind: ClassVar[str] = "rewrite"

    def apply(self, program: Program) -> tuple[Program, Forward]:
        low, high = (program.position[program.line(i).id] for i in self.run)
        old = program.lines[low : high + 1]
        self._check(program, old)
        fresh = program.next_id
        lines = {line.id: line for line in old} | {
            -1 - n: make_line(fresh + n, text) for n, text in enumerate(self.new)
        }
        for n in range(len(self.new)):
            if lines[-1 - n].target is not None:
                raise InputError(f"`{self.new[n]}` is a branch; a rewriting brings no new branches.")
        contents = tuple(lines[i] for i in self.order)
        behind = program.lines[high + 1].id if high + 1 < len(program.lines) else None
        begin = contents[0].id if contents else behind
        if begin is None:
            raise InputError("A rewriting must leave a line behind it or in it.")
        moved = {self.run[0]: begin} if begin != self.run[0] else {}
        edited = (*program.lines[:low], *contents, *program.lines[high + 1 :])
        gone = {line.id: None for line in old if line.id not in set(self.order)}
        return redirected(program, edited, moved), Forward(gone)

    def _check(self, program: Program, old: tuple[Line, ...]) -> None:
        if not old:
            raise InputError(f"The run ends with line {self.run[1]} in front of its first line {self.run[0]}.")
        names = {line.id for line in old} | {-1 - n for n in range(len(self.new))}
        if len(set(self.order)) != len(self.order) or not set(self.order) <= names:
            raise InputError("A rewriting must name lines of its run and its new lines, each at most once.")
        if not {-1 - n for n in range(len(self.new))} <= set(self.order):
            raise InputError("A rewriting must say where each of its new lines goes.")
        for line in old:
            is_last = line is old[-1] and self.order[-1:] == (line.id,)
            if line.target is not None and not is_last:
                raise InputError(
                    f"Line {line.id}, `{line.instruction}`, is a branch; it must end the run and stay there."
                )
        inside = {line.id for line in old[1:]}
        if entered := inside & program.labels:
            raise InputError(f"A branch goes to line {min(entered)}; rewrite only inside one block.")

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "run": list(self.run), "order": list(self.order), "new": list(self.new)}

    @classmethod
    def from_fields(cls, fields: Fields) -> Rewrite:
        run = fields.integers("run")
        if len(run) != 2:
            raise InputError("'run' of the edit must be the ids of a first and a last line.")
        return cls((run[0], run[1]), fields.integers("order"), fields.texts("new"))

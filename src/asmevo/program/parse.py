"""From the text of a listing back to a program."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from asmevo.codeobject import CodeObject, Resources
from asmevo.isa import Decoder, parse_instruction
from asmevo.isa.encoding import BRANCHES
from asmevo.program.labels import entry_labels, kernel_label
from asmevo.program.listing import END
from asmevo.program.program import Line, Program, Reference
from asmevo.program.recover import recover
from asmevo.program.resources import resource_values, with_resources
from asmevo.program.symbolic import Symbolic, parse_symbolic, same_registers
from asmevo.program.text import make_line, retargeted
from asmevo.verdict import InputError

_LABEL = re.compile(r'\s*(?:"([^"]*)"|([A-Za-z_.$][\w.$]*)):(?!\w)\s*')
_COMMENT = re.compile(r"\s*(?:(\d{1,9}):\s*((?:[0-9A-Fa-f]{8}\s*)*))?$")
_KERNEL = re.compile(r"^// kernel: (.*)$", re.MULTILINE)
_SOURCE = re.compile(r"^// source: sha256 ([0-9a-f]{64})\b", re.MULTILINE)
_RESOURCES = re.compile(r"^// resources: (.*)$", re.MULTILINE)
_TARGET = re.compile(r'\.amdgcn_target\s+"?[\w-]*--(\w+)')
_DIRECTIVES = (".text", ".p2align", ".globl", ".type", ".size")


def parse_listing(text: str, obj: CodeObject) -> Program:
    """The program that an edited listing of `obj` stands for.

    A line whose text is still that of K0 keeps K0's words; a line with another text, or without id, is
    assembled when the program is rebuilt. Raises `InputError` with the line number for text that cannot be read, and
    for a listing that does not say that it is of this object or lacks its last line.
    """
    _check_source(text, obj)
    if END not in text.splitlines():
        raise InputError(f"The listing is cut short: its last line, `{END}`, is missing; make or save it again.")
    named = _KERNEL.search(text)
    k0 = recover(obj, named[1].strip() if named else None)
    rows, labels = _scan(text, obj.target)
    lines = _number(rows, k0)
    ids = {name: lines[index].id for name, index in labels.items() if index < len(lines)}
    behind = {name: lines[index - 1].id for name, index in labels.items() if 0 < index <= len(lines)}
    names = _Names(ids, behind, obj, k0)
    resolved = tuple(names.resolve(line, row) for line, row in zip(lines, rows, strict=True))
    own = kernel_label(k0.kernel.name)
    entry = ids.get(own)
    if entry is None:
        raise InputError(f"The listing has no label {own!r} in front of the kernel's first line; add it.")
    anchors = {line: ids[name] for name, line in entry_labels(obj).items() if ids.get(name, line) != line}
    program = replace(k0, lines=resolved, entry=entry, anchors=anchors)
    return _with_resources(program, text)


def _check_source(text: str, obj: CodeObject) -> None:
    """Refuse the listing of another object: the lines it kept would silently be those of this one."""
    m = _SOURCE.search(text)
    if m is None:
        raise InputError(
            "The listing has no comment `// source: sha256 ...`, which tells the object it is of; keep the comments "
            "that `asmevo recover` writes."
        )
    if m[1] != obj.sha256:
        raise InputError(
            f"The listing is of the object with the sha256 {m[1]}, the code object has {obj.sha256}; use the object it "
            "came from, or make a new listing with `asmevo recover`."
        )


def _with_resources(program: Program, text: str) -> Program:
    """The program with the numbers of the comment `resources`, where they are not those of K0."""
    m = _RESOURCES.search(text)
    if m is None:
        return program
    known, asked = resource_values(program), dict[str, int]()
    for part in m[1].split(","):
        name, _, value = part.strip().partition(" ")
        if name not in known or not value.isdecimal():
            raise InputError(f"The comment `{m[0]}` of the listing must give numbers for {', '.join(known)}.")
        if int(value) != known[name]:
            asked[name] = int(value)
    return with_resources(program, Resources(**asked)) if asked else program


@dataclass(frozen=True, slots=True)
class _Row:
    """One instruction of the text."""

    number: int
    """Line number in the text."""
    text: str
    label: str
    """For a branch, the label it goes to."""
    id: int | None
    words: bytes = field(default=b"")
    symbolic: Symbolic | None = None
    """For an addition to the program counter, what it says."""


def _scan(text: str, target: str) -> tuple[list[_Row], dict[str, int]]:
    """The instructions of the text, and each label with the index of the instruction behind it."""
    rows: list[_Row] = []
    labels: dict[str, int] = {}
    for number, raw in enumerate(text.splitlines(), 1):
        body, _, comment = raw.partition("//")
        while m := _LABEL.match(body):
            name = m[1] or m[2]
            if name in labels:
                raise InputError(f"Line {number} of the listing defines the label {name!r} again; rename it.")
            labels[name] = len(rows)
            body = body[m.end() :]
        body = " ".join(body.split())
        if not body:
            continue
        if body.startswith(".") and not body.startswith(".long"):
            _directive(number, body, target)
            continue
        rows.append(_row(number, body, comment))
    return rows, labels


def _directive(number: int, body: str, target: str) -> None:
    if m := _TARGET.match(body):
        if m[1] != target:
            raise InputError(f"The listing is for {m[1]}, the code object for {target}; use the object it came from.")
    elif body.split()[0] not in _DIRECTIVES:
        raise InputError(
            f"Line {number} of the listing has the directive `{body}`, which means nothing here; remove it."
        )


def _row(number: int, body: str, comment: str) -> _Row:
    m = _COMMENT.match(comment)
    mnemonic, _, operand = body.partition(" ")
    label = operand.strip('"') if mnemonic in BRANCHES else ""
    words = b"".join(int(w, 16).to_bytes(4, "little") for w in (m[2] or "").split()) if m else b""
    return _Row(number, body, label, int(m[1]) if m and m[1] else None, words, parse_symbolic(body))


def _number(rows: list[_Row], k0: Program) -> list[Line]:
    """Lines with ids: those of the comments, each once, and new ones for the rest; branches have no target yet."""
    following = max([k0.first_new_id, *(row.id + 1 for row in rows if row.id is not None)])
    used = set[int]()
    lines: list[Line] = []
    for row in rows:
        line_id = row.id
        if line_id is None or line_id in used or len(k0.lines) <= line_id < k0.first_new_id:
            line_id, following = following, following + 1
        used.add(line_id)
        lines.append(_line(row, line_id, k0))
    return lines


def _line(row: _Row, line_id: int, k0: Program) -> Line:
    original = k0.lines[row.id] if row.id is not None and row.id < len(k0.lines) else None
    if row.symbolic is not None:
        if original is not None and same_registers(original.instruction, row.symbolic.instruction):
            return Line(line_id, original.instruction, original.words)
        return Line(line_id, row.symbolic.instruction)
    if original is not None and _same_text(row, original):
        if row.words != original.words:
            raise InputError(
                f"Line {row.number} of the listing has words that are not those of line {row.id} of the code object; "
                "edit the text, or use the object the listing came from."
            )
        return Line(line_id, original.instruction, original.words)
    if row.label:
        return Line(line_id, parse_instruction(row.text))
    if row.text.startswith(".long"):
        raise InputError(f"Line {row.number} of the listing is data, `{row.text}`; only instructions can be edited.")
    line = make_line(line_id, row.text)
    decoded = Decoder(k0.source.target).decode(row.words) if row.words else []
    if len(decoded) == 1 and parse_instruction(decoded[0].text) == line.instruction:
        return Line(line_id, line.instruction, row.words)
    return line


def _same_text(row: _Row, original: Line) -> bool:
    if row.label or original.target is not None:
        return row.text.split()[0] == original.instruction.mnemonic
    return parse_instruction(row.text) == original.instruction


@dataclass(frozen=True, slots=True)
class _Names:
    """What the names in a listing stand for."""

    ids: dict[str, int]
    """Label to the line behind it."""
    behind: dict[str, int]
    """Label to the line in front of it."""
    obj: CodeObject
    k0: Program

    def resolve(self, line: Line, row: _Row) -> Line:
        """The line with its target or reference."""
        if row.label:
            return retargeted(line, self._line(row.label, row))
        if row.symbolic is None:
            return line
        written, origin = row.symbolic, f"P{row.symbolic.origin}"
        if origin not in self.behind:
            raise InputError(f"Line {row.number} of the listing names {origin!r}, which is not defined; add the label.")
        place = Reference(self.behind[origin], written.part, None, 0, written.offset)
        if written.is_section:
            return replace(line, reference=replace(place, section=self._section(written.place, row)))
        return replace(line, reference=replace(place, line=self._line(written.place, row)))

    def _line(self, label: str, row: _Row) -> int:
        if label not in self.ids:
            raise InputError(
                f"Line {row.number} of the listing goes to {label!r}, which is not defined; add the label."
            )
        return self.ids[label]

    def _section(self, name: str, row: _Row) -> int:
        """Index of the section; of several with that name, the one that the line of K0 names."""
        found = [i for i, s in enumerate(self.obj.sections) if s.name == name and s.allocated]
        original = self.k0.lines[row.id] if row.id is not None and row.id < len(self.k0.lines) else None
        if original is not None and original.reference is not None and original.reference.section in found:
            return original.reference.section
        if not found:
            raise InputError(f"Line {row.number} of the listing names {name!r}, which is no section of the object.")
        return found[0]

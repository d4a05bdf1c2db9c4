"""A candidate as the gate sees it: what its bytes hold, with ids that tie its lines to K0's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from asmevo.codeobject import CodeObject
from asmevo.edit import Edit, apply_all
from asmevo.gate.matching import align
from asmevo.isa import assemble
from asmevo.program import Line, Program, check_rebuild, recover
from asmevo.program.recover import address_index
from asmevo.program.resources import changed_resources, with_resources
from asmevo.verdict import Check, Finding, InputError, Severity, UnsupportedError, Verdict

NAME = "rebuild"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate whose bytes were compared with the program they should hold."""

    obj: CodeObject
    program: Program
    """Line for line what the bytes hold, so positions are those of the recovered program; ids and source are K0's."""


def bind(k0: Program, data: bytes, edits: Sequence[Edit] | None) -> tuple[Candidate | None, Check]:
    """The candidate and the check of its bytes against K0 with these edits.

    The edits must give these bytes: every word, branch target, symbol, section, flag and descriptor is compared. The
    program that later stages see is the one recovered from the bytes, its lines matched with K0's by what they say, so
    their verdicts do not depend on how the edits were written. UNKNOWN where words have bits that no text shows.
    """
    try:
        obj = CodeObject.parse(data, "the candidate")
        recovered = recover(obj, k0.kernel.name)
        found = align(k0, recovered)
        meant = _as_found(k0, recovered, found) if edits is None else apply_all(k0, edits)
        check = check_rebuild(meant, data)
    except InputError as error:
        return None, Check(NAME, Verdict.REFUTED, (Finding("rebuild.input", str(error)),))
    if not check.verdict.admitted:
        return None, check
    program = replace(meant, lines=found.lines, entry=found.entry, anchors=k0.anchors)
    if hidden := tuple(_hidden(k0, program)):
        return None, replace(check, verdict=Verdict.UNKNOWN, findings=(*hidden, *check.findings))
    return Candidate(obj, program), check


def _as_found(k0: Program, recovered: Program, found: Program) -> Program:
    """K0 with the lines and the resources of a candidate whose edits are not known; `found` has K0's ids.

    Symbols of K0 that name a line go to another one of its block where they do in the candidate, as when an edit puts
    something in front of a label. Nothing else of what names code may go elsewhere.
    """
    anchors: dict[int, int] = {}
    try:
        homes, new_homes = k0.block_of, found.block_of
    except UnsupportedError:  # a computed jump: blocks are not known
        homes = new_homes = dict[int, int]()
    old, new = address_index(k0.source), address_index(recovered.source)
    for before, after in zip(k0.source.symbols, recovered.source.symbols, strict=False):
        line_id, position = old.get(before.value, -1), new.get(after.value)
        if line_id in homes and position is not None:
            stand_in = found.lines[position].id
            if stand_in != line_id and new_homes.get(stand_in) == homes[line_id]:
                anchors[line_id] = stand_in
    program = replace(k0, lines=found.lines, entry=found.entry, anchors=anchors)
    asked = changed_resources(k0, recovered)
    return with_resources(program, asked) if asked.given() else program


def _hidden(k0: Program, program: Program) -> Iterator[Finding]:
    """Lines whose words are not those of their text: bits that are not printed may mean something.

    The words of a text are those of K0's line, where the line is K0's; else those of any such line of K0, or what the
    assembler gives.
    """
    known: dict[str, set[bytes | None]] = defaultdict(set)
    for line in k0.lines:
        known[line.instruction.text].add(line.words)
    fresh: list[Line] = []
    for line in program.lines:
        at = k0.position.get(line.id)
        text = line.instruction.text
        if line.target is not None or text.startswith("."):
            continue
        if at is not None and k0.lines[at].instruction.text == text:
            if line.words != k0.lines[at].words:
                yield _finding(line, f"K0's line has {_hex(k0.lines[at])}")
        elif line.words not in known[text]:
            fresh.append(line)
    try:
        words = assemble([line.instruction.text for line in fresh], k0.source.target)
    except InputError as error:
        yield Finding("rebuild.encoding", str(error), Severity.WARNING)
        return
    for line, expected in zip(fresh, words, strict=True):
        if line.words != expected:
            yield _finding(line, f"the assembler gives {expected.hex()}")


def _finding(line: Line, other: str) -> Finding:
    message = f"`{line.instruction}` has the words {_hex(line)}, {other}: they differ in bits that are not printed."
    return Finding("rebuild.encoding", message, Severity.WARNING, line.id)


def _hex(line: Line) -> str:
    return "" if line.words is None else line.words.hex()

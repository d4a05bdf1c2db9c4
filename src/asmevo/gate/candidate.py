"""A candidate as the gate sees it: what its bytes hold, with ids that tie its lines to K0's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from asmevo.codeobject import CodeObject
from asmevo.edit import Edit, apply_all
from asmevo.gate.changes import align
from asmevo.program import Program, check_rebuild, encode, recover
from asmevo.verdict import Check, Finding, InputError, Verdict

NAME = "rebuild"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate whose bytes were compared with the program they should hold."""

    obj: CodeObject
    program: Program
    """Line for line what the bytes hold, so positions are those of the recovered program; ids and source are K0's."""


def bind(k0: Program, data: bytes, edits: Sequence[Edit] | None) -> tuple[Candidate | None, Check]:
    """The candidate and the check of its bytes against K0 with these edits.

    Without edits, lines are matched by what they say. Either way every word, branch target, symbol, section, flag and
    descriptor of the bytes is compared; the program that later stages see is the one recovered from the bytes.
    """
    try:
        obj = CodeObject.parse(data, "the candidate")
        recovered = recover(obj, k0.kernel.name)
        meant = _matched(k0, recovered) if edits is None else encode(apply_all(k0, edits))
    except InputError as error:
        return None, Check(NAME, Verdict.REFUTED, (Finding("rebuild.input", str(error)),))
    check = check_rebuild(meant, data)
    if not check.verdict.admitted:
        return None, check
    if len(meant.lines) != len(recovered.lines):  # padding in front of an entry, which an edit does not name
        meant = _matched(k0, recovered)
    return Candidate(obj, meant), check


def _matched(k0: Program, recovered: Program) -> Program:
    matched = align(k0, recovered)
    return k0.with_lines(matched.lines, matched.entry)

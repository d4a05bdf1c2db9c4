"""Reaching definitions: which untouched lines of a block read a value that another line made than in K0."""

from __future__ import annotations

from collections.abc import Iterator

from asmevo.isa import RegSet, effects, names, units
from asmevo.program import Line
from asmevo.verdict import Finding, Severity

_ENTRY = -1
"""The definition that reaches from before the block."""
_BEHIND = -2
"""The reader behind the block."""


def definition_findings(old: tuple[Line, ...], new: tuple[Line, ...], live_out: RegSet) -> Iterator[Finding]:
    """Notes on lines with the same text on both sides whose operands come from other lines now.

    That is what an edit which replaces instructions does, so it is no error by itself. Only the values within one block
    are followed; a value left behind for later blocks counts as read by them.
    """
    before, after = _definitions(old, live_out), _definitions(new, live_out)
    texts = {line.id: line.instruction for line in old}
    for line in (*new, None):
        reader = _BEHIND if line is None else line.id
        if line is not None and texts.get(reader) != line.instruction:
            continue
        changed = 0
        for unit, maker in after[reader].items():
            if before[reader].get(unit, _ENTRY) != maker:
                changed |= 1 << unit
        if changed:
            yield _finding(line, changed)


def _definitions(lines: tuple[Line, ...], live_out: RegSet) -> dict[int, dict[int, int]]:
    """Reader to unit to the line that wrote it."""
    last: dict[int, int] = {}
    found: dict[int, dict[int, int]] = {}
    for line in lines:
        known = effects(line.instruction)
        found[line.id] = {unit: last.get(unit, _ENTRY) for unit in units(known.reads)}
        for unit in units(known.writes):
            last[unit] = line.id
    found[_BEHIND] = {unit: last.get(unit, _ENTRY) for unit in units(live_out)}
    return found


def _finding(line: Line | None, changed: RegSet) -> Finding:
    what = "The code behind the block" if line is None else f"Line {line.id}, `{line.instruction}`,"
    message = f"{what} reads {names(changed)} from another line than in K0."
    return Finding("order.definition", message, Severity.NOTE, None if line is None else line.id)

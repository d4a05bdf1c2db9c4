"""Order and shape: what a candidate may not move, add or take away, seen block by block against K0."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from asmevo.isa import Instruction, effects, names
from asmevo.isa.registers import EXEC
from asmevo.program import Line, Program
from asmevo.program.dependence import Dependence, DependenceGraph, Edge
from asmevo.program.memory import Fence, access, fence
from asmevo.verdict import Finding, Severity

_BY_PLACE = (Dependence.MEMORY, Dependence.FENCE)
"""Edges between accesses and fences hold for a line whatever its text has become."""


def order_findings(graph: DependenceGraph, lines: tuple[Line, ...]) -> Iterator[Finding]:
    """Edges of a block of K0 that the lines of the same block in a candidate no longer respect.

    An edge over registers counts when both its lines are untouched: an edit that replaces or renames one may well be
    right, which execution has to show.
    """
    place = {line.id: i for i, line in enumerate(lines)}
    for edge in graph.edges:
        first, second = graph.lines[edge.source], graph.lines[edge.target]
        a, b = place.get(first.id), place.get(second.id)
        if a is None or b is None or a < b:
            continue
        if edge.kind in _BY_PLACE:
            if all(_still_matters(lines[i]) for i in (a, b)):
                yield _swapped(edge, first, second)
        elif is_untouched(first, lines[a]) and is_untouched(second, lines[b]):
            yield _swapped(edge, first, second)


def is_untouched(old: Line, new: Line) -> bool:
    """Whether a line is as in K0. Where a branch goes is a matter of the blocks' successors, not of its text."""
    same = old.instruction == new.instruction
    return same or (None not in (old.target, new.target) and old.instruction.mnemonic == new.instruction.mnemonic)


def _still_matters(line: Line) -> bool:
    return access(line.instruction) is not None or fence(line.instruction) is not Fence.NONE


def _swapped(edge: Edge, first: Line, second: Line) -> Finding:
    over = f" over {names(edge.registers)}" if edge.registers else ""
    return Finding(
        rule=f"order.{edge.kind}",
        message=(
            f"Line {second.id}, `{second.instruction}`, now comes before line {first.id}, `{first.instruction}`, on "
            f"which it depends ({edge.kind}{over})."
        ),
        line=second.id,
        facts={"other": first.id, "kind": edge.kind.value, "registers": names(edge.registers)},
    )


def moved_between_blocks(k0: Program, candidate: Program) -> Iterator[Finding]:
    """Untouched lines that stand in another block than in K0."""
    old, new = k0.block_of, candidate.block_of
    for line_id, block in old.items():
        if new.get(line_id, block) != block and k0.line(line_id).instruction == candidate.line(line_id).instruction:
            message = f"Line {line_id}, `{k0.line(line_id).instruction}`, was moved to another block."
            yield Finding("order.block", message, line=line_id, facts={"from": block, "to": new[line_id]})


def fence_changes(old: tuple[Line, ...], new: tuple[Line, ...]) -> Iterator[Finding]:
    """Barriers and other fences must stay, in number, order and text."""
    return _sequence(old, new, _is_fence, "fence.changed", "a fence")


def exec_changes(old: tuple[Line, ...], new: tuple[Line, ...]) -> Iterator[Finding]:
    """Writes of EXEC must stay: lanes that no launch switches off would hide the difference."""
    return _sequence(old, new, _writes_exec, "exec.changed", "a write of EXEC")


def _is_fence(line: Line) -> bool:
    return fence(line.instruction) is not Fence.NONE


def _writes_exec(line: Line) -> bool:
    return bool(effects(line.instruction).writes & EXEC)


def _sequence(
    old: tuple[Line, ...], new: tuple[Line, ...], matters: Callable[[Line], bool], rule: str, what: str
) -> Iterator[Finding]:
    before = [(line.id, line.instruction) for line in old if matters(line)]
    after = [(line.id, line.instruction) for line in new if matters(line)]
    if before == after:
        return
    for line_id, instruction in (*before, *after):
        if (line_id, instruction) not in before:
            yield Finding(rule, f"Line {line_id}, `{instruction}`, {what}, was added or changed.", line=line_id)
        elif (line_id, instruction) not in after:
            yield Finding(rule, f"Line {line_id}, `{instruction}`, {what}, was removed or changed.", line=line_id)
    if sorted(before, key=_id) == sorted(after, key=_id):
        at = next(a[0] for a, b in zip(before, after, strict=True) if a != b)
        yield Finding(rule, f"Line {at}, {what}, changed places with another one.", line=at)


def _id(entry: tuple[int, Instruction]) -> int:
    return entry[0]


def deleted_accesses(old: tuple[Line, ...], candidate: Program) -> Iterator[Finding]:
    """Stores, atomics and LDS writes that are gone: a note, since a wider one may do their work."""
    for line in old:
        touched = access(line.instruction)
        if touched is not None and touched.writes and line.id not in candidate.position:
            message = f"Line {line.id}, `{line.instruction}`, was removed."
            yield Finding("order.removed", message, Severity.NOTE, line.id)

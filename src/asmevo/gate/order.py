"""Order and shape: what a candidate may not move, add or take away, seen block by block against K0."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from asmevo.gate.matching import is_untouched
from asmevo.isa import Instruction, Operand, RegSet, bind, effects, names
from asmevo.isa.registers import EXEC
from asmevo.program import Line, Program
from asmevo.program.dependence import Dependence, DependenceGraph, memory_order
from asmevo.program.memory import Fence, access, fence
from asmevo.verdict import Finding, Severity

ADDED_FENCE = "fence.added"
_HOLDS_ACCESSES = (Fence.BARRIER, Fence.ACCESSES)


def order_findings(graph: DependenceGraph, lines: tuple[Line, ...]) -> Iterator[Finding]:
    """Edges of a block of K0 that the lines of the same block in a candidate no longer respect.

    An edge over registers counts when both its lines are untouched: an edit that replaces or renames one may well be
    right, which execution has to show. Accesses and fences keep their order whatever their texts have become.
    """
    place = {line.id: i for i, line in enumerate(lines)}
    for edge in graph.edges:
        first, second = graph.lines[edge.source], graph.lines[edge.target]
        a, b = place.get(first.id), place.get(second.id)
        if a is None or b is None or a < b or edge.kind is Dependence.MEMORY:
            continue
        if edge.kind is Dependence.FENCE:
            if all(_still_matters(lines[i]) for i in (a, b)):
                yield _swapped(edge.kind, first, second)
        elif is_untouched(first, lines[a]) and is_untouched(second, lines[b]):
            yield _swapped(edge.kind, first, second, edge.registers)
    accesses = {line.id for line in lines if access(line.instruction) is not None}
    for source, target in memory_order(graph.lines, accesses):
        first, second = graph.lines[source], graph.lines[target]
        if place[second.id] < place[first.id]:
            yield _swapped(Dependence.MEMORY, first, second)


def _still_matters(line: Line) -> bool:
    return access(line.instruction) is not None or fence(line.instruction) is not Fence.NONE


def _swapped(kind: Dependence, first: Line, second: Line, registers: RegSet = 0) -> Finding:
    over = f" over {names(registers)}" if registers else ""
    return Finding(
        rule=f"order.{kind}",
        message=(
            f"Line {second.id}, `{second.instruction}`, now comes before line {first.id}, `{first.instruction}`, on "
            f"which it depends ({kind}{over})."
        ),
        line=second.id,
        facts={"other": first.id, "kind": kind.value, "registers": names(registers)},
    )


def unmatched_accesses(old: tuple[Line, ...], new: tuple[Line, ...]) -> Iterator[Finding]:
    """Accesses of memory that K0 does not make in this block, so that no rule says which fences and accesses they keep
    their side of.

    An access that only loads to another register is K0's: it keeps its place by what K0's may not pass.
    """
    before = {line.id: line.instruction for line in old}
    for line in new:
        known = before.get(line.id)
        if access(line.instruction) is None or (known is not None and _is_same_access(known, line.instruction)):
            continue
        what = "is not in K0's block" if known is None else f"stands for K0's `{known}`"
        message = (
            f"Line {line.id}, `{line.instruction}`, {what}: no static rule says which fences and accesses it may pass."
        )
        yield Finding("order.unmatched_access", message, Severity.WARNING, line.id)


def _is_same_access(old: Instruction, new: Instruction) -> bool:
    """Whether two instructions are the same but for the registers that a load writes."""
    if old == new:
        return True
    return (
        access(old) is not None
        and (old.mnemonic, old.modifiers) == (new.mnemonic, new.modifiers)
        and (_sources(old) == _sources(new))
    )


def _sources(instruction: Instruction) -> list[Operand | None]:
    """Operands other than the registers it only writes."""
    return [operand for slot, operand in bind(instruction, effects(instruction).row) if slot.is_use]


def fence_changes(old: tuple[Line, ...], new: tuple[Line, ...]) -> Iterator[Finding]:
    """Barriers and other fences must stay, in number, order and text.

    One that K0 does not have and that only holds back accesses is undecided: it may be stricter than is needed, or be
    met by some of the waves only.
    """
    known = {line.id for line in old}
    extra = [line for line in new if line.id not in known and fence(line.instruction) in _HOLDS_ACCESSES]
    ids = {line.id for line in extra}
    yield from _sequence(old, tuple(x for x in new if x.id not in ids), _is_fence, "fence.changed", "a fence")
    for line in extra:
        message = f"Line {line.id}, `{line.instruction}`, is a fence that K0 does not have; no rule says who meets it."
        yield Finding(ADDED_FENCE, message, Severity.WARNING, line.id)


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

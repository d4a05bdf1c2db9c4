"""The static stage: what can be said of a candidate without running it. Missing waits and hazards show in no output."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeAlias

from asmevo.gate.definitions import definition_findings
from asmevo.gate.matching import align, is_untouched
from asmevo.gate.nearness import no_nearer
from asmevo.gate.order import (
    ADDED_FENCE,
    deleted_accesses,
    exec_changes,
    fence_changes,
    order_findings,
    unmatched_accesses,
)
from asmevo.gate.shape import shape_findings, switches, undecided
from asmevo.isa import Counter
from asmevo.program import Line, Program
from asmevo.program.dependence import DependenceGraph, dependence_graph
from asmevo.program.fences import FenceAnalysis, same_flow
from asmevo.program.hazards import Hazard, HazardAnalysis, smallest_distances
from asmevo.program.liveness import Liveness, liveness
from asmevo.program.memory import Barriers
from asmevo.program.paths import block_path, reachable
from asmevo.program.skipping import may_skip
from asmevo.program.waits import WaitAnalysis, Waits
from asmevo.verdict import Check, Finding, Severity, UnsupportedError, Verdict

_Place: TypeAlias = tuple[str, int | None, int, str]
"""What a finding of a missing wait is about: rule, line of the use, line of the operation, counter."""
_Changed: TypeAlias = tuple[int, tuple[Line, ...], tuple[Line, ...]]
"""A block's number, its lines in K0 and in the candidate."""
_NOTES = 20
"""Notes of one kind that are listed; the facts count all."""


class StaticBaseline:
    """The static stage for candidates of one K0: what it knows of K0 is found out once.

    Analyses remember blocks, so a check costs what changed.
    """

    def __init__(self, k0: Program) -> None:
        self.k0 = k0
        self._waits = WaitAnalysis()
        self._hazards = HazardAnalysis(k0.source.target)
        self._graphs: dict[int, DependenceGraph] = {}

    @cached_property
    def _fences(self) -> FenceAnalysis:
        return FenceAnalysis(self.k0)

    @cached_property
    def _undecided(self) -> tuple[Finding, ...]:
        return tuple(f for b in self.k0.blocks for f in undecided(self.k0.lines[b.first : b.last]))

    @cached_property
    def _behind_skipping(self) -> Set[int]:
        """Blocks that may run after one in which vector instructions may be skipped, that one included."""
        blocks = self.k0.blocks
        return reachable(self.k0, [b.number for b in blocks if may_skip(self.k0.lines[b.first : b.last]) is not None])

    @cached_property
    def _allowed(self) -> Mapping[str, int]:
        """By rule and pair of classes, the smallest distance in K0 where that is under the spacing rule."""
        executed = HazardAnalysis(self.k0.source.target, nothing_skipped=True)
        return smallest_distances(executed.hazards(self.k0))

    @cached_property
    def _close(self) -> Mapping[tuple[str, int, int], int]:
        """The same by rule and pair of lines, with what may be skipped taken to be: nothing follows for other lines."""
        found = sorted(self._hazards.hazards(self.k0), key=lambda h: -h.distance)
        return {(h.rule.key, h.producer, h.consumer): h.distance for h in found}

    @cached_property
    def _missing(self) -> frozenset[_Place]:
        return frozenset(_place(f) for f in self._waits.run(self.k0).findings())

    @cached_property
    def _liveness(self) -> Liveness:
        return liveness(self.k0)

    @cached_property
    def _barriers(self) -> Barriers:
        return Barriers(self.k0)

    def graph(self, block: int) -> DependenceGraph:
        """The dependence graph of a block of K0."""
        if block not in self._graphs:
            b = self.k0.blocks[block]
            live = self._liveness.live_out(b.last - 1)
            self._graphs[block] = dependence_graph(self.k0, b.first, b.last, live_out=live, barriers=self._barriers)
        return self._graphs[block]

    def check(self, candidate: Program) -> Check:
        """The stage on one candidate. Which of its lines are K0's is seen from what they say, not from their ids.

        REFUTED with an error that names line, register and distance; UNKNOWN where no rule decides: among others where
        a changed block has an access of memory that K0's has not (`order.unmatched_access`; the numbers of such blocks
        are the fact `unmatched_blocks`). Else TESTED.
        """
        try:
            return self._check(align(self.k0, candidate))
        except UnsupportedError as error:
            return Check("static", Verdict.UNKNOWN, (Finding("static.undecided", str(error)),))

    def _check(self, candidate: Program) -> Check:
        if not same_flow(self.k0, candidate):
            message = "The candidate's branches differ from K0's; no static rule compares different control flow."
            return Check("static", Verdict.UNKNOWN, (Finding("static.flow", message),))
        changed = self._changed_blocks(candidate)
        open_questions = self._undecided or tuple(f for one in changed for f in self._open_questions(*one))
        if open_questions:
            return Check("static", Verdict.UNKNOWN, open_questions)
        findings = [*shape_findings(self.k0, candidate), *self._compare_blocks(candidate, changed)]
        findings += self._wait_findings(candidate, changed)
        if any(not self._fences.is_alike(old, new) for _, old, new in changed):
            new_fences = {f.line for f in findings if f.rule == ADDED_FENCE}
            findings += [f for f in self._fences.findings(candidate) if f.line not in new_fences]
        hazards = self._hazards.hazards(candidate)
        findings += [_too_close(candidate, h) for h in hazards if self._is_new(h)]
        errors = [f for f in findings if f.severity is Severity.ERROR]
        added = [f for f in findings if f.rule == ADDED_FENCE]
        notes = [f for f in findings if f.severity is not Severity.ERROR and f.rule != ADDED_FENCE]
        unmatched = {number: tuple(unmatched_accesses(old, new)) for number, old, new in changed}
        facts = {
            "notes": len(notes),
            "under_table": _under_table(hazards),
            "waits_as_in_k0": len(self._missing),
            "unmatched_blocks": [number for number, found in unmatched.items() if found],
        }
        unknown = [*added, *(f for found in unmatched.values() for f in found)]
        listed = (*errors, *unknown, *notes[:_NOTES], *_disputed(h for h in hazards if not self._is_new(h)))
        verdict = Verdict.REFUTED if errors else Verdict.UNKNOWN if unknown else Verdict.TESTED
        return Check("static", verdict, listed, facts)

    def _changed_blocks(self, candidate: Program) -> list[_Changed]:
        """(number, lines in K0, lines in the candidate) of blocks that differ; successors were compared before."""
        pairs = (
            (old.number, self.k0.lines[old.first : old.last], candidate.lines[new.first : new.last])
            for old, new in zip(self.k0.blocks, candidate.blocks, strict=True)
        )
        return [(number, old, new) for number, old, new in pairs if not _same(old, new)]

    def _open_questions(self, number: int, old: tuple[Line, ...], new: tuple[Line, ...]) -> Iterator[Finding]:
        """What no rule decides about a changed block."""
        yield from switches(old)
        yield from switches(new)
        if number in self._behind_skipping and not self._fences.is_alike(old, new):
            message = (
                f"Block {number} runs behind vector instructions that may have been skipped, so how many operations "
                "are outstanding is not known; its operations, waits and fences have to stay in K0's order."
            )
            yield Finding("static.undecided", message, line=new[0].id)

    def _wait_findings(self, candidate: Program, changed: Sequence[_Changed]) -> Iterator[Finding]:
        """Waits that are missing. Where K0 has none either, time alone protects it: the ways there must not shorten."""
        waits = self._waits.run(candidate)
        for finding in waits.findings():
            if _place(finding) not in self._missing:
                yield finding
            elif not self._no_nearer(finding, _ways(waits, finding), changed):
                message = f"{finding.message} K0 does not wait either, so the way there must not shorten, or wait."
                yield replace(finding, rule="wait.unprotected", message=message)

    def _no_nearer(self, finding: Finding, ways: Set[int], changed: Sequence[_Changed]) -> bool:
        use = finding.line
        assert use is not None
        return all(no_nearer(old, new, finding.facts["producer"], use) for n, old, new in changed if n in ways)

    def _is_new(self, hazard: Hazard) -> bool:
        """Closer than K0 ever puts this pair of classes, and than it puts these two lines."""
        key = hazard.rule.key
        allowed = self._close.get((key, hazard.producer, hazard.consumer), hazard.rule.states)
        return hazard.distance < min(allowed, self._allowed.get(key, hazard.rule.states))

    def _compare_blocks(self, candidate: Program, changed: Sequence[_Changed]) -> Iterator[Finding]:
        for number, old, new in changed:
            yield from fence_changes(old, new)
            yield from exec_changes(old, new)
            yield from order_findings(self.graph(number), new)
            yield from deleted_accesses(old, candidate)
            yield from definition_findings(old, new, self._liveness.live_out(self.k0.blocks[number].last - 1))


def _same(before: tuple[Line, ...], after: tuple[Line, ...]) -> bool:
    """Same lines in the same order."""
    return before == after or (
        len(before) == len(after)
        and all(a.id == b.id and is_untouched(a, b) for a, b in zip(before, after, strict=True))
    )


def _place(finding: Finding) -> _Place:
    return finding.rule, finding.line, finding.facts["producer"], finding.facts["counter"]


def _ways(waits: Waits, finding: Finding) -> Set[int]:
    """Blocks between an operation and the use that does not wait for it."""
    assert finding.line is not None
    return waits.ways(finding.facts["producer"], finding.line, Counter(finding.facts["counter"]))


def _too_close(candidate: Program, hazard: Hazard) -> Finding:
    return Finding(
        rule=f"hazard.{hazard.rule.name}",
        message=f"In the candidate, {hazard}, and K0 never comes so close.",
        line=hazard.consumer,
        facts=_hazard_facts(hazard) | {"path": block_path(candidate, hazard.producer, hazard.consumer)},
    )


def _hazard_facts(hazard: Hazard) -> dict[str, Any]:
    return {"producer": hazard.producer, "distance": hazard.distance, "required": hazard.rule.states}


def _under_table(hazards: Iterable[Hazard]) -> dict[str, dict[str, int]]:
    """By pair of classes: sites under the table and the smallest distance."""
    found: dict[str, dict[str, int]] = {}
    for h in hazards:
        entry = found.setdefault(h.rule.key, {"sites": 0, "distance": h.distance, "required": h.rule.states})
        entry["sites"] += 1
        entry["distance"] = min(entry["distance"], h.distance)
    return found


def _disputed(hazards: Iterable[Hazard]) -> Iterator[Finding]:
    """One finding for each pair of classes that is under the table: what a certificate has to name."""
    first: dict[str, Hazard] = {}
    for h in hazards:
        first.setdefault(h.rule.key, h)
    for h in first.values():
        severity = Severity.NOTE if h.rule.severity is Severity.NOTE else Severity.WARNING
        message = f"As close as in K0, and under the table: {h}."
        yield Finding(f"hazard.{h.rule.name}", message, severity, h.consumer, _hazard_facts(h))


def discharge(check: Check, proved: frozenset[int], ahead: frozenset[int] = frozenset()) -> Check:
    """The outcome of the stage once blocks with these numbers are proved to access memory as K0 does.

    Where nothing else was undecided, `order.unmatched_access` in those blocks becomes a note, and the verdict TESTED.
    So does an error that a load stands behind a fence, where what stands there is one of the loads that the proof shows
    to be `ahead`: the next turn's, which only looks like K0's load of this turn.
    """
    errors = [f for f in check.findings if f.severity is Severity.ERROR]
    blocks = check.facts.get("unmatched_blocks", ())
    if not all(f.rule == "order.fence" and f.facts.get("other") in ahead for f in errors):
        return check
    if check.verdict not in (Verdict.UNKNOWN, Verdict.REFUTED) or not blocks or not proved.issuperset(blocks):
        return check
    if any(f.rule == ADDED_FENCE for f in check.findings) or (check.verdict is Verdict.REFUTED and not errors):
        return check
    findings = tuple(
        replace(f, severity=Severity.NOTE) if f.rule in ("order.unmatched_access", "order.fence") else f
        for f in check.findings
    )
    return Check(check.name, Verdict.TESTED, findings, {**check.facts, "unmatched_blocks": [], "proved_blocks": blocks})


def static_check(k0: Program, candidate: Program) -> Check:
    """The static stage on one candidate; whoever checks several keeps a `StaticBaseline`."""
    return StaticBaseline(k0).check(candidate)

"""The static stage: what can be said of a candidate without running it. Missing waits and hazards show in no output."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

from asmevo.gate.definitions import definition_findings
from asmevo.gate.order import (
    deleted_accesses,
    exec_changes,
    fence_changes,
    is_untouched,
    moved_between_blocks,
    order_findings,
)
from asmevo.gate.shape import shape_findings, undecided
from asmevo.program import Line, Program
from asmevo.program.dependence import DependenceGraph, dependence_graph
from asmevo.program.fences import FenceAnalysis, same_flow
from asmevo.program.hazards import Hazard, HazardAnalysis, smallest_distances
from asmevo.program.liveness import Liveness, liveness
from asmevo.program.memory import Barriers
from asmevo.program.paths import block_path
from asmevo.program.waits import WaitAnalysis
from asmevo.verdict import Check, Finding, Severity, UnsupportedError, Verdict

_NOTES = 20
"""Notes of one kind that are listed; the facts count all."""


class StaticBaseline:
    """What the static stage knows of one K0, computed once; analyses remember blocks, so a check costs what changed.

    Raises `UnsupportedError` when K0 itself has an opcode without a row.
    """

    def __init__(self, k0: Program) -> None:
        self.k0 = k0
        self._waits = WaitAnalysis()
        self._hazards = HazardAnalysis(k0.source.target)
        self._fences = FenceAnalysis(k0)
        self._graphs: dict[int, DependenceGraph] = {}
        self.undecided = tuple(f for b in k0.blocks for f in undecided(k0.lines[b.first : b.last]))
        self.allowed = smallest_distances(self._hazards.hazards(k0))
        """By pair of classes, the smallest distance in K0 where that is under the spacing rule."""
        self._missing = {_place(f) for f in self._waits.run(k0).findings()}

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
        """The stage on one candidate whose line ids say which lines are K0's.

        REFUTED with an error that names line, register and distance; UNKNOWN where no rule decides; else TESTED.
        """
        try:
            return self._check(candidate)
        except UnsupportedError as error:
            return Check("static", Verdict.UNKNOWN, (Finding("static.undecided", str(error)),))

    def _check(self, candidate: Program) -> Check:
        if not same_flow(self.k0, candidate):
            message = "The candidate's branches differ from K0's; no static rule compares different control flow."
            return Check("static", Verdict.UNKNOWN, (Finding("static.flow", message),))
        changed = self._changed_blocks(candidate)
        open_questions = self.undecided or tuple(f for _, _, new in changed for f in undecided(new))
        if open_questions:
            return Check("static", Verdict.UNKNOWN, open_questions)
        findings = [*shape_findings(self.k0, candidate), *self._compare_blocks(candidate, changed)]
        findings += self._wait_findings(candidate, {number for number, _, _ in changed})
        if any(not self._fences.is_alike(old, new) for _, old, new in changed):
            findings += self._fences.findings(candidate)
        hazards = self._hazards.hazards(candidate)
        findings += [_too_close(candidate, h) for h in hazards if self._is_new(h)]
        errors = [f for f in findings if f.severity is Severity.ERROR]
        notes = [f for f in findings if f.severity is not Severity.ERROR]
        facts = {"notes": len(notes), "under_table": _under_table(hazards), "waits_as_in_k0": len(self._missing)}
        listed = (*errors, *notes[:_NOTES], *_disputed(h for h in hazards if not self._is_new(h)))
        return Check("static", Verdict.REFUTED if errors else Verdict.TESTED, listed, facts)

    def _changed_blocks(self, candidate: Program) -> list[tuple[int, tuple[Line, ...], tuple[Line, ...]]]:
        """(number, lines in K0, lines in the candidate) of blocks that differ; successors were compared before."""
        pairs = (
            (old.number, self.k0.lines[old.first : old.last], candidate.lines[new.first : new.last])
            for old, new in zip(self.k0.blocks, candidate.blocks, strict=True)
        )
        return [(number, old, new) for number, old, new in pairs if not _same(old, new)]

    def _wait_findings(self, candidate: Program, changed: set[int]) -> Iterator[Finding]:
        """Waits that are missing. Where K0 has none either, time alone protects it, so its surroundings must stay."""
        for finding in self._waits.run(candidate).findings():
            if _place(finding) not in self._missing:
                yield finding
            elif {candidate.block_of.get(i, -1) for i in (finding.line or 0, finding.facts["producer"])} & changed:
                message = f"{finding.message} K0 does not wait either, so the code around must stay or wait."
                yield replace(finding, rule="wait.unprotected", message=message)

    def _is_new(self, hazard: Hazard) -> bool:
        """Closer than K0 ever puts this pair of classes."""
        return hazard.distance < self.allowed.get(hazard.rule.key, hazard.rule.states)

    def _compare_blocks(
        self, candidate: Program, changed: list[tuple[int, tuple[Line, ...], tuple[Line, ...]]]
    ) -> Iterator[Finding]:
        for number, old, new in changed:
            yield from fence_changes(old, new)
            yield from exec_changes(old, new)
            yield from order_findings(self.graph(number), new)
            yield from deleted_accesses(old, candidate)
            yield from definition_findings(old, new, self._liveness.live_out(self.k0.blocks[number].last - 1))
        if changed:
            yield from moved_between_blocks(self.k0, candidate)


def _same(before: tuple[Line, ...], after: tuple[Line, ...]) -> bool:
    """Same lines in the same order."""
    return before == after or (
        len(before) == len(after)
        and all(a.id == b.id and is_untouched(a, b) for a, b in zip(before, after, strict=True))
    )


def _place(finding: Finding) -> tuple[str, int | None, Any, Any]:
    return finding.rule, finding.line, finding.facts["producer"], finding.facts["counter"]


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


_BASELINES: dict[int, StaticBaseline] = {}
_KEPT = 4


def static_check(k0: Program, candidate: Program) -> Check:
    """The static stage. The baselines of the last few K0 are kept, by identity of the program."""
    baseline = _BASELINES.get(id(k0))
    if baseline is None or baseline.k0 is not k0:
        try:
            baseline = StaticBaseline(k0)
        except UnsupportedError as error:
            return Check("static", Verdict.UNKNOWN, (Finding("static.undecided", str(error)),))
        while len(_BASELINES) >= _KEPT:
            del _BASELINES[next(iter(_BASELINES))]
        _BASELINES[id(k0)] = baseline
    return baseline.check(candidate)

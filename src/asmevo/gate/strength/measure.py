"""How much the gate and a set of launches catch of faults of known kinds, and which launch would help."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from asmevo.edit import apply_all
from asmevo.gate.gate import Gate
from asmevo.gate.report import Report
from asmevo.gate.strength.code import Code
from asmevo.gate.strength.equivalent import equivalence
from asmevo.gate.strength.faults_of_memory import CACHE_BITS, FAULTS_OF_MEMORY
from asmevo.gate.strength.faults_of_time import FAULTS_OF_TIME
from asmevo.gate.strength.faults_of_value import FAULTS_OF_VALUE
from asmevo.gate.strength.kind import Edits, Kind
from asmevo.gate.strength.legal import LEGAL
from asmevo.program import Block, rebuild
from asmevo.verdict import AsmEvoError, UnsupportedError

FAULTS = (*FAULTS_OF_TIME, *FAULTS_OF_VALUE, *FAULTS_OF_MEMORY)
"""All kinds whose kill rate counts."""
ENOUGH = 0.999
"""Kill rate below which launches are called weak."""
_LISTED = 8
"""Blocks without a launch that are named."""


@dataclass(frozen=True, slots=True)
class Survivor:
    """A fault that the gate admitted and no rule calls equivalent."""

    kind: str
    edits: Edits
    verdict: str
    lines: tuple[str, ...]
    """Texts of K0 that the edits name."""

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "edits": [edit.to_json() for edit in self.edits],
            "verdict": self.verdict,
            "lines": list(self.lines),
            "reason": "the launches give the same results with it, and no proof says that it changes nothing",
        }


@dataclass(slots=True)
class Score:
    """What came of the faults of one kind."""

    kind: Kind
    seeded: int = 0
    killed: int = 0
    set_aside: Counter[str] = field(default_factory=Counter[str])
    """By rule of `asmevo.gate.strength.equivalent`."""
    refused_by: Counter[str] = field(default_factory=Counter[str])
    """Faults by the stage that refused, with its verdict."""
    survivors: list[Survivor] = field(default_factory=list[Survivor])

    @property
    def rate(self) -> float:
        """Killed of those that are not equivalent; 1 where there are none."""
        return self.killed / (self.seeded - self.set_aside.total() or 1) if self.seeded else 1.0

    @property
    def rate_of_all(self) -> float:
        """Killed of all that were seeded."""
        return self.killed / self.seeded if self.seeded else 1.0

    def to_json(self) -> dict[str, Any]:
        return {
            "what": self.kind.what,
            "seeded": self.seeded,
            "killed": self.killed,
            "set_aside": dict(self.set_aside),
            "survivors": [s.to_json() for s in self.survivors],
            "rate": self.rate,
            "rate_of_all": self.rate_of_all,
            "refused_by": dict(self.refused_by),
        }


@dataclass(frozen=True, slots=True)
class Strength:
    """The scores of one kernel on its launches."""

    scores: tuple[Score, ...]
    cache_bits: Score
    advice: tuple[str, ...]

    @property
    def seeded(self) -> int:
        return sum(s.seeded for s in self.scores)

    @property
    def killed(self) -> int:
        return sum(s.killed for s in self.scores)

    @property
    def set_aside(self) -> int:
        return sum(s.set_aside.total() for s in self.scores)

    @property
    def rate(self) -> float:
        return self.killed / (self.seeded - self.set_aside) if self.seeded > self.set_aside else 1.0

    @property
    def rate_of_all(self) -> float:
        return self.killed / self.seeded if self.seeded else 1.0

    @property
    def is_enough(self) -> bool:
        return self.seeded > 0 and self.rate >= ENOUGH

    def to_json(self) -> dict[str, Any]:
        return {
            "seeded": self.seeded,
            "killed": self.killed,
            "set_aside": self.set_aside,
            "rate": self.rate,
            "rate_of_all": self.rate_of_all,
            "enough": self.is_enough,
            "kinds": {s.kind.name: s.to_json() for s in self.scores},
            "cache_bits": self.cache_bits.to_json(),
            "advice": list(self.advice),
        }


def strength(gate: Gate, of_a_kind: int, progress: Callable[[str], None] = lambda _: None) -> Strength:
    """Seed faults, at most `of_a_kind` of each kind and evenly spread, and examine each.

    Raises `UnsupportedError` where no launch can judge: there is nothing to measure then.
    """
    code = seeded_code(gate)
    scores: list[Score] = []
    for kind in (*FAULTS, CACHE_BITS):
        score = Score(kind)
        for edits in kind.sample(code, of_a_kind):
            judge(gate, score, edits)
        scores.append(score)
        progress(f"{kind.name}: {score.killed} of {score.seeded} refused, {score.set_aside.total()} equivalent")
    return Strength(tuple(scores[:-1]), scores[-1], tuple(_advice(gate, code, scores[:-1])))


def seeded_code(gate: Gate) -> Code:
    """What of the gate's K0 its launches execute."""
    baseline = gate.baseline()
    executed: frozenset[int] = getattr(baseline, "executed", frozenset())
    if not executed:
        raise UnsupportedError("No launch can judge this kernel, so nothing can be measured; see `asmevo verify`.")
    return Code.of(gate.program, executed)


def judge(gate: Gate, score: Score, edits: Edits) -> None:
    """Examine one fault. One that cannot be assembled is not counted: it is no candidate."""
    report = examined(gate, edits)
    if report is None:
        return
    score.seeded += 1
    refused = report.refused_by
    if refused is not None:
        score.killed += 1
        score.refused_by[f"{refused.name}: {refused.verdict.value}"] += 1
    elif rule := equivalence(gate.program, edits, report):
        score.set_aside[rule] += 1
    else:
        score.survivors.append(Survivor(score.kind.name, edits, report.verdict.value, _texts(gate, edits)))


def examined(gate: Gate, edits: Edits) -> Report | None:
    """The gate's report on these edits of its K0; None where no object can be made of them."""
    try:
        data = rebuild(apply_all(gate.program, edits))
    except AsmEvoError:
        return None
    return gate.examine(data, edits=edits)


@dataclass(frozen=True, slots=True)
class FalseRefusal:
    """A legal edit that was refused."""

    kind: str
    edits: Edits
    stage: str
    message: str


def legal_edits(gate: Gate, of_a_kind: int) -> Iterator[FalseRefusal | None]:
    """Examine legal edits: None for each that was admitted, else what refused it."""
    code = seeded_code(gate)
    for kind in LEGAL:
        for edits in kind.sample(code, of_a_kind):
            report = examined(gate, edits)
            if report is None:
                continue
            refused = report.refused_by
            message = "" if refused is None or not refused.findings else refused.findings[0].message
            yield None if refused is None else FalseRefusal(kind.name, edits, refused.name, message)


def _texts(gate: Gate, edits: Edits) -> tuple[str, ...]:
    """Texts of K0's lines that edits name."""
    named: list[int] = []
    for edit in edits:
        for value in edit.to_json().values():
            found = cast("list[object]", value) if isinstance(value, list) else [value]
            named += [v for v in found if isinstance(v, int)]
    known = gate.program.position
    return tuple(gate.program.line(i).instruction.text for i in dict.fromkeys(named) if i in known)


def _advice(gate: Gate, code: Code, scores: Sequence[Score]) -> Iterator[str]:
    """Launches that would help, in words."""
    for score in scores:
        if score.survivors and score.kind.shown_by:
            count = len(score.survivors)
            yield f"{count} of kind `{score.kind.name}` survive: add a launch, {score.kind.shown_by}."
    blocks, lines = gate.program.blocks, gate.program.lines
    reached = {b.number for b in blocks if any(i in code.alive for i in range(b.first, b.last))}
    borders = [(b, _branches(gate, b, reached)) for b in blocks if b.number not in reached]
    for block, branches in [(b, found) for b, found in borders if found][:_LISTED]:
        line = lines[block.first]
        yield (
            f"No launch executes the {block.last - block.first} lines from line {line.id}, `{line.instruction}`: "
            f"add one that goes there from {' or '.join(branches)}."
        )


def _branches(gate: Gate, block: Block, reached: Container[int]) -> list[str]:
    """Ends of executed blocks that lead to a block."""
    lines = gate.program.lines
    before = [b for b in gate.program.blocks if block.number in b.successors and b.number in reached]
    return [f"line {lines[b.last - 1].id}, `{lines[b.last - 1].instruction}`" for b in before]

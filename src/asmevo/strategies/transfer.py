"""Transfer: a change that paid on one kernel, tried where another kernel has code like it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice
from typing import Any

from asmevo.edit import apply_all, from_json
from asmevo.program import Program
from asmevo.strategies.bench import proposal
from asmevo.strategies.catalogue import STRATEGIES
from asmevo.strategies.context import Context
from asmevo.strategies.proposal import Proposal
from asmevo.verdict import AsmEvoError

ALIKE = 0.6
"""Share of opcodes, in order, that a block must have in common with a pattern's."""
AGAIN = 3
"""Proposals of the pattern's own strategy that are tried where its edits themselves do not fit."""
_LINES = ("before", "line")
_LISTS = ("lines", "order", "run")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A commit as it may fit elsewhere."""

    attempt: int
    strategy: str
    note: str
    opcodes: tuple[str, ...]
    """Precondition: opcodes of the block it changed, in order, as they were before."""
    lines: tuple[int, ...]
    """Ids of those lines."""
    edits: tuple[Mapping[str, Any], ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "strategy": self.strategy,
            "note": self.note,
            "opcodes": list(self.opcodes),
            "lines": list(self.lines),
            "edits": [dict(edit) for edit in self.edits],
        }

    @classmethod
    def from_json(cls, attempt: int, facts: Mapping[str, Any]) -> Pattern:
        opcodes, lines, edits = (tuple(facts[name]) for name in ("opcodes", "lines", "edits"))
        return cls(attempt, facts["strategy"], facts["note"], opcodes, lines, edits)


class Transfer:
    """Tries patterns on blocks that are alike.

    First the edits themselves, with each line replaced by the one that stands at its place when the two blocks are
    aligned by opcodes; a line that has none there drops out of deletions and orders. Then the strategy that made the
    pattern, which knows how to do the same to other code.
    """

    name = "transfer"

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self._patterns = tuple(patterns)

    def propose(self, context: Context, rng: random.Random) -> Iterator[Proposal]:
        ids = [line.id for line in context.lines]
        opcodes = [line.instruction.mnemonic for line in context.lines]
        for pattern in self._patterns:
            matcher = SequenceMatcher(None, pattern.opcodes, opcodes, autojunk=False)
            if matcher.ratio() < ALIKE:
                continue
            what = f"as attempt {pattern.attempt}: {pattern.note.partition(', paced')[0]}"
            places = {
                pattern.lines[match.a + n]: ids[match.b + n]
                for match in matcher.get_matching_blocks()
                for n in range(match.size)
            }
            if made := _mapped(context, pattern, places, what):
                yield made
            if pattern.strategy in STRATEGIES:
                yield from islice(STRATEGIES[pattern.strategy].propose(context, rng), AGAIN)


def _mapped(context: Context, pattern: Pattern, places: Mapping[int, int], what: str) -> Proposal | None:
    """The pattern's edits with other lines; None where they do not fit."""
    try:
        edits = [from_json(_translated(edit, places)) for edit in pattern.edits]
        program: Program = apply_all(context.program, edits)
        if program.lines == context.program.lines:
            return None
        return proposal(context, program, edits, what)
    except (AsmEvoError, KeyError):  # a line without a counterpart, or a rule of the edit that does not hold here
        return None


def _translated(edit: Mapping[str, Any], places: Mapping[int, int]) -> dict[str, Any]:
    """The edit as JSON with its lines translated; new lines of an order keep their negative numbers."""
    out = dict(edit)
    for name in _LINES:
        if name in out:
            out[name] = places[out[name]]
    for name in _LISTS:
        if name in out:
            old: list[int] = out[name]
            if name == "run":
                out[name] = [places[i] for i in old]
            else:
                out[name] = [i if i < 0 else places[i] for i in old if i < 0 or i in places]
    return out

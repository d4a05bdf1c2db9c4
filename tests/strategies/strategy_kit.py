"""Contexts over programs written as text, and what proposals make of them, as text again."""

from __future__ import annotations

import random
from collections.abc import Iterator

from asmevo.edit import apply_all
from asmevo.program import Program
from asmevo.strategies import Analyses, Analyst, Context, Strategy
from asmevo.timing import chip
from programs import program_from_text


def context(text: str, block: int = 0, analyst: Analyst | None = None, **descriptor: int) -> Context:
    """The context of one block of a program; all its lines are equally hot."""
    return context_of(program_from_text(text, **descriptor), block, analyst)


def context_of(program: Program, block: int, analyst: Analyst | None = None) -> Context:
    chosen = program.blocks[block]
    ids = [line.id for line in program.lines[chosen.first : chosen.last]]
    analyst = analyst or Analyst(program, chip("mi300x"))
    return Context(program, chosen, dict.fromkeys(ids, 1 / len(ids)), Analyses(program, analyst))


def results(strategy: Strategy, text: str, block: int = 0, seed: int = 0) -> dict[str, list[str]]:
    """Note of each proposal to the lines of the whole program after it; of several with one note, the first."""
    found: dict[str, list[str]] = {}
    for note, after in outcomes(strategy, context(text, block), seed):
        found.setdefault(note.rsplit(", paced", 1)[0], shown(after))
    return found


def outcomes(strategy: Strategy, where: Context, seed: int = 0) -> Iterator[tuple[str, Program]]:
    for proposal in strategy.propose(where, random.Random(seed)):
        yield proposal.note, apply_all(where.program, proposal.edits)


def shown(program: Program) -> list[str]:
    """The instructions of a program; branches name the line they go to by its place."""
    return [
        line.instruction.text.split()[0] + f" ->{program.position[line.target]}"
        if line.target is not None
        else line.instruction.text
        for line in program.lines
    ]


def lines(text: str) -> list[str]:
    """The expected side: one instruction a line."""
    return [" ".join(line.split()) for line in text.strip().splitlines()]

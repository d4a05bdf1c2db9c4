"""Patterns of a run: its commits, kept so that other kernels can have them."""

from __future__ import annotations

import time
from pathlib import Path

from asmevo.edit import apply_all
from asmevo.search.state import COMPOSE
from asmevo.search.workbench import Workbench
from asmevo.store import Attempt, Store
from asmevo.strategies import Pattern


def keep_patterns(bench: Workbench) -> None:
    """Store the pattern of every commit that has none yet."""
    known = bench.store.patterns()
    for commit in bench.store.commits():
        if commit.attempt not in known:
            pattern = _pattern(bench, bench.store.attempt(commit.attempt))
            if pattern is not None:
                bench.store.keep_pattern(commit.attempt, pattern.to_json())


def _pattern(bench: Workbench, attempt: Attempt) -> Pattern | None:
    """What a commit did to its block; None where it was pointed at none."""
    assert attempt.parent is not None
    origin = attempt
    if attempt.strategy == COMPOSE:
        same = (a for a in bench.store.attempts() if a.edits == attempt.edits and a.block is not None)
        origin = next(same, attempt)
    if origin.block is None:
        return None
    program = apply_all(bench.k0, bench.edits(bench.store.attempt(attempt.parent)))
    block = program.blocks[origin.block]
    lines = program.lines[block.first : block.last]
    return Pattern(
        attempt.ordinal,
        origin.strategy,
        origin.note,
        tuple(line.instruction.mnemonic for line in lines),
        tuple(line.id for line in lines),
        attempt.edits,
    )


def patterns_of(folder: Path) -> tuple[Pattern, ...]:
    """The patterns of a run, those of its last commits first. Raises `InputError` for a folder without a run."""
    with Store.open(folder, time.time) as store:
        return tuple(Pattern.from_json(attempt, facts) for attempt, facts in reversed(store.patterns().items()))

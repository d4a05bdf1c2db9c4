"""Every strategy on the hot blocks of both kernels: what it proposes applies, rebuilds and passes the static stage."""

from __future__ import annotations

import json
import random
from functools import cache
from itertools import islice
from pathlib import Path

import pytest
from strategy_kit import context_of

from asmevo.codeobject import CodeObject
from asmevo.edit import apply_all, from_json
from asmevo.gate.static import StaticBaseline
from asmevo.program import Program, check_rebuild, rebuild, recover
from asmevo.strategies import STRATEGIES, Analyst, strategies_named
from asmevo.timing import chip
from asmevo.verdict import UsageError, Verdict

HOT = {"fp8_gemm": (6, 5, 12), "fmoe_stage1": (2, 1, 13)}
"""Loop, what leads to it, and what follows."""
EACH = 3
LEFT_TO_PROOF = {"rename", "pipeline"}
"""Strategies that may name other registers in an access, or make it elsewhere, which the proof stage decides."""
NOTHING_TO_DO = {
    ("fmoe_stage1", "rename"),  # no register is free
    ("fmoe_stage1", "pack"),  # packed operations would wait for matrix instructions
    ("fp8_gemm", "combine"),  # the compiler combined all there is
    ("fp8_gemm", "fold"),  # ... and left no copy that could go
    ("fp8_gemm", "hoist"),  # its tuples need no registers of their own
    ("fmoe_stage1", "hoist"),  # its loops put none together
    ("fmoe_stage1", "pipeline"),  # no register is free
    ("fp8_gemm", "offsets"),  # no sum of a constant is an address alone
    ("fmoe_stage1", "offsets"),
}


@cache
def prepared(path: Path) -> tuple[Program, Analyst, StaticBaseline]:
    program = recover(CodeObject.parse(path.read_bytes()))
    return program, Analyst(program, chip("mi300x")), StaticBaseline(program)


@pytest.mark.parametrize("name", sorted(STRATEGIES))
@pytest.mark.parametrize("kernel", sorted(HOT))
def test_proposals_are_legal(kernel: str, name: str, request: pytest.FixtureRequest) -> None:
    program, analyst, static = prepared(request.getfixturevalue(f"{kernel}_path"))
    seen = 0
    for block in HOT[kernel]:
        where = context_of(program, block, analyst)
        for proposal in islice(STRATEGIES[name].propose(where, random.Random(block)), EACH):
            seen += 1
            candidate = apply_all(program, proposal.edits)
            assert candidate.lines != program.lines
            check = static.check(candidate)
            is_open = name in LEFT_TO_PROOF and bool(check.facts["unmatched_blocks"])
            assert check.verdict is (Verdict.UNKNOWN if is_open else Verdict.TESTED), (proposal.note, check.findings)
            data = rebuild(candidate)
            assert check_rebuild(candidate, data).verdict is Verdict.TESTED
            again = [from_json(json.loads(json.dumps(edit.to_json()))) for edit in proposal.edits]
            assert apply_all(program, again).lines == candidate.lines
            first, last = proposal.window
            assert program.block_of[first] == program.block_of[last] == block
    assert bool(seen) is ((kernel, name) not in NOTHING_TO_DO)


def test_nothing_is_proposed_where_there_is_nothing() -> None:
    with pytest.raises(UsageError, match="There is no strategy 'luck'"):
        strategies_named(["luck"])

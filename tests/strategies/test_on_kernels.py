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
            wanted = (Verdict.TESTED, Verdict.UNKNOWN) if name == "rename" else (Verdict.TESTED,)  # needs a proof
            assert check.verdict in wanted, (proposal.note, check.findings)
            data = rebuild(candidate)
            assert check_rebuild(candidate, data).verdict is Verdict.TESTED
            again = [from_json(json.loads(json.dumps(edit.to_json()))) for edit in proposal.edits]
            assert apply_all(program, again).lines == candidate.lines
            first, last = proposal.window
            assert program.block_of[first] == program.block_of[last] == block
    assert seen or (kernel, name) == ("fmoe_stage1", "rename"), "no register of its loop is free"


def test_nothing_is_proposed_where_there_is_nothing() -> None:
    with pytest.raises(UsageError, match="There is no strategy 'luck'"):
        strategies_named(["luck"])

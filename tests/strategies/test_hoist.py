"""Scalar tuples that a loop puts together on every turn."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategy_kit import context, context_of, lines, outcomes, results

from asmevo.codeobject import CodeObject
from asmevo.edit import SetResources, apply_all
from asmevo.gate.proof import ProofStage
from asmevo.gate.resources import resources
from asmevo.isa import parse_instruction, span
from asmevo.isa.registers import UNNUMBERED_SGPRS
from asmevo.program import Line, check_rebuild, rebuild, recover
from asmevo.program.liveness import liveness
from asmevo.strategies.hoist import Hoist
from asmevo.strategies.tuples import lifted
from asmevo.verdict import Verdict
from programs import program_from_text
from small_objects import build

LOOP = """
    s_mov_b32 s20, 0
loop:
    s_mov_b32 s26, s10
    s_mov_b32 s6, s30
    s_mov_b32 s7, 0x27000
    buffer_load_dword v1, v2, s[4:7], 0 offen
    buffer_load_dword v3, v2, s[24:27], 0 offen
    s_add_i32 s6, s20, 1
    s_mov_b32 s20, s6
    v_addc_co_u32_e64 v2, s[6:7], 0, v2, s[2:3]
    s_waitcnt vmcnt(0)
    global_store_dword v[40:41], v1, off
    global_store_dword v[40:41], v3, off
    s_cmp_lt_u32 s20, 9
    s_cbranch_scc1 loop
    s_endpgm
"""
WHAT = "3 scalar lines of a loop done before it"


def test_a_tuple_gets_registers_of_its_own() -> None:
    assert results(Hoist(), LOOP, block=1)[WHAT] == lines("""
        s_mov_b32 s20, 0
        s_mov_b32 s26, s10
        s_mov_b32 s12, s4
        s_mov_b32 s13, s5
        s_mov_b32 s14, s30
        s_mov_b32 s15, 0x27000
        buffer_load_dword v1, v2, s[12:15], 0 offen
        buffer_load_dword v3, v2, s[24:27], 0 offen
        s_add_i32 s6, s20, 1
        s_mov_b32 s20, s6
        v_addc_co_u32_e64 v2, s[6:7], 0, v2, s[2:3]
        s_waitcnt vmcnt(0)
        global_store_dword v[40:41], v1, off
        global_store_dword v[40:41], v3, off
        s_cmp_lt_u32 s20, 9
        s_cbranch_scc1 ->6
        s_endpgm
    """)


def test_it_is_proved() -> None:
    where = context(LOOP, 1)
    assert [ProofStage(where.program).check(after)[0].verdict for _, after in outcomes(Hoist(), where)] == [
        Verdict.PROVED
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("s_mov_b32 s6, s30", "s_mov_b32 s6, s20"),  # what is copied changes
        ("s_mov_b32 s7, 0x27000", "s_nop 0"),  # a part is left by the turn before
        ("s_mov_b32 s7, 0x27000", "s_add_u32 s7, s30, 4"),  # a part is computed
        ("s_mov_b32 s20, 0", "s_cbranch_scc0 loop"),  # entered by a branch as well
    ],
)
def test_tuples_that_stay(old: str, new: str) -> None:
    assert not results(Hoist(), LOOP.replace(old, new), block=1)


def test_the_grant_grows_where_it_costs_no_wave() -> None:
    busy = "\n".join(f"s_mov_b32 s{n}, 0" for n in range(12, 40))
    code = f"{busy}\n{LOOP}".replace("loop:", "1:").replace("scc1 loop", "scc1 1b").replace("v[40:41]", "v[4:5]")
    program = recover(CodeObject.parse(build(code)))
    (proposal,) = Hoist().propose(context_of(program, 1), random.Random(0))
    assert proposal.edits[0] == SetResources(sgprs=44 + UNNUMBERED_SGPRS)
    after = apply_all(program, proposal.edits)
    assert "buffer_load_dword v1, v2, s[40:43], 0 offen" in [line.instruction.text for line in after.lines]
    assert resources(program, after).verdict is Verdict.TESTED
    assert check_rebuild(after, rebuild(after)).verdict is Verdict.TESTED


NUMBERS = st.integers(0, 7)
line = st.one_of(
    st.builds("s_mov_b32 s{}, s{}".format, NUMBERS, st.integers(0, 11)),
    st.builds("s_mov_b32 s{}, 0x{:x}".format, NUMBERS, st.integers(64, 99)),
    st.builds("s_add_u32 s{}, s{}, 1".format, NUMBERS, NUMBERS),
    st.sampled_from([f"buffer_load_dword v1, v2, s[{n}:{n + 3}], 0 offen" for n in (0, 4, 8)]),
)


def turns(texts: list[str], before: list[str]) -> tuple[list[tuple[int, ...]], list[int]]:
    """Tuples that loads read on three turns of a loop, and what s0 to s7 hold behind it."""
    held = [1000 + n for n in range(40)]
    read: list[tuple[int, ...]] = []
    for text in [*before, *texts * 3]:
        if m := re.match(r"s_mov_b32 s(\d+), s(\d+)$", text):
            held[int(m[1])] = held[int(m[2])]
        elif m := re.match(r"s_mov_b32 s(\d+), (0x\w+)$", text):
            held[int(m[1])] = int(m[2], 16)
        elif m := re.match(r"s_add_u32 s(\d+), s(\d+), 1$", text):
            held[int(m[1])] = held[int(m[2])] + 1
        elif m := re.match(r"buffer_load_dword v1, v2, s\[(\d+):(\d+)\], 0 offen$", text):
            read.append(tuple(held[int(m[1]) : int(m[2]) + 1]))
        else:
            raise AssertionError(text)
    return read, held[:8]


@settings(max_examples=100, deadline=None)
@given(st.lists(line, min_size=2, max_size=12), st.sets(st.integers(0, 7)))
def test_random_loops_read_the_same_tuples(texts: list[str], live: set[int]) -> None:
    body = [Line(n, parse_instruction(text)) for n, text in enumerate(texts)]
    begin = sum(1 << n for n in live | _read_first(texts))
    found = lifted(body, begin, range(12, 40))
    if found is None:
        return
    after = [found.replaced.get(n, text) for n, text in enumerate(texts) if n not in found.gone]
    read, held = turns(texts, [])
    now, then = turns(after, list(found.before))
    assert now == read
    assert all(held[n] == then[n] for n in live)
    assert found.end > 12


def _read_first(texts: list[str]) -> set[int]:
    """SGPRs that a turn reads before it writes them."""
    where = program_from_text("\n".join(["loop:", *texts, "s_cbranch_scc1 loop", "s_endpgm"]))
    return {n for n in range(8) if liveness(where).live_in(0) & span(n, 1)}

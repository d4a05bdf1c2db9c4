"""Loads of a loop made at the end of the turn before."""

from __future__ import annotations

import random
from itertools import islice
from pathlib import Path

import pytest
from strategy_kit import context, context_of, outcomes, shown

from asmevo.codeobject import CodeObject
from asmevo.edit import apply_all
from asmevo.gate.matching import align
from asmevo.gate.proof import ProofStage
from asmevo.gate.static import StaticBaseline, discharge
from asmevo.program import Program, recover
from asmevo.strategies import Analyst
from asmevo.strategies.pipeline import Pipeline
from asmevo.timing import chip
from asmevo.verdict import Verdict
from programs import program_from_text

LOOP = """
    s_load_dwordx4 s[8:11], s[0:1], 0x0
    s_waitcnt lgkmcnt(0)
    s_mov_b32 s5, 0
    v_mov_b32_e32 v6, 0
loop:
    s_mov_b32 s14, s10
    s_mov_b32 s15, 0x27000
    v_lshlrev_b32_e32 v4, 2, v3
    buffer_load_dword v8, v4, s[12:15], 0 offen
    buffer_load_dwordx2 v[12:13], v2, s[8:11], 0 offen
    s_add_i32 s5, s5, 1
    v_add_u32_e32 v2, 0x80, v2
    v_add_u32_e32 v3, 1, v3
    s_waitcnt vmcnt(0)
    v_add_f32_e32 v6, v6, v8
    v_add_f32_e32 v6, v6, v12
    v_add_f32_e32 v6, v6, v13
    v_mul_f32_e32 v6, v6, v6
    v_mul_f32_e32 v6, v6, v6
    v_mul_f32_e32 v6, v6, v6
    v_mul_f32_e32 v6, v6, v6
    s_cmp_lg_u32 s5, s6
    s_cbranch_scc1 loop
    v_mov_b32_e32 v8, v6
    global_store_dword v[0:1], v8, off
    s_endpgm
"""


def proved(k0: Program, candidate: Program) -> bool:
    """Whether proof and static stage admit a candidate with K0's ids."""
    check, proofs = ProofStage(k0).check(candidate)
    ahead = frozenset(line for proof in proofs for line in proof.ahead)
    static = StaticBaseline(k0).check(candidate)
    static = discharge(static, frozenset(p.block for p in proofs if p.proved), ahead)
    return check.verdict is Verdict.PROVED and static.verdict is Verdict.TESTED and bool(ahead)


def candidates(text: str) -> list[list[str]]:
    """What comes of a loop, each of it proved."""
    k0 = program_from_text(text)
    found: list[list[str]] = []
    for note, after in outcomes(Pipeline(), context_of(k0, 1)):
        assert "made at the end of the turn before" in note
        assert proved(k0, align(k0, after)), note
        found.append(shown(after))
    return found


def test_both_loads_go_to_the_end_of_the_turn_before() -> None:
    found = candidates(LOOP)
    assert found
    lines = found[0]
    first = next(i for i, line in enumerate(lines) if line.startswith("s_mov_b32 s5"))
    loop = int(next(line for line in lines if "->" in line).partition("->")[2])
    branch = next(i for i, line in enumerate(lines) if "->" in line)
    loads = [i for i, line in enumerate(lines) if line.startswith("buffer_load")]
    assert [first < i < loop for i in loads] == [True, True, False, False]
    guards = [i for i, line in enumerate(lines) if line.startswith("s_cselect_b32")]
    compare = next(i for i, line in enumerate(lines) if line.startswith("s_cmp"))
    assert all(compare < i < branch and lines[i].endswith(", s10, 0") for i in guards) and len(guards) == 2
    assert [lines[i] for i in loads[:2]] == [lines[i] for i in sorted(loads[2:], key=lambda i: "x2" in lines[i])]


@pytest.mark.parametrize(
    "old, new",
    [
        ("s_cbranch_scc1 loop", "s_cbranch_scc0 loop"),
        (
            "    s_cbranch_scc1 loop\n",  # behind the loop a barrier too, for which the loads must have arrived
            "    s_barrier\n    s_cbranch_scc1 loop\n    s_barrier\n",
        ),
        ("v_mov_b32_e32 v8, v6", "v_readlane_b32 s4, v8, 1"),  # K0's register is looked at behind the loop
        ("    v_add_f32_e32 v6, v6, v13\n", "    v_readlane_b32 s7, v13, 3\n    v_add_f32_e32 v6, s7, v6\n"),
        ("v_lshlrev_b32_e32 v4, 2, v3", "v_add_lshl_u32 v4, s5, v3, 2"),
    ],
)
def test_other_loops(old: str, new: str) -> None:
    assert old in LOOP
    assert candidates(LOOP.replace(old, new))


@pytest.mark.parametrize(
    "old, new",
    [
        ("s_cbranch_scc1 loop", "s_cbranch_vccnz loop"),
        ("    s_mov_b32 s5, 0\n", "    s_cbranch_scc1 loop\n"),
        ("loop:\n", "loop:\n    s_mov_b64 exec, s[20:21]\n"),
        ("0 offen", "0 offen sc0 sc1"),
        ("0 offen", "s7 offen"),
        ("buffer_load_dword v8", "buffer_load_short_d16 v8"),
    ],
)
def test_not_these(old: str, new: str) -> None:
    assert old in LOOP
    text = LOOP.replace(old, new)
    if "d16" in new:
        text = text.replace("    buffer_load_dwordx2 v[12:13], v2, s[8:11], 0 offen\n", "")
    where = context(text, 2 if "scc1 loop" in new else 1)
    assert list(outcomes(Pipeline(), where)) == []


def test_a_load_from_what_the_loop_loads_stays() -> None:
    text = LOOP.replace(
        "buffer_load_dwordx2 v[12:13], v2,", "s_waitcnt vmcnt(0)\n    buffer_load_dwordx2 v[12:13], v8,"
    )
    for lines in candidates(text):
        assert sum(line.startswith("buffer_load_dwordx2") for line in lines) == 1


def test_scales_of_the_example(fp8_gemm_path: Path) -> None:
    k0 = recover(CodeObject.parse(fp8_gemm_path.read_bytes()))
    where = context_of(k0, 6, Analyst(k0, chip("mi300x")))
    found = list(islice(Pipeline().propose(where, random.Random(0)), 1))
    assert found and all(proposal.gain > 0 for proposal in found)
    for proposal in found:
        after = apply_all(k0, proposal.edits)
        assert proved(k0, align(k0, after)), proposal.note

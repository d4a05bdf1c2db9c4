"""Loads made one turn of a loop ahead: the whole gate on a kernel whose input ends where its last turn's load does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from asmevo.codeobject import CodeObject
from asmevo.device import IsolatedDevice
from asmevo.edit import Delete, Insert, Replace, apply_all
from asmevo.gate import Gate
from asmevo.gate.static import discharge
from asmevo.launch import Buffer, Field, Integers, Launch
from asmevo.program import rebuild, recover
from asmevo.verdict import Check, Finding, Severity, Verdict
from small_objects import build

CODE = """
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    s_load_dword s12, s[0:1], 0x8
    v_lshlrev_b32_e32 v1, 2, v0
    v_mov_b32_e32 v2, v1
    s_mov_b32 s8, 0
    v_mov_b32_e32 v3, 1
    s_waitcnt lgkmcnt(0)
    s_and_b32 s5, s5, 0xffff
    s_mov_b32 s10, 0x7ffffffe
    s_mov_b32 s11, 0x27000
    s_mov_b64 s[16:17], s[4:5]
    s_mov_b64 s[18:19], s[10:11]
top:
    buffer_load_dword v4, v2, s[16:19], 0 offen
    s_add_u32 s8, s8, 1
    v_add_u32_e32 v2, 0x100, v2
    s_waitcnt vmcnt(0)
    v_add_u32_e32 v3, v3, v4
    s_cmp_lt_u32 s8, s12
    s_cbranch_scc1 top
    v_mov_b32_e32 v4, v3
    buffer_store_dword v4, v1, s[16:19], 0 offen
    s_endpgm
    s_nop 0
"""
"""p[i] += 1 + p[64 + i] + p[128 + i] ...; what of p lies behind the last turn's load is a red zone."""


def launch(turns: int) -> Launch:
    return Launch(
        name=f"{turns} turns",
        grid=(1, 1, 1),
        block=(64, 1, 1),
        kernarg=(Field("p", 0, buffer="p"), Field("turns", 8, turns)),
        buffers=(Buffer("p", "inout", "int32", (64 * turns,), Integers(1, 1, 10**6), red_zone=512),),
    )


DATA = build(CODE)
K0 = recover(CodeObject.parse(DATA))
LOAD, WAIT, SUM, COMPARE, BRANCH, OUT = (
    next(line.id for line in K0.lines if line.instruction.text.startswith(text))
    for text in ("buffer_load", "s_waitcnt vmcnt", "v_add_u32_e32 v3", "s_cmp", "s_cbranch", "v_mov_b32_e32 v4")
)
QUAD = ("s_mov_b64 s[20:21], s[16:17]", "s_mov_b64 s[22:23], s[18:19]")
GUARD = "s_cselect_b32 s22, s18, 0"
AHEAD = "buffer_load_dword v5, v2, s[20:23], 0 offen"


def edits(first=(*QUAD, AHEAD), wait="s_waitcnt vmcnt(0)", last=(GUARD, AHEAD), reader="v_add_u32_e32 v3, v3, v5"):
    found = [Replace(WAIT, wait), Replace(SUM, reader), Insert(LOAD, first, fallthrough=True)]
    return (*found, Insert(BRANCH, last), Delete((LOAD,)))


@pytest.fixture(scope="module")
def gate():
    with IsolatedDevice() as device:
        yield Gate(DATA, [launch(1), launch(3)], device)


def examine(gate, changes):
    return gate.examine(rebuild(apply_all(K0, changes)), K0, changes)


def in_place(more=()):
    """The load in the register that K0 has, which the code behind the loop writes, too."""
    own = AHEAD.replace("v5", "v4")
    return (*edits((*QUAD, own), last=(GUARD, own), reader="v_add_u32_e32 v3, v3, v4"), *more)


@pytest.mark.parametrize("changes", [edits(), in_place([Insert(OUT, "s_waitcnt vmcnt(0)")])], ids=["other", "same"])
def test_a_guarded_load_of_the_next_turn_is_proved(gate, changes):
    report = examine(gate, changes)
    assert report.verdict is Verdict.PROVED, report.refused_by
    assert [check.name for check in report.checks][-1] == "checked"


WRONG = {
    "static": {
        "no wait for it on the next turn": edits(wait="s_nop 0"),
        "a wait that lets it be late": edits(wait="s_waitcnt vmcnt(1)"),
        "no wait for it behind the loop": in_place(),
    },
    "proof": {
        "no guard": edits(last=("s_nop 0", AHEAD)),
        "K0's descriptor": edits(last=(AHEAD.replace("20:23", "16:19"),)),
        "a guard the wrong way around": edits(last=("s_cselect_b32 s22, 0, s18", AHEAD)),
        "nothing loaded for the first turn": edits(first=QUAD),
        "nothing loaded for the other turns": edits(last=(GUARD,)),
        "the second row on the first turn": edits(first=(*QUAD, AHEAD + " offset:256")),
        "the same row again": edits(last=(GUARD, AHEAD.replace("v2", "v1"))),
    },
}


@pytest.mark.parametrize("stage, name", [(stage, name) for stage, cases in WRONG.items() for name in cases])
def test_wrong_ones_are_refused(gate, stage, name):
    report = examine(gate, WRONG[stage][name])
    assert not report.verdict.admitted
    by = report.refused_by
    assert by is not None and by.name in ("static", stage), report.to_json()
    assert by.name == stage or by.findings[0].rule == "order.unmatched_access"  # nothing proves the block


PASSED = Finding("order.fence", "Line 9 now comes before line 7.", Severity.ERROR, 9, {"other": 7})


@pytest.mark.parametrize(
    "finding, proved, ahead, expected",
    [
        (PASSED, {0}, {7}, Verdict.TESTED),
        (PASSED, {0}, {8, 9}, Verdict.REFUTED),
        (PASSED, {0}, set(), Verdict.REFUTED),
        (PASSED, {1}, {7}, Verdict.REFUTED),
        (replace(PASSED, rule="order.memory"), {0}, {7}, Verdict.REFUTED),
        (replace(PASSED, rule="wait.raw"), {0}, {7}, Verdict.REFUTED),
    ],
)
def test_the_load_of_another_turn_may_stand_behind_a_fence(finding, proved, ahead, expected):
    """What is matched with K0's load by its looks may be the next turn's, as the proof knows."""
    found = Check("static", Verdict.REFUTED, (finding,), {"unmatched_blocks": [0]})
    assert discharge(found, frozenset(proved), frozenset(ahead)).verdict is expected


def test_what_a_guard_is_for(gate):
    """Without one, the last turn's load is outside of the input, which the launches alone would show as well."""
    changes = edits(last=("s_nop 0", AHEAD))
    obj = CodeObject.parse(rebuild(apply_all(K0, changes)))
    program = replace(apply_all(K0, changes), source=K0.source)
    check = gate._checked.check(obj, program, None, gate.baseline(), gate._device)
    assert check is not None and check.verdict is Verdict.REFUTED
    assert "check.bounds" in {finding.rule for finding in check.findings}, check.findings

"""Webs and renaming: values that begin and end inside a block, in other registers."""

from __future__ import annotations

import random

from strategy_kit import context, lines, outcomes, shown

from asmevo.edit import Replace, apply_all
from asmevo.isa import span
from asmevo.isa.registers import VGPR_BASE
from asmevo.strategies.priority import Priority
from asmevo.strategies.rename import Rename
from asmevo.strategies.webs import moved, names_of, webs

MFMA = "v_mfma_f32_16x16x32_fp8_fp8"
REUSED = """
    global_load_dwordx2 v[8:9], v[20:21], off
    s_waitcnt vmcnt(0)
    v_add_f32_e32 v0, v8, v9
    global_load_dwordx2 v[8:9], v[22:23], off
    s_waitcnt vmcnt(0)
    v_add_f32_e32 v1, v8, v9
    v_add_f32_e32 v2, v2, v1
    global_store_dword v[24:25], v0, off
    global_store_dword v[24:25], v2, off offset:4
    s_endpgm
"""


def found(text: str):
    where = context(text)
    return where, webs(where.lines, where.analyses.liveness.live_out(where.block.last - 1))


def test_webs_are_told_apart_where_a_register_is_used_again() -> None:
    _, those = found(REUSED)
    assert [(names_of(web.registers), web.first) for web in those] == [
        ("v8-v9", 0), ("v0", 2), ("v8-v9", 3), ("v1", 5), ("v2", 6),
    ]  # fmt: skip


def test_what_comes_from_outside_or_is_read_outside_is_no_web() -> None:
    where = context(REUSED)
    those = webs(where.lines, span(VGPR_BASE + 2, 1))
    assert "v2" not in [names_of(web.registers) for web in those], "live behind the block"
    assert "v20" not in [names_of(web.registers) for web in those], "live in front of it"


def test_a_web_moves_as_a_whole_and_alone() -> None:
    where, those = found(REUSED)
    texts = moved(where.lines, those[2], VGPR_BASE + 40)
    assert texts is not None
    after = apply_all(where.program, [Replace(i, text) for i, text in texts.items()])
    assert shown(after)[2:6] == lines("""
        v_add_f32_e32 v0, v8, v9
        global_load_dwordx2 v[40:41], v[22:23], off
        s_waitcnt vmcnt(0)
        v_add_f32_e32 v1, v40, v41
    """)


def test_accumulation_over_another_value_may_have_other_registers() -> None:
    _, those = found(f"""
        {MFMA} v[0:3], v[8:9], v[10:11], 0
        {MFMA} v[0:3], v[8:9], v[10:11], v[0:3]
        v_add_f32_e32 v12, v0, v1
        global_store_dword v[24:25], v12, off
        s_endpgm
    """)
    assert [(names_of(web.registers), web.first) for web in those] == [("v0-v3", 0), ("v0-v3", 1), ("v12", 2)]


def test_both_halves_that_one_instruction_names_move_together() -> None:
    where, those = found("""
        global_load_dword v8, v[20:21], off
        global_load_dword v9, v[22:23], off
        s_waitcnt vmcnt(0)
        v_pk_mul_f32 v[0:1], v[8:9], v[8:9]
        global_store_dwordx2 v[24:25], v[0:1], off
        s_endpgm
    """)
    assert [names_of(web.registers) for web in those] == ["v8-v9", "v0-v1"]
    texts = moved(where.lines, those[0], VGPR_BASE + 30)
    assert texts is not None and texts[3] == "v_pk_mul_f32 v[0:1], v[30:31], v[30:31]"


def test_renaming_lets_the_second_load_go_first() -> None:
    early = []
    for seed in range(4):
        for note, after in outcomes(Rename(), context(REUSED, accum_offset=128), seed):
            texts = shown(after)
            loads = [n for n, text in enumerate(texts) if text.startswith("global_load")]
            assert "renamed" in note
            early.append(loads[1] < texts.index("s_waitcnt vmcnt(1)") if "s_waitcnt vmcnt(1)" in texts else False)
    assert any(early)


def test_nothing_is_renamed_where_exec_changes() -> None:
    text = REUSED.replace("v_add_f32_e32 v0, v8, v9", "v_add_f32_e32 v0, v8, v9\n    s_mov_b64 exec, s[4:5]")
    assert list(Rename().propose(context(text, accum_offset=128), random.Random(0))) == []


def test_priority_goes_up_around_matrix_instructions_and_down_again() -> None:
    text = "\n".join(f"{MFMA} v[{n}:{n + 3}], v[40:41], v[42:43], 0" for n in range(0, 20, 4))
    text = f"v_mov_b32_e32 v50, v51\n{text}\nv_mov_b32_e32 v52, v53\ns_endpgm"
    note, after = next(iter(outcomes(Priority(), context(text))))
    texts = shown(after)
    assert texts[1].startswith("s_setprio ") and texts[7] == "s_setprio 0" and "1 runs" in note
    again = context("s_setprio 1\ns_endpgm")
    assert [shown(after) for _, after in outcomes(Priority(), again)] == [["s_endpgm"]]

"""Loads made one turn of a loop ahead: what is proved, and what must not be."""

from __future__ import annotations

import pytest

from asmevo.prove import Prover
from programs import program_from_text

K0 = """
    s_load_dwordx4 s[8:11], s[0:1], 0x0
    s_load_dword s6, s[0:1], 0x10
    s_waitcnt lgkmcnt(0)
    s_and_b64 vcc, exec, s[4:5]
    s_cbranch_vccnz out
    s_mov_b32 s5, 0
    v_mov_b32_e32 v6, 0
loop:
    v_lshlrev_b32_e32 v4, 2, v3
    buffer_load_dword v8, v4, s[8:11], 0 offen
    buffer_load_dwordx2 v[12:13], v2, s[8:11], 0 offen
    s_add_i32 s5, s5, 1
    v_add_u32_e32 v2, 0x80, v2
    v_add_u32_e32 v3, 1, v3
    s_waitcnt vmcnt(0)
    v_add_f32_e32 v6, v6, v8
    v_add_f32_e32 v6, v6, v12
    v_add_f32_e32 v6, v6, v13
    s_cmp_lg_u32 s5, s6
    s_cbranch_scc1 loop
out:
    global_store_dword v0, v6, s[2:3]
    s_endpgm
"""
FRONT = """    v_mov_b32_e32 v6, 0
    s_mov_b64 s[20:21], s[8:9]
    s_mov_b32 s22, s10
    s_mov_b32 s23, s11
    v_lshlrev_b32_e32 v5, 2, v3
    buffer_load_dword v8, v5, s[20:23], 0 offen
    buffer_load_dwordx2 v[12:13], v2, s[20:23], 0 offen
loop:
"""
BEHIND = """    s_cmp_lg_u32 s5, s6
    s_cselect_b32 s22, s10, 0
    v_lshlrev_b32_e32 v5, 2, v3
    buffer_load_dword v8, v5, s[20:23], 0 offen
    buffer_load_dwordx2 v[12:13], v2, s[20:23], 0 offen
    s_cbranch_scc1 loop
"""


def replaced(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


AHEAD = replaced(
    K0,
    ("    v_mov_b32_e32 v6, 0\nloop:\n", FRONT),
    ("    v_lshlrev_b32_e32 v4, 2, v3\n    buffer_load_dword v8, v4, s[8:11], 0 offen\n", ""),
    ("    buffer_load_dwordx2 v[12:13], v2, s[8:11], 0 offen\n    s_add_i32", "    s_add_i32"),
    ("    s_cmp_lg_u32 s5, s6\n    s_cbranch_scc1 loop\n", BEHIND),
)


def proved(candidate: str, k0: str = K0) -> bool:
    proofs = Prover(program_from_text(k0)).blocks(program_from_text(candidate))
    assert proofs, "nothing was changed"
    return all(proof.proved for proof in proofs)


def test_loads_of_the_next_turn_through_a_guarded_descriptor():
    assert proved(AHEAD)


def test_the_lines_that_load_ahead_are_told():
    program = program_from_text(AHEAD)
    lines = {i for proof in Prover(program_from_text(K0)).blocks(program) for i in proof.ahead}
    assert lines == {line.id for line in program.lines if line.instruction.text.startswith("buffer_load")}


def both(*pairs: tuple[str, str]) -> tuple[str, str]:
    """K0 and the candidate with the same change."""
    return replaced(AHEAD, *pairs), replaced(K0, *pairs)


LAST = "    buffer_load_dwordx2 v[12:13], v2, s[20:23], 0 offen\n    s_cbranch_scc1 loop\n"
FIRST = "    buffer_load_dwordx2 v[12:13], v2, s[20:23], 0 offen\nloop:\n"

SECOND = "    s_endpgm\nother:\n    s_mov_b32 s5, 1\n    v_mov_b32_e32 v6, 0\n"
"""Another block that leads into the loop."""


def two_ways(own: str) -> tuple[str, str]:
    """K0 and the candidate with a second way into the loop, on which the candidate does `own` as well."""
    candidate, k0 = both(("    s_cbranch_vccnz out\n", "    s_cbranch_vccnz other\n"))
    return (
        replaced(candidate, ("    s_endpgm\n", SECOND + own + "    s_branch loop\n")),
        replaced(k0, ("    s_endpgm\n", SECOND + "    s_branch loop\n")),
    )


SCALAR = """
    s_load_dwordx4 s[8:11], s[0:1], 0x0
    s_waitcnt lgkmcnt(0)
    s_mov_b32 s5, 0
    v_mov_b32_e32 v6, 0
loop:
    global_load_dword v8, v0, s[8:9]
    s_add_u32 s8, s8, s10
    s_addc_u32 s9, s9, 0
    s_add_i32 s5, s5, 1
    s_waitcnt vmcnt(0)
    v_add_f32_e32 v6, v6, v8
    s_cmp_lg_u32 s5, s11
    s_cbranch_scc1 loop
    global_store_dword v0, v6, s[2:3]
    s_endpgm
"""
SCALAR_AHEAD = replaced(
    SCALAR,
    (
        "loop:\n    global_load_dword v8, v0, s[8:9]\n",
        "    global_load_dword v8, v0, s[8:9]\nloop:\n    s_mov_b64 s[14:15], s[8:9]\n",
    ),
    (
        "    s_cbranch_scc1 loop\n",
        "    s_cselect_b64 s[14:15], s[8:9], s[14:15]\n    global_load_dword v8, v0, s[14:15]\n"
        "    s_cbranch_scc1 loop\n",
    ),
)

ALSO_RIGHT = {
    "a load that is the same on every turn, without a guard": (
        replaced(AHEAD, ("    v_add_u32_e32 v2, 0x80, v2\n", "")).replace("v2, s[20:23]", "v2, s[8:11]"),
        replaced(K0, ("    v_add_u32_e32 v2, 0x80, v2\n", "")),
    ),
    "the address of this turn where there is no next one": (SCALAR_AHEAD, SCALAR),
    "two blocks that lead into the loop": two_ways(FRONT.partition("\n")[2].removesuffix("loop:\n")),
    "one of the loads only": (
        replaced(
            AHEAD,
            (FIRST, "loop:\n    buffer_load_dwordx2 v[12:13], v2, s[8:11], 0 offen\n"),
            (LAST, "    s_cbranch_scc1 loop\n"),
        ),
        K0,
    ),
    "in registers of their own": (
        AHEAD.replace("v8", "v30").replace("v[12:13]", "v[32:33]").replace("v12", "v32").replace("v13", "v33"),
        K0,
    ),
    "a barrier in the loop, and no store in front of it": both(
        ("    s_add_i32 s5, s5, 1\n", "    s_barrier\n    s_add_i32 s5, s5, 1\n")
    ),
    "a branch that goes back with SCC 0": (
        AHEAD.replace("s_cbranch_scc1", "s_cbranch_scc0").replace("cselect_b32 s22, s10, 0", "cselect_b32 s22, 0, s10"),
        K0.replace("s_cbranch_scc1", "s_cbranch_scc0"),
    ),
    "behind a store in the loop": both(
        ("    s_cmp_lg_u32 s5, s6\n", "    global_store_dword v0, v6, s[2:3]\n    s_cmp_lg_u32 s5, s6\n")
    ),
    "a store through the same descriptor, still in front of the load": both(
        ("    s_cmp_lg_u32 s5, s6\n", "    buffer_store_dword v6, v2, s[8:11], 0 offen\n    s_cmp_lg_u32 s5, s6\n")
    ),
}


@pytest.mark.parametrize("name", ALSO_RIGHT)
def test_other_forms(name):
    assert proved(*ALSO_RIGHT[name])


WRONG = {
    "overwritten on the back edge": (
        replaced(AHEAD, (LAST, LAST.replace("    s_cbranch", "    v_mov_b32_e32 v12, 0\n    s_cbranch"))),
        K0,
    ),
    "overwritten on a second way into the loop": two_ways(
        FRONT.partition("\n")[2].removesuffix("loop:\n") + "    v_mov_b32_e32 v12, 0\n"
    ),
    "one load more in front of the loop": (
        replaced(AHEAD, (FIRST, "    buffer_load_dword v40, v0, s[20:23], 0 offen\n" + FIRST)),
        K0,
    ),
    "a guard that a constant offset may get around": (
        AHEAD.replace("s[20:23], 0 offen", "s[20:23], 4 offen"),
        K0.replace("s[8:11], 0 offen", "s[8:11], 4 offen"),
    ),
    "a second block that leads into the loop without the loads": two_ways(""),
    "a second block that leads into the loop with one of the loads": two_ways(
        FRONT.partition("\n")[2].removesuffix(FIRST)
    ),
    "the address of the next turn where there is none": (
        SCALAR_AHEAD.replace("s[8:9], s[14:15]\n", "s[8:9], s[8:9]\n"),
        SCALAR,
    ),
    "the address of the turn before": (SCALAR_AHEAD.replace("s[8:9], s[14:15]\n", "s[14:15], s[8:9]\n"), SCALAR),
    "half an address of this turn": (
        SCALAR_AHEAD.replace(
            "s_cselect_b64 s[14:15], s[8:9], s[14:15]", "s_cselect_b32 s14, s8, s14\n    s_mov_b32 s15, s9"
        ),
        SCALAR,
    ),
    "on the back edge the address of this turn": (
        replaced(
            AHEAD,
            ("    v_add_u32_e32 v2, 0x80, v2\n", ""),
            (LAST, LAST.replace("    s_cbranch", "    v_add_u32_e32 v2, 0x80, v2\n    s_cbranch")),
        ),
        K0,
    ),
    "on the back edge the address of the turn after the next": (
        replaced(AHEAD, (LAST, LAST.replace("offen", "offen offset:128"))),
        K0,
    ),
    "in front of the loop the address of the second turn": (
        replaced(AHEAD, (FIRST, FIRST.replace("offen", "offen offset:128"))),
        K0,
    ),
    "in front of the loop an index that is not scaled": (
        replaced(
            AHEAD,
            (
                "v8, v5, s[20:23], 0 offen\n    buffer_load_dwordx2 v[12:13], v2, s[20:23], 0 offen\nloop",
                "v8, v3, s[20:23], 0 offen\n    buffer_load_dwordx2 v[12:13], v2, s[20:23], 0 offen\nloop",
            ),
        ),
        K0,
    ),
    "no load in front of the loop": (replaced(AHEAD, (FIRST, "loop:\n")), K0),
    "no load on the back edge": (replaced(AHEAD, (LAST, "    s_cbranch_scc1 loop\n")), K0),
    "twice on the back edge": (replaced(AHEAD, (LAST, LAST.split("\n")[0] + "\n" + LAST)), K0),
    "twice in front of the loop": (replaced(AHEAD, (FIRST, FIRST.split("\n")[0] + "\n" + FIRST)), K0),
    "one load more, without records": (
        replaced(AHEAD, (LAST, "    buffer_load_dword v40, v0, s[20:23], 0 offen\n" + LAST)),
        K0,
    ),
    "one load more, without records on the way out": (
        replaced(
            AHEAD, (LAST, "    s_cselect_b32 s26, 0, 0\n    buffer_load_dword v40, v0, s[24:27], 0 offen\n" + LAST)
        ),
        K0,
    ),
    "overwritten in front of the loop": (
        replaced(AHEAD, (FIRST, FIRST.replace("loop:", "    v_mov_b32_e32 v12, 0\nloop:"))),
        K0,
    ),
    "overwritten in the loop": (replaced(AHEAD, ("loop:\n", "loop:\n    v_mov_b32_e32 v12, 0\n")), K0),
    "overwritten in some lanes": (
        replaced(AHEAD, ("loop:\n", "loop:\n    v_cndmask_b32_e32 v12, v12, v0, vcc\n")),
        K0,
    ),
    "the results exchanged": (
        AHEAD.replace("v6, v6, v13", "v6, v6, v99").replace("v6, v6, v12", "v6, v6, v13").replace("v99", "v12"),
        K0,
    ),
    "no guard": (AHEAD.replace("s_cselect_b32 s22, s10, 0", "s_mov_b32 s22, s10"), K0),
    "K0's own descriptor, with as many records as there are": (AHEAD.replace("s[20:23]", "s[8:11]"), K0),
    "a guard for the other way": (AHEAD.replace("s22, s10, 0", "s22, 0, s10"), K0),
    "a guard of one record": (AHEAD.replace("s22, s10, 0", "s22, s10, 1"), K0),
    "a guard of -1 records": (AHEAD.replace("s22, s10, 0", "s22, s10, -1"), K0),
    "a guard of another word of the descriptor": (
        AHEAD.replace("s_cselect_b32 s22, s10, 0", "s_cselect_b32 s20, s8, 0"),
        K0,
    ),
    "a guard by another comparison": (
        replaced(
            AHEAD,
            (
                "    s_cmp_lg_u32 s5, s6\n    s_cselect_b32 s22, s10, 0\n",
                "    s_cmp_lg_u32 s5, s7\n    s_cselect_b32 s22, s10, 0\n    s_cmp_lg_u32 s5, s6\n",
            ),
        ),
        K0,
    ),
    "a guard before the comparison": (
        replaced(
            AHEAD,
            (
                "    s_cmp_lg_u32 s5, s6\n    s_cselect_b32 s22, s10, 0\n",
                "    s_cselect_b32 s22, s10, 0\n    s_cmp_lg_u32 s5, s6\n",
            ),
        ),
        K0,
    ),
    "SCC changed behind the guard": (
        replaced(AHEAD, (LAST, LAST.replace("    s_cbranch", "    s_cmp_lg_u32 s5, s7\n    s_cbranch"))),
        K0,
    ),
    "a guard that a scalar offset may get around": (
        AHEAD.replace("s[20:23], 0 offen", "s[20:23], s7 offen"),
        K0.replace("s[8:11], 0 offen", "s[8:11], s7 offen"),
    ),
    "a branch that VCC decides": both(("    s_cbranch_scc1 loop\n", "    s_cbranch_vccnz loop\n")),
    "a base of the guarded descriptor that changes in the loop": (
        replaced(AHEAD, ("    s_cselect", "    s_mov_b32 s21, 0\n    s_cselect")),
        K0,
    ),
    "a number of records that changes in K0's loop": (
        replaced(
            AHEAD,
            ("    s_cselect_b32 s22, s10, 0\n", "    s_cselect_b32 s22, s26, 0\n"),
            ("    s_mov_b32 s23, s11\n", "    s_mov_b32 s23, s11\n    s_mov_b32 s26, s10\n"),
            ("    s_add_i32 s5, s5, 1\n", "    s_add_i32 s5, s5, 1\n    s_lshr_b32 s10, s10, 1\n"),
        ),
        replaced(K0, ("    s_add_i32 s5, s5, 1\n", "    s_add_i32 s5, s5, 1\n    s_lshr_b32 s10, s10, 1\n")),
    ),
    "a loop that is entered from a second place": both(
        ("    s_mov_b32 s5, 0\n", "    s_cbranch_scc1 loop\n    s_mov_b32 s5, 0\n")
    ),
    "a loop that may be passed by": both(("loop:\n", "    s_cbranch_execz out\nloop:\n")),
    "a store that the load passes": (
        replaced(AHEAD, (LAST, LAST.replace("    s_cbranch", "    global_store_dword v0, v6, s[2:3]\n    s_cbranch"))),
        replaced(K0, ("    s_cbranch_scc1 loop", "    global_store_dword v0, v6, s[2:3]\n    s_cbranch_scc1 loop")),
    ),
    "a store at the head of the loop that the load passes": both(
        ("loop:\n", "loop:\n    global_store_dword v0, v6, s[2:3]\n")
    ),
    "an atomic that the load passes": both(("loop:\n", "loop:\n    global_atomic_add v0, v6, s[2:3]\n")),
    "a barrier behind which another wave's store is seen": both(
        ("loop:\n", "loop:\n    s_barrier\n"),
        ("    s_cmp_lg_u32 s5, s6\n", "    global_store_dword v0, v6, s[2:3]\n    s_cmp_lg_u32 s5, s6\n"),
    ),
    "caches that are emptied": both(("loop:\n", "loop:\n    buffer_inv sc1\n")),
    "a load that waits for another wave": (
        AHEAD.replace("0 offen", "0 offen sc0 sc1"),
        K0.replace("0 offen", "0 offen sc0 sc1"),
    ),
    "a load behind a poll": both(
        ("loop:\n", "loop:\n    global_load_dword v20, v0, s[2:3] sc0 sc1\n    v_add_u32_e32 v6, v6, v20\n")
    ),
    "lanes switched off in front of K0's load": both(("loop:\n", "loop:\n    s_mov_b64 exec, s[16:17]\n")),
    "lanes switched off on the back edge": both(
        ("    s_add_i32 s5, s5, 1\n", "    s_add_i32 s5, s5, 1\n    s_mov_b64 exec, s[16:17]\n"),
        ("loop:\n", "loop:\n    s_mov_b64 exec, s[18:19]\n"),
    ),
    "another rounding or denormal mode in front of K0's load": both(
        ("loop:\n", "loop:\n    s_setreg_imm32_b32 hwreg(HW_REG_MODE), 0\n")
    ),
    "read where lanes may be off": both(
        ("    v_add_f32_e32 v6, v6, v13\n", "    v_readlane_b32 s28, v13, s7\n    v_add_f32_e32 v6, s28, v6\n")
    ),
    "a result that is read behind the loop": both(
        (
            "    global_store_dword v0, v6, s[2:3]\n    s_endpgm",
            "    global_store_dword v0, v6, s[2:3]\n    global_store_dword v0, v8, s[2:3] offset:4\n    s_endpgm",
        )
    ),
    "half of a register kept": (
        AHEAD.replace("buffer_load_dword v8", "buffer_load_short_d16 v8"),
        K0.replace("buffer_load_dword v8", "buffer_load_short_d16 v8"),
    ),
    "more turns": (replaced(AHEAD, ("s_cmp_lg_u32 s5, s6", "s_cmp_lg_u32 s5, s7")), K0),
    "something else computed": (
        replaced(AHEAD, ("    v_add_f32_e32 v6, v6, v13\n", "    v_sub_f32_e32 v6, v6, v13\n")),
        K0,
    ),
    "something else left in front of the loop": (
        replaced(AHEAD, ("    v_mov_b32_e32 v6, 0\n", "    v_mov_b32_e32 v6, 1\n")),
        K0,
    ),
}


SIGNALLED = """
    s_cmp_lg_u32 s5, s6
    s_cbranch_scc1 consumer
    global_store_dword v0, v6, s[2:3]
    s_waitcnt vmcnt(0)
    ds_write_b32 v0, v6
    s_endpgm
consumer:
    v_mov_b32_e32 v6, 0
loop:
    ds_read_b32 v20, v9
    s_waitcnt lgkmcnt(0)
    global_load_dword v8, v0, s[2:3]
    s_waitcnt vmcnt(0)
    v_mov_b32_e32 v6, v8
    v_readfirstlane_b32 s9, v20
    s_cmp_eq_u32 s9, 0
    s_cbranch_scc1 loop
    ds_write_b32 v10, v6
    s_endpgm
"""
"""A wave waits in LDS for what another one stores: the last turn's load is the first that may see it."""
_SEEN = "    global_load_dword v8, v0, s[2:3]\n"
SIGNALLED_EARLY = replaced(SIGNALLED.replace(_SEEN, ""), ("loop:\n", "loop:\n" + _SEEN))
SIGNALLED_AHEAD = replaced(
    SIGNALLED.replace(_SEEN, ""),
    ("loop:\n", _SEEN + "loop:\n"),
    ("    s_cbranch_scc1 loop\n", _SEEN + "    s_cbranch_scc1 loop\n"),
)
WRONG |= {
    "a load that passes a signal in LDS": (SIGNALLED_AHEAD, SIGNALLED),
    "a load in front of a signal in LDS": (SIGNALLED_EARLY, SIGNALLED),
    "a load that passes a signal in LDS by an atomic": (
        SIGNALLED_AHEAD.replace("ds_read_b32 v20, v9", "ds_add_rtn_u32 v20, v9, v11"),
        SIGNALLED.replace("ds_read_b32 v20, v9", "ds_add_rtn_u32 v20, v9, v11"),
    ),
}


def test_lds_that_is_no_signal():
    """Nothing is written to LDS behind a store, or nothing that is loaded from LDS decides whether to wait."""
    for candidate in (SIGNALLED_AHEAD, SIGNALLED_EARLY):
        assert proved(*(text.replace("    ds_write_b32 v0, v6\n", "") for text in (candidate, SIGNALLED)))
        assert proved(*(text.replace("s_cmp_eq_u32 s9, 0", "s_cmp_eq_u32 s7, 0") for text in (candidate, SIGNALLED)))


@pytest.mark.parametrize("name", WRONG)
def test_not_proved(name):
    assert not proved(*WRONG[name])

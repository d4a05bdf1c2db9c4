"""Placing waits: the weakest, at the latest points, as others rely on them."""

from __future__ import annotations

import pytest

from asmevo.isa.wait import Wait
from asmevo.program import Program, control_kind
from asmevo.program.placement import PlacedWait, WaitPlacer, with_values, with_waits
from asmevo.program.waits import WaitAnalysis
from programs import program_from_text


def stripped(program: Program) -> Program:
    """Without waits; the tests have none where branches go."""
    return program.with_lines(tuple(x for x in program.lines if control_kind(x.instruction) != "waitcnt"))


def placed(text: str, block: int = 0, order: tuple[int, ...] = ()) -> list[tuple[int, str]] | None:
    """(line before which, wait) for a block of the text whose waits were taken out, in a new order of ids."""
    reference = program_from_text(text)
    candidate = stripped(reference)
    if order:
        candidate = candidate.with_lines(tuple(candidate.line(i) for i in order), entry=order[0])
    found = WaitPlacer(reference).place(candidate, block)
    if found is None:
        return None
    assert WaitPlacer(reference).is_right(with_waits(candidate, found))
    return [(p.before, ("behind " if p.fallthrough else "") + str(p.wait)) for p in found]


LOADS = """
    buffer_load_dword v1, v0, s[4:7], 0 offen
    buffer_load_dword v2, v0, s[4:7], 0 offen offset:4
    ds_read_b32 v3, v0
    s_waitcnt vmcnt(0) lgkmcnt(0)
    v_mov_b32_e32 v8, 0
    v_add_u32_e32 v4, v1, v3
    v_add_u32_e32 v5, v2, v2
    s_endpgm
"""


def test_waits_stand_right_before_the_line_that_needs_them():
    assert placed(LOADS) == [(5, "s_waitcnt vmcnt(1) lgkmcnt(0)"), (6, "s_waitcnt vmcnt(0)")]
    swapped = placed(LOADS, order=(1, 0, 2, 4, 6, 5, 7))
    assert swapped == [(6, "s_waitcnt vmcnt(1)"), (5, "s_waitcnt vmcnt(0) lgkmcnt(0)")]


def test_an_order_that_no_wait_makes_right_has_no_placement():
    """The barrier comes before the accesses that K0 has finished there."""
    text = "ds_write_b32 v0, v1\ns_waitcnt lgkmcnt(0)\ns_barrier\nds_read_b32 v2, v0\ns_endpgm"
    assert placed(text) == [(2, "s_waitcnt lgkmcnt(0)")]
    assert placed(text, order=(2, 0, 3, 4)) is None


def test_a_barrier_waits_for_what_others_need_and_no_more():
    """K0 waits for all at the barrier. The load of a register is nobody else's affair where no store follows."""
    text = """
        buffer_load_dword v9, s[4:7], 0 offen lds
        buffer_load_dword v1, v0, s[4:7], 0 offen
        s_waitcnt vmcnt(0)
        s_barrier
        ds_read_b32 v2, v0
        s_waitcnt lgkmcnt(0)
        v_add_u32_e32 v3, v1, v2
        s_endpgm
    """
    assert placed(text) == [(3, "s_waitcnt vmcnt(1)"), (6, "s_waitcnt vmcnt(0) lgkmcnt(0)")]
    stored = text.replace("s_endpgm", "buffer_store_dword v3, v0, s[4:7], 0 offen\n s_endpgm")
    assert placed(stored) == [(3, "s_waitcnt vmcnt(0)"), (6, "s_waitcnt lgkmcnt(0)")]


def test_what_later_blocks_rely_on_is_waited_for_at_the_end():
    text = """
        buffer_load_dword v1, v0, s[4:7], 0 offen
        s_waitcnt vmcnt(0)
        s_cbranch_scc0 out
        v_mov_b32_e32 v2, v1
    out:
        s_endpgm
    """
    assert placed(text) == [(2, "s_waitcnt vmcnt(0)")]
    fall = """
        s_cbranch_scc0 out
        buffer_load_dword v1, v0, s[4:7], 0 offen
        s_waitcnt vmcnt(0)
    out:
        v_mov_b32_e32 v2, v1
        s_endpgm
    """
    assert placed(fall, block=1) == [(3, "behind s_waitcnt vmcnt(0)")]


def test_in_a_loop_the_last_turn_counts():
    text = """
        v_mov_b32_e32 v1, 0
    loop:
        s_nop 0
        s_waitcnt vmcnt(0)
        v_add_u32_e32 v2, v1, v2
        buffer_load_dword v1, v0, s[4:7], 0 offen
        s_cbranch_scc0 loop
        s_endpgm
    """
    assert placed(text, block=1) == [(3, "s_waitcnt vmcnt(0)")]


def test_waits_at_the_head_of_a_loop_are_on_every_way_to_it():
    program = program_from_text("loop:\nv_mov_b32_e32 v1, 0\ns_cbranch_scc0 loop\ns_endpgm")
    with_one = with_waits(program, [PlacedWait(0, Wait(vm=0))])
    assert [(x.id, x.instruction.text, x.target) for x in with_one.lines] == [
        (3, "s_waitcnt vmcnt(0)", None),
        (0, "v_mov_b32_e32 v1, 0", None),
        (1, "s_cbranch_scc0 L3", 3),
        (2, "s_endpgm", None),
    ]
    assert with_one.entry == 3
    beside = with_waits(program, [PlacedWait(0, Wait(vm=0), fallthrough=True)])
    assert (beside.lines[2].target, beside.entry) == (0, 0)


WEAK = """
    buffer_load_dword v1, v0, s[4:7], 0 offen
    buffer_load_dword v2, v0, s[4:7], 0 offen offset:4
    ds_write_b32 v0, v8
    s_waitcnt vmcnt(0) lgkmcnt(0)
    v_mov_b32_e32 v3, v1
    s_waitcnt vmcnt(0) expcnt(0)
    v_mov_b32_e32 v4, v2
    s_waitcnt lgkmcnt(0)
    s_barrier
    s_waitcnt vmcnt(0)
    s_endpgm
"""


def test_the_weakest_values_where_waits_stand():
    assert {i: str(w) for i, w in WaitPlacer(program_from_text(WEAK)).weakest().items()} == {
        3: "s_waitcnt vmcnt(1)",
        5: "s_waitcnt vmcnt(0)",
        7: "s_waitcnt lgkmcnt(0)",
        9: "s_waitcnt vmcnt(63) expcnt(7) lgkmcnt(15)",
    }


def test_weakest_values_are_right_together_and_none_can_be_weaker():
    program = program_from_text(WEAK)
    placer = WaitPlacer(program)
    weakest = placer.weakest()
    assert placer.is_right(with_values(program, weakest))
    for line, wait in weakest.items():
        for weaker in (Wait(wait.vm + 1, wait.lgkm), Wait(wait.vm, wait.lgkm + 1)):
            if weaker.vm <= 63 and weaker.lgkm <= 15:
                assert not placer.is_right(with_values(program, weakest | {line: weaker}))


def test_a_wait_of_k0_that_llvm_would_not_trust_is_left_alone():
    """lgkmcnt(1) proves the older LDS read even with a scalar load outstanding, by counting; LLVM asks for 0."""
    text = """
        ds_read_b32 v1, v0
        ds_read_b32 v2, v0 offset:4
        s_load_dword s0, s[2:3], 0x0
        s_waitcnt lgkmcnt(1)
        s_barrier
        s_waitcnt lgkmcnt(0)
        v_add_u32_e32 v3, v1, v2
        s_mov_b32 s1, s0
        s_endpgm
    """
    program = program_from_text(text)
    assert WaitAnalysis().run(program).missing == ()
    assert str(WaitPlacer(program).weakest()[3]) == "s_waitcnt lgkmcnt(1)"


@pytest.mark.parametrize("wait", ["s_waitcnt vmcnt(1)", "s_nop 0"])
def test_a_reference_with_a_missing_wait_is_taken_as_it_is(wait: str):
    text = f"buffer_load_dword v1, v0, s[4:7], 0 offen\n{wait}\nv_mov_b32_e32 v2, v1\ns_endpgm"
    program = program_from_text(text)
    assert WaitPlacer(program).is_right(program)

from __future__ import annotations

from asmevo.program.loops import find_loops
from programs import program_from_text


def test_nested_loops_and_their_depth() -> None:
    program = program_from_text(
        """
        s_mov_b32 s0, 4
        outer:
        s_mov_b32 s1, 4
        inner:
        s_sub_u32 s1, s1, 1
        s_cbranch_scc1 inner
        s_sub_u32 s0, s0, 1
        s_cbranch_scc1 outer
        s_endpgm
        """
    )
    outer, inner = find_loops(program)
    assert (outer.depth, outer.parent, inner.depth, inner.parent) == (1, None, 2, outer.header)
    assert inner.blocks < outer.blocks
    assert inner.latches == (inner.header,)
    blocks = program.blocks
    assert [program.lines[blocks[loop.header].first].id for loop in (outer, inner)] == [1, 2]


def test_two_ways_back_make_one_loop() -> None:
    program = program_from_text(
        """
        top:
        s_cbranch_scc0 other
        s_branch top
        other:
        s_cbranch_vccz top
        s_endpgm
        """
    )
    (loop,) = find_loops(program)
    assert len(loop.latches) == 2 and len(loop.blocks) == 3


def test_a_cycle_with_two_entries_is_no_natural_loop() -> None:
    program = program_from_text(
        """
        s_cbranch_scc0 second
        first:
        s_nop 0
        second:
        s_cbranch_scc1 first
        s_endpgm
        """
    )
    assert find_loops(program) == ()


def test_straight_code_and_unreachable_loops_have_none() -> None:
    assert find_loops(program_from_text("s_nop 0\ns_endpgm")) == ()
    assert find_loops(program_from_text("s_endpgm\nback:\ns_nop 0\ns_branch back")) == ()

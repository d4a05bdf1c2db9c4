"""A block's new contents as edits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategy_kit import lines, shown

from asmevo.edit import Rewrite, apply_all
from asmevo.strategies.arrange import arrange
from programs import program_from_text

LOOP = """
    s_mov_b32 s0, 0
loop:
    s_add_u32 s0, s0, 1
    s_waitcnt vmcnt(0)
    v_mov_b32_e32 v0, s0
    s_nop 3
    v_mov_b32_e32 v1, s0
    s_cbranch_scc1 loop
    s_endpgm
"""


def test_nothing_changes() -> None:
    program = program_from_text(LOOP)
    assert arrange(program, program.blocks[1], [1, 2, 3, 4, 5, 6]) == ()


def test_only_the_run_that_moves_is_named() -> None:
    program = program_from_text(LOOP)
    assert arrange(program, program.blocks[1], [1, 2, 5, 4, 3, 6]) == (Rewrite((3, 5), (5, 4, 3)),)


def test_first_line_moves_and_branches_follow() -> None:
    program = program_from_text(LOOP)
    edits = arrange(program, program.blocks[1], [3, 1, "s_waitcnt vmcnt(1)", 5, 6])
    assert edits == (Rewrite((1, 4), (3, 1, -1), ("s_waitcnt vmcnt(1)",)),)
    assert shown(apply_all(program, edits)) == lines("""
        s_mov_b32 s0, 0
        v_mov_b32_e32 v0, s0
        s_add_u32 s0, s0, 1
        s_waitcnt vmcnt(1)
        v_mov_b32_e32 v1, s0
        s_cbranch_scc1 ->1
        s_endpgm
    """)


def test_a_wait_with_the_same_text_is_used_again() -> None:
    program = program_from_text("s_waitcnt vmcnt(3)\ns_waitcnt vmcnt(1)\nv_nop\ns_endpgm")
    edits = arrange(program, program.blocks[0], [2, "s_waitcnt vmcnt(1)", 3])
    assert edits == (Rewrite((0, 2), (2, 1)),)


def test_insertions_at_both_ends_of_a_block() -> None:
    program = program_from_text("""
        s_cbranch_scc1 join
        v_nop
    join:
        v_mov_b32_e32 v0, 0
        s_endpgm
    """)
    edits = arrange(program, program.blocks[1], ["s_nop 1", 1, "s_nop 2"])
    assert edits == (Rewrite((1, 1), (-1, 1, -2), ("s_nop 1", "s_nop 2")),)
    assert shown(apply_all(program, edits)) == lines("""
        s_cbranch_scc1 ->4
        s_nop 1
        v_nop
        s_nop 2
        v_mov_b32_e32 v0, 0
        s_endpgm
    """)


ITEMS = st.permutations([1, 2, 3, 4, 5]).flatmap(
    lambda order: st.tuples(
        st.just(order),
        st.sets(st.sampled_from(order), max_size=4),
        st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["s_nop 0", "s_waitcnt vmcnt(2)", "v_nop"])), max_size=4),
    )
)


@given(ITEMS)
def test_the_edits_make_exactly_the_contents(plan: tuple[list[int], set[int], list[tuple[int, str]]]) -> None:
    order, gone, new = plan
    items: list[int | str] = [i for i in order if i not in gone]
    for at, text in new:
        items.insert(min(at, len(items)), text)
    items.append(6)
    program = program_from_text(LOOP)
    after = apply_all(program, arrange(program, program.blocks[1], items))
    want = [program.line(i).instruction.text if isinstance(i, int) else i for i in items[:-1]]
    assert shown(after)[1:-2] == want
    assert shown(after)[-2] == "s_cbranch_scc1 ->1"
    kept = {i for i in items if isinstance(i, int)}
    assert all(after.line(i).instruction == program.line(i).instruction for i in kept - {6})


def test_a_deleted_branch_target_needs_a_successor() -> None:
    program = program_from_text("loop:\nv_nop\ns_branch loop")
    after = apply_all(program, arrange(program, program.blocks[0], [1]))
    assert shown(after) == ["s_branch ->0"]
    with pytest.raises(KeyError):
        after.position[0]

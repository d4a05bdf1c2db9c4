"""What is taken over from the program before is what a walk of the code finds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from asmevo.codeobject import CodeObject
from asmevo.edit import Delete, Edit, Insert, Replace, apply_all
from asmevo.program import Program, recover
from asmevo.search.flow import keep_flow
from asmevo.verdict import InputError
from tests.search.fakes_search import K0

PROGRAM = recover(CodeObject.parse(K0.read_bytes()))
TEXTS = ("s_nop 0", "v_mov_b32_e32 v1, v2", "s_endpgm", "s_barrier")


def fresh(program: Program) -> Program:
    """The same program, of which nothing is known yet."""
    return program.with_lines(program.lines)


@st.composite
def edits(draw: st.DrawFn) -> list[Edit]:
    """One to three edits near one another, mostly in one block, at times of the lines that lead in and out."""
    at = draw(st.integers(0, len(PROGRAM.lines) - 9))
    near = st.integers(at, at + 8).map(lambda n: PROGRAM.lines[n].id)
    text = st.sampled_from(TEXTS)
    one = st.one_of(
        st.builds(lambda line, new: Insert(line, (new,)), near, text),
        st.builds(lambda line: Delete((line,)), near),
        st.builds(Replace, near, text),
    )
    return draw(st.lists(one, min_size=1, max_size=3))


@given(edits())
def test_what_is_taken_over_is_what_a_walk_finds(changes: list[Edit]) -> None:
    assert PROGRAM.blocks
    try:
        after = apply_all(PROGRAM, changes)
    except InputError:
        return
    if keep_flow(PROGRAM, after):
        walked = fresh(after)
        assert (after.blocks, after.jumps, after.referring) == (walked.blocks, walked.jumps, walked.referring)


def test_an_edit_inside_a_block_needs_no_walk() -> None:
    block = max(PROGRAM.blocks, key=lambda one: one.last - one.first)
    line = PROGRAM.lines[block.first + 1].id
    after = apply_all(PROGRAM, [Insert(line, ("s_nop 0", "s_nop 1"))])
    assert keep_flow(PROGRAM, after)
    assert (after.blocks, after.jumps) == (fresh(after).blocks, fresh(after).jumps)
    assert not keep_flow(fresh(PROGRAM), after)
    assert not keep_flow(PROGRAM, apply_all(PROGRAM, [Insert(line, ("s_endpgm",))]))
    assert not keep_flow(PROGRAM, apply_all(PROGRAM, [Insert(PROGRAM.lines[block.first].id, ("s_nop 0",))]))

"""Edits: what they do, what they refuse, and laws that hold for any of them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo.codeobject import CodeObject
from asmevo.edit import Delete, Edit, Forward, Insert, Reorder, Replace, Window, apply_all, from_json
from asmevo.program import Program, check_rebuild, rebuild, recover
from asmevo.verdict import InputError, Verdict
from small_objects import build, loop_object

TEXTS = (
    "s_nop 0",
    "v_mov_b32_e32 v5, v2",
    "s_waitcnt vmcnt(0)",
    "v_add_u32_e32 v2, 0x12345678, v2",
    "s_cbranch_scc0 L14",
)


@pytest.fixture
def program() -> Program:
    return recover(loop_object())


def ids(program: Program) -> list[int]:
    return [line.id for line in program.lines]


def edits(count: int = 16) -> st.SearchStrategy[Edit]:
    """Edits of a program whose lines are 0 to count - 1, many of them impossible."""
    line, texts = st.integers(0, count), st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3).map(tuple)
    run = st.integers(0, count - 1).flatmap(lambda a: st.permutations(range(a, min(a + 4, count)))).map(tuple)
    return st.one_of(
        st.builds(Insert, line, texts, st.booleans()),
        st.builds(Delete, st.lists(line, min_size=1, max_size=3, unique=True).map(tuple)),
        st.builds(Replace, line, st.sampled_from(TEXTS)),
        st.builds(Reorder, run),
    )


def shape(program: Program) -> list[tuple[str, int | None]]:
    """Text, or mnemonic and position of the target, of each line."""
    return [
        (x.instruction.text, None) if x.target is None else (x.instruction.mnemonic, program.position[x.target])
        for x in program.lines
    ]


class TestInsert:
    def test_on_every_way_to_the_line(self, program):
        edited, forward = Insert(5, ("s_nop 1", "s_nop 2")).apply(program)
        first = program.next_id
        assert ids(edited) == [0, 1, 2, 3, 4, first, first + 1, *range(5, 16)]
        assert edited.line(10).target == first
        assert edited.line(10).instruction.text == f"s_cbranch_scc1 L{first}"
        assert edited.line(10).words == program.line(10).words
        assert [forward(i) for i in range(16)] == list(range(16))

    def test_on_the_way_from_above_only(self, program):
        edited, _ = Insert(5, "s_nop 1", fallthrough=True).apply(program)
        assert edited.line(10).target == 5

    def test_in_front_of_the_entry(self, program):
        assert Insert(0, "s_nop 1").apply(program)[0].entry == program.next_id
        assert Insert(0, "s_nop 1", fallthrough=True).apply(program)[0].entry == 0

    def test_branch(self, program):
        edited, _ = Insert(5, "s_cbranch_scc0 L5").apply(program)
        assert edited.lines[5].target == 5

    def test_new_ids_never_name_lines_of_k0(self, program):
        shorter = Delete((15,)).apply(program)[0]
        assert shorter.next_id == program.next_id >= 16

    @pytest.mark.parametrize(
        ("edit", "named"),
        [
            (Insert(99, "s_nop 0"), "no line 99"),
            (Insert(3, ()), "at least one"),
            (Insert(3, "s_branch L99"), "goes to line 99"),
            (Insert(3, "s_branch 4"), "as in `s_branch L12`"),
            (Insert(3, "s_nop 0 // c"), "not the text of one instruction"),
            (Insert(3, "x: s_nop 0"), "not the text of one instruction"),
            (Insert(3, " "), "not the text of one instruction"),
        ],
    )
    def test_refused(self, program, edit, named):
        with pytest.raises(InputError, match=named):
            edit.apply(program)


class TestDelete:
    def test_branches_go_to_the_next_line(self, program):
        edited, forward = Delete((5, 6)).apply(program)
        assert edited.line(10).target == 7
        assert [forward(i) for i in (4, 5, 6, 7)] == [4, None, None, 7]

    def test_entry(self, program):
        assert Delete((0, 1)).apply(program)[0].entry == 2

    @pytest.mark.parametrize(
        ("edit", "named"),
        [
            (Delete(()), "each once"),
            (Delete((3, 3)), "each once"),
            (Delete((77,)), "no line 77"),
            (Delete((14, 15)), "has no line behind it"),
            (Delete(tuple(range(16))), "no line behind it"),
        ],
    )
    def test_refused(self, program, edit, named):
        with pytest.raises(InputError, match=named):
            edit.apply(program)


class TestReplace:
    def test_words_are_dropped(self, program):
        edited, forward = Replace(8, "s_waitcnt  vmcnt(1)").apply(program)
        assert (edited.line(8).instruction.text, edited.line(8).words) == ("s_waitcnt vmcnt(1)", None)
        assert ids(edited) == ids(program) and forward(8) == 8

    def test_same_text_keeps_the_words(self, program):
        assert Replace(8, "s_waitcnt vmcnt(0)").apply(program)[0] == program

    def test_branch(self, program):
        assert Replace(12, "s_cbranch_vccz L15").apply(program)[0].line(12).target == 15
        with pytest.raises(InputError, match="goes to line 40"):
            Replace(12, "s_cbranch_vccz L40").apply(program)


class TestReorder:
    def test_first_line_of_a_block(self, program):
        edited, _ = Reorder((7, 5, 6)).apply(program)
        assert ids(edited)[5:8] == [7, 5, 6]
        assert edited.line(10).target == 7
        assert Reorder((1, 0)).apply(program)[0].entry == 1

    @pytest.mark.parametrize(
        ("order", "named"),
        [
            ((), "each once"),
            ((6, 6), "each once"),
            ((6, 8), "1 of them are missing"),
            ((9, 10), "is a branch"),
            ((5, 4), "A branch goes to line 5"),
            ((6, 50), "no line 50"),
        ],
    )
    def test_refused(self, program, order, named):
        with pytest.raises(InputError, match=named):
            Reorder(order).apply(program)


class TestLaws:
    @given(st.lists(edits(), max_size=4))
    def test_programs_stay_sound(self, proposed):
        program, forward, applied = recover(loop_object()), Forward(), list[Edit]()
        before = program
        for edit in proposed:
            try:
                program, moved = edit.apply(program)
            except InputError as error:
                assert str(error).endswith(".")
                continue
            applied.append(edit)
            forward = forward.then(moved)
        known = set(ids(program))
        assert len(known) == len(program.lines)
        assert program.entry in known
        assert all(x.target is None or x.target in known for x in program.lines)
        assert all(x.target is None or x.instruction.text.endswith(f" L{x.target}") for x in program.lines)
        assert {i for i in ids(before) if forward(i) is not None} == known & set(ids(before))
        assert apply_all(before, applied) == program

    @settings(max_examples=60, deadline=None)
    @given(st.lists(edits(), min_size=1, max_size=3))
    def test_what_is_rebuilt_is_what_was_edited(self, proposed):
        program = recover(loop_object())
        for edit in proposed:
            try:
                program, _ = edit.apply(program)
            except InputError:
                continue
        data = rebuild(program)
        check = check_rebuild(program, data)
        assert check.verdict is Verdict.TESTED, check.findings
        again = recover(CodeObject.parse(data))
        entry, padding = program.position[program.entry], len(again.lines) - len(program.lines)
        assert again.position[again.entry] == entry + padding
        assert all(x.instruction.text == "s_nop 0" for x in again.lines[entry : entry + padding])
        rebuilt = again.with_lines(again.lines[:entry] + again.lines[entry + padding :])
        assert shape(rebuilt) == shape(program)

    @given(edits())
    def test_json_round_trip(self, edit):
        assert from_json(json.loads(json.dumps(edit.to_json()))) == edit

    @pytest.mark.parametrize(
        ("data", "named"),
        [
            ([], "JSON object"),
            ({}, "lacks 'kind'"),
            ({"kind": "explode"}, "no edit of kind 'explode'"),
            ({"kind": "insert", "before": 3}, "lacks 'text'"),
            ({"kind": "insert", "before": "3", "text": "s_nop 0"}, "'before' of the edit must be an integer"),
            ({"kind": "insert", "before": True, "text": "s_nop 0"}, "'before' of the edit must be an integer"),
            ({"kind": "insert", "before": 3, "text": [4]}, "'text' of the edit must be a string or a list"),
            ({"kind": "insert", "before": 3, "text": "s_nop 0", "fallthrough": 1}, "true or false"),
            ({"kind": "delete", "lines": [1, "2"]}, "list of integers"),
            ({"kind": "delete", "lines": [1], "why": ""}, "unknown members: why"),
        ],
    )
    def test_bad_json(self, data, named):
        with pytest.raises(InputError, match=named):
            from_json(data)


class TestForward:
    def test_then(self):
        a, b = Forward({1: None, 2: 7}), Forward({7: None, 3: 4})
        both = a.then(b)
        assert [both(i) for i in (0, 1, 2, 3)] == [0, None, None, 4]


class TestWindow:
    def test_lines_and_block(self, program):
        window = Window(6, 8)
        assert [x.id for x in window.lines(program)] == [6, 7, 8]
        assert window.block(program) == 1
        assert Window(4, 6).block(program) is None

    def test_forward(self, program):
        _, moved = Delete((6, 7)).apply(program)
        assert Window(6, 9).forward(program, moved) == Window(8, 9)
        assert Window(6, 7).forward(program, moved) is None

    def test_wrong_order(self, program):
        with pytest.raises(InputError, match="in front of its first line 8"):
            Window(8, 6).positions(program)


CALLED = """
    .text
    .type f,@function
f:
    s_nop 1
    s_setpc_b64 s[30:31]
    .size f, .-f
    .type g,@function
g:
    s_nop 2
    s_setpc_b64 s[30:31]
    .size g, .-g
"""


@pytest.mark.parametrize("order", [(1, 0), (3, 2), (3, 4), (4, 3)])
def test_a_reordering_stays_inside_of_a_block(order):
    """Neither an end nor a return changes its place, nor does a line go to another function."""
    program = recover(CodeObject.parse(build("s_nop 0\n s_endpgm", extra=CALLED)))
    first = next(i for i, line in enumerate(program.lines) if line.instruction.text == "s_nop 1")
    ids = (0, 1, first, first + 1, first + 2)
    with pytest.raises(InputError, match="reorder o"):
        Reorder(tuple(ids[i] for i in order)).apply(program)

"""Rewriting of a run: reorder, delete and insert at once."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asmevo.edit import Delete, Insert, Reorder, Rewrite, apply_all, from_json
from asmevo.program import Program
from asmevo.verdict import InputError
from programs import program_from_text

LOOP = """
    s_mov_b32 s0, 0
loop:
    s_add_u32 s0, s0, 1
    v_mov_b32_e32 v0, s0
    s_nop 3
    v_mov_b32_e32 v1, s0
    s_cbranch_scc1 loop
    s_endpgm
"""


def texts(program: Program) -> list[str]:
    return [
        line.instruction.text if line.target is None else f"{line.instruction.mnemonic} {program.position[line.target]}"
        for line in program.lines
    ]


def test_all_at_once() -> None:
    program = program_from_text(LOOP)
    edited, forward = Rewrite((1, 5), (4, -1, 1, 2, 5), ("s_nop 7",)).apply(program)
    assert texts(edited) == [
        "s_mov_b32 s0, 0", "v_mov_b32_e32 v1, s0", "s_nop 7", "s_add_u32 s0, s0, 1", "v_mov_b32_e32 v0, s0",
        "s_cbranch_scc1 1", "s_endpgm",
    ]  # fmt: skip
    assert (forward(3), forward(4)) == (None, 4)
    assert edited.line(program.next_id).instruction.text == "s_nop 7"
    assert edited.line(1) is program.line(1)


def test_the_same_as_elementary_edits() -> None:
    program = program_from_text(LOOP)
    one = Rewrite((2, 4), (4, -1, 2), ("s_nop 7",))
    several = (Delete((3,)), Reorder((4, 2)), Insert(2, "s_nop 7"))
    assert texts(apply_all(program, [one])) == texts(apply_all(program, several))


def test_a_new_first_line_is_on_every_way_to_the_run() -> None:
    program = program_from_text(LOOP)
    edited, _ = Rewrite((1, 1), (-1, 1), ("s_nop 0",)).apply(program)
    assert texts(edited)[1:3] == ["s_nop 0", "s_add_u32 s0, s0, 1"]
    assert texts(edited)[6] == "s_cbranch_scc1 1"
    edited, _ = Rewrite((0, 0), (-1, 0), ("s_nop 0",)).apply(program)
    assert edited.entry == program.next_id


def test_a_run_without_contents_leaves_its_branches_to_what_follows() -> None:
    program = program_from_text("loop:\nv_nop\ns_nop 0\ns_cbranch_scc1 loop\ns_endpgm")
    edited, _ = Rewrite((0, 1), ()).apply(program)
    assert texts(edited) == ["s_cbranch_scc1 0", "s_endpgm"]
    with pytest.raises(InputError, match="leave a line"):
        Rewrite((0, 0), ()).apply(program_from_text("s_endpgm"))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (Rewrite((2, 4), (2, 2, 4)), "each at most once"),
        (Rewrite((2, 4), (2, 5)), "lines of its run"),
        (Rewrite((2, 4), (2, -1)), "lines of its run"),
        (Rewrite((2, 4), (2,), ("s_nop 0",)), "where each of its new lines"),
        (Rewrite((4, 2), (2,)), "in front of its first line"),
        (Rewrite((2, 5), (5, 2, 3, 4)), "must end the run"),
        (Rewrite((2, 5), (2, 3, 4)), "must end the run"),
        (Rewrite((0, 2), (1, 0, 2)), "A branch goes to line 1"),
        (Rewrite((2, 4), (2, -1), ("s_branch L1",)), "brings no new branches"),
        (Rewrite((2, 9), (2,)), "no line 9"),
        (Rewrite((2, 4), (2, -1), ("two; lines",)), "not the text of one instruction"),
    ],
)
def test_refusals(edit: Rewrite, message: str) -> None:
    with pytest.raises(InputError, match=message):
        edit.apply(program_from_text(LOOP))


@given(st.permutations([2, 3, 4]), st.sets(st.sampled_from([2, 3, 4])), st.lists(st.sampled_from(["s_nop 0", "v_nop"])))
def test_json_round_trip_and_contents(order: list[int], gone: set[int], new: list[str]) -> None:
    program = program_from_text(LOOP)
    places = [*(-1 - n for n in range(len(new))), *(i for i in order if i not in gone)]
    edit = Rewrite((2, 4), tuple(places), tuple(new))
    assert from_json(json.loads(json.dumps(edit.to_json()))) == edit
    edited, _ = edit.apply(program)
    want = [*new, *(program.line(i).instruction.text for i in order if i not in gone)]
    assert texts(edited)[2:-2] == want


@pytest.mark.parametrize("run", [[1], [1, 2, 3], "1-2", [1, "2"]])
def test_json_that_does_not_fit(run: object) -> None:
    with pytest.raises(InputError):
        from_json({"kind": "rewrite", "run": run, "order": [1], "new": []})

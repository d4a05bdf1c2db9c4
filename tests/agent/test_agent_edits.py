"""From what an agent writes to edits, and the border of a window."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo.agent.edits import applied, changed_outside, edits_of_text, parse_edits, read_text
from asmevo.agent.windows import View, view_of
from asmevo.edit import apply_all
from asmevo.program import Program
from asmevo.program.loops import find_loops
from asmevo.verdict import UsageError
from tests.search.fakes_search import k0_program

PROGRAM = k0_program()
LOOP = view_of(PROGRAM, "B6", find_loops(PROGRAM))
FIRST, LAST = LOOP.lines(PROGRAM)[0].id, LOOP.lines(PROGRAM)[-1].id


def texts(program: Program, view: View, first: int, last: int) -> list[str]:
    """What the run says, given that an edit may have moved its ends: by K0's neighbours."""
    low = program.position[first - 1] + 1
    high = program.position[last + 1]
    return [line.instruction.text for line in program.lines[low:high]]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_edits_of_a_text_give_that_text(data: st.DataObject) -> None:
    lines = LOOP.lines(PROGRAM)[:-1]
    begin = data.draw(st.integers(0, len(lines) - 12))
    run = lines[begin : begin + data.draw(st.integers(1, 12))]
    kept = data.draw(st.permutations(data.draw(st.lists(st.sampled_from(run), unique=True))))
    named = data.draw(st.booleans())
    written = [f"{line.id} {line.instruction.text} ; clk 12" if named else line.instruction.text for line in kept]
    for at in data.draw(st.lists(st.integers(0, len(written)), max_size=3)):
        written.insert(at, data.draw(st.sampled_from(("s_nop 1", "v_add_u32_e32 v1, 1, v1 // new"))))
    wanted = [one.text for one in read_text("\n".join(written))]
    before = [line.instruction.text for line in run]
    if wanted == before:
        with pytest.raises(UsageError, match="say already"):
            edits_of_text(PROGRAM, LOOP, run[0].id, run[-1].id, "\n".join(written))
        return
    edited = applied(PROGRAM, LOOP, edits_of_text(PROGRAM, LOOP, run[0].id, run[-1].id, "\n".join(written)))
    assert texts(edited, LOOP, run[0].id, run[-1].id) == wanted


def test_a_line_with_an_id_and_another_text_is_replaced() -> None:
    text = "597: v_add_u32_e32 v82, 0x90, v82\n598 v_add_u32_e32 v84, 0x80, v84"
    (edit,) = edits_of_text(PROGRAM, LOOP, 597, 598, text)
    assert edit.to_json() == {"kind": "replace", "line": 597, "text": "v_add_u32_e32 v82, 0x90, v82"}


@pytest.mark.parametrize(
    ("first", "last", "text", "why"),
    [
        (1, 2, "s_nop 0", "Line 1 is not in the window B6"),
        (598, 597, "s_nop 0", "stands in front of"),
        (597, 597, "599 s_nop 0", "has the id 599, which is not in the run"),
        (597, 598, "597 s_nop 0\n597 s_nop 1", "id 597 more than once"),
    ],
)
def test_a_text_that_cannot_stand_for_a_run(first: int, last: int, text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        edits_of_text(PROGRAM, LOOP, first, last, text)


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        ({"kind": "delete", "lines": [530]}, "Line 530.* is deleted, which is outside of the window B6"),
        ({"kind": "replace", "line": 1, "text": "s_nop 0"}, "Line 1.* is changed"),
        ({"kind": "insert", "before": 530, "text": "s_nop 0"}, "in front of line 530"),
        ({"kind": "reorder", "order": [541, 540]}, "line 54[01].* or it is moved"),
        ({"kind": "delete", "lines": [999999]}, "Edit 1 .delete. does not apply"),
    ],
)
def test_edits_stay_inside_their_window(edit: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        applied(PROGRAM, LOOP, parse_edits([edit]))


@pytest.mark.parametrize(
    "edit", [{"kind": "insert", "before": LAST + 1, "text": "s_nop 0"}, {"kind": "delete", "lines": [FIRST]}]
)
def test_the_ends_of_a_window_belong_to_it(edit: dict[str, Any]) -> None:
    assert applied(PROGRAM, LOOP, parse_edits([edit])) != PROGRAM


def test_edits_that_cannot_be_read_say_which() -> None:
    with pytest.raises(UsageError, match="Edit 2 cannot be read: There is no edit of kind 'mark'"):
        parse_edits([{"kind": "delete", "lines": [1]}, {"kind": "mark", "verdict": "PROVED"}])
    with pytest.raises(UsageError, match="1 to 200 edits, not 0"):
        parse_edits([])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, len(PROGRAM.lines) - 2), st.sampled_from(["delete", "replace", "insert"]))
def test_the_border_of_a_window_holds_everywhere(at: int, kind: str) -> None:
    """An edit of one line is inside exactly when the line is; an insertion also at either end."""
    line = PROGRAM.lines[at].id
    edit = {
        "delete": {"kind": "delete", "lines": [line]},
        "replace": {"kind": "replace", "line": line, "text": "s_nop 13"},
        "insert": {"kind": "insert", "before": line, "text": "s_nop 13"},
    }[kind]
    edited = apply_all(PROGRAM, parse_edits([edit]))
    low, high = LOOP.ends
    inside = low <= at < high or (kind == "insert" and at == high)
    assert (next(changed_outside(PROGRAM, edited, LOOP), None) is None) == inside

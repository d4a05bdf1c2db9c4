"""Edits written over K0's instructions."""

from __future__ import annotations

import pytest

from asmevo.codeobject import CodeObject
from asmevo.edit import Delete, Insert, Reorder, Replace, Rewrite, apply_all
from asmevo.program import (
    InPlaceError,
    UnmovableError,
    check_in_place,
    check_rebuild,
    patch_in_place,
    rebuild,
    recover,
)
from asmevo.program.layout import lay_out
from asmevo.verdict import Verdict
from small_objects import LOOP, build, loop_object

OPAQUE = "s_getpc_b64 s[2:3]\n s_load_dword s5, s[2:3], 0x10\n s_mov_b32 s6, 5\n s_mov_b32 s7, 0x12345678\n" + LOOP
"""The program counter is used as data: nothing can be said about what a move would break."""


@pytest.fixture
def program():
    return recover(CodeObject.parse(build(OPAQUE)))


def patched(program) -> bytes:
    data = patch_in_place(program)
    check = check_in_place(program, data)
    assert check.verdict is Verdict.TESTED, check.findings
    assert check.facts["method"] == "patched in place"
    text = program.source.text
    assert len(data) == len(program.source.data)
    assert data[: text.offset] == program.source.data[: text.offset]
    assert data[text.offset + text.size :] == program.source.data[text.offset + text.size :]
    return data


def test_lines_move_inside_of_a_block(program):
    """A rebuild refuses it: 4 and 8 bytes change their places."""
    edited = Reorder((3, 2)).apply(program)[0]
    with pytest.raises(UnmovableError):
        rebuild(edited)
    new = recover(CodeObject.parse(patched(edited)))
    assert [line.instruction.text for line in new.lines[2:4]] == ["s_mov_b32 s7, 0x12345678", "s_mov_b32 s6, 5"]


def test_one_line_for_two(program):
    edited = apply_all(program, [Delete((3,)), Insert(4, ("s_nop 1", "s_nop 2"), fallthrough=True)])
    new = recover(CodeObject.parse(patched(edited)))
    assert [line.instruction.text for line in new.lines[3:5]] == ["s_nop 1", "s_nop 2"]


def test_same_bytes_as_a_rebuild_where_that_is_possible():
    obj = loop_object()
    for edit in (Replace(8, "s_waitcnt vmcnt(1)"), Reorder((7, 6)), Replace(12, "s_cbranch_vccz L15")):
        edited = edit.apply(recover(obj))[0]
        assert patched(edited) == rebuild(edited)


def test_another_size_is_refused(program):
    with pytest.raises(InPlaceError, match="changes the size of the code by 4 bytes"):
        patch_in_place(Insert(2, "s_nop 0").apply(program)[0])


def test_targets_jumps_and_what_follows_them_stay(program):
    """Each of these edits keeps the size, and moves a line that control may come to by a jump, or a jump."""
    branch = next(line for line in program.lines if line.target is not None and line.target < line.id)
    loop, end = branch.target or 0, branch.id
    for edits in (
        [Delete((loop - 1,)), Insert(loop + 1, "s_nop 1")],
        [Delete((end - 1,)), Insert(end + 1, "s_nop 1", fallthrough=True)],
        [Delete((end - 1,)), Insert(end + 2, "s_nop 1", fallthrough=True)],
    ):
        edited = apply_all(program, edits)
        assert len(lay_out(edited).text) == program.source.text.size
        with pytest.raises(InPlaceError, match="a jump or an address may lead to"):
            patch_in_place(edited)


def test_the_entry_stays(program):
    with pytest.raises(InPlaceError, match="line 0"):
        patch_in_place(Rewrite((0, 3), (2, 1, 0, 3)).apply(program)[0])


def test_damage_is_found(program):
    edited = Reorder((3, 2)).apply(program)[0]
    data = patch_in_place(edited)
    for at in range(0, len(data), 97):
        raw = bytearray(data)
        raw[at] ^= 0x10
        assert check_in_place(edited, bytes(raw)).verdict is Verdict.REFUTED, at
    assert check_rebuild(edited, data).verdict is Verdict.TESTED

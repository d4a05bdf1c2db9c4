"""Code that computes with addresses of code, and data in `.text`: moved rightly, or refused."""

from __future__ import annotations

import struct

import pytest

from asmevo.codeobject import CodeObject
from asmevo.edit import Delete, Insert, Reorder, Replace
from asmevo.program import EntryError, InPlaceError, UnmovableError, patch_in_place, rebuild, recover
from asmevo.verdict import InputError
from rebuilt import checked, symbol
from small_objects import FUNCTION, build

TABLE = """
    s_getpc_b64 s[2:3]
    s_add_u32 s2, s2, {base}@rel32@lo+4
    s_addc_u32 s3, s3, {base}@rel32@hi+12
    s_load_dword s5, s[2:3], s4
    s_waitcnt lgkmcnt(0)
    s_ashr_i32 s8, s5, 31
    s_add_u32 s2, s2, s5
    s_addc_u32 s3, s3, s8
    s_setpc_b64 s[2:3]
    case0:
    s_nop 1
    s_endpgm
    case1:
    s_nop 2
    s_endpgm
"""
DISTANCES = ".type table,@object\n table:\n .long case0-table, case1-table\n .size table, 8\n"
SLOTS = """
    s_getpc_b64 s[2:3]
    s_add_u32 s2, s2, {slots}@rel32@lo+4
    s_addc_u32 s3, s3, {slots}@rel32@hi+12
    s_add_u32 s2, s2, s4
    s_addc_u32 s3, s3, 0
    s_setpc_b64 s[2:3]
    {slots}:
    s_nop 1
    v_mov_b32_e32 v1, 1
    v_mov_b32_e32 v2, 0x12345
    s_endpgm
"""
CALL = """
    s_getpc_b64 s[2:3]
    s_add_u32 s2, s2, f@rel32@lo+4
    s_addc_u32 s3, s3, f@rel32@hi+12
    {more}
    s_swappc_b64 s[30:31], s[2:3]
    s_endpgm
"""
RETURNS = """
    .text
    .type f,@function
    f:
    {code}
    s_setpc_b64 s[30:31]
    .size f, .-f
"""
SPILLED = """
    v_writelane_b32 v40, s30, 0
    v_writelane_b32 v40, s31, 1
    v_writelane_b32 v40, s34, 2
    s_mov_b64 s[30:31], 0
    v_readlane_b32 s34, v40, 2
    s_add_u32 s34, s34, 4
    v_readlane_b32 s31, v40, 1
    v_readlane_b32 s30, v40, 0
"""
LOADED = """
    s_getpc_b64 s[2:3]
    s_add_u32 s2, s2, pointers@rel32@lo+4
    s_addc_u32 s3, s3, pointers@rel32@hi+12
    s_lshl_b32 s4, s4, 3
    s_add_u32 s2, s2, s4
    s_addc_u32 s3, s3, 0
    s_load_dwordx2 s[6:7], s[2:3], 0x0
    s_waitcnt lgkmcnt(0)
    s_swappc_b64 s[30:31], s[6:7]
    s_endpgm
"""
POINTERS = "\n    .data\n    .hidden pointers\n    .globl pointers\n    .p2align 3\npointers:\n    .quad f\n"
REFUSED = {
    "a table in .rodata of distances between labels": build(
        TABLE.format(base="table"), extra=".section .rodata\n .p2align 2\n" + DISTANCES
    ),
    "a table in .text": build(TABLE.format(base="table"), extra=".text\n" + DISTANCES),
    "a table of distances from a label": build(
        TABLE.format(base="case0"), extra=".section .rodata\n .p2align 2\n .long 0, 8\n"
    ),
    "an address with a computed index": build(SLOTS.format(slots="slots")),
    "a distance in a register": build(
        CALL.format(more="s_mov_b32 s4, middle-f\n s_add_u32 s2, s2, s4\n s_addc_u32 s3, s3, 0"),
        extra=RETURNS.format(code="s_nop 1\n middle:"),
    ),
    "a return address with an offset": build(
        CALL.format(more=""), extra=RETURNS.format(code="s_add_u32 s30, s30, 4\n s_addc_u32 s31, s31, 0")
    ),
    "a return address as the base of data": build(
        CALL.format(more=""), extra=RETURNS.format(code="s_load_dword s5, s[30:31], 0x10\n s_waitcnt lgkmcnt(0)")
    ),
    "a distance from a return address": build(
        CALL.format(more=""), extra=RETURNS.format(code="s_add_u32 s8, s30, 64\n s_addc_u32 s9, s31, 0")
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_computed_addresses_of_code_keep_everything_in_place(name):
    program = recover(CodeObject.parse(REFUSED[name]))
    with pytest.raises(UnmovableError, match="code addresses"):
        rebuild(Insert(program.entry, "s_nop 0").apply(program)[0])


@pytest.mark.parametrize("code", ["s_nop 1", SPILLED, "s_mov_b64 s[8:9], s[30:31]\n s_mov_b64 s[30:31], s[8:9]"])
def test_calls_and_returns_are_understood(code):
    program = recover(CodeObject.parse(build(CALL.format(more=""), extra=RETURNS.format(code=code))))
    checked(Insert(program.entry, "s_nop 0").apply(program)[0])


def test_pointers_under_relocations_are_understood():
    program = recover(CodeObject.parse(build(LOADED, extra=FUNCTION.format(name="f") + POINTERS)))
    checked(Insert(program.entry, "s_nop 0").apply(program)[0])


WORDS = (1, 2, 0xBF82FFF8, 0xBF820003)
DATA = """
    s_getpc_b64 s[2:3]
    s_add_u32 s2, s2, words@rel32@lo+4
    s_addc_u32 s3, s3, words@rel32@hi+12
    s_load_dword s5, s[2:3], 0x8
    s_endpgm
"""
IN_TEXT = ".text\n {type}\n words:\n .long 1, 2, 0xbf82fff8, 0xbf820003\n"
OBJECT = ".type words,@object\n .size words, 16"


@pytest.mark.parametrize("line", [0, 3, 4])
def test_data_that_look_like_branches_stay_as_they_are(line):
    program = recover(CodeObject.parse(build(DATA, extra=IN_TEXT.format(type=OBJECT))))
    new = CodeObject.parse(checked(Insert(line, "s_nop 0").apply(program)[0]))
    at = symbol(new, "words") - new.text.address
    assert struct.unpack_from("<4I", new.text_bytes, at) == WORDS


def test_data_that_no_symbol_gives_a_size_are_not_moved():
    program = recover(CodeObject.parse(build(DATA, extra=IN_TEXT.format(type=""))))
    with pytest.raises(UnmovableError):
        rebuild(Insert(0, "s_nop 0").apply(program)[0])


@pytest.mark.parametrize(
    "edit", [Insert(6, "s_nop 0"), Insert(5, "s_nop 0"), Delete((7,)), Delete((5,)), Reorder((6, 5))]
)
def test_data_are_edited_by_nobody(edit):
    program = recover(CodeObject.parse(build(DATA, extra=IN_TEXT.format(type=OBJECT))))
    assert program.lines[5].instruction.text == ".long 0x00000001"
    with pytest.raises(InputError):
        rebuild(edit.apply(program)[0])


def test_no_island_in_data():
    long = ".type words,@object\n words:\n .fill 16000, 4, 0x3f800000\n .size words, 64000\n"
    code = "s_cbranch_scc0 9f\n s_cbranch_scc1 8f\n" + DATA + long + "8:\n" + "s_nop 1\n" * 16000 + "9: s_endpgm"
    program = recover(CodeObject.parse(build(code)))
    edited = Insert(program.lines[-3].id, ("s_nop 0",) * 1000).apply(program)[0]
    new = CodeObject.parse(checked(edited))
    at = symbol(new, "words") - new.text.address
    assert set(struct.unpack_from("<16000I", new.text_bytes, at)) == {0x3F800000}


@pytest.mark.parametrize("edit", [Reorder((7, 6)), Reorder((8, 7))])
def test_in_place_a_computed_jump_holds_every_line(edit):
    program = recover(CodeObject.parse(build(SLOTS.format(slots=".Lslots"))))
    with pytest.raises(InPlaceError, match="any instruction"):
        patch_in_place(edit.apply(program)[0])
    patch_in_place(Replace(7, "v_mov_b32_e32 v1, 2").apply(program)[0])


def test_a_function_that_data_point_at_is_not_deleted_at_the_end():
    program = recover(CodeObject.parse(build(LOADED, extra=FUNCTION.format(name="f") + POINTERS)))
    first = len(program.lines) - 2
    with pytest.raises(EntryError, match="keep its first line"):
        rebuild(Delete((first, first + 1)).apply(program)[0])


BESIDE = """
    .section .rodata
    .p2align 2
distance:
    .long numbers-distance
    .data
    .hidden numbers
    .globl numbers
numbers:
    .long 7
"""


def test_data_that_hold_a_distance_do_not_move_apart():
    program = recover(CodeObject.parse(build("s_endpgm", extra=BESIDE)))
    with pytest.raises(UnmovableError, match="seem to hold the distance"):
        rebuild(Insert(program.entry, ("s_nop 0",) * 3000).apply(program)[0])


def test_relocations_in_an_unknown_form():
    """The dynamic tag and the section type of Android's packed relocations."""
    data = build(LOADED, extra=FUNCTION.format(name="f") + POINTERS)
    for old, new, form in ((7, 0x60000011, "<q"), (4, 0x60000002, "<I")):
        obj, raw = CodeObject.parse(data), bytearray(data)
        table = next(s for s in obj.sections if s.name == (".dynamic" if form == "<q" else ".rela.dyn"))
        if form == "<q":
            tags = range(table.offset, table.offset + table.size, 16)
            at = next(t for t in tags if struct.unpack_from(form, raw, t)[0] == old)
        else:
            headers = struct.unpack_from("<Q", raw, 40)[0]
            at = headers + 64 * obj.sections.index(table) + 4
        struct.pack_into(form, raw, at, new)
        program = recover(CodeObject.parse(bytes(raw)))
        with pytest.raises(UnmovableError, match="refers to code or data by address"):
            rebuild(Insert(program.entry, "s_nop 0").apply(program)[0])


def test_a_dynamic_table_that_ends_within_an_entry():
    raw = bytearray(build(LOADED, extra=FUNCTION.format(name="f") + POINTERS))
    obj = CodeObject.parse(bytes(raw))
    index = next(i for i, s in enumerate(obj.sections) if s.name == ".dynamic")
    size = struct.unpack_from("<Q", raw, 40)[0] + 64 * index + 32
    struct.pack_into("<Q", raw, size, obj.sections[index].size - 8)
    program = recover(CodeObject.parse(bytes(raw)))
    with pytest.raises(InputError, match="ends within an entry"):
        rebuild(Insert(program.entry, "s_nop 0").apply(program)[0])


def test_a_symbol_beyond_all_addresses():
    raw = bytearray(build("s_endpgm", extra=BESIDE.replace("numbers-distance", "0")))
    obj = CodeObject.parse(bytes(raw))
    table = next(s for s in obj.sections if s.name == ".symtab")
    value = struct.pack("<Q", symbol(obj, "distance"))
    entries = range(table.offset, table.offset + table.size, 24)
    at = next(e for e in entries if raw[e + 8 : e + 16] == value and raw[e + 4] & 15 == 0)
    struct.pack_into("<Q", raw, at + 8, 1 << 63)
    program = recover(CodeObject.parse(bytes(raw)))
    new = CodeObject.parse(checked(Insert(program.entry, "s_nop 0").apply(program)[0]))
    assert symbol(new, "distance") == 1 << 63

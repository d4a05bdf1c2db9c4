"""Addresses relative to the program counter: found, printed and followed; each obstacle with an object made for it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from asmevo.codeobject import CodeObject
from asmevo.edit import Delete, Edit, Insert, Reorder, Replace, apply_all
from asmevo.program import (
    EntryError,
    UnmovableError,
    check_rebuild,
    listing,
    parse_listing,
    rebuild,
    recover,
)
from asmevo.verdict import InputError, UnsupportedError, Verdict
from rebuilt import body, checked, quad, symbol
from small_objects import LOOP, build


def function(name: str, back: str = "s_setpc_b64") -> str:
    """A local function behind the kernel."""
    return f"""
    .text
    .p2align 2
    .type {name},@function
{name}:
    s_nop 7
    {back} s[30:31]
    .size {name}, .-{name}
"""


DATA = """
    .section .rodata
    .hidden table
    .globl table
table:
    .quad 11, 12
    .data
    .protected numbers
    .globl numbers
    .p2align 3
numbers:
    .quad 13, 14
"""
CALL = """
    s_getpc_b64 s[4:5]
    s_add_u32 s4, s4, f@rel32@lo+4
    s_addc_u32 s5, s5, f@rel32@hi+12
    s_swappc_b64 s[30:31], s[4:5]
    s_endpgm
"""


def load(place: str, kind: str = "rel32", offset: int = 0) -> str:
    """A kernel that loads from a place in the object."""
    return f"""
    s_getpc_b64 s[4:5]
    s_add_u32 s4, s4, {place}@{kind}@lo+{4 + offset}
    s_addc_u32 s5, s5, {place}@{kind}@hi+{12 + offset}
    s_load_dwordx2 s[6:7], s[4:5], 0x0
    s_endpgm
"""


JUMP = """
    s_getpc_b64 s[4:5]
0:
    {first}
    s_add_u32 s4, s4, {low}
    {between}
    s_addc_u32 s5, s5, {high}
    s_setpc_b64 s[4:5]
    s_nop 1
9:
    s_endpgm
"""
FAR = JUMP.format(first="", between="", low="(9f-0b)&4294967295", high="(9f-0b)>>32")
SPACED = JUMP.format(first="s_nop 3", between="v_mov_b32_e32 v1, 0", low="(9f-0b)&4294967295", high="(9f-0b)>>32")
INLINE = JUMP.format(first="", between="", low="16", high="0")
GFX1250 = "s_get_pc_i64 s[4:5]\n s_add_nc_u64 s[4:5], s[4:5], f@rel64+4\n s_swap_pc_i64 s[30:31], s[4:5]\n s_endpgm"
CASES: dict[str, tuple[Callable[[], bytes], list[Edit]]] = {
    "a call": (lambda: build(CALL, extra=function("f")), [Insert(3, "s_nop 1")]),
    "a function that begins with new code": (
        lambda: build(CALL, extra=function("f")),
        [Insert(5, "s_nop 1")],
    ),
    "a table": (lambda: build(load("table"), extra=DATA), [Insert(0, "s_nop 1")]),
    "the second entry of a table": (lambda: build(load("table", offset=8), extra=DATA), [Insert(0, "s_nop 1")]),
    "data behind the code": (lambda: build(load("numbers"), extra=DATA), [Insert(0, "s_nop 1")]),
    "an entry of .got": (lambda: build(load("numbers", "gotpcrel32"), extra=DATA), [Insert(0, "s_nop 1")]),
    "a long branch": (lambda: build(FAR), [Insert(4, ("s_nop 3", "s_nop 3"))]),
    "additions with others between them": (lambda: build(SPACED), [Insert(3, "s_nop 4")]),
    "inline constants that grow": (lambda: build(INLINE), [Insert(4, ("v_mov_b32_e32 v1, 0x12345678",) * 9)]),
    "one addition of 64 bits (gfx1250)": (
        lambda: build(GFX1250, target="gfx1250", extra=function("f", "s_set_pc_i64")),
        [Insert(2, "s_nop 1")],
    ),
}
"""Name to the object and the edits."""
GOLDEN: dict[str, tuple[str, str]] = {
    "a call": (
        """\
k0:
s_getpc_b64 s[4:5] // 0: BE841C00
P0:
s_add_u32 s4, s4, L5-P0 // 1: 8004FF04 00000018
s_addc_u32 s5, s5, (L5-P0)>>32 // 2: 8205FF05 00000000
s_swappc_b64 s[30:31], s[4:5] // 3: BE9E1E04
s_endpgm // 4: BF810000
f:
L5:
s_nop 7 // 5: BF800007
s_setpc_b64 s[30:31] // 6: BE801D1E
""",
        """\
k0:
s_getpc_b64 s[4:5] // 0: BE841C00
P0:
s_add_u32 s4, s4, L6-P0 // 1: 8004FF04 0000001C
s_addc_u32 s5, s5, (L6-P0)>>32 // 2: 8205FF05 00000000
s_nop 1 // 3: BF800001
s_swappc_b64 s[30:31], s[4:5] // 4: BE9E1E04
s_endpgm // 5: BF810000
f:
L6:
s_nop 7 // 6: BF800007
s_setpc_b64 s[30:31] // 7: BE801D1E
""",
    ),
    "a function that begins with new code": (
        """\
k0:
s_getpc_b64 s[4:5] // 0: BE841C00
P0:
s_add_u32 s4, s4, L5-P0 // 1: 8004FF04 00000018
s_addc_u32 s5, s5, (L5-P0)>>32 // 2: 8205FF05 00000000
s_swappc_b64 s[30:31], s[4:5] // 3: BE9E1E04
s_endpgm // 4: BF810000
f:
L5:
s_nop 7 // 5: BF800007
s_setpc_b64 s[30:31] // 6: BE801D1E
""",
        """\
k0:
s_getpc_b64 s[4:5] // 0: BE841C00
P0:
s_add_u32 s4, s4, L5-P0 // 1: 8004FF04 00000018
s_addc_u32 s5, s5, (L5-P0)>>32 // 2: 8205FF05 00000000
s_swappc_b64 s[30:31], s[4:5] // 3: BE9E1E04
s_endpgm // 4: BF810000
f:
L5:
s_nop 1 // 5: BF800001
s_nop 7 // 6: BF800007
s_setpc_b64 s[30:31] // 7: BE801D1E
""",
    ),
    "a table": (
        """\
k0:
s_getpc_b64 s[4:5] // 0: BE841C00
P0:
s_add_u32 s4, s4, .rodata@rel32@lo+64+(.+4-P0) // 1: 8004FF04 FFFFEEFC
s_addc_u32 s5, s5, .rodata@rel32@hi+64+(.+4-P0) // 2: 8205FF05 FFFFFFFF
s_load_dwordx2 s[6:7], s[4:5], 0x0 // 3: C0060182 00000000
s_endpgm // 4: BF810000
""",
        """\
k0:
s_nop 1 // 0: BF800001
s_getpc_b64 s[4:5] // 1: BE841C00
P1:
s_add_u32 s4, s4, .rodata@rel32@lo+64+(.+4-P1) // 2: 8004FF04 FFFFEEF8
s_addc_u32 s5, s5, .rodata@rel32@hi+64+(.+4-P1) // 3: 8205FF05 FFFFFFFF
s_load_dwordx2 s[6:7], s[4:5], 0x0 // 4: C0060182 00000000
s_endpgm // 5: BF810000
""",
    ),
    "the second entry of a table": (
        """\
k0:
s_getpc_b64 s[4:5] // 0: BE841C00
P0:
s_add_u32 s4, s4, .rodata@rel32@lo+72+(.+4-P0) // 1: 8004FF04 FFFFEF04
s_addc_u32 s5, s5, .rodata@rel32@hi+72+(.+4-P0) // 2: 8205FF05 FFFFFFFF
s_load_dwordx2 s[6:7], s[4:5], 0x0 // 3: C0060182 00000000
s_endpgm // 4: BF810000
""",
        """\
k0:
s_nop 1 // 0: BF800001
s_getpc_b64 s[4:5] // 1: BE841C00
P1:
s_add_u32 s4, s4, .rodata@rel32@lo+72+(.+4-P1) // 2: 8004FF04 FFFFEF00
s_addc_u32 s5, s5, .rodata@rel32@hi+72+(.+4-P1) // 3: 8205FF05 FFFFFFFF
s_load_dwordx2 s[6:7], s[4:5], 0x0 // 4: C0060182 00000000
s_endpgm // 5: BF810000
""",
    ),
    "data behind the code": (
        """\
k0:
s_getpc_b64 s[4:5] // 0: BE841C00
P0:
s_add_u32 s4, s4, .data@rel32@lo+(.+4-P0) // 1: 8004FF04 0000208C
s_addc_u32 s5, s5, .data@rel32@hi+(.+4-P0) // 2: 8205FF05 00000000
s_load_dwordx2 s[6:7], s[4:5], 0x0 // 3: C0060182 00000000
s_endpgm // 4: BF810000
""",
        """\
k0:
s_nop 1 // 0: BF800001
s_getpc_b64 s[4:5] // 1: BE841C00
P1:
s_add_u32 s4, s4, .data@rel32@lo+(.+4-P1) // 2: 8004FF04 00002088
s_addc_u32 s5, s5, .data@rel32@hi+(.+4-P1) // 3: 8205FF05 00000000
s_load_dwordx2 s[6:7], s[4:5], 0x0 // 4: C0060182 00000000
s_endpgm // 5: BF810000
""",
    ),
    "an entry of .got": (
        """\
k0:
s_getpc_b64 s[4:5] // 0: BE841C00
P0:
s_add_u32 s4, s4, .got@rel32@lo+(.+4-P0) // 1: 8004FF04 000010CC
s_addc_u32 s5, s5, .got@rel32@hi+(.+4-P0) // 2: 8205FF05 00000000
s_load_dwordx2 s[6:7], s[4:5], 0x0 // 3: C0060182 00000000
s_endpgm // 4: BF810000
""",
        """\
k0:
s_nop 1 // 0: BF800001
s_getpc_b64 s[4:5] // 1: BE841C00
P1:
s_add_u32 s4, s4, .got@rel32@lo+(.+4-P1) // 2: 8004FF04 000010C8
s_addc_u32 s5, s5, .got@rel32@hi+(.+4-P1) // 3: 8205FF05 00000000
s_load_dwordx2 s[6:7], s[4:5], 0x0 // 4: C0060182 00000000
s_endpgm // 5: BF810000
""",
    ),
    "a long branch": (
        """\
k0:
s_getpc_b64 s[4:5] // 0: BE841C00
P0:
s_add_u32 s4, s4, L5-P0 // 1: 8004FF04 00000018
s_addc_u32 s5, s5, (L5-P0)>>32 // 2: 8205FF05 00000000
s_setpc_b64 s[4:5] // 3: BE801D04
s_nop 1 // 4: BF800001
L5:
s_endpgm // 5: BF810000
""",
        """\
k0:
s_getpc_b64 s[4:5] // 0: BE841C00
P0:
s_add_u32 s4, s4, L7-P0 // 1: 8004FF04 00000020
s_addc_u32 s5, s5, (L7-P0)>>32 // 2: 8205FF05 00000000
s_setpc_b64 s[4:5] // 3: BE801D04
s_nop 3 // 4: BF800003
s_nop 3 // 5: BF800003
s_nop 1 // 6: BF800001
L7:
s_endpgm // 7: BF810000
""",
    ),
    "additions with others between them": (
        """\
k0:
s_getpc_b64 s[4:5] // 0: BE841C00
P0:
s_nop 3 // 1: BF800003
s_add_u32 s4, s4, L7-P0 // 2: 8004FF04 00000020
v_mov_b32_e32 v1, 0 // 3: 7E020280
s_addc_u32 s5, s5, (L7-P0)>>32 // 4: 8205FF05 00000000
s_setpc_b64 s[4:5] // 5: BE801D04
s_nop 1 // 6: BF800001
L7:
s_endpgm // 7: BF810000
""",
        """\
k0:
s_getpc_b64 s[4:5] // 0: BE841C00
P0:
s_nop 3 // 1: BF800003
s_add_u32 s4, s4, L8-P0 // 2: 8004FF04 00000024
s_nop 4 // 3: BF800004
v_mov_b32_e32 v1, 0 // 4: 7E020280
s_addc_u32 s5, s5, (L8-P0)>>32 // 5: 8205FF05 00000000
s_setpc_b64 s[4:5] // 6: BE801D04
s_nop 1 // 7: BF800001
L8:
s_endpgm // 8: BF810000
""",
    ),
    "inline constants that grow": (
        """\
k0:
s_getpc_b64 s[4:5] // 0: BE841C00
P0:
s_add_u32 s4, s4, L5-P0 // 1: 80049004
s_addc_u32 s5, s5, (L5-P0)>>32 // 2: 82058005
s_setpc_b64 s[4:5] // 3: BE801D04
s_nop 1 // 4: BF800001
L5:
s_endpgm // 5: BF810000
""",
        """\
k0:
s_getpc_b64 s[4:5] // 0: BE841C00
P0:
s_add_u32 s4, s4, L14-P0 // 1: 8004FF04 0000005C
s_addc_u32 s5, s5, (L14-P0)>>32 // 2: 82058005
s_setpc_b64 s[4:5] // 3: BE801D04
v_mov_b32_e32 v1, 0x12345678 // 4: 7E0202FF 12345678
v_mov_b32_e32 v1, 0x12345678 // 5: 7E0202FF 12345678
v_mov_b32_e32 v1, 0x12345678 // 6: 7E0202FF 12345678
v_mov_b32_e32 v1, 0x12345678 // 7: 7E0202FF 12345678
v_mov_b32_e32 v1, 0x12345678 // 8: 7E0202FF 12345678
v_mov_b32_e32 v1, 0x12345678 // 9: 7E0202FF 12345678
v_mov_b32_e32 v1, 0x12345678 // 10: 7E0202FF 12345678
v_mov_b32_e32 v1, 0x12345678 // 11: 7E0202FF 12345678
v_mov_b32_e32 v1, 0x12345678 // 12: 7E0202FF 12345678
s_nop 1 // 13: BF800001
L14:
s_endpgm // 14: BF810000
""",
    ),
    "one addition of 64 bits (gfx1250)": (
        """\
k0:
s_get_pc_i64 s[4:5] // 0: BE844700
P0:
s_add_nc_u64 s[4:5], s[4:5], L4-P0 // 1: A984FE04 00000014 00000000
s_swap_pc_i64 s[30:31], s[4:5] // 2: BE9E4904
s_endpgm // 3: BFB00000
f:
L4:
s_nop 7 // 4: BF800007
s_set_pc_i64 s[30:31] // 5: BE80481E
""",
        """\
k0:
s_get_pc_i64 s[4:5] // 0: BE844700
P0:
s_add_nc_u64 s[4:5], s[4:5], L5-P0 // 1: A984FE04 00000018 00000000
s_nop 1 // 2: BF800001
s_swap_pc_i64 s[30:31], s[4:5] // 3: BE9E4904
s_endpgm // 4: BFB00000
f:
L5:
s_nop 7 // 5: BF800007
s_set_pc_i64 s[30:31] // 6: BE80481E
""",
    ),
}
"""The listing of each object before and after its edits, with the words of every instruction."""


@pytest.mark.parametrize("name", CASES)
def test_text_before_and_after(name):
    make, edits = CASES[name]
    obj = CodeObject.parse(make())
    kernel = obj.kernels[0].name
    program = recover(obj, kernel)
    assert body(obj.data, kernel) == GOLDEN[name][0]
    assert rebuild(program) == obj.data
    data = checked(apply_all(program, edits))
    assert body(data, kernel) == GOLDEN[name][1]
    assert check_rebuild(apply_all(program, edits), data).facts["references"] >= 1


@pytest.mark.parametrize("name", CASES)
def test_the_listing_is_read_back(name):
    make, edits = CASES[name]
    obj = CodeObject.parse(make())
    for program in (recover(obj), apply_all(recover(obj), edits)):
        again = parse_listing(listing(program), obj)
        assert again == program
        assert rebuild(again) == rebuild(program)


@pytest.mark.parametrize("name", CASES)
def test_damage_is_found(name):
    make, edits = CASES[name]
    program = apply_all(recover(CodeObject.parse(make())), edits)
    data = rebuild(program)
    text = CodeObject.parse(data).text
    for at in range(text.offset, text.offset + text.size):
        raw = bytearray(data)
        raw[at] ^= 4
        assert check_rebuild(program, bytes(raw)).verdict is Verdict.REFUTED, at - text.offset


def test_data_that_moves_is_still_reached():
    """Growth by pages moves .data and .got; the places are read through the literals of the new code."""
    for code, name in ((load("numbers"), "numbers"), (load("numbers", "gotpcrel32"), ".got"), (load("table"), "table")):
        obj = CodeObject.parse(build(code, extra=DATA))
        new = CodeObject.parse(checked(Insert(3, ("s_nop 1",) * 3000).apply(recover(obj))[0]))
        low, high = (int.from_bytes(new.text_bytes[at : at + 4], "little") for at in (8, 16))
        reached = new.text.address + 4 + (high << 32 | low) & (1 << 64) - 1
        section = new.section(name)
        assert reached == (symbol(new, name) if section is None else section.address)
        assert section is not None or quad(new, reached) in (11, 13)


class TestListing:
    def test_a_place_may_be_changed(self):
        obj = CodeObject.parse(build(CALL, extra=function("f") + function("g")))
        text = listing(recover(obj))
        edited = parse_listing(text.replace("L5-P0", "g-P0"), obj)
        found = recover(CodeObject.parse(checked(edited)))
        assert found.lines[1].reference is not None and found.lines[1].reference.line == 7

    def test_new_additions_may_be_written(self):
        program = recover(CodeObject.parse(build(LOOP)))
        fresh = program.next_id
        jump = (
            "s_getpc_b64 s[8:9]",
            f"s_add_u32 s8, s8, L15-P{fresh}",
            f"s_addc_u32 s9, s9, (L15-P{fresh})>>32",
            "s_setpc_b64 s[8:9]",
        )
        edited = Insert(2, jump).apply(program)[0]
        new = recover(CodeObject.parse(checked(edited)))
        assert new.blocks[0].successors == (1,) and new.lines[new.blocks[1].first].instruction.base == "s_endpgm"
        for wrong in ("s_add_u32 s8, s8, L99-P2", "s_add_u32 s8, s8, L2-P99"):
            with pytest.raises(InputError, match="names line 99"):
                Insert(2, wrong).apply(program)

    @pytest.mark.parametrize(
        "old, new, message",
        [
            ("L5-P0", "L77-P0", "'L77', which is not defined"),
            ("L5-P0", "L5-P4", "'P4', which is not defined"),
            ("L5-P0", ".nowhere@rel32@lo+(.+4-P0)", "no section of the object"),
        ],
    )
    def test_unknown_places(self, old, new, message):
        obj = CodeObject.parse(build(CALL, extra=function("f")))
        with pytest.raises(InputError, match=message):
            parse_listing(listing(recover(obj)).replace(old, new, 1), obj)


class TestBlocks:
    def test_a_long_branch_is_a_branch(self):
        program = recover(CodeObject.parse(build(FAR)))
        assert [(b.first, b.last, b.successors) for b in program.blocks] == [(0, 4, (1,)), (5, 6, ())]

    @pytest.mark.parametrize("code", [CALL, SPACED, FAR.replace("s_nop 1", "s_branch 0b")])
    def test_other_jumps_are_computed(self, code):
        """Calls return to where nothing tells; additions that are apart, or entered between, are not followed."""
        with pytest.raises(UnsupportedError, match="goes to a computed address"):
            _ = recover(CodeObject.parse(build(code, extra=function("f")))).blocks


class TestNotUnderstood:
    """Uses of the program counter that nothing is known of: the object is kept, and nothing in it moves."""

    @pytest.mark.parametrize(
        "code",
        [
            "s_getpc_b64 s[2:3]\n s_load_dword s4, s[2:3], 0x10",
            "s_getpc_b64 s[2:3]\n s_add_u32 s2, s2, 16\n s_mov_b32 s4, s3\n s_addc_u32 s3, s3, 0",
            "s_getpc_b64 s[2:3]\n s_add_u32 s2, s2, 16\n s_cmp_eq_u32 s4, 0\n s_addc_u32 s3, s3, 0",
            "s_getpc_b64 s[2:3]\n s_add_u32 s2, s2, s4\n s_addc_u32 s3, s3, s5",
            "s_getpc_b64 s[2:3]\n s_add_u32 s6, s2, 16\n s_addc_u32 s7, s3, 0",
            "s_getpc_b64 s[2:3]\n1:\n s_add_u32 s2, s2, 16\n s_addc_u32 s3, s3, 0\n s_cbranch_scc1 1b",
            "s_getpc_b64 s[2:3]\n s_add_u32 s2, s2, 22\n s_addc_u32 s3, s3, 0",
            "s_getpc_b64 s[2:3]\n s_add_u32 s2, s2, 24\n s_addc_u32 s3, s3, 0\n s_nop 0\n s_nop 1\n s_nop 2",
            "s_getpc_b64 s[2:3]\n s_add_u32 s2, s2, 0x500000\n s_addc_u32 s3, s3, 0",
            "s_call_b64 s[2:3], 0",
        ],
        ids=["load", "high half read", "carry lost", "no constant", "raw result lives on", "second way in", "odd byte",
             "code that nothing names", "nowhere", "call"],
    )  # fmt: skip
    def test_nothing_moves(self, code):
        obj = CodeObject.parse(build(code + "\n s_nop 5\n" + LOOP.replace("1:", "3:").replace("1b", "3b")))
        program = recover(obj)
        last = program.lines[-1].id
        with pytest.raises(UnmovableError, match="in a way that is not understood"):
            rebuild(Insert(last, "s_nop 0").apply(program)[0])
        nop = next(line.id for line in program.lines if line.instruction.text == "s_nop 5")
        checked(Replace(nop, "s_nop 6").apply(program)[0])

    def test_an_edit_that_takes_an_addition_apart(self):
        program = recover(CodeObject.parse(build(CALL, extra=function("f"))))
        for edit in (Delete((1,)), Delete((2,)), Delete((0,)), Replace(1, "s_add_u32 s4, s4, 5"), Reorder((2, 1))):
            with pytest.raises(UnmovableError):
                rebuild(apply_all(program, [edit, Insert(4, ("s_nop 0", "s_nop 0", "s_nop 1"))]))
        checked(Delete((0, 1, 2)).apply(program)[0])

    def test_the_program_counter_is_taken_away(self):
        """Although everything stays at its place."""
        program = recover(CodeObject.parse(build(CALL, extra=function("f"))))
        with pytest.raises(UnmovableError, match="adds to the program counter of line 0, which an edit removes"):
            rebuild(apply_all(program, [Insert(0, "s_nop 0"), Delete((0,))]))

    def test_the_place_is_deleted(self):
        """The next line takes its place; where there is none, the error is named."""
        program = recover(CodeObject.parse(build(CALL, extra=function("f"))))
        assert checked(Delete((5,)).apply(program)[0])
        with pytest.raises(InputError, match="Line 5 is the target"):
            Delete((5, 6)).apply(program)


def test_a_new_program_counter_is_not_moved_either():
    program = Insert(2, "s_getpc_b64 s[8:9]").apply(recover(CodeObject.parse(build(LOOP))))[0]
    with pytest.raises(UnmovableError, match="s_getpc_b64"):
        rebuild(program)


def test_a_reference_to_a_line_that_is_gone_is_named():
    program = recover(CodeObject.parse(build(CALL, extra=function("f"))))
    lines = tuple(line for line in program.lines if line.id != 5)
    with pytest.raises(EntryError, match="removes line 5, whose address the code uses"):
        rebuild(program.with_lines(lines))

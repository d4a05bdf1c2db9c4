"""Instructions without effect."""

from __future__ import annotations

import pytest
from strategy_kit import lines, results

from asmevo.isa import parse_instruction, span
from asmevo.program.liveness import liveness
from asmevo.strategies.invariants import invariant_lines
from asmevo.strategies.simplify import Simplify
from asmevo.strategies.values import copy_of, dead_lines, is_pure, redundant_lines
from asmevo.strategies.webs import renamed
from programs import program_from_text

STORE = "global_store_dword v[40:41], v{}, off"


def analysed(text: str) -> tuple[list[int], list[int]]:
    """Dead and redundant lines of the first block."""
    program = program_from_text(text)
    block = program.blocks[0]
    known = liveness(program)
    body = program.lines[block.first : block.last]
    live = [known.live_out(block.first + i) for i in range(len(body))]
    return dead_lines(body, live), redundant_lines(body, live)


def test_results_that_nobody_reads() -> None:
    text = f"""
        v_mov_b32_e32 v0, 1
        v_mov_b32_e32 v1, 2
        s_add_u32 s0, s1, s2
        v_add_u32_e32 v1, v1, v2
        {STORE.format(1)}
        s_endpgm
    """
    dead, _ = analysed(text)
    assert dead == [0, 2]
    assert results(Simplify(), text)["delete 2 lines: result that nobody reads"] == lines(f"""
        v_mov_b32_e32 v1, 2
        v_add_u32_e32 v1, v1, v2
        {STORE.format(1)}
        s_endpgm
    """)


@pytest.mark.parametrize(
    ("body", "redundant"),
    [
        ("s_mov_b32 s2, s2", [0]),
        ("v_mov_b32_e32 v5, v5", [0]),
        ("v_mov_b32_e32 v5, v6\nv_mov_b32_e32 v5, v6", [1]),
        ("v_mov_b32_e32 v5, v6\nv_mov_b32_e32 v6, 0\nv_mov_b32_e32 v5, v6", []),
        ("v_mov_b32_e32 v5, v6\nv_mov_b32_e32 v5, 0\nv_mov_b32_e32 v5, v6", []),
        ("v_add_u32_e32 v5, v6, v7\nv_add_u32_e32 v5, v6, v7", [1]),
        ("v_add_u32_e32 v5, v5, v7\nv_add_u32_e32 v5, v5, v7", []),
        ("s_mov_b32 m0, 0x100\nds_read_b32 v9, v8\ns_mov_b32 m0, 0x100", [2]),
        ("s_mov_b32 s2, s3\ns_mov_b32 s3, s2", [1]),
        # under another EXEC other lanes are written
        ("v_mov_b32_e32 v5, v6\ns_mov_b64 exec, s[4:5]\nv_mov_b32_e32 v5, v6", []),
        # the sum is there; its carry, which differs from what SCC holds then, is read by nobody
        ("s_add_u32 s6, s7, 4\ns_cmp_lt_u32 s6, s8\ns_cselect_b32 s9, s9, 0\n"
         "s_add_u32 s6, s7, 4\ns_cmp_lt_u32 s6, s8\ns_cselect_b32 s10, s10, 0", [3, 4]),
        # ... and where the carry is read, it stays
        ("s_add_u32 s6, s7, 4\ns_cmp_lt_u32 s6, s8\ns_add_u32 s6, s7, 4\ns_addc_u32 s9, s9, 0", []),
    ],
)  # fmt: skip
def test_what_is_there_already(body: str, redundant: list[int]) -> None:
    keep = "v_mov_b32_e32 v30, v5\nv_add_u32_e32 v30, s2, v30\nv_add_u32_e32 v30, s3, v30\nv_add_u32_e32 v30, s6, v30\n"
    keep += "v_add_u32_e32 v30, s9, v30\nv_add_u32_e32 v30, s10, v30\nds_read_b32 v31, v8\n"
    keep += "s_waitcnt lgkmcnt(0)\n" + STORE.format(30) + "\n" + STORE.format(31) + "\ns_endpgm"
    text = f"{body}\n{keep}"
    if "m0" in body:
        text = text.replace("ds_read_b32 v31, v8", "buffer_load_dword v31, s[0:3], 0 offen lds\ns_waitcnt vmcnt(0)")
    _, found = analysed(text)
    assert [i for i in found if i < len(body.splitlines())] == redundant


def test_one_that_stays_may_spoil_a_later_one() -> None:
    """The second compare may go only together with the sum in front of it."""
    text = """
        s_add_u32 s6, s7, 4
        s_cmp_lt_u32 s6, s8
        s_cselect_b32 s9, s9, 0
        s_add_u32 s6, s7, 4
        s_cmp_lt_u32 s6, s8
        s_cselect_b32 s10, s10, 0
        v_add_u32_e32 v1, s9, v1
        v_add_u32_e32 v1, s10, v1
        v_add_u32_e32 v1, s6, v1
        global_store_dword v[40:41], v1, off
        s_endpgm
    """
    found = results(Simplify(), text)
    assert len(found["delete 2 lines: instruction that changes nothing"]) == 9
    assert "delete `s_add_u32 s6, s7, 4`: instruction that changes nothing" in found
    assert "delete `s_cmp_lt_u32 s6, s8`: instruction that changes nothing" not in found


def test_copies_are_propagated() -> None:
    text = f"""
        v_add_u32_e32 v5, 0, v6
        v_mul_f32_e32 v7, v5, v5
        v_add_u32_e32 v8, v5, v7
        {STORE.format(8)}
        s_endpgm
    """
    assert results(Simplify(), text)["copy `v_add_u32_e32 v5, 0, v6` propagated"] == lines(f"""
        v_mul_f32_e32 v7, v6, v6
        v_add_u32_e32 v8, v6, v7
        {STORE.format(8)}
        s_endpgm
    """)


@pytest.mark.parametrize(
    "body",
    [
        "v_mov_b32_e32 v5, v6\nv_mov_b32_e32 v6, 0\nv_mov_b32_e32 v8, v5",  # the source changes first
        "v_mov_b32_e32 v4, v6\nv_mov_b32_e32 v5, v6\nv_lshl_add_u64 v[8:9], v[4:5], 0, s[0:1]",  # a pair
        "v_mov_b32_e32 v5, v6\ns_mov_b64 exec, s[4:5]\nv_mov_b32_e32 v8, v5",  # other lanes
        "v_mov_b32_e32 v5, v6\nv_mov_b32_dpp v8, v5 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0",  # lanes off
        "v_mov_b32_e32 v5, v6\nv_fmac_f32_e32 v5, v6, v7\nv_mov_b32_e32 v8, v5",  # changed in place
    ],
)
def test_copies_that_must_stay(body: str) -> None:
    text = f"{body}\n{STORE.format(8)}\ns_endpgm"
    assert "copy `v_mov_b32_e32 v5, v6` propagated" not in results(Simplify(), text)


def test_nops_shrink_to_what_spacing_asks_for() -> None:
    mfma = "v_mfma_f32_16x16x32_fp8_fp8 v[0:3], v[8:9], v[10:11], 0"
    text = f"{mfma}\ns_nop 15\nv_mul_f32_e32 v5, v0, v0\ns_nop 3\n{STORE.format(5)}\ns_endpgm"
    assert results(Simplify(), text)["nops as short as spacing allows"] == lines(f"""
        {mfma}
        s_nop 6
        v_mul_f32_e32 v5, v0, v0
        {STORE.format(5)}
        s_endpgm
    """)


LOOP = """
    s_mov_b32 s8, 0
loop:
    s_mov_b32 s6, s2
    s_mov_b32 s7, s3
    s_add_u32 s8, s8, s6
    v_mov_b32_e32 v1, s8
    global_store_dword v[40:41], v1, off
    s_cmp_lt_u32 s8, s7
    s_cbranch_scc1 loop
    s_endpgm
"""


def test_invariant_lines_go_in_front_of_the_loop() -> None:
    found = results(Simplify(), LOOP, block=1)
    assert found["2 loop-invariant lines moved in front of the loop"] == lines("""
        s_mov_b32 s8, 0
        s_mov_b32 s6, s2
        s_mov_b32 s7, s3
        s_add_u32 s8, s8, s6
        v_mov_b32_e32 v1, s8
        global_store_dword v[40:41], v1, off
        s_cmp_lt_u32 s8, s7
        s_cbranch_scc1 ->3
        s_endpgm
    """)


def test_scalar_invariants_go_alone_first() -> None:
    """What vector registers hold at the begin of a block no proof knows."""
    found = results(
        Simplify(), LOOP.replace("v_mov_b32_e32 v1, s8", "v_mov_b32_e32 v2, s6\nv_add_u32_e32 v1, s8, v2"), block=1
    )
    hoists = [note for note in found if "loop-invariant" in note]
    assert hoists[:2] == [f"{n} loop-invariant lines moved in front of the loop" for n in (2, 3)]
    assert "v_mov_b32_e32 v2, s6" == found[hoists[0]][4] == found[hoists[1]][3]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("s_add_u32 s8, s8, s6", "s_add_u32 s8, s8, s6\n s_mov_b32 s2, s8"),  # the source changes in the loop
        ("s_add_u32 s8, s8, s6", "s_add_u32 s6, s8, s6"),  # another writer
        ("s_mov_b32 s6, s2", "s_add_u32 s8, s8, s6\n s_mov_b32 s6, s2"),  # read before it is written
        ("s_mov_b32 s8, 0", "s_cbranch_scc0 loop"),  # entered by a branch as well
    ],
)
def test_lines_that_are_no_invariants(old: str, new: str) -> None:
    program = program_from_text(LOOP.replace(old, new))
    block = program.blocks[1]
    found = invariant_lines(program, block, liveness(program).live_in(block.first))
    assert "s_mov_b32 s6, s2" not in [program.line(i).instruction.text for i in found]


@pytest.mark.parametrize(
    ("text", "pure"),
    [
        ("v_add_u32_e32 v0, v1, v2", True), ("s_add_u32 s0, s1, s2", True), ("v_readfirstlane_b32 s0, v1", True),
        ("ds_read_b32 v0, v1", False), ("global_store_dword v[0:1], v2, off", False), ("s_barrier", False),
        ("s_mov_b64 exec, s[0:1]", False), ("s_and_saveexec_b64 s[0:1], vcc", False), ("s_waitcnt vmcnt(0)", False),
        ("s_endpgm", False), ("s_nop 0", False), ("v_mfma_f32_16x16x32_fp8_fp8 v[0:3], v[8:9], v[10:11], 0", True),
    ],
)  # fmt: skip
def test_purity(text: str, pure: bool) -> None:
    assert is_pure(parse_instruction(text)) is pure


@pytest.mark.parametrize(
    ("text", "is_copy"),
    [
        ("v_mov_b32_e32 v0, v1", True), ("v_add_u32_e32 v0, 0, v1", True), ("s_mov_b64 s[0:1], s[2:3]", True),
        ("v_or_b32_e32 v0, 0, v1", True), ("v_lshlrev_b32_e32 v0, 0, v1", True), ("v_mov_b32_e32 v0, s1", True),
        ("v_mov_b32_e32 v0, 1", False), ("v_add_u32_e32 v0, v2, v1", False), ("v_and_b32_e32 v0, 0, v1", False),
        ("v_add_f32_e32 v0, 0, v1", False), ("v_lshlrev_b32_e32 v0, v1, v2", False), ("s_mov_b32 m0, s1", False),
        ("v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf", False),
    ],
)  # fmt: skip
def test_copies(text: str, is_copy: bool) -> None:
    assert (copy_of(parse_instruction(text)) is not None) is is_copy


def test_renaming_a_register_in_a_text() -> None:
    def rename(text: str, shift: int = 1) -> str | None:
        return renamed(parse_instruction(text), span(256 + 5, 1), 0, shift)

    assert rename("v_add_u32_e32 v15, v5, v55") == "v_add_u32_e32 v15, v6, v55"
    assert rename("v_fma_f32 v1, -v5, |v5|, v2") == "v_fma_f32 v1, -v6, |v6|, v2"
    assert rename("v_add_u32_e32 v5, v5, v1") == "v_add_u32_e32 v5, v6, v1"
    assert rename("v_fmac_f32_e32 v5, v5, v1") is None
    assert rename("v_add_u32_e32 v4, v5, v1", 300) is None
    assert rename("global_load_dword v1, v[4:5], off") is None
    assert rename("buffer_load_dword v1, v5, s[4:7], 0 offen offset:5") == (
        "buffer_load_dword v1, v6, s[4:7], 0 offen offset:5"
    )

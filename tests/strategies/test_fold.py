"""Copies that go into packed operands, into what makes their source, and into their readers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategy_kit import context, context_of, lines, outcomes, results, shown

from asmevo.gate.proof import ProofStage
from asmevo.isa import parse_instruction, span
from asmevo.isa.registers import VGPR_BASE
from asmevo.program import Program, check_rebuild, rebuild, recover
from asmevo.strategies.broadcast import broadcasts, selected_reads
from asmevo.strategies.copies import mergers, propagations, together
from asmevo.strategies.fold import Fold
from asmevo.verdict import Verdict
from sim_kernels import OUTPUTS, Image, kernel, run

END = "global_store_dwordx4 v[40:41], v[0:3], off\ns_endpgm"
"""v0 to v3 are what is wanted of a block."""


def found(text: str, find: object) -> tuple[Program, list[int], dict[int, str]]:
    where = context(f"{text}\n{END}")
    first, last = where.block.first, where.block.last
    live = [where.analyses.liveness.live_out(n) for n in range(first, last)]
    gone, texts = find(where.lines, live)  # type: ignore[operator]
    return where.program, gone, texts


def pairs(text: str) -> tuple[list[int], list[str]]:
    _, gone, texts = found(text, broadcasts)
    return gone, list(texts.values())


def test_both_elements_read_one_register() -> None:
    text = """
        v_mov_b32_e32 v57, v56
        v_pk_fma_f32 v[0:1], v[4:5], v[56:57], v[0:1]
        v_pk_mul_f32 v[2:3], v[56:57], v[6:7] neg_lo:[0,1] neg_hi:[0,1]
    """
    assert results(Fold(), f"{text}\n{END}")["1 copies into pairs, which packed instructions read by op_sel"] == [
        *lines("""
            v_pk_fma_f32 v[0:1], v[4:5], v[56:57], v[0:1] op_sel_hi:[1,0,1]
            v_pk_mul_f32 v[2:3], v[56:57], v[6:7] op_sel_hi:[0,1] neg_lo:[0,1] neg_hi:[0,1]
        """),
        *lines(END),
    ]


@pytest.mark.parametrize(
    ("body", "texts"),
    [
        # the high half of another pair, for both
        ("v_mov_b32_e32 v8, v25\nv_mov_b32_e32 v9, v25\nv_pk_mul_f32 v[0:1], v[8:9], v[4:5]",
         ["v_pk_mul_f32 v[0:1], v[24:25], v[4:5] op_sel:[1,0]"]),
        # a pair that is a copy of a pair the other way round
        ("v_mov_b32_e32 v8, v25\nv_mov_b32_e32 v9, v24\nv_pk_mul_f32 v[0:1], v[8:9], v[4:5]",
         ["v_pk_mul_f32 v[0:1], v[24:25], v[4:5] op_sel:[1,0] op_sel_hi:[0,1]"]),
        # a selection that is there already counts
        ("v_mov_b32_e32 v9, v24\nv_pk_mul_f32 v[0:1], v[8:9], v[4:5] op_sel:[1,0]",
         ["v_pk_mul_f32 v[0:1], v[24:25], v[4:5] op_sel_hi:[0,1]"]),
        # a copy of a copy
        ("v_mov_b32_e32 v8, v24\nv_add_u32_e32 v9, 0, v8\nv_pk_add_f32 v[0:1], v[8:9], v[8:9]",
         ["v_pk_add_f32 v[0:1], v[24:25], v[24:25] op_sel_hi:[0,0]"]),
    ],
)  # fmt: skip
def test_pairs(body: str, texts: list[str]) -> None:
    gone, new = pairs(body)
    assert gone == list(range(body.count("\n"))) and new == texts


@pytest.mark.parametrize(
    "body",
    [
        # what was copied is another value by then
        "v_mov_b32_e32 v9, v8\nv_mov_b32_e32 v8, 0\nv_pk_mul_f32 v[0:1], v[8:9], v[4:5]",
        # something else reads the copy
        "v_mov_b32_e32 v9, v8\nv_pk_mul_f32 v[0:1], v[8:9], v[4:5]\nv_add_f32_e32 v2, v9, v9",
        # in no common pair
        "v_mov_b32_e32 v8, v24\nv_mov_b32_e32 v9, v26\nv_pk_mul_f32 v[0:1], v[8:9], v[4:5]",
        # other lanes
        "v_mov_b32_e32 v9, v8\ns_mov_b64 exec, s[4:5]\nv_pk_mul_f32 v[0:1], v[8:9], v[4:5]",
        # halves of registers, not registers
        "v_mov_b32_e32 v9, v8\nv_pk_mul_f16 v0, v9, v4",
        # wanted behind the block
        "v_mov_b32_e32 v1, v0\nv_pk_mul_f32 v[2:3], v[0:1], v[4:5]",
    ],
)
def test_copies_that_packed_instructions_need(body: str) -> None:
    assert pairs(body) == ([], [])


def test_what_a_packed_instruction_reads() -> None:
    read = selected_reads(
        parse_instruction("v_pk_fma_f32 v[0:1], v[2:3], s[4:5], 1.0 op_sel:[0,1,0] op_sel_hi:[0,1,0]")
    )
    assert read == span(VGPR_BASE + 2, 1) | span(5, 1)


MERGED = """
    v_add_u32_e32 v8, 0x80, v0
    v_mul_u32_u24_e32 v1, 3, v8
    v_mov_b32_e32 v0, v8
"""


def test_the_copy_at_the_end_is_made_in_place() -> None:
    after = results(Fold(), f"{MERGED}\n{END}")["1 copies of what could be made in their place"]
    assert after == [*lines("v_add_u32_e32 v0, 0x80, v0\nv_mul_u32_u24_e32 v1, 3, v0"), *lines(END)]


def test_scalar_copies_are_made_in_place() -> None:
    text = "s_lshl_b32 s8, s9, 6\ns_cmp_lg_u32 s9, 31\ns_mov_b32 s1, s8\nv_mov_b32_e32 v0, s1"
    _, gone, texts = found(text, lambda a, b: together(a, b, mergers))
    assert (gone, texts) == ([2], {0: "s_lshl_b32 s1, s9, 6"})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("v_mul_u32_u24_e32 v1, 3, v8", "v_mul_u32_u24_e32 v1, 3, v0"),  # the old value is read in between
        ("v_mul_u32_u24_e32 v1, 3, v8", "v_mul_u32_u24_e32 v0, 3, v8"),  # the target is written in between
        ("v_mul_u32_u24_e32 v1, 3, v8", "s_mov_b64 exec, s[4:5]"),  # other lanes
        ("v_mul_u32_u24_e32 v1, 3, v8", "v_mov_b32_dpp v1, v8 row_shr:1 row_mask:0xf bank_mask:0xf"),  # lanes off
        ("v_mul_u32_u24_e32 v1, 3, v8", "v_lshl_add_u64 v[2:3], v[8:9], 0, s[4:5]"),  # in a pair
        ("v_mov_b32_e32 v0, v8", "v_mov_b32_e32 v0, v8\nv_add_f32_e32 v2, v8, v8"),  # read later
        ("v_add_u32_e32 v8, 0x80, v0", "v_fmac_f32_e32 v8, v0, v0"),  # made from what is in its place
        ("v_add_u32_e32 v8, 0x80, v0", "ds_read_b32 v8, v0\ns_waitcnt lgkmcnt(0)"),  # made later than it is issued
        ("v_add_u32_e32 v8, 0x80, v0", "s_nop 0"),  # not made here
    ],
)  # fmt: skip
def test_copies_that_are_not_made_in_place(old: str, new: str) -> None:
    text = MERGED.replace(old, new)
    assert text != MERGED
    assert found(text, lambda a, b: together(a, b, mergers))[1] == []


def test_readers_that_also_write_the_copy() -> None:
    text = """
        v_mov_b32_e32 v0, v8
        v_max3_f32 v0, v8, v9, v0
        v_max3_f32 v0, v10, v11, v0
    """
    after = results(Fold(), f"{text}\n{END}")["1 copies whose readers can read the source"]
    assert after == [*lines("v_max3_f32 v0, v8, v9, v8\nv_max3_f32 v0, v10, v11, v0"), *lines(END)]


def test_a_source_that_lives_longer_now_counts() -> None:
    """The second copy may not go by what was live before the first one went."""
    text = """
        v_mov_b32_e32 v8, v9
        v_mov_b32_e32 v10, v8
        v_mov_b32_e32 v9, 0
        v_add_f32_e32 v0, v10, v9
    """
    program, gone, texts = found(text, lambda a, b: together(a, b, propagations))
    assert gone == [0] and texts == {1: "v_mov_b32_e32 v10, v9"}
    assert program.line(2).instruction.text == "v_mov_b32_e32 v9, 0"


UNROLLED = """
    s_mov_b32 s8, 0
loop:
    v_mov_b32_e32 v57, v56
    v_pk_fma_f32 v[0:1], v[4:5], v[56:57], v[0:1]
    s_add_u32 s8, s8, 1
    s_cmp_lt_u32 s8, 9
    s_cbranch_scc0 done
    v_mov_b32_e32 v57, v56
    v_pk_fma_f32 v[2:3], v[4:5], v[56:57], v[2:3]
    s_add_u32 s8, s8, 1
    s_cmp_lt_u32 s8, 9
    s_cbranch_scc1 loop
done:
    global_store_dwordx4 v[40:41], v[0:3], off
    s_endpgm
"""


def test_unrolled_blocks_are_folded_together_and_one_by_one() -> None:
    found = results(Fold(), UNROLLED, block=1)
    what = "copies into pairs, which packed instructions read by op_sel"
    assert [text for text in found[f"2 {what} in 2 blocks"] if "v_mov_b32" in text] == []
    assert len([text for text in found[f"1 {what}"] if "v_mov_b32" in text]) == 1


def proof(text: str) -> set[Verdict]:
    where = context(f"{text}\n{END}")
    return {ProofStage(where.program).check(after)[0].verdict for _, after in outcomes(Fold(), where)}


def test_moved_values_are_proved_and_selected_halves_are_tested() -> None:
    assert proof(MERGED) == {Verdict.PROVED}
    assert proof("v_mov_b32_e32 v0, v8\nv_max3_f32 v0, v8, v9, v0") == {Verdict.PROVED}
    assert proof("v_mov_b32_e32 v57, v56\nv_pk_mul_f32 v[0:1], v[4:5], v[56:57]") == {Verdict.TESTED}


ROWS = 8
vector, pair, scalar = st.integers(8, 7 + ROWS), st.integers(4, 3 + ROWS // 2), st.integers(20, 23)
selection = st.sampled_from(["", " op_sel:[1,0]", " op_sel_hi:[0,1]", " op_sel:[0,1] op_sel_hi:[1,0]"])


@st.composite
def instruction(draw: st.DrawFn) -> str:
    d, a, b, c = (draw(vector) for _ in range(4))
    p, q, r = (2 * draw(pair) for _ in range(3))
    s, t = draw(scalar), draw(scalar)
    copies = [f"v_mov_b32_e32 v{d}, v{a}", f"v_mov_b32_e32 v{p + 1}, v{p}", f"s_mov_b32 s{s}, s{t}"]
    others = [
        f"v_pk_fma_f32 v[{p}:{p + 1}], v[{q}:{q + 1}], v[{r}:{r + 1}], v[{p}:{p + 1}]",
        f"v_pk_mul_f32 v[{p}:{p + 1}], v[{q}:{q + 1}], v[{r}:{r + 1}]{draw(selection)}",
        f"v_max3_f32 v{d}, v{a}, v{b}, v{c}",
        f"v_add_u32_e32 v{d}, s{s}, v{a}",
        f"v_fmac_f32_e32 v{d}, v{a}, v{b}",
        f"v_mov_b32_dpp v{d}, v{a} row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0",
        f"s_add_u32 s{s}, s{t}, 5",
        f"s_mov_b32 exec_lo, s{s}",
    ]
    return draw(st.sampled_from([*copies, *copies, *others]))


def whole(body: Sequence[str], active: int) -> str:
    rows = [f"v{8 + n}" for n in range(ROWS)]
    loads = [f"v_mul_u32_u24_e32 {row}, 0x{77777 + 1234 * n:x}, v0" for n, row in enumerate(rows)]
    return "\n".join([
        "v_and_b32_e32 v0, 0x3ff, v0", "v_lshlrev_b32_e32 v1, 2, v0",
        *loads, *(f"s_movk_i32 s{20 + n}, 0x{1111 * (n + 1):x}" for n in range(4)),
        f"s_add_u32 s8, s0, 0x{OUTPUTS:x}", "s_addc_u32 s9, s1, 0", f"s_mov_b32 exec_lo, 0x{active:x}",
        *body, "s_mov_b64 exec, -1", *(f"v_add_u32_e32 v8, s{20 + n}, v8" for n in range(4)),
        *(f"global_store_dword v1, {row}, s[8:9] offset:{256 * n}" for n, row in enumerate(rows)),
    ])  # fmt: skip


def executed(program: Program) -> bytes:
    image, execution = run(program, Image())
    assert execution.status == "done", execution
    return image.words(OUTPUTS, 64 * ROWS).tobytes()


@settings(max_examples=25, deadline=None)
@given(st.lists(instruction(), min_size=3, max_size=14), st.integers(0, 0xFFFFFFFF))
def test_random_blocks_compute_the_same_after_every_proposal(body: list[str], active: int) -> None:
    program = recover(kernel(whole(body, active)))
    where = context_of(program, 0)
    after = [candidate for _, candidate in outcomes(Fold(), where)]
    for candidate in after:
        assert check_rebuild(candidate, rebuild(candidate)).verdict is Verdict.TESTED
        assert executed(candidate) == executed(program), (shown(program), shown(candidate))

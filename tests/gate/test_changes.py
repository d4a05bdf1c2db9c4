"""What changed between two programs, and which of it must have been executed."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asmevo.edit import Delete, Insert, Reorder, Replace, apply_all
from asmevo.gate import align, changes, coverage
from asmevo.gate.matching import longest_ascending, match
from asmevo.gate.resources import resources
from asmevo.verdict import Verdict
from programs import program_from_text

K0 = program_from_text(
    """
    s_mov_b32 s2, 0
top:
    v_add_u32_e32 v1, 1, v1
    v_mul_lo_u32 v2, v1, v1
    v_xor_b32_e32 v3, v2, v1
    s_add_u32 s2, s2, 1
    s_cmp_lt_u32 s2, 8
    s_cbranch_scc1 top
    s_endpgm
    s_nop 0
    """
)


def after(*edits):
    return apply_all(K0, edits)


def all_of(program, but=()):
    return set(range(len(program.lines))) - set(but)


def test_nothing_changed():
    assert changes(K0, K0).empty
    assert coverage(K0, K0, {0}, {0}).verdict is Verdict.TESTED
    assert coverage(K0, K0, set(), {0}).verdict is Verdict.UNKNOWN


def test_an_insertion_and_the_branch_that_now_goes_to_it():
    found = changes(K0, after(Insert(1, "s_nop 1")))
    assert found.edited == (1, 7) and not found.moved and not found.deleted


def test_a_replacement():
    assert changes(K0, after(Replace(2, "v_mul_lo_u32 v2, v1, v3"))).edited == (2,)


def test_a_swap_marks_both_lines():
    found = changes(K0, after(Reorder((3, 2))))
    assert found.moved == (2, 3) and not found.edited


def test_a_move_over_several_marks_them_all():
    assert changes(K0, after(Reorder((4, 1, 2, 3)))).moved == (1, 2, 3, 4)


def test_a_deletion_moves_branches_without_marking_them():
    found = changes(K0, after(Delete((1,))))
    assert found.deleted == (1,) and not found.edited and not found.moved


def test_changes_must_be_executed():
    edited = after(Replace(2, "v_mul_lo_u32 v2, v1, v3"))
    assert coverage(K0, edited, all_of(edited), all_of(K0)).verdict is Verdict.TESTED
    check = coverage(K0, edited, all_of(edited, {2}), all_of(K0))
    assert check.verdict is Verdict.UNKNOWN
    assert [f.line for f in check.findings] == [2] and "v_mul_lo_u32" in check.findings[0].message


def test_both_sides_of_a_swap_must_be_executed():
    edited = after(Reorder((3, 2)))
    for missing in (2, 3):
        assert coverage(K0, edited, all_of(edited, {missing}), all_of(K0)).verdict is Verdict.UNKNOWN


def test_a_deleted_line_must_have_been_executed_in_k0():
    edited = after(Delete((3,)))
    assert coverage(K0, edited, all_of(edited), all_of(K0)).verdict is Verdict.TESTED
    assert coverage(K0, edited, all_of(edited), all_of(K0, {3})).verdict is Verdict.UNKNOWN


EDITS = st.lists(
    st.sampled_from(
        [
            Insert(3, "s_nop 1"),
            Insert(1, ("v_mov_b32_e32 v7, v1", "s_nop 0")),
            Delete((8,)),
            Delete((0,)),
            Replace(2, "v_mul_lo_u32 v2, v1, v3"),
            Reorder((5, 4)),
        ]
    ),
    unique_by=str,
)


@given(EDITS)
def test_aligning_bytes_finds_what_edits_did(edits):
    """With ids forgotten, the same lines are found again, or at least never fewer."""
    edited = after(*edits)
    forgotten = program_from_text(text_of(edited))
    found = changes(K0, align(K0, forgotten))
    known = changes(K0, edited)
    assert found.empty == known.empty
    assert len(found.deleted) - len(found.edited) == len(known.deleted) - len(known.edited) or known.moved
    same = K0.with_lines(align(K0, forgotten).lines, align(K0, forgotten).entry)
    assert text_of(same) == text_of(edited)


def text_of(program):
    """Listing with labels by position, so that ids do not matter."""
    labels = {line.target for line in program.lines if line.target is not None}
    out = []
    for position, line in enumerate(program.lines):
        if line.id in labels:
            out.append(f"L{position}:")
        at = None if line.target is None else program.position[line.target]
        out.append(line.instruction.text if at is None else f"{line.instruction.mnemonic} L{at}")
    return "\n".join(out)


def test_a_moved_line_keeps_its_id_when_only_bytes_are_known():
    edited = after(Reorder((4, 1, 2, 3)))
    assert changes(K0, align(K0, program_from_text(text_of(edited)))).moved


def lines(texts):
    return program_from_text("\n".join(f"v_mov_b32_e32 v0, {text}" for text in [*texts, "s99"])).lines


TEXTS = st.lists(st.sampled_from(["v1", "v2", "v3"]), max_size=12)


@given(TEXTS, TEXTS)
def test_matching_keeps_as_many_equal_lines_as_there_are_in_their_order(a, b):
    found = match(lines(a), lines(b))
    a, b = [*a, "end"], [*b, "end"]
    same = {j: i for j, i in found.items() if a[i] == b[j]}
    for text in set(a) | set(b):
        pairs = sorted((j, i) for j, i in same.items() if b[j] == text)
        assert len(pairs) == min(a.count(text), b.count(text))
        assert all(x[1] < y[1] for x, y in pairwise(pairs))
    assert len(found) == len(set(found.values()))


@given(TEXTS, st.data())
def test_one_of_several_equal_lines_that_is_deleted_is_the_one_between_its_neighbours(texts, data):
    apart = [x for i, text in enumerate(texts) for x in (text, f"s{i}")]
    gone = data.draw(st.integers(0, len(apart)))
    found = match(lines(apart), lines(apart[:gone] + apart[gone + 1 :]))
    assert found == {i: i + (i >= gone and gone < len(apart)) for i in range(len(apart) + (gone == len(apart)))}


@given(st.permutations(range(10)))
def test_the_longest_ascending_run(values):
    found = [values[i] for i in longest_ascending(values)]
    best = [1] * len(values)
    for i, value in enumerate(values):
        best[i] = 1 + max((best[j] for j in range(i) if values[j] < value), default=0)
    assert found == sorted(found) and len(found) == max(best)


def test_aligning_a_program_with_itself_gives_the_same_object():
    assert align(K0, K0) is K0
    edited = after(Insert(3, "s_nop 1"), Reorder((2, 1)))
    aligned = align(K0, edited)
    assert align(K0, aligned) is aligned
    assert [a is b for a, b in zip(aligned.lines, edited.lines, strict=True)].count(False) <= 1  # the branch


def test_a_line_with_the_words_of_another_encoding_is_not_untouched():
    k0 = K0.with_lines(tuple(replace(x, words=bytes(4)) for x in K0.lines))
    other = tuple(replace(x, words=b"\0\0\1\0") if x.id == 2 else x for x in k0.lines)
    assert changes(k0, align(k0, k0.with_lines(other))).edited == (2,)


def test_registers_beyond_the_granted_ones():
    def verdict(text):
        return resources(K0, after(Replace(2, text))).verdict

    assert verdict("v_mov_b32_e32 v63, v1") is Verdict.TESTED
    assert verdict("v_mov_b32_e32 v64, v1") is Verdict.REFUTED
    assert verdict("v_mfma_f32_4x4x1_16b_f32 v[62:65], v1, v2, v[62:65]") is Verdict.REFUTED
    assert verdict("v_accvgpr_write_b32 a63, v1") is Verdict.TESTED
    assert verdict("v_accvgpr_write_b32 a64, v1") is Verdict.REFUTED
    assert verdict("s_mov_b32 vcc_lo, 0") is Verdict.TESTED


@pytest.mark.parametrize("field", ["lds_size", "private_size"])
def test_less_memory_than_k0_asks_for(field):
    """Launches of few sizes may never reach the end of it."""
    k0 = program_from_text("s_endpgm", **{field: 1024})
    assert resources(k0, program_from_text("s_endpgm", **{field: 1024})).verdict is Verdict.TESTED
    assert resources(k0, program_from_text("s_endpgm", **{field: 2048})).verdict is Verdict.TESTED
    less = resources(k0, program_from_text("s_endpgm", **{field: 512}))
    assert (less.verdict, [f.rule for f in less.findings]) == (Verdict.UNKNOWN, ["resources.less"])


def test_scalar_registers_behind_the_last_numbered_one_are_not_granted():
    """Of 48 SGPRs the last 6 are flat_scratch, xnack_mask and VCC: s41 is a register, s42 is part of a special one."""
    k0 = program_from_text("s_mov_b32 s3, 0\ns_mov_b32 vcc_lo, 0\ns_endpgm", sgpr_alloc=48)

    def verdict(text):
        return resources(k0, apply_all(k0, (Insert(1, text),))).verdict

    assert verdict("s_mov_b32 s41, 0") is Verdict.TESTED
    assert verdict("s_mov_b32 s42, 0") is Verdict.REFUTED
    assert verdict("s_mov_b64 s[46:47], 0") is Verdict.REFUTED
    used = program_from_text("s_mov_b32 s44, 0\ns_endpgm", sgpr_alloc=48)
    assert resources(used, apply_all(used, (Insert(1, "s_mov_b32 s44, 1"),))).verdict is Verdict.TESTED
    assert resources(used, apply_all(used, (Insert(1, "s_mov_b32 s45, 1"),))).verdict is Verdict.REFUTED


def test_k0s_own_excess_is_not_held_against_a_candidate():
    k0 = program_from_text("v_mov_b32_e32 v70, 0\ns_endpgm")
    edited, _ = Insert(1, "v_mov_b32_e32 v70, 1").apply(k0)
    assert resources(k0, edited).verdict is Verdict.TESTED
    edited, _ = Insert(1, "v_mov_b32_e32 v71, 1").apply(k0)
    assert resources(k0, edited).verdict is Verdict.REFUTED

"""The static stage: K0 and edits as text, verdicts and findings out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asmevo.edit import Delete, Edit, Insert, Reorder, Replace, apply_all
from asmevo.gate.static import StaticBaseline, discharge, static_check
from asmevo.verdict import Check, Severity, Verdict
from programs import program_from_text


def check(text: str, *edits: Edit, target: str = "gfx942", **descriptor: int) -> Check:
    k0 = program_from_text(text, target=target, **descriptor)
    return static_check(k0, apply_all(k0, edits))


def errors(found: Check) -> list[tuple[str, int | None]]:
    """(rule, line) of each error; the verdict must agree with them."""
    listed = [(f.rule, f.line) for f in found.findings if f.severity is Severity.ERROR]
    if found.verdict is not Verdict.UNKNOWN:
        assert found.verdict is (Verdict.REFUTED if listed else Verdict.TESTED)
    return listed


def unmatched(found: Check) -> list[int | None]:
    """Lines of accesses that K0 does not make; the verdict and the facts must agree with them."""
    lines = [f.line for f in found.findings if f.rule == "order.unmatched_access"]
    assert bool(lines) == bool(found.facts["unmatched_blocks"])
    assert not lines or not found.verdict.admitted
    return lines


TWO_PHASES = """
    ds_write_b32 v0, v1
    s_waitcnt lgkmcnt(0)
    s_barrier
    ds_read_b32 v2, v3
    s_waitcnt lgkmcnt(0)
    s_barrier
    ds_write_b32 v0, v4
    v_add_u32_e32 v5, v2, v2
    s_endpgm
"""


def test_the_identity_is_tested():
    assert errors(check(TWO_PHASES)) == []


def test_g22_a_barrier_before_the_wait_of_an_lds_read_lets_others_overwrite_the_buffer():
    assert errors(check(TWO_PHASES, Reorder((5, 4)))) == [("wait.fence", 5)]


def test_g22_an_lds_write_that_is_late_at_the_barrier():
    assert errors(check(TWO_PHASES, Delete((1,)))) == [("wait.fence", 2)]
    assert errors(check(TWO_PHASES, Reorder((2, 1)))) == [("wait.fence", 2)]
    assert errors(check(TWO_PHASES, Replace(1, "s_waitcnt lgkmcnt(1)"))) == [("wait.fence", 2)]
    assert errors(check(TWO_PHASES, Replace(1, "s_waitcnt vmcnt(0)"))) == [("wait.fence", 2)]


def test_g23_a_race_is_refused_by_rule_and_not_by_luck():
    """Without the barrier nothing in a few runs need differ; the static stage says no without running anything."""
    assert errors(check(TWO_PHASES, Delete((2,)))) == [("fence.changed", 2)]
    assert errors(check(TWO_PHASES, Delete((5,)))) == [("fence.changed", 5)]
    assert ("order.fence", 3) in errors(check(TWO_PHASES, Reorder((3, 2))))


def test_one_more_fence_is_undecided_and_not_wrong():
    """It may be stricter than needed; but some of the waves may never meet it."""
    for text in ("s_barrier", "buffer_inv sc1", "buffer_wbl2 sc1"):
        found = check(TWO_PHASES, Insert(8, text))
        assert found.verdict is Verdict.UNKNOWN
        assert [f.rule for f in found.findings if f.line == 9] == ["fence.added"]
        assert discharge(found, frozenset(range(9))).verdict is Verdict.UNKNOWN


def test_g24_one_wave_needs_no_wait_between_its_lds_accesses():
    """LDS accesses of one wave execute in order: only the use of the returned register needs the wait."""
    text = """
        ds_write_b32 v0, v1
        s_waitcnt lgkmcnt(0)
        ds_read_b32 v2, v0
        s_waitcnt lgkmcnt(0)
        s_waitcnt lgkmcnt(0)
        v_mov_b32_e32 v3, v2
        s_endpgm
    """
    assert errors(check(text, Delete((1,)))) == []
    assert errors(check(text, Delete((4,)))) == []
    assert errors(check(text, Delete((1,)), Delete((3,)))) == []
    assert errors(check(text, Delete((3, 4)))) == [("wait.raw", 5)]
    assert errors(check(text, Reorder((2, 1, 0)))) == [("order.memory", 2)]


NOPS = """
    v_mfma_f32_16x16x32_fp8_fp8 v[4:7], v[0:1], v[2:3], v[4:7]
    s_nop {}
    v_mov_b32_e32 v8, v5
    v_mov_b32_e32 v9, 0
    s_endpgm
"""


@pytest.mark.parametrize(("target", "enough"), [("gfx942", 6), ("gfx950", 7)])
def test_g26_a_matrix_result_read_one_state_too_early(target: str, enough: int):
    text = NOPS.format(enough)
    assert errors(check(text, target=target)) == []
    assert errors(check(text, Replace(1, f"s_nop {enough - 1}"), target=target)) == [("hazard.mfma_valu_read", 2)]
    assert errors(check(text, Delete((1,)), target=target)) == [("hazard.mfma_valu_read", 2)]
    assert errors(check(NOPS.format(enough + 1), Replace(1, f"s_nop {enough}"), target=target)) == []
    filled = (Replace(1, f"s_nop {enough - 1}"), Reorder((3, 2)))
    assert errors(check(text, *filled, target=target)) == []


def test_the_same_candidate_may_be_legal_on_one_target_only():
    edit = Replace(1, "s_nop 6")
    assert errors(check(NOPS.format(7), edit, target="gfx942")) == []
    assert errors(check(NOPS.format(7), edit, target="gfx950")) == [("hazard.mfma_valu_read", 2)]


CLOSE = """
    v_mfma_f32_16x16x32_fp8_fp8 v[4:7], v[0:1], v[2:3], v[4:7]
    s_nop 4
    v_mov_b32_e32 v8, v5
    s_nop 0
    v_mfma_f32_16x16x32_fp8_fp8 v[12:15], v[0:1], v[2:3], v[12:15]
    s_nop 6
    v_mov_b32_e32 v9, v13
    v_mfma_f32_32x32x16_fp8_fp8 v[16:31], v[0:1], v[2:3], v[16:31]
    s_nop 10
    v_mov_b32_e32 v9, v17
    s_endpgm
"""


def test_disputed_distances_are_judged_by_k0_for_the_same_pair_of_classes():
    """K0 reads a 4-pass result after 5 wait states: 5 will do anywhere, 4 will not, and 8 passes need the table."""
    found = check(CLOSE)
    (named,) = found.findings
    assert (named.rule, named.severity, named.facts["distance"]) == ("hazard.mfma_valu_read", Severity.WARNING, 5)
    assert found.facts["under_table"] == {
        "mfma_valu_read:xdl4:valu_read:overlap": {"sites": 1, "distance": 5, "required": 7}
    }
    assert errors(check(CLOSE, Replace(5, "s_nop 4"))) == []
    assert errors(check(CLOSE, Replace(5, "s_nop 3"))) == [("hazard.mfma_valu_read", 6)]
    assert errors(check(CLOSE, Replace(1, "s_nop 3"))) == [("hazard.mfma_valu_read", 2)]
    assert errors(check(CLOSE, Replace(8, "s_nop 9"))) == [("hazard.mfma_valu_read", 9)]


def test_a_distance_that_k0_has_for_one_consumer_is_no_leave_for_another():
    """K0 reads a dot product after 0 wait states with another VALU opcode; a store needs its 3 all the same."""
    text = """
        v_dot2_f32_f16 v5, v1, v2, v3
        v_mov_b32_e32 v6, v5
        v_dot2_f32_f16 v7, v1, v2, v3
        s_nop 2
        global_store_dword v1, v7, s[6:7]
        s_endpgm
    """
    assert errors(check(text, Delete((0, 1)), Delete((3,)))) == [("hazard.dot_read", 4)]
    assert errors(check(text, Delete((3,)))) == [("hazard.dot_read", 4)]
    assert errors(check(text, Replace(3, "s_nop 1"))) == [("hazard.dot_read", 4)]
    assert errors(check(text)) == []


def test_hazards_are_followed_into_unchanged_blocks():
    text = """
        v_readfirstlane_b32 s8, v0
        s_nop 3
        s_cbranch_scc0 out
        v_mov_b32_e32 v1, 0
    out:
        global_load_dword v2, v3, s[8:9]
        s_endpgm
    """
    assert errors(check(text)) == []
    assert errors(check(text, Replace(1, "s_nop 2"))) == [("hazard.sgpr_vmem", 4)]


LOADS = """
    buffer_load_dword v1, v0, s[4:7], 0 offen
    buffer_load_dword v2, v0, s[4:7], 0 offen offset:4
    s_waitcnt vmcnt(1)
    v_mov_b32_e32 v3, v1
    s_waitcnt vmcnt(0)
    v_mov_b32_e32 v4, v2
    v_mov_b32_e32 v5, 0
    s_endpgm
"""


def test_waits():
    assert errors(check(LOADS, Replace(2, "s_waitcnt vmcnt(2)"))) == [("wait.raw", 3)]
    assert errors(check(LOADS, Reorder((3, 2)))) == [("wait.raw", 3)]
    assert errors(check(LOADS, Reorder((1, 0)))) == [("wait.raw", 3)]
    assert errors(check(LOADS, Reorder((1, 0)), Replace(2, "s_waitcnt vmcnt(0)"))) == []
    assert errors(check(LOADS, Reorder((6, 5)), Reorder((6, 4)))) == []


def test_where_k0_itself_does_not_wait_its_timing_must_stay():
    """K0 reads v1 with nothing but time between; an edit there may add the wait, and may do anything elsewhere."""
    text = LOADS.replace("vmcnt(1)", "vmcnt(2)").replace(
        "v_mov_b32_e32 v5", "s_cbranch_scc0 out\nout:\nv_mov_b32_e32 v5"
    )
    found = check(text)
    assert errors(found) == []
    assert found.facts["waits_as_in_k0"] == 1
    assert errors(check(text, Insert(7, "v_mov_b32_e32 v6, 0"))) == []
    assert errors(check(text, Replace(2, "s_waitcnt vmcnt(1)"))) == []
    assert errors(check(text, Delete((2,)))) == [("wait.unprotected", 3)]


def test_the_way_to_a_use_that_k0_does_not_wait_for_may_grow_and_not_shrink():
    text = """
        v_mov_b32_e32 v9, 0
        global_load_dword v2, v1, s[4:5]
        v_mov_b32_e32 v5, 0
        v_mul_f32_e32 v6, v6, v6
        v_mov_b32_e32 v3, v2
        v_mov_b32_e32 v8, 0
        s_endpgm
    """
    for edits in (
        (Reorder((1, 0)),),
        (Reorder((3, 2)),),
        (Reorder((5, 4)),),
        (Insert(4, "s_nop 0"),),
        (Replace(3, "v_mul_f32_e32 v7, v6, v6"),),
    ):
        assert not [e for e in errors(check(text, *edits)) if e[0].startswith("wait")], edits
    for edits in (
        (Reorder((2, 1)),),
        (Reorder((4, 3)),),
        (Delete((3,)), Insert(4, "s_nop 0")),
        (Insert(2, "s_nop 0"), Reorder((4, 3))),
        (Insert(1, "s_nop 0"), Delete((2,))),
        (Replace(3, "v_add_f32_e32 v6, v6, v6"),),
    ):
        assert ("wait.unprotected", 4) in errors(check(text, *edits)), edits


def test_time_that_passes_in_a_block_between_protects_as_well():
    text = """
        global_load_dword v2, v1, s[4:5]
        s_cbranch_scc0 out
        s_sleep 5
        s_nop 7
        s_cbranch_vccz out
        s_waitcnt vmcnt(0)
        s_nop 3
    out:
        v_mov_b32_e32 v3, v2
        s_cbranch_execz end
        s_nop 2
        s_nop 2
    end:
        s_endpgm
    """
    assert errors(check(text)) == []
    for edit in (Delete((3,)), Delete((2,)), Replace(3, "s_nop 6"), Replace(2, "s_sleep 4")):
        assert errors(check(text, edit)) == [("wait.unprotected", 7)], edit
    for edit in (Insert(2, "s_nop 0"), Replace(3, "s_nop 8"), Replace(2, "s_sleep 6"), Insert(7, "s_setprio 1")):
        assert errors(check(text, edit)) == [], edit
    assert errors(check(text, Delete((6,)))) == []  # the load has arrived on this way
    assert errors(check(text, Delete((9,)))) == []
    assert errors(check(text, Delete((3,)), Insert(0, "s_nop 0"))) == [("wait.unprotected", 7)]
    assert errors(check(text, Delete((3,)), Insert(1, "s_waitcnt vmcnt(0)"))) == []


def test_dependent_lines_keep_their_order():
    text = """
        v_mov_b32_e32 v1, v0
        v_add_u32_e32 v2, v1, v1
        v_mov_b32_e32 v1, 7
        v_mov_b32_e32 v0, v5
        v_mov_b32_e32 v1, 8
        s_mov_b64 exec, s[0:1]
        v_mov_b32_e32 v6, 0
        s_endpgm
    """
    assert errors(check(text, Reorder((1, 0)))) == [("order.raw", 1)]
    assert ("order.war", 2) in errors(check(text, Reorder((2, 1))))
    assert errors(check(text, Reorder((4, 3, 2)))) == [("order.waw", 4)]
    assert errors(check(text, Reorder((3, 2)))) == []
    assert ("order.raw", 6) in errors(check(text, Reorder((6, 5))))


def test_a_replaced_line_that_reads_another_value_is_a_note_for_execution_to_judge():
    text = "v_mov_b32_e32 v1, v0\nv_add_u32_e32 v2, v1, v1\nds_write_b32 v3, v2\ns_endpgm"
    found = check(text, Replace(1, "v_add_u32_e32 v9, v1, v1"), Replace(2, "ds_write_b32 v3, v9"))
    assert errors(found) == []
    found = check(text, Insert(1, "v_mov_b32_e32 v1, 5"))
    assert errors(found) == []
    assert [(f.rule, f.line) for f in found.findings] == [("order.definition", 1)]


def test_memory_keeps_its_order():
    text = """
        buffer_store_dword v1, v0, s[4:7], 0 offen
        buffer_store_dword v2, v0, s[4:7], 0 offen offset:4
        buffer_load_dword v3, v0, s[8:11], 0 offen
        buffer_load_dword v4, v0, s[8:11], 0 offen offset:4
        s_endpgm
    """
    assert errors(check(text, Reorder((1, 0)))) == [("order.memory", 1)]
    assert errors(check(text, Reorder((2, 1)))) == [("order.memory", 2)]
    assert errors(check(text, Reorder((3, 2)))) == []


def test_a_store_that_was_changed_and_moved_over_a_fence_is_no_store_of_k0():
    text = "global_store_dword v[0:1], v2, off\nbuffer_wbl2 sc1\ns_waitcnt vmcnt(0)\ns_endpgm"
    edits = (Replace(0, "global_store_dword v[0:1], v3, off"), Reorder((1, 0)))
    assert unmatched(check(text, *edits)) == [4]


EXCHANGE = """
    ds_write_b32 v1, v2
    s_waitcnt lgkmcnt(0)
    s_barrier
    v_mov_b32_e32 v7, 0
    ds_read_b32 v3, v5
    s_waitcnt lgkmcnt(0)
    global_store_dword v1, v3, s[6:7]
    s_endpgm
"""


def test_a_read_that_passes_a_barrier_is_seen_however_the_edit_is_written():
    hoisted = Insert(2, ("ds_read_b32 v3, v5", "s_waitcnt lgkmcnt(0)"))
    for edits in ((Reorder((4, 2, 3)),), (hoisted, Delete((4,))), (Delete((4,)), hoisted), (hoisted, Delete((4, 5)))):
        assert ("order.fence", 4) in errors(check(EXCHANGE, *edits)), edits


def test_an_access_that_k0_does_not_make_is_for_a_proof_to_judge():
    """No rule of K0's says on which side of the barrier it belongs."""
    other = (Insert(2, ("ds_read_b32 v7, v5", "s_waitcnt lgkmcnt(0)")), Replace(4, "v_mov_b32_e32 v3, v7"))
    for edits in (
        other,
        (Insert(3, "ds_read_b32 v9, v5"), Insert(6, "s_nop 0")),
        (Insert(7, "global_store_dword v1, v7, s[6:7] offset:4"),),
        (Insert(0, "s_load_dword s8, s[6:7], 0x0"), Insert(7, "s_waitcnt lgkmcnt(0)")),
        (Replace(4, "ds_read_b32 v3, v6"),),
        (Replace(4, "ds_read_b32 v3, v5 offset:4"),),
        (Replace(4, "ds_read_u8 v3, v5"),),
        (Replace(6, "global_store_dword v1, v7, s[6:7]"),),
        (Replace(3, "ds_write_b32 v1, v7"),),
    ):
        found = check(EXCHANGE, *edits)
        assert found.verdict is Verdict.UNKNOWN, edits
        assert len(unmatched(found)) == 1 and found.facts["unmatched_blocks"] == [0]


def test_a_load_to_another_register_keeps_the_place_of_k0s():
    renamed = (Replace(4, "ds_read_b32 v9, v5"), Replace(6, "global_store_dword v1, v9, s[6:7]"))
    found = check(EXCHANGE, *renamed)
    assert errors(found) == [] and unmatched(found) == [6]
    alone = check(EXCHANGE, renamed[0])
    assert (errors(alone), unmatched(alone)) == ([], [])
    moved = check(EXCHANGE, renamed[0], Reorder((1, 2, 3, 4, 0)))
    assert ("order.memory", 4) in errors(moved)


def test_an_unmatched_access_does_not_hide_an_error():
    found = check(EXCHANGE, Insert(2, "ds_read_b32 v9, v5"), Delete((1,)))
    assert found.verdict is Verdict.REFUTED and unmatched(found) and errors(found)
    assert discharge(found, frozenset({0})) is found


def test_a_proof_discharges_accesses_of_its_blocks_and_nothing_else():
    text = EXCHANGE.replace("s_endpgm", "s_cbranch_scc0 out\nds_read_b32 v8, v1\nout:\ns_endpgm")
    found = check(text, Replace(4, "ds_read_b32 v3, v6"), Insert(8, "ds_read_b32 v9, v1"))
    assert found.facts["unmatched_blocks"] == [0, 1]
    for some in (frozenset[int](), frozenset({0}), frozenset({1, 2})):
        assert discharge(found, some) is found
    done = discharge(found, frozenset({0, 1, 2}))
    assert (done.verdict, done.facts["proved_blocks"]) == (Verdict.TESTED, [0, 1])
    assert errors(done) == [] and len(done.findings) == len(found.findings)
    flow = check(text, Replace(7, "s_nop 0"))
    assert flow.verdict is Verdict.UNKNOWN and discharge(flow, frozenset(range(9))) is flow


REMOVED = """
    ds_write_b32 v1, v2
    {}
    ds_read_b32 v5, v6
    s_waitcnt lgkmcnt(0)
    global_store_dword v1, v5, s[6:7]
    s_endpgm
"""


@pytest.mark.parametrize("between", ["ds_write_b32 v4, v3", "flat_store_dword v[8:9], v3"])
def test_accesses_keep_their_order_when_the_one_between_them_is_gone(between: str):
    text = REMOVED.format(between)
    assert ("order.memory", 2) in errors(check(text, Delete((1,)), Reorder((2, 0))))
    assert ("order.memory", 2) in errors(check(text, Replace(1, "v_mov_b32_e32 v9, 0"), Reorder((2, 0, 1))))
    kept = check(text, Delete((1,)))
    assert (errors(kept), unmatched(kept)) == ([], [])


def test_loads_that_a_removed_store_kept_apart_are_free():
    text = """
        global_load_dword v2, v1, s[4:5]
        global_store_dword v1, v3, s[6:7]
        global_load_dword v5, v1, s[4:5] offset:4
        s_endpgm
    """
    assert ("order.memory", 2) in errors(check(text, Reorder((2, 0, 1))))
    assert errors(check(text, Delete((1,)), Reorder((2, 0)))) == []


def test_writes_of_exec_stay():
    text = "s_mov_b64 exec, s[0:1]\nv_mov_b32_e32 v0, 0\ns_mov_b64 exec, -1\ns_endpgm"
    assert errors(check(text, Delete((2,)))) == [("exec.changed", 2)]
    assert errors(check(text, Replace(0, "s_mov_b64 exec, s[2:3]"))) == [("exec.changed", 0), ("exec.changed", 0)]
    assert errors(check(text, Insert(1, "s_mov_b64 exec, -1"))) == [("exec.changed", 4)]


def test_g30_a_change_of_the_float_mode_is_refused():
    text = "v_mov_b32_e32 v0, 0\ns_endpgm"
    assert errors(check(text, Insert(0, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 0"))) == [("fence.changed", 2)]


LOOP = """
    s_mov_b32 s8, 0
loop:
    s_barrier
    ds_read_b32 v1, v0
    {}
    s_barrier
    ds_write_b32 v0, v2
    s_waitcnt lgkmcnt(0)
    v_add_u32_e32 v3, v1, v3
    s_add_u32 s8, s8, 1
    s_cmp_lt_u32 s8, s9
    s_cbranch_scc1 loop
    s_endpgm
"""


def test_b23_a_wait_that_protects_the_next_turn_of_a_loop():
    """The write of one turn must be done at the barrier of the next: the wait is far behind it, across the branch."""
    text = LOOP.format("s_waitcnt lgkmcnt(0)")
    assert errors(check(text, Replace(6, "s_waitcnt lgkmcnt(1)"))) == [("wait.fence", 1)]
    assert errors(check(text, Replace(3, "s_waitcnt lgkmcnt(1)"))) == [("wait.fence", 4)]
    assert errors(check(text, Reorder((7, 6)))) == []


RING = """
    s_mov_b32 m0, s20
loop:
    buffer_load_dword v9, s[4:7], 0 offen lds
    buffer_load_dword v8, s[4:7], 0 offen lds
    s_waitcnt vmcnt({})
    s_barrier
    ds_read_b32 v1, v0
    s_waitcnt lgkmcnt(0)
    v_add_u32_e32 v2, v1, v2
    s_barrier
    s_sub_u32 s8, s8, 1
    s_cbranch_scc0 loop
    s_endpgm
"""


@pytest.mark.parametrize("depth", [0, 2, 4])
def test_b22_transfers_to_lds_in_flight_are_counted_turn_by_turn(depth: int):
    """With a ring of buffers the transfers of the last turns stay in flight; one turn more is one too many."""
    text = RING.format(depth)
    assert errors(check(text)) == []
    late = {line for rule, line in errors(check(text, Replace(3, f"s_waitcnt vmcnt({depth + 1})")))}
    assert 4 in late
    assert errors(check(text, Replace(3, f"s_waitcnt vmcnt({max(depth - 1, 0)})"))) == []
    assert {line for _, line in errors(check(text, Replace(3, "s_waitcnt lgkmcnt(0)")))} >= {4, 5}


def test_transfers_and_reads_that_k0_leaves_in_flight_together_may_pass_each_other():
    text = RING.format(2)
    apart = text.replace("ds_read_b32 v1, v0\n", "ds_read_b32 v1, v0\nbuffer_load_dword v7, s[4:7], 0 offen lds\n")
    assert errors(check(apart, Reorder((6, 5)))) == []
    done = apart.replace("ds_read_b32 v1, v0\n", "ds_read_b32 v1, v0\ns_waitcnt lgkmcnt(0)\n")
    assert ("order.memory", 7) in errors(check(done, Reorder((7, 6, 5))))


OWED = """
    buffer_load_dword v1, v0, s[4:7], 0 offen
    s_waitcnt vmcnt(0)
    s_barrier
    {}
    v_add_u32_e32 v2, v1, v1
    buffer_store_dword v2, v0, s[4:7], 0 offen
    s_endpgm
"""


def test_a_load_that_is_late_at_a_barrier_may_meet_the_store_of_another_wave():
    assert errors(check(OWED.format("s_nop 0"), Reorder((2, 1)))) == [("wait.fence", 5)]
    second = OWED.format("s_barrier")
    assert errors(check(second, Reorder((2, 1)))) == []
    assert errors(check(second, Reorder((2, 3, 1)))) == [("wait.fence", 5)]


def test_loads_may_be_issued_before_a_barrier_when_no_store_precedes_it():
    text = """
        ds_write_b32 v3, v4
        s_waitcnt lgkmcnt(0)
        s_barrier
        buffer_load_dword v1, v0, s[4:7], 0 offen
        s_waitcnt vmcnt(0)
        v_mov_b32_e32 v2, v1
        s_endpgm
    """
    assert errors(check(text, Reorder((3, 0, 1, 2)))) == []
    stored = text.replace("ds_write_b32 v3, v4", "buffer_store_dword v4, v3, s[4:7], 0 offen")
    assert ("order.memory", 3) in errors(check(stored, Reorder((3, 0, 1, 2))))
    assert ("order.fence", 3) in errors(check(stored, Reorder((3, 2))))


def test_what_went_to_another_block_was_deleted_and_inserted():
    """Execution has to show that values are right; which accesses an access may pass, no rule says across blocks."""
    text = """
        v_mov_b32_e32 v1, 0
        s_cbranch_scc0 out
        {}
        v_mov_b32_e32 v3, 0
    out:
        s_endpgm
    """
    for line, expected in (("v_mov_b32_e32 v2, 0", []), ("global_load_dword v2, v4, s[4:5]", [5])):
        k0 = program_from_text(text.format(line))
        lines = k0.lines
        found = static_check(k0, k0.with_lines((lines[2], lines[0], lines[1], *lines[3:]), entry=2))
        assert (errors(found), unmatched(found)) == ([], expected)


@given(st.permutations(range(12)), st.data())
def test_the_verdict_does_not_depend_on_ids(ids: list[int], data: st.DataObject):
    k0 = program_from_text(EXCHANGE)
    edits = data.draw(
        st.lists(
            st.sampled_from(
                [
                    Insert(3, "s_nop 1"),
                    Insert(2, "ds_read_b32 v3, v5"),
                    Delete((4,)),
                    Delete((1,)),
                    Replace(0, "ds_write_b32 v1, v4"),
                    Replace(6, "v_mov_b32_e32 v3, 0"),
                ]
            ),
            max_size=3,
            unique_by=str,
        )
    )
    edited = apply_all(k0, edits)
    renamed = edited.with_lines(
        tuple(replace(x, id=ids[n]) for n, x in enumerate(edited.lines)), ids[edited.position[edited.entry]]
    )
    assert static_check(k0, renamed) == static_check(k0, edited)


def test_another_control_flow_is_unknown():
    text = "loop:\nv_mov_b32_e32 v1, 0\ns_cbranch_scc0 loop\ns_endpgm"
    found = check(text, Insert(1, "s_cbranch_scc1 L3"))
    assert (found.verdict, found.findings[0].rule) == (Verdict.UNKNOWN, "static.flow")


@pytest.mark.parametrize(
    "text",
    [
        "s_setvskip s0, s1",
        "s_set_gpr_idx_on s0, gpr_idx(SRC0)",
        "v_frobnicate_b32 v0, v1",
        "s_getpc_b64 s[0:1]\ns_setpc_b64 s[0:1]",
    ],
)
def test_what_cannot_be_decided_is_unknown_and_never_a_pass(text: str):
    code = f"v_mov_b32_e32 v0, 0\n{text}\nv_mov_b32_e32 v1, 0\ns_endpgm"
    assert check(code).verdict is Verdict.UNKNOWN
    plain = "v_mov_b32_e32 v0, 0\nv_mov_b32_e32 v1, 0\ns_endpgm"
    if "\n" not in text:
        assert check(plain, Insert(1, text)).verdict is not Verdict.TESTED


def test_g14_more_lds_than_there_is():
    assert errors(check("s_endpgm", lds_size=65536)) == []
    assert errors(check("s_endpgm", lds_size=65540)) == [("shape.lds", None)]
    assert errors(check("s_endpgm", lds_size=65540, target="gfx950")) == []


def test_code_that_runs_off_its_end():
    text = "v_mov_b32_e32 v0, 0\ns_endpgm"
    assert errors(check(text, Replace(1, "s_nop 0"))) == [("shape.end", 2), ("fence.changed", 1)]


def test_branches_reach_128_kilobytes():
    body = "\n".join(["v_mov_b32_e32 v1, 0x12345678"] * 16380)
    text = f"loop:\n{body}\ns_cbranch_scc0 loop\ns_endpgm"
    k0 = program_from_text(text)
    baseline = StaticBaseline(k0)
    assert errors(baseline.check(k0)) == []
    wider = apply_all(k0, (Insert(1, ("v_mov_b32_e32 v1, 0x12345678",) * 4),))
    assert errors(baseline.check(wider)) == [("shape.branch", 16380)]


def test_findings_name_line_register_and_distance():
    (found,) = check(NOPS.format(6), Replace(1, "s_nop 5")).findings
    assert found.message == (
        "In the candidate, line 2 follows line 0 after 6 wait states over v5, 7 are required (mfma_valu_read; LLVM "
        "GCNHazardRecognizer checkMAIVALUHazards, checkMAIHazards90A), and K0 never comes so close."
    )
    (found,) = check(TWO_PHASES, Delete((1,))).findings
    assert found.message == (
        "At line 2, `s_barrier`, line 0, `ds_write_b32 v0, v1`, may still be outstanding on a path on which K0 has "
        "waited for it; others may rely on that."
    )


def test_a_k0_that_cannot_be_analysed_is_unknown_at_each_candidate():
    k0 = program_from_text("v_frobnicate_b32 v0, v1\ns_endpgm")
    baseline = StaticBaseline(k0)
    for candidate in (k0, apply_all(k0, (Delete((0,)),))):
        assert baseline.check(candidate).verdict is Verdict.UNKNOWN

"""Missing waits: text in, findings out."""

from __future__ import annotations

import pytest

from asmevo.isa import Counter
from asmevo.program.waits import WaitAnalysis
from asmevo.verdict import Finding, InputError, UnsupportedError
from programs import program_from_text


def missing_waits(text: str) -> list[Finding]:
    return WaitAnalysis().run(program_from_text(text)).findings()


def found(text: str) -> list[tuple[str, int | None, int, str, int]]:
    """(rule, line, producer, counter, needed value) of each finding."""
    return [(f.rule, f.line, f.facts["producer"], f.facts["counter"], f.facts["needed"]) for f in missing_waits(text)]


def with_wait(wait: str, use: str, *loads: str) -> str:
    return "\n".join((*loads, f"s_waitcnt {wait}", use, "s_endpgm"))


LOADS = tuple(f"buffer_load_dword v{i}, v9, s[4:7], 0 offen" for i in range(4))


@pytest.mark.parametrize("value", range(5))
def test_vector_memory_is_counted_in_order(value: int):
    text = with_wait(f"vmcnt({value})", "v_mov_b32_e32 v8, v1", *LOADS)
    expected = [] if value <= 2 else [("wait.raw", 5, 1, "vmcnt", 2)]
    assert found(text) == expected


def test_no_wait_at_all_is_found_with_the_weakest_wait():
    (finding,) = missing_waits("\n".join((*LOADS, "v_mov_b32_e32 v8, v1", "s_endpgm")))
    assert finding.message == (
        "Line 4, `v_mov_b32_e32 v8, v1`, reads v1 before line 1, `buffer_load_dword v1, v9, s[4:7], 0 offen`, is "
        "proved finished; `s_waitcnt vmcnt(2)` would do."
    )


def test_stores_count_in_vmcnt():
    text = with_wait("vmcnt(1)", "v_mov_b32_e32 v8, v1", LOADS[1], "global_store_dword v[10:11], v12, off")
    assert found(text) == []
    assert found(text.replace("vmcnt(1)", "vmcnt(2)")) == [("wait.raw", 3, 0, "vmcnt", 1)]


@pytest.mark.parametrize(("value", "ok"), [(0, True), (1, True), (2, False)])
def test_lds_is_counted_in_order(value: int, ok: bool):
    text = with_wait(f"lgkmcnt({value})", "v_mov_b32_e32 v8, v1", "ds_read_b32 v1, v9", "ds_read_b32 v2, v9 offset:4")
    assert (found(text) == []) is ok


def test_a_scalar_load_needs_zero_whatever_was_issued_since():
    loads = ("s_load_dword s4, s[0:1], 0x0", "ds_read_b32 v2, v9")
    assert found(with_wait("lgkmcnt(1)", "s_mov_b32 s5, s4", *loads)) == [("wait.raw", 3, 0, "lgkmcnt", 0)]
    assert found(with_wait("lgkmcnt(0)", "s_mov_b32 s5, s4", *loads)) == []


def test_lds_needs_zero_while_a_scalar_load_is_outstanding():
    loads = ("ds_read_b32 v2, v9", "s_load_dword s4, s[0:1], 0x0")
    assert found(with_wait("lgkmcnt(1)", "v_mov_b32_e32 v8, v2", *loads)) == [("wait.raw", 3, 0, "lgkmcnt", 0)]


def test_flat_is_in_both_counters_and_needs_zero_in_both():
    text = with_wait("vmcnt(0)", "v_mov_b32_e32 v8, v1", "flat_load_dword v1, v[2:3]")
    assert found(text) == [("wait.raw", 2, 0, "lgkmcnt", 0)]
    assert found(text.replace("vmcnt(0)", "vmcnt(0) lgkmcnt(0)")) == []
    after = with_wait("vmcnt(1)", "v_mov_b32_e32 v8, v1", LOADS[1], "flat_load_dword v4, v[2:3]")
    assert found(after) == [("wait.raw", 3, 0, "vmcnt", 0)]


def test_a_register_may_be_overwritten_only_in_the_order_of_the_hardware():
    load, read = LOADS[1], "ds_read_b32 v1, v9"
    assert found(f"{load}\n{LOADS[1]}\ns_endpgm") == []
    assert found(f"{read}\n{read}\ns_endpgm") == []
    assert found(f"{load}\n{read}\ns_endpgm") == [("wait.waw", 1, 0, "vmcnt", 0)]
    assert found(f"{read}\n{load}\ns_endpgm") == [("wait.waw", 1, 0, "lgkmcnt", 0)]
    assert found(f"{load}\nv_mov_b32_e32 v1, 0\ns_endpgm") == [("wait.waw", 1, 0, "vmcnt", 0)]
    assert found("flat_load_dword v1, v[2:3]\n" + load + "\ns_endpgm") == [("wait.waw", 1, 0, "lgkmcnt", 0)]
    assert found("s_load_dword s4, s[0:1], 0x0\ns_mov_b32 s4, 0\ns_endpgm") == [("wait.waw", 1, 0, "lgkmcnt", 0)]


def test_a_half_register_load_merges_in_order_but_its_address_is_a_read():
    load = "global_load_short_d16 v1, v[2:3], off"
    assert found(f"{load}\nglobal_load_short_d16_hi v1, v[2:3], off\ns_endpgm") == []
    address = f"{LOADS[1]}\nglobal_load_short_d16_hi v4, v[0:1], off\ns_endpgm"
    assert found(address) == [("wait.raw", 1, 0, "vmcnt", 0)]


def test_sources_may_be_overwritten_at_once():
    assert found("global_store_dword v[0:1], v2, off\nv_mov_b32_e32 v2, 0\nv_mov_b32_e32 v0, 0\ns_endpgm") == []


def test_matrix_and_address_operands_are_reads():
    use = "v_mfma_f32_16x16x32_fp8_fp8 v[4:7], v[0:1], v[2:3], v[4:7]"
    assert [f[3:] for f in found(with_wait("vmcnt(3)", use, *LOADS))] == [("vmcnt", n) for n in (2, 1, 0)]
    assert found(f"{LOADS[1]}\nbuffer_load_dword v8, v1, s[4:7], 0 offen\ns_endpgm") == [("wait.raw", 1, 0, "vmcnt", 0)]


@pytest.mark.parametrize("cache", ["buffer_wbl2 sc1", "buffer_inv sc1"])
def test_b22_cache_control_is_never_counted_as_a_newer_operation(cache: str):
    text = with_wait("vmcnt(1)", "v_mov_b32_e32 v8, v1", LOADS[1], cache)
    assert found(text) == [("wait.raw", 3, 0, "vmcnt", 0)]


def test_b22_loads_to_lds_count_in_vmcnt_and_not_in_lgkmcnt():
    dma = "buffer_load_dword v9, s[4:7], 0 offen lds"
    assert found(with_wait("vmcnt(1)", "v_mov_b32_e32 v8, v1", LOADS[1], dma)) == []
    assert found(with_wait("lgkmcnt(1)", "v_mov_b32_e32 v8, v1", "ds_read_b32 v1, v9", dma)) == [
        ("wait.raw", 3, 0, "lgkmcnt", 0)
    ]


def test_lane_moves_through_lds_are_in_the_lds_queue():
    loads = ("ds_bpermute_b32 v1, v9, v8", "ds_read_b32 v2, v9")
    assert found(with_wait("lgkmcnt(1)", "v_mov_b32_e32 v7, v1", *loads)) == []
    assert found(with_wait("lgkmcnt(2)", "v_mov_b32_e32 v7, v1", *loads)) == [("wait.raw", 3, 0, "lgkmcnt", 1)]


LOOP = """
    v_mov_b32_e32 v1, 0
loop:
    {first}
    v_add_u32_e32 v2, v1, v2
    {second}
    buffer_load_dword v1, v9, s[4:7], 0 offen
    s_sub_u32 s8, s8, 1
    s_cbranch_scc0 loop
    s_endpgm
"""


def test_b23_waits_are_followed_around_back_edges():
    """The load of one iteration is used in the next one: a wait that looks superfluous in straight order is not."""
    assert found(LOOP.format(first="s_waitcnt vmcnt(0)", second="s_nop 0")) == []
    late = LOOP.format(first="s_nop 0", second="s_waitcnt vmcnt(0)")
    assert found(late) == [("wait.raw", 2, 4, "vmcnt", 0)]
    assert missing_waits(late)[0].facts["path"] == [1, 1]


def test_b23_the_fewest_newer_operations_of_all_paths_count():
    text = """
        buffer_load_dword v1, v9, s[4:7], 0 offen
        s_cbranch_scc0 join
        buffer_load_dword v2, v9, s[4:7], 0 offen
    join:
        s_waitcnt vmcnt({})
        v_mov_b32_e32 v8, v1
        s_endpgm
    """
    assert found(text.format(0)) == []
    assert found(text.format(1)) == [("wait.raw", 4, 0, "vmcnt", 0)]


def test_an_operation_of_one_path_is_outstanding_behind_the_join():
    text = """
        s_cbranch_scc0 join
        buffer_load_dword v1, v9, s[4:7], 0 offen
    join:
        v_mov_b32_e32 v8, v1
        s_endpgm
    """
    assert found(text) == [("wait.raw", 2, 1, "vmcnt", 0)]


def test_a_full_queue_proves_by_any_value_that_can_be_expressed():
    loads = "\n".join(f"buffer_load_dword v{i}, v99, s[4:7], 0 offen" for i in range(70))
    assert found(f"{loads}\ns_waitcnt vmcnt(62)\nv_mov_b32_e32 v98, v0\ns_endpgm") == []
    assert found(f"{loads}\ns_waitcnt vmcnt(63)\nv_mov_b32_e32 v98, v0\ns_endpgm") == [("wait.raw", 71, 0, "vmcnt", 62)]


def test_the_ways_on_which_an_operation_may_be_outstanding():
    """Around both arms to the join, not around the arm that waits, and the loop of a use that stands before it."""
    text = """
        buffer_load_dword v1, v9, s[4:7], 0 offen
        s_cbranch_scc0 right
        s_cbranch_vccz waiting
        s_nop 0
        s_branch join
    waiting:
        s_waitcnt vmcnt(0)
        s_branch join
    right:
        s_nop 1
    join:
        v_mov_b32_e32 v8, v1
        s_endpgm
    """
    waits = WaitAnalysis().run(program_from_text(text))
    assert waits.ways(0, 8, Counter.VM) == {0, 1, 2, 4, 5}
    assert waits.ways(0, 8, Counter.LGKM) == {5}
    loop = WaitAnalysis().run(program_from_text(LOOP.format(first="s_nop 0", second="s_waitcnt lgkmcnt(0)")))
    assert loop.ways(4, 2, Counter.VM) == {1}
    straight = WaitAnalysis().run(program_from_text("\n".join((*LOADS, "v_mov_b32_e32 v8, v1", "s_endpgm"))))
    assert straight.ways(1, 4, Counter.VM) == {0}


def test_unknown_opcodes_and_waits_of_other_targets_are_refused():
    with pytest.raises(UnsupportedError, match="no row"):
        missing_waits("v_frobnicate_b32 v0, v1\ns_endpgm")
    with pytest.raises(InputError, match="vscnt"):
        missing_waits("s_waitcnt vscnt(0)\ns_endpgm")

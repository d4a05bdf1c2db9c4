"""Dependence graphs: text in, edges out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asmevo.isa import effects, names
from asmevo.isa.registers import SCC
from asmevo.program.dependence import DependenceGraph, dependence_graph, memory_order
from asmevo.program.memory import Memory, access
from asmevo.verdict import UnsupportedError
from programs import program_from_text


def graph(text: str, **options: object) -> DependenceGraph:
    program = program_from_text(text)
    return dependence_graph(program, 0, len(program.lines), **options)  # type: ignore[arg-type]


def edges(text: str, **options: object) -> list[str]:
    """`source>target kind registers +states` of each edge."""
    return [
        f"{e.source}>{e.target} {e.kind}"
        + (f" {names(e.registers)}" if e.registers else "")
        + f" +{e.states}" * bool(e.states)
        for e in graph(text, **options).edges
    ]


def test_registers():
    text = """
        v_mov_b32_e32 v1, v0
        v_add_u32_e32 v2, v1, v1
        v_mov_b32_e32 v1, v3
        v_mov_b32_e32 v0, v1
    """
    assert edges(text) == [
        "0>1 raw v1", "0>2 waw v1", "0>3 war v0", "1>2 war v1", "2>3 raw v1",
    ]  # fmt: skip


def test_edges_carry_the_spacing_of_the_pair():
    text = """
        v_mfma_f32_16x16x32_fp8_fp8 v[4:7], v[0:1], v[2:3], v[4:7]
        v_mfma_f32_16x16x32_fp8_fp8 v[4:7], v[0:1], v[2:3], v[4:7]
        v_mov_b32_e32 v8, v5
        v_readfirstlane_b32 s0, v8
        global_load_dword v9, v8, s[0:1]
    """
    assert edges(text) == [
        "0>1 raw v4, v5, v6, v7", "0>1 waw v4, v5, v6, v7", "1>2 raw v5 +7", "2>3 raw v8 +1", "2>4 raw v8",
        "3>4 raw s0 +5",
    ]  # fmt: skip


def test_partial_writes_read_what_they_keep():
    text = "v_mov_b32_e32 v1, 0\nglobal_load_short_d16_hi v1, v[2:3], off\nv_mov_b32_e32 v4, v1"
    assert edges(text) == ["0>1 raw v1", "0>1 waw v1", "1>2 raw v1"]


def test_exec_vcc_scc_and_m0_are_registers_like_others():
    text = """
        s_and_saveexec_b64 s[0:1], vcc
        v_mov_b32_e32 v1, 0
        s_mov_b64 exec, s[0:1]
        v_cmp_eq_u32_e32 vcc, v1, v2
        v_cndmask_b32_e32 v3, v1, v2, vcc
        s_mov_b32 m0, s9
        buffer_load_dword v5, s[4:7], 0 offen lds
    """
    found = edges(text)
    assert "0>1 raw exec_lo, exec_hi" in found
    assert "1>2 war exec_lo, exec_hi" in found
    assert "0>2 raw s0, s1" in found
    assert "3>4 raw vcc_lo, vcc_hi +2" in found
    assert "0>3 war vcc_lo, vcc_hi" in found
    assert "5>6 raw m0 +1" in found


def test_matrix_products_ignore_exec():
    text = "s_mov_b64 exec, s[0:1]\nv_mfma_f32_16x16x32_fp8_fp8 v[4:7], v[0:1], v[2:3], v[4:7]"
    assert edges(text) == []


SCC_CHAIN = """
    s_add_u32 s0, s0, 1
    s_add_u32 s1, s1, 1
    s_cmp_lt_u32 s2, s3
    s_cselect_b32 s4, s5, s6
    s_add_u32 s7, s7, 1
    s_add_u32 s8, s8, 1
"""


def test_scc_that_nobody_reads_orders_only_around_a_live_one():
    found = edges(SCC_CHAIN, live_out=0)
    assert found == ["0>2 waw scc", "1>2 waw scc", "2>3 raw scc", "3>4 war scc", "3>5 war scc"]
    assert "4>5 waw scc" in edges(SCC_CHAIN, live_out=1 << SCC)


def test_lds_accesses_keep_order_around_writes_and_loads_are_free():
    text = """
        ds_read_b32 v1, v0
        ds_read_b32 v2, v0 offset:4
        ds_write_b32 v0, v3 offset:64
        ds_read_b32 v4, v0 offset:128
        buffer_load_dword v5, v0, s[4:7], 0 offen
        buffer_load_dword v6, v0, s[4:7], 0 offen offset:4
        buffer_store_dword v3, v0, s[4:7], 0 offen offset:8
    """
    assert edges(text) == ["0>2 memory", "1>2 memory", "2>3 memory", "4>6 memory", "5>6 memory"]


def test_equal_bases_do_not_separate_lanes():
    """Lane 0 at offset 4 is lane 1 at offset 0 when addresses are 4 apart."""
    assert edges("ds_write_b32 v0, v1\nds_read_b32 v2, v0 offset:4") == ["0>1 memory"]


def test_scoped_accesses_keep_their_place_among_all_global_ones():
    text = """
        global_load_dword v1, v[2:3], off
        global_load_dword v4, v[2:3], off sc1
        global_load_dword v5, v[2:3], off
    """
    assert edges(text) == ["0>1 memory", "1>2 memory"]


def test_transfers_to_lds_are_free_of_accesses_they_are_in_flight_with():
    dma = "buffer_load_dword v9, s[4:7], 0 offen lds"
    assert edges(f"ds_read_b32 v1, v0\n{dma}\nds_read_b32 v2, v0") == []
    assert edges(f"ds_read_b32 v1, v0\ns_waitcnt lgkmcnt(0)\n{dma}") == ["0>2 memory"]
    assert edges(f"{dma}\ns_waitcnt vmcnt(0)\nds_read_b32 v1, v0") == ["0>2 memory"]
    assert edges(f"{dma}\ns_waitcnt lgkmcnt(0)\nds_read_b32 v1, v0") == []
    assert edges(f"{dma}\n{dma}") == ["0>1 memory"]


def test_barriers_hold_accesses_but_not_arithmetic_or_scalar_loads():
    text = """
        ds_write_b32 v0, v1
        v_mov_b32_e32 v2, 0
        s_load_dword s0, s[2:3], 0x0
        s_barrier
        ds_read_b32 v3, v0
        v_mov_b32_e32 v4, 0
        s_barrier
    """
    assert edges(text) == ["0>3 fence", "0>4 memory", "3>4 fence", "3>6 fence", "4>6 fence"]


LOAD_AND_BARRIER = """
    {before}
    buffer_load_dword v1, v0, s[4:7], 0 offen
    s_barrier
    buffer_load_dword v2, v0, s[4:7], 0 offen
    {behind}
    s_endpgm
"""
STORE = "buffer_store_dword v3, v0, s[8:11], 0 offen"


@pytest.mark.parametrize(
    ("before", "behind", "may_sink", "may_rise"),
    [("s_nop 0", "s_nop 0", True, True), (STORE, "s_nop 0", True, False), ("s_nop 0", STORE, False, True)],
)
def test_global_loads_cross_a_barrier_where_no_store_can_meet_them(
    before: str, behind: str, may_sink: bool, may_rise: bool
):
    found = edges(LOAD_AND_BARRIER.format(before=before, behind=behind))
    assert ("1>2 fence" not in found) is may_sink
    assert ("2>3 fence" not in found) is may_rise


def test_a_store_in_a_loop_is_before_and_behind_the_barrier():
    text = f"loop:\nbuffer_load_dword v1, v0, s[4:7], 0 offen\ns_barrier\n{STORE}\ns_cbranch_scc0 loop\ns_endpgm"
    assert "0>1 fence" in edges(text)


def test_cache_control_holds_all_accesses_and_mode_changes_everything():
    text = "global_load_dword v1, v[2:3], off\nv_mov_b32_e32 v4, 0\nbuffer_inv sc1\nglobal_load_dword v5, v[2:3], off"
    assert edges(text) == ["0>2 fence", "2>3 fence"]
    text = "v_mov_b32_e32 v4, 0\ns_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 0\nv_mov_b32_e32 v5, 0"
    assert edges(text) == ["0>1 fence", "1>2 fence"]


def test_the_branch_stays_last():
    text = "loop:\nv_mov_b32_e32 v1, 0\ns_cmp_eq_u32 s0, s1\ns_cbranch_scc1 loop"
    assert edges(text) == ["0>2 control", "1>2 raw scc"]


WAITED = """
    buffer_load_dword v1, v0, s[4:7], 0 offen
    buffer_load_dword v2, v0, s[4:7], 0 offen
    s_waitcnt vmcnt(1)
    v_mov_b32_e32 v3, v1
    v_mov_b32_e32 v4, v0
    buffer_load_dword v5, v0, s[4:7], 0 offen
"""


def test_free_waits_have_no_edges_and_pinned_ones_keep_their_meaning():
    assert edges(WAITED) == ["0>3 raw v1"]
    assert edges(WAITED, pin_waits=True) == [
        "0>1 wait", "0>3 raw v1", "1>2 wait", "2>3 wait v1", "2>5 wait",
    ]  # fmt: skip


def test_groups_and_orders():
    g = graph(WAITED, pin_waits=True)
    assert [e.target for e in g.successors[2]] == [3, 5]
    assert [e.source for e in g.predecessors[3]] == [0, 2]
    assert g.is_order((0, 1, 2, 3, 4, 5))
    assert g.is_order((4, 0, 1, 2, 5, 3))
    assert not g.is_order((1, 0, 2, 3, 4, 5))
    assert not g.is_order((0, 1, 2, 3, 4))


def test_an_opcode_without_a_row_is_refused():
    with pytest.raises(UnsupportedError, match="no row"):
        graph("v_frobnicate_b32 v0, v1")


SMALL = st.sampled_from(
    ["v_add_u32_e32 v{0}, v{1}, v{2}", "v_mov_b32_e32 v{0}, v{1}", "s_add_u32 s{0}, s{1}, s{2}",
     "s_cselect_b32 s{0}, s{1}, s{2}", "v_readfirstlane_b32 s{0}, v{1}", "v_mov_b32_e32 v{0}, s{1}",
     "s_mov_b32 s{0}, s{1}", "v_cmp_eq_u32_e32 vcc, v{1}, v{2}", "v_cndmask_b32_e32 v{0}, v{1}, v{2}, vcc"]
)  # fmt: skip
LINES = st.lists(
    st.tuples(SMALL, *(st.integers(0, 4),) * 3).map(lambda t: t[0].format(*t[1:])), min_size=1, max_size=12
)


def execute(lines: list[str]) -> dict[int, object]:
    """A symbolic run: each register holds the tree of instructions that made it."""
    registers: dict[int, object] = {}
    for line in program_from_text("\n".join(lines)).lines:
        known = effects(line.instruction)
        sources = tuple((u, registers.get(u, u)) for u in range(600) if known.reads >> u & 1)
        for unit in range(600):
            if known.writes >> unit & 1:
                registers[unit] = (line.instruction.text, unit, sources)
    return registers


@given(LINES, st.randoms(use_true_random=False))
def test_any_order_of_the_graph_computes_the_same(lines: list[str], random):
    """Values of all registers that are live behind the run; dead SCC values may differ."""
    g = graph("\n".join(lines), live_out=~(1 << SCC))
    waiting = [len({e.source for e in into}) for into in g.predecessors]
    order: list[int] = []
    ready = [i for i, n in enumerate(waiting) if n == 0]
    while ready:
        i = ready.pop(random.randrange(len(ready)))
        order.append(i)
        for j in {e.target for e in g.successors[i]}:
            waiting[j] -= 1
            if waiting[j] == 0:
                ready.append(j)
    assert g.is_order(tuple(order))
    before, after = execute(lines), execute([lines[i] for i in order])
    before.pop(SCC, None), after.pop(SCC, None)
    assert before == after


ACCESSES = (
    "ds_read_b32 v1, v0",
    "ds_write_b32 v0, v1",
    "global_load_dword v2, v0, s[4:5]",
    "global_store_dword v0, v2, s[4:5]",
    "global_load_dword v2, v0, s[4:5] sc1",
    "flat_load_dword v3, v[4:5]",
    "flat_store_dword v[4:5], v3",
    "s_load_dword s8, s[4:5], 0x0",
    "scratch_store_dword off, v3, s9",
    "v_mov_b32_e32 v6, 0",
)


@given(st.lists(st.sampled_from(ACCESSES), min_size=1, max_size=10), st.data())
def test_kept_accesses_are_ordered_wherever_they_conflict(texts: list[str], data: st.DataObject):
    """Through pairs of kept accesses alone; and no others are."""
    lines = program_from_text("\n".join([*texts, "s_endpgm"])).lines[:-1]
    kept = data.draw(st.sets(st.sampled_from([line.id for line in lines])))
    found = [access(line.instruction) for line in lines]
    pairs = memory_order(lines, kept)
    ordered = {(a, b) for a, b in pairs}
    for middle in range(len(lines)):
        into = [a for a, b in ordered if b == middle]
        out = [b for a, b in ordered if a == middle]
        ordered |= {(a, b) for a in into for b in out}
    for b in range(len(lines)):
        for a in range(b):
            first, second = found[a], found[b]
            if first is None or second is None or not {a, b} <= kept:
                assert (a, b) not in ordered
                continue
            writes = [x.writes | (Memory.GLOBAL if x.ordered else Memory.NONE) for x in (first, second)]
            if first.touched & second.touched & (writes[0] | writes[1]):
                assert (a, b) in ordered, (texts[a], texts[b])
            else:
                assert (a, b) not in pairs, "nothing keeps two reads in order"

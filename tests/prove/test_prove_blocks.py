"""Blocks that are and are not proved equal, written as text."""

from __future__ import annotations

import pytest

from asmevo.edit import Delete, Insert, Replace, apply_all
from asmevo.isa import names
from asmevo.prove import BlockProof, Prover
from programs import program_from_text

BODY = """
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    s_waitcnt lgkmcnt(0)
    {}
    global_store_dword v9, v8, s[4:5]
    s_endpgm
"""


def prove(old: str, new: str) -> tuple[BlockProof, ...]:
    return Prover(program_from_text(BODY.format(old))).blocks(program_from_text(BODY.format(new)))


EQUAL = {
    "independent lines in another order": (
        "v_add_u32_e32 v8, v1, v2\n v_mul_lo_u32 v9, v3, v4",
        "v_mul_lo_u32 v9, v3, v4\n v_add_u32_e32 v8, v1, v2",
    ),
    "a copy is looked through": (
        "v_mov_b32_e32 v5, v1\n v_add_u32_e32 v8, v5, v2",
        "v_add_u32_e32 v8, v1, v2",
    ),
    "adding zero is a copy": ("v_add_u32_e32 v8, 0, v1", "v_mov_b32_e32 v8, v1"),
    "a constant in a register is the constant": (
        "s_mov_b32 s6, 0x80\n v_add_u32_e32 v8, s6, v2",
        "v_add_u32_e32 v8, 0x80, v2",
    ),
    "a temporary may be another register": (
        "v_add_u32_e32 v5, v1, v2\n v_mul_lo_u32 v8, v5, v5",
        "v_add_u32_e32 v6, v1, v2\n v_mul_lo_u32 v8, v6, v6",
    ),
    "what is overwritten does not matter": (
        "v_mov_b32_e32 v8, 1\n v_mov_b32_e32 v8, v2",
        "v_mov_b32_e32 v8, v2",
    ),
    "waits and nops change no value": ("v_mov_b32_e32 v8, v2", "s_nop 3\n v_mov_b32_e32 v8, v2\n s_waitcnt vmcnt(0)"),
    "e32 and e64 are one opcode": ("v_add_u32_e32 v8, v1, v2", "v_add_u32_e64 v8, v1, v2"),
    "a constant of 32 bits in other words": ("v_and_b32_e32 v8, -1, v2", "v_and_b32_e32 v8, 0xffffffff, v2"),
    "operands of a sum exchanged": ("v_add_u32_e32 v8, v1, v2", "v_add_u32_e32 v8, v2, v1"),
    "operands of a scalar product exchanged": (
        "s_mul_i32 s8, s6, s7\n v_mov_b32_e32 v8, s8",
        "s_mul_i32 s8, s7, s6\n v_mov_b32_e32 v8, s8",
    ),
    "loads among loads": (
        "ds_read_b32 v8, v1\n ds_read_b32 v7, v2\n v_add_u32_e32 v8, v7, v8",
        "ds_read_b32 v7, v2\n ds_read_b32 v8, v1\n v_add_u32_e32 v8, v7, v8",
    ),
}

UNEQUAL = {
    "half of a register is no copy of it": ("v_mov_b32_e32 v8, v1", "v_add_u16_e32 v8, 0, v1"),
    "a scoped load is made once": (
        "global_load_dword v8, v1, s[6:7] sc0 sc1\n global_load_dword v9, v1, s[6:7] sc0 sc1",
        "global_load_dword v8, v1, s[6:7] sc0 sc1\n v_mov_b32_e32 v9, v8",
    ),
    "scoped loads in another order": (
        "global_load_dword v8, v1, s[6:7] sc0 sc1\n global_load_dword v9, v2, s[6:7] sc0 sc1",
        "global_load_dword v9, v2, s[6:7] sc0 sc1\n global_load_dword v8, v1, s[6:7] sc0 sc1",
    ),
    "a flag in LDS is read once": (
        "ds_read_b32 v8, v1\n ds_read_b32 v9, v1",
        "ds_read_b32 v8, v1\n v_mov_b32_e32 v9, v8",
    ),
    "a load whose result nothing reads": (
        "v_mov_b32_e32 v8, v2",
        "global_load_dword v7, v1, s[6:7]\n v_mov_b32_e32 v8, v2",
    ),
    "a scalar load whose result nothing reads": (
        "v_mov_b32_e32 v8, v2",
        "s_load_dword s9, s[6:7], s8\n v_mov_b32_e32 v8, v2",
    ),
    "a load that is gone": ("global_load_dword v7, v1, s[6:7]\n v_mov_b32_e32 v8, v2", "v_mov_b32_e32 v8, v2"),
    "another operand": ("v_add_u32_e32 v8, v1, v2", "v_add_u32_e32 v8, v1, v3"),
    "another opcode": ("v_add_u32_e32 v8, v1, v2", "v_sub_u32_e32 v8, v1, v2"),
    "another constant": ("v_add_u32_e32 v8, 4, v2", "v_add_u32_e32 v8, 5, v2"),
    "a constant of 64 bits that is extended otherwise": (
        "s_mov_b64 s[8:9], -1\n v_mov_b32_e32 v8, s9",
        "s_mov_b64 s[8:9], 0xffffffff\n v_mov_b32_e32 v8, s9",
    ),
    "another modifier": ("v_add_f32_e64 v8, v1, v2", "v_add_f32_e64 v8, v1, -v2"),
    "clamp": ("v_add_f32_e64 v8, v1, v2", "v_add_f32_e64 v8, v1, v2 clamp"),
    "a copy of the wrong register": ("v_mov_b32_e32 v8, v1", "v_mov_b32_e32 v8, v2"),
    "a copy that negates": ("v_mov_b32_e32 v8, v1", "v_add_f32_e64 v8, 0, -v1"),
    "operands that do not commute": ("v_sub_u32_e32 v8, v1, v2", "v_sub_u32_e32 v8, v2, v1"),
    "a shift the other way round": ("v_lshlrev_b32_e32 v8, v1, v2", "v_lshlrev_b32_e32 v8, v2, v1"),
    "a borrow the other way round": (
        "s_sub_u32 s8, s6, s7\n v_mov_b32_e32 v8, s8",
        "s_sub_u32 s8, s7, s6\n v_mov_b32_e32 v8, s8",
    ),
    "a comparison the other way round": (
        "v_cmp_lt_u32_e32 vcc, v1, v2\n v_cndmask_b32_e32 v8, v1, v2, vcc",
        "v_cmp_lt_u32_e32 vcc, v2, v1\n v_cndmask_b32_e32 v8, v1, v2, vcc",
    ),
    "a dependent pair swapped": (
        "v_mov_b32_e32 v1, v3\n v_add_u32_e32 v8, v1, v2",
        "v_add_u32_e32 v8, v1, v2\n v_mov_b32_e32 v1, v3",
    ),
    "a dropped write": ("v_mov_b32_e32 v8, v1", ""),
    "SCC from another line": (
        "s_cmp_eq_u32 s6, 0\n s_cselect_b32 s7, 1, 2\n v_mov_b32_e32 v8, s7",
        "s_cmp_eq_u32 s6, 1\n s_cselect_b32 s7, 1, 2\n v_mov_b32_e32 v8, s7",
    ),
    "a carry overwritten": (
        "s_add_u32 s6, s6, s7\n s_addc_u32 s8, s8, 0\n v_mov_b32_e32 v8, s8",
        "s_add_u32 s6, s6, s7\n s_cmp_eq_u32 s6, s6\n s_addc_u32 s8, s8, 0\n v_mov_b32_e32 v8, s8",
    ),
    "a write under a mask looked at by all lanes": (
        "s_mov_b64 s[10:11], exec\n s_mov_b64 exec, s[6:7]\n v_mov_b32_e32 v8, v1\n s_mov_b64 exec, s[10:11]",
        "s_mov_b64 s[10:11], exec\n s_mov_b64 exec, s[6:7]\n s_mov_b64 exec, s[10:11]\n v_mov_b32_e32 v8, v1",
    ),
    "a mode": ("v_add_f32_e32 v8, v1, v2", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 0\n v_add_f32_e32 v8, v1, v2"),
    "a load moved over a store": (
        "ds_read_b32 v8, v1\n s_waitcnt lgkmcnt(0)\n ds_write_b32 v1, v2",
        "ds_write_b32 v1, v2\n ds_read_b32 v8, v1\n s_waitcnt lgkmcnt(0)",
    ),
    "a load moved over a barrier": (
        "ds_read_b32 v8, v1\n s_barrier",
        "s_barrier\n ds_read_b32 v8, v1",
    ),
    "an offset": ("ds_read_b32 v8, v1 offset:4", "ds_read_b32 v8, v1 offset:8"),
    "stores swapped": (
        "ds_write_b32 v1, v2\n ds_write_b32 v3, v4",
        "ds_write_b32 v3, v4\n ds_write_b32 v1, v2",
    ),
    "a store dropped": ("ds_write_b32 v1, v2", ""),
    "DPP looks at other lanes": (
        "v_mov_b32_dpp v8, v1 row_shr:1 row_mask:0xf bank_mask:0xf",
        "v_mov_b32_dpp v8, v1 row_shr:2 row_mask:0xf bank_mask:0xf",
    ),
}


@pytest.mark.parametrize("old, new", EQUAL.values(), ids=EQUAL)
def test_equal(old: str, new: str) -> None:
    proofs = prove(old, new)
    assert proofs and all(p.proved for p in proofs), [names(p.differing) for p in proofs]


@pytest.mark.parametrize("old, new", UNEQUAL.values(), ids=UNEQUAL)
def test_unequal(old: str, new: str) -> None:
    assert not all(p.proved for p in prove(old, new))


LOOP = """
    s_mov_b32 s4, 0
    {before}
loop:
    {inside}
    v_add_u32_e32 v8, s9, v8
    s_addk_i32 s4, {step}
    s_cmp_lt_u32 s4, s5
    s_cbranch_scc1 loop
    global_store_dword v9, v8, s[6:7]
    s_endpgm
"""


def loop(before: str = "", inside: str = "", step: str = "1") -> Prover:
    return Prover(program_from_text(LOOP.format(before=before, inside=inside, step=step)))


def test_a_loop_counter_decides_a_branch() -> None:
    proofs = loop().blocks(loop(step="2").k0)
    assert [p.keeps_control for p in proofs] == [False]
    assert "s4" in names(proofs[0].steers)


def test_a_value_that_decides_nothing_leaves_control_alone() -> None:
    proofs = loop(inside="v_mov_b32_e32 v8, 1").blocks(loop(inside="v_mov_b32_e32 v8, 2").k0)
    assert [(p.proved, p.keeps_control) for p in proofs] == [(False, True)]


def test_an_invariant_copy_moved_in_front_of_the_loop() -> None:
    assert all(p.proved for p in loop(inside="s_mov_b32 s9, s10").blocks(loop(before="s_mov_b32 s9, s10").k0))


def test_a_copy_that_the_loop_changes_is_no_invariant() -> None:
    old = loop(inside="s_mov_b32 s9, s10\n s_add_u32 s10, s10, s10\n s_mov_b32 s11, s10")
    new = loop(before="s_mov_b32 s9, s10", inside="s_add_u32 s10, s10, s10\n s_mov_b32 s11, s10")
    assert not all(p.proved for p in old.blocks(new.k0))


def test_a_fact_from_one_path_only_is_none() -> None:
    text = """
        s_cmp_eq_u32 s4, 0
        s_cbranch_scc1 join
        {}
    join:
        {}
        v_mov_b32_e32 v8, s9
        global_store_dword v9, v8, s[6:7]
        s_endpgm
    """
    old = program_from_text(text.format("s_nop 0", "s_mov_b32 s9, s10"))
    new = program_from_text(text.format("s_mov_b32 s9, s10", "s_nop 0"))
    assert not all(p.proved for p in Prover(old).blocks(new))


@pytest.mark.parametrize("sinks", [True, False])
def test_a_load_by_another_line_keeps_its_side_of_barriers(sinks: bool) -> None:
    """In place, the load behind the barrier meets what another wave has stored."""
    text = "global_load_dword v7, v1, s[6:7]\n s_nop 0\n s_barrier\n v_mov_b32_e32 v8, v7"
    k0 = program_from_text(BODY.format(text))
    load, _, barrier, copy = (line.id for line in k0.lines[2:6])
    place = copy if sinks else barrier
    again = (Delete((load,)), Insert(place, "global_load_dword v7, v1, s[6:7]"))
    (proof,) = Prover(k0).blocks(apply_all(k0, again))
    assert (proof.same_loads, proof.proved) == (not sinks, not sinks)


def test_two_loads_that_exchange_their_lines_across_a_barrier() -> None:
    loads = "global_load_dword v7, v1, s[6:7]\n s_barrier\n global_load_dword v8, v2, s[6:7]\n"
    k0 = program_from_text(BODY.format(loads + "v_add_u32_e32 v8, v7, v8"))
    first, second = (line.id for line in (k0.lines[2], k0.lines[4]))
    other = (Replace(first, "global_load_dword v8, v2, s[6:7]"), Replace(second, "global_load_dword v7, v1, s[6:7]"))
    (proof,) = Prover(k0).blocks(apply_all(k0, other))
    assert not proof.differing and not proof.same_loads and not proof.proved


POLLED = """
    s_cmp_lg_u32 s7, 0
    s_cbranch_scc1 others
poll:
    {poll}
    v_readfirstlane_b32 s9, v20
    s_cmp_eq_u32 s9, 0
    s_cbranch_scc1 poll
others:
    {lines}
    v_lshlrev_b32_e32 v8, 2, v8
    ds_write_b32 v0, v8
    s_endpgm
"""
"""One wave polls for what another workgroup stores; the others wait for it at a barrier."""


@pytest.mark.parametrize(
    "poll, told",
    [
        ("global_load_dword v20, v0, s[4:5] sc0 sc1", True),
        ("s_dcache_inv\n s_load_dword s8, s[4:5], 0x0", True),
        ("ds_read_b32 v20, v0", False),
    ],
)
def test_a_load_behind_a_barrier_behind_a_poll(poll: str, told: bool) -> None:
    load, barrier = "global_load_dword v8, v0, s[2:3]\n", "s_barrier\n"
    k0 = program_from_text(POLLED.format(poll=poll, lines=barrier + load))
    (proof,) = Prover(k0).blocks(program_from_text(POLLED.format(poll=poll, lines=load + barrier)))
    assert proof.proved is not told


def test_the_clock_is_not_a_value() -> None:
    proofs = prove("s_memtime s[10:11]\n v_mov_b32_e32 v8, s10", "v_mov_b32_e32 v8, s10\n s_memtime s[10:11]")
    assert not all(p.proved for p in proofs) and any(p.reason for p in proofs)


@pytest.mark.parametrize("register", ["ttmp4", "xnack_mask_lo", "flat_scratch_hi"])
def test_what_keeps_nothing_proves_nothing(register: str) -> None:
    proofs = prove("v_mov_b32_e32 v8, s6", f"s_mov_b32 {register}, s6\n v_mov_b32_e32 v8, {register}")
    assert not any(p.proved or p.keeps_control for p in proofs)

"""Accesses at the same place, however its constants are added; and those that only look like it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asmevo.isa import effects, parse_instruction, rows
from asmevo.isa.evaluate import evaluate
from asmevo.prove import Prover
from asmevo.prove.bounds import entry_bounds
from asmevo.prove.numbers import Numbers
from asmevo.prove.ranges import LARGEST, bound_of
from asmevo.prove.values import State, step
from programs import program_from_text

SMALL = "v_and_b32_e32 v1, 0xffc, v0\n v_mul_u32_u24_e32 v2, 0x84, v1"
"""Two bases of which sums do not wrap."""
ENDS = """
    s_waitcnt vmcnt(0) lgkmcnt(0)
    global_store_dwordx4 v[40:41], v[20:23], off
    s_endpgm
"""


def proved(before: str, after: str, begin: str = SMALL) -> bool:
    texts = [f"{begin}\n s_cbranch_scc1 L\n s_nop 0\nL:\n {text}\n {ENDS}" for text in (before, after)]
    programs = [program_from_text(text) for text in texts]
    proofs = Prover(programs[0]).blocks(programs[1])
    assert proofs, "nothing was changed"
    return all(proof.proved for proof in proofs)


SAME = {
    "a constant goes into the offset of a load": (
        "v_add_u32_e32 v3, 0x2000, v1\n ds_read_b32 v20, v3 offset:16",
        "ds_read_b32 v20, v1 offset:0x2010",
    ),
    "and out of that of a store": (
        "ds_write_b64 v1, v[20:21] offset:264",
        "v_add_u32_e32 v3, 0x100, v1\n ds_write_b64 v3, v[20:21] offset:8",
    ),
    "two sums share one base": (
        "v_add_u32_e32 v3, 0x2100, v2\n ds_read2_b32 v[20:21], v3 offset1:1\n"
        "v_add_u32_e32 v3, 0x2108, v2\n ds_read2_b32 v[22:23], v3 offset1:1",
        "v_add_u32_e32 v3, 0x2100, v2\n ds_read2_b32 v[20:21], v3 offset1:1\n"
        "ds_read2_b32 v[22:23], v3 offset0:2 offset1:3",
    ),
    "offsets in units of 64 elements": (
        "v_add_u32_e32 v3, 0x400, v1\n ds_read2st64_b32 v[20:21], v3 offset1:1",
        "ds_read2st64_b32 v[20:21], v1 offset0:4 offset1:5",
    ),
    "the sum of a scalar, split in another way": (
        "s_and_b32 s8, s8, 0xfff\n s_add_i32 s9, s8, 0x100\n v_add_u32_e32 v3, s9, v1\n ds_read_b32 v20, v3",
        "s_and_b32 s8, s8, 0xfff\n v_add_u32_e32 v3, s8, v1\n s_add_i32 s9, s8, 0x100\n ds_read_b32 v20, v3 offset:256",
    ),
    "two loads as one": (
        "ds_read_b64 v[20:21], v1 offset:8\n ds_read_b64 v[22:23], v1 offset:32",
        "ds_read2_b64 v[20:23], v1 offset0:1 offset1:4",
    ),
    "two loads as one of another stride": (
        "ds_read_b32 v20, v1\n ds_read_b32 v21, v1 offset:256",
        "ds_read2st64_b32 v[20:21], v1 offset1:1",
    ),
    "a constant goes into the offset of a buffer's load": (
        "v_add_u32_e32 v3, 0x100, v2\n buffer_load_dword v20, v3, s[4:7], s8 offen",
        "buffer_load_dword v20, v2, s[4:7], s8 offen offset:256",
    ),
    "and into that of global memory behind a scalar base": (
        "v_add_u32_e32 v3, 0x100, v2\n global_load_dword v20, v3, s[4:5] offset:-8",
        "global_load_dword v20, v2, s[4:5] offset:248",
    ),
    "addresses of 64 bits are exact": (
        "v_lshl_add_u64 v[4:5], v[6:7], 2, s[8:9]\n v_lshl_add_u64 v[4:5], v[4:5], 0, 16\n"
        "global_load_dword v20, v[4:5], off offset:4",
        "v_lshl_add_u64 v[4:5], v[6:7], 2, s[8:9]\n global_load_dword v20, v[4:5], off offset:20",
    ),
    "an address made by other operations": (
        "v_lshlrev_b32_e32 v3, 2, v7\n v_add_u32_e32 v3, v8, v3\n ds_read_b32 v20, v3",
        "v_lshl_add_u32 v3, v7, 2, v8\n ds_read_b32 v20, v3",
    ),
    "sums regrouped": (
        "v_add_u32_e32 v3, v7, v8\n v_add_u32_e32 v20, 5, v3",
        "v_add_u32_e32 v3, 5, v8\n v_add_u32_e32 v20, v3, v7",
    ),
    "an opcode for two: a mask and a union": (
        "v_and_b32_e32 v3, 15, v7\n v_or_b32_e32 v20, v3, v8",
        "v_and_or_b32 v20, v7, 15, v8",
    ),
    "an opcode for two: a field": (
        "v_lshrrev_b32_e32 v3, 8, v7\n v_and_b32_e32 v20, 0xff, v3",
        "v_bfe_u32 v20, v7, 8, 8",
    ),
    "an opcode for two: a product of low parts and a sum": (
        "v_mul_u32_u24_e32 v3, v7, v8\n v_add_u32_e32 v20, v9, v3",
        "v_mad_u32_u24 v20, v8, v7, v9",
    ),
    "an opcode for two: three-way minimum": (
        "v_min_i32_e32 v3, v7, v8\n v_min_i32_e32 v20, v9, v3",
        "v_min3_i32 v20, v7, v8, v9",
    ),
    "an opcode for two on scalars": (
        "s_lshl_b32 s1, s2, 3\n s_add_u32 s3, s1, 0x1000\n v_mov_b32_e32 v20, s3",
        "s_lshl3_add_u32 s3, s2, 0x1000\n v_mov_b32_e32 v20, s3",
    ),
    "a product with a constant distributed": (
        "v_add_u32_e32 v3, 32, v7\n v_lshlrev_b32_e32 v20, 1, v3",
        "v_lshlrev_b32_e32 v3, 1, v7\n v_add_u32_e32 v20, 64, v3",
    ),
}


@pytest.mark.parametrize("before, after", SAME.values(), ids=SAME)
def test_the_same_places_are_proved(before: str, after: str) -> None:
    assert proved(before, after)


_SUM = "v_add_u32_e32 v3, 0x2000, {}\n ds_read_b32 v20, v3 offset:16"
_PAIR = "ds_read_b32 v20, v1\n {}ds_read_b32 v21, v1 offset:4"
_MERGED = "ds_read2_b32 v[20:21], v1 offset1:1"
OTHER = {
    "off by one element": (_SUM.format("v1"), "ds_read_b32 v20, v1 offset:0x2014"),
    "another base": (_SUM.format("v1"), "ds_read_b32 v20, v2 offset:0x2010"),
    "a base that may be anything: the sum may wrap": (_SUM.format("v0"), "ds_read_b32 v20, v0 offset:0x2010"),
    "a negative constant: the sum wraps": (
        "v_add_u32_e32 v3, -8, v1\n ds_read_b32 v20, v3 offset:16",
        "ds_read_b32 v20, v1 offset:8",
    ),
    "a base in a buffer that may be anything": (
        "v_add_u32_e32 v3, 0x100, v0\n buffer_load_dword v20, v3, s[4:7], s8 offen",
        "buffer_load_dword v20, v0, s[4:7], s8 offen offset:256",
    ),
    "the scalar offset of a buffer": (
        "v_add_u32_e32 v3, s8, v2\n buffer_load_dword v20, v3, s[4:7], 0 offen",
        "buffer_load_dword v20, v2, s[4:7], s8 offen",
    ),
    "a constant as the scalar offset": (
        "v_add_u32_e32 v3, 64, v2\n buffer_load_dword v20, v3, s[4:7], 0 offen",
        "buffer_load_dword v20, v2, s[4:7], 64 offen",
    ),
    "another scope": (
        "v_add_u32_e32 v3, 0x100, v2\n buffer_load_dword v20, v3, s[4:7], s8 offen",
        "buffer_load_dword v20, v2, s[4:7], s8 offen offset:256 sc1",
    ),
    "half of a register that is the address, too": (
        "v_and_b32_e32 v1, 0x1fffc, v0\n v_add_u32_e32 v20, 0x100, v1\n global_load_short_d16 v20, v20, s[4:5]",
        "v_and_b32_e32 v1, 0x1fffc, v0\n v_mov_b32_e32 v20, v1\n global_load_short_d16 v20, v20, s[4:5] offset:256",
    ),
    "half of a register from LDS that is the address, too": (
        "v_and_b32_e32 v1, 0x1fffc, v0\n v_add_u32_e32 v20, 0x100, v1\n ds_read_u16_d16_hi v20, v20",
        "v_and_b32_e32 v1, 0x1fffc, v0\n v_mov_b32_e32 v20, v1\n ds_read_u16_d16_hi v20, v20 offset:256",
    ),
    "half of a register of an address of 64 bits": (
        "v_lshl_add_u64 v[20:21], v[6:7], 0, 16\n global_load_ubyte_d16 v21, v[20:21], off\n v_mov_b32_e32 v20, 0",
        "v_mov_b32_e32 v20, v6\n v_mov_b32_e32 v21, v7\n global_load_ubyte_d16 v21, v[20:21], off offset:16\n"
        "v_mov_b32_e32 v20, 0",
    ),
    "an index, not an offset": (
        "v_add_u32_e32 v3, 0x100, v2\n buffer_load_dword v20, v3, s[4:7], s8 idxen",
        "buffer_load_dword v20, v2, s[4:7], s8 idxen offset:256",
    ),
    "32 bits of an address of 64": (
        "v_add_u32_e32 v6, 16, v6\n global_load_dword v20, v[6:7], off",
        "global_load_dword v20, v[6:7], off offset:16",
    ),
    "an offset with another sign": (
        "v_lshl_add_u64 v[4:5], v[6:7], 0, 16\n global_load_dword v20, v[4:5], off",
        "global_load_dword v20, v[6:7], off offset:-16",
    ),
    "offsets in the wrong unit": (
        "v_add_u32_e32 v3, 8, v1\n ds_read2_b32 v[20:21], v3 offset1:1",
        "ds_read2_b32 v[20:21], v1 offset0:8 offset1:9",
    ),
    "offsets in units of 64 elements": (
        "v_add_u32_e32 v3, 4, v1\n ds_read2_b32 v[20:21], v3 offset1:1",
        "ds_read2st64_b32 v[20:21], v1 offset0:1 offset1:2",
    ),
    "elements exchanged": (_PAIR.format(""), "ds_read2_b32 v[20:21], v1 offset0:1"),
    "merged across a store": (_PAIR.format("ds_write_b32 v2, v9\n "), f"{_MERGED}\n ds_write_b32 v2, v9"),
    "merged across a barrier": (_PAIR.format("s_barrier\n "), f"{_MERGED}\n s_barrier"),
    "merged behind a barrier": (_PAIR.format("s_barrier\n "), f"s_barrier\n {_MERGED}"),
    "merged under another EXEC": (
        _PAIR.format("s_mov_b64 exec, s[8:9]\n "),
        f"{_MERGED}\n s_mov_b64 exec, s[8:9]",
    ),
    "a wider access needs another alignment": (_PAIR.format(""), "ds_read_b64 v[20:21], v1"),
    "an access of two elements made in two": (_MERGED, _PAIR.format("")),
    "a load more": (_PAIR.format(""), f"{_MERGED}\n ds_read_b32 v30, v1"),
    "stores exchanged": (
        "ds_write_b32 v1, v20 offset:4\n ds_write_b32 v2, v21",
        "ds_write_b32 v2, v21\n ds_write_b32 v1, v20 offset:4",
    ),
    "a sum that saturates": (
        "v_add_u32_e64 v3, v1, 16 clamp\n ds_read_b32 v20, v3",
        "ds_read_b32 v20, v1 offset:16",
    ),
    "a shifted sum of which the carry is used": (
        "s_lshl_b32 s1, s2, 3\n s_add_u32 s3, s1, s4\n s_addc_u32 s9, s5, 0\n v_mov_b32_e32 v20, s9",
        "s_lshl3_add_u32 s3, s2, s4\n s_addc_u32 s9, s5, 0\n v_mov_b32_e32 v20, s9",
    ),
    "a product of low parts": (
        "v_mul_u32_u24_e32 v3, 4, v7\n v_add_u32_e32 v20, v3, v8",
        "v_lshl_add_u32 v20, v7, 2, v8",
    ),
    "a field of another width": (
        "v_lshrrev_b32_e32 v3, 8, v7\n v_and_b32_e32 v20, 0x7f, v3",
        "v_bfe_u32 v20, v7, 8, 8",
    ),
    "signed for unsigned": (
        "v_min_i32_e32 v3, v7, v8\n v_min_u32_e32 v20, v9, v3",
        "v_min3_i32 v20, v7, v8, v9",
    ),
    "an arithmetic shift for a logical one": ("v_lshrrev_b32_e32 v20, 4, v7", "v_ashrrev_i32_e32 v20, 4, v7"),
    "a product and a sum of floats fused": (
        "v_mul_f32_e32 v3, v7, v8\n v_add_f32_e32 v20, v3, v9",
        "v_fma_f32 v20, v7, v8, v9",
    ),
    "a sum under another EXEC": (
        "v_add_u32_e32 v3, v7, v8\n s_mov_b64 exec, s[8:9]\n v_add_u32_e32 v20, 5, v3",
        "s_mov_b64 exec, s[8:9]\n v_add3_u32 v20, v7, v8, 5",
    ),
    "a sum of 16 bits": ("v_add_u16_e32 v3, 5, v7\n v_add_u16_e32 v20, 7, v3", "v_add_u32_e32 v20, 12, v7"),
    "a logical shift right distributed": (
        "v_add_u32_e32 v3, 4, v7\n v_lshrrev_b32_e32 v20, 1, v3",
        "v_lshrrev_b32_e32 v3, 1, v7\n v_add_u32_e32 v20, 2, v3",
    ),
}


@pytest.mark.parametrize("before, after", OTHER.values(), ids=OTHER)
def test_other_places_are_not(before: str, after: str) -> None:
    assert not proved(before, after)


def test_a_bound_made_in_some_lanes_is_none_of_others() -> None:
    before, after = SAME["a constant goes into the offset of a load"]
    for begin, expected in {
        "s_and_saveexec_b64 s[10:11], vcc\n v_and_b32_e32 v1, 0xffc, v0": False,
        "v_and_b32_e32 v1, 0xffc, v0\n s_and_saveexec_b64 s[10:11], vcc": True,
        "v_and_b32_e32 v1, 0xffc, v0\n s_and_saveexec_b64 s[10:11], vcc\n s_or_b64 exec, exec, s[10:11]": True,
        "v_and_b32_e32 v1, 0xffc, v0\n s_mov_b64 exec, -1": False,
        "v_and_b32_e32 v1, 0xffc, v0\n s_or_b64 exec, exec, s[10:11]": False,
        "v_and_b32_e32 v1, 0xffc, v0\n v_add_u32_e32 v1, v7, v1": False,
        "v_and_b32_e32 v1, 0xffc, v0\n s_setreg_imm32_b32 hwreg(HW_REG_MODE, 27, 1), 1": False,
    }.items():
        assert proved(before, after, begin) is expected, begin


def test_other_lanes_within_the_block_are_none_of_the_bounds() -> None:
    before, after = SAME["a constant goes into the offset of a load"]
    assert not proved(f"s_mov_b64 exec, -1\n {before}", f"s_mov_b64 exec, -1\n {after}")


def test_a_bound_that_grows_in_a_loop_is_given_up() -> None:
    program = program_from_text(
        """
        v_and_b32_e32 v1, 15, v0
        v_and_b32_e32 v2, 15, v0
        L:
        v_add_u32_e32 v1, 64, v1
        v_min_u32_e32 v2, 31, v1
        s_cbranch_scc1 L
        s_endpgm
        """
    )
    at_loop = entry_bounds(program)[1]
    unit = effects(parse_instruction("v_mov_b32_e32 v2, v1")).writes.bit_length() - 1
    assert unit - 1 not in at_loop
    assert at_loop[unit] == 31


@pytest.mark.parametrize("count", [60, 66])
def test_sums_of_many_terms_are_given_up(count: int) -> None:
    """Each of them would hold all terms of the one before."""
    begin = "v_mov_b32_e32 v20, v0"
    steps = [f"v_add_u32_e32 v20, v{n}, v20" for n in range(30, 30 + count)]
    assert proved("\n".join(steps), "\n".join(reversed(steps)), begin) is (count < 64)


WORD = st.one_of(st.integers(0, LARGEST), st.integers(0, 64))
TEXTS = (
    "v_add_u32_e32 v3, v1, v2", "v_sub_u32_e32 v3, v1, v2", "v_subrev_u32_e32 v3, v1, v2", "v_add3_u32 v3, v1, v2, 7",
    "v_lshl_add_u32 v3, v1, 5, v2", "v_add_lshl_u32 v3, v1, v2, 3", "v_lshlrev_b32_e32 v3, 4, v1",
    "v_mul_lo_u32 v3, v1, 12", "v_mul_u32_u24_e32 v3, 12, v1", "v_and_b32_e32 v3, v1, v2", "v_or_b32_e32 v3, v1, v2",
    "v_xor_b32_e32 v3, v1, v2", "v_lshrrev_b32_e32 v3, 4, v1", "v_lshrrev_b32_e32 v3, v1, v2", "v_bfe_u32 v3, v1, 4, 5",
    "v_lshl_or_b32 v3, v1, 5, v2", "v_and_or_b32 v3, v1, 15, v2", "v_min_u32_e32 v3, v1, v2",
    "v_mad_u32_u24 v3, v1, v2, 9", "v_max_u32_e32 v3, v1, v2", "v_ashrrev_i32_e32 v3, 4, v1", "v_not_b32_e32 v3, v1",
    "v_xad_u32 v3, v1, v2, 5",
)  # fmt: skip
SUMS = frozenset(
    f"v_{name}" for name in ("add_u32_e32", "sub_u32_e32", "subrev_u32_e32", "add3_u32", "lshl_add_u32", "mul_lo_u32")
)


@given(st.sampled_from(TEXTS), WORD, WORD, st.integers(0, LARGEST), st.integers(0, LARGEST))
def test_bounds_and_sums_hold(text: str, a: int, b: int, top_a: int, top_b: int) -> None:
    instruction = parse_instruction(text)
    first, second = (operand.first for operand in parse_instruction("v_add_u32_e32 v3, v1, v2").operands[1:])
    units = {first: a, second: b}
    tops = {first: max(a, top_a), second: max(b, top_b)}
    values = [units[x.first] if hasattr(x, "first") else x.bits for x in instruction.operands[1:]]
    (result,) = evaluate(rows()[effects(instruction).row.name], *values)
    assert result <= bound_of(instruction, lambda unit: tops[unit])
    state = State(Numbers(), adds_up=True)
    step(state, instruction)
    found = state.numbers.sum_of([state.numbers.active(exec_of(state), state.register(instruction.operands[0].first))])
    named = {state.register(unit): value for unit, value in units.items()}
    known = all(number in named for number, _ in found.terms)
    assert known or text.split()[0] not in SUMS
    if known:
        assert result == (found.constant + sum(f * named[n] for n, f in found.terms)) % (1 << 32)


def exec_of(state: State) -> int:
    return state.numbers.of("exec", *(state.register(unit) for unit in (126, 127)))


LANES = "v_mbcnt_lo_u32_b32 v3, -1, 0\n v_mbcnt_hi_u32_b32 v3, -1, v3\n"


@pytest.mark.parametrize("opcode, same", [("v_add_u32_e32 v4, v1, v1", True), ("v_lshlrev_b32_e32 v4, 2, v1", False)])
def test_the_number_of_a_lane_is_no_sum(opcode: str, same: bool) -> None:
    """It differs from lane to lane and is no function of operands."""
    k0 = LANES + "v_lshlrev_b32_e32 v4, 1, v1\n v_add_u32_e32 v20, v3, v4"
    assert proved(k0, LANES + f"{opcode}\n v_add_u32_e32 v20, v3, v4") is same
    assert not proved(k0, "v_mov_b32_e32 v3, 0\n v_lshlrev_b32_e32 v4, 1, v1\n v_add_u32_e32 v20, v3, v4")

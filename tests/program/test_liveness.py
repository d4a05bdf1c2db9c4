"""Liveness under EXEC: what is live before each line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asmevo.isa import effects, names
from asmevo.isa.registers import VGPR_BASE
from asmevo.program.execmask import full_at_entry, narrows_exec
from asmevo.program.liveness import liveness
from programs import program_from_text

_VGPRS = ((1 << 256) - 1) << VGPR_BASE


def live(text: str) -> list[str]:
    """Live VGPRs before each line."""
    program = program_from_text(text)
    found = liveness(program)
    return [names(found.live_in(i) & _VGPRS) for i in range(len(program.lines))]


def test_a_write_ends_the_life_of_the_old_value_for_readers_under_the_same_exec():
    text = """
        v_mov_b32_e32 v1, 0
        v_mov_b32_e32 v1, v2
        v_add_u32_e32 v3, v1, v1
        global_store_dword v[4:5], v3, off
        s_endpgm
    """
    assert live(text) == ["v2, v4, v5", "v2, v4, v5", "v1, v4, v5", "v3, v4, v5", ""]


def test_a_write_under_a_narrower_exec_keeps_the_other_lanes_alive():
    text = """
        v_mov_b32_e32 v1, 0
        s_and_saveexec_b64 s[0:1], vcc
        v_mov_b32_e32 v1, 1
        s_or_b64 exec, exec, s[0:1]
        global_store_dword v[4:5], v1, off
        s_endpgm
    """
    assert live(text)[1:4] == ["v1, v4, v5"] * 3


def test_readers_under_a_narrower_exec_need_no_other_lanes():
    text = """
        v_mov_b32_e32 v1, 0
        s_and_saveexec_b64 s[0:1], vcc
        global_store_dword v[4:5], v1, off
        s_endpgm
    """
    assert live(text) == ["v4, v5", "v1, v4, v5", "v1, v4, v5", ""]


def test_with_all_lanes_on_a_write_is_whole():
    text = """
        s_mov_b64 exec, -1
        v_mov_b32_e32 v1, 0
        s_mov_b64 exec, s[0:1]
        global_store_dword v[4:5], v1, off
        s_endpgm
    """
    assert live(text)[1] == "v4, v5"
    assert live(text.replace("-1", "s[2:3]"))[1] == "v1, v4, v5"


@pytest.mark.parametrize(
    "reader",
    [
        "v_mfma_f32_16x16x32_fp8_fp8 v[8:11], v[0:1], v[2:3], 0",
        "v_readlane_b32 s0, v1, 5",
        "ds_bpermute_b32 v8, v9, v1",
        "v_mov_b32_dpp v8, v1 row_shl:1 row_mask:0xf bank_mask:0xf",
    ],
)
def test_what_looks_beyond_active_lanes_keeps_them_alive(reader: str):
    assert "v1" in live(f"v_mov_b32_e32 v1, 0\n{reader}\ns_endpgm")[0]


def test_matrix_products_write_all_lanes():
    text = """
        v_mfma_f32_16x16x32_fp8_fp8 v[4:7], v[0:1], v[2:3], 0
        s_mov_b64 exec, s[0:1]
        ds_write_b128 v8, v[4:7]
        s_endpgm
    """
    assert live(text)[0] == "v0, v1, v2, v3, v8"


def test_merging_writes_read_the_old_value():
    assert live("global_load_short_d16_hi v1, v[2:3], off\nds_write_b32 v4, v1\ns_endpgm")[0] == "v1, v2, v3, v4"


def test_loops_and_branches():
    text = """
        v_mov_b32_e32 v1, 0
    loop:
        v_add_u32_e32 v1, v1, v2
        s_cbranch_scc1 out
        v_mov_b32_e32 v3, v1
        s_branch loop
    out:
        ds_write_b32 v4, v3
        s_endpgm
    """
    around = "v1, v2, v3, v4"
    assert live(text) == ["v2, v3, v4", around, around, "v1, v2, v4", around, "v3, v4", ""]


def test_scalars_die_by_any_write():
    program = program_from_text(
        "s_mov_b32 s0, 0\ns_mov_b32 s0, s1\nv_mov_b32_e32 v0, s0\nds_write_b32 v0, v0\ns_endpgm"
    )
    found = liveness(program)
    assert names(found.live_in(0) & 0xFF) == "s1"
    assert names(found.live_out(1) & 0xFF) == "s0"


def test_exec_is_known_where_it_was_set_on_all_paths():
    text = """
        s_cbranch_scc0 other
        s_mov_b64 exec, -1
        s_branch join
    other:
        s_mov_b64 exec, {}
    join:
        v_mov_b32_e32 v0, 0
        s_endpgm
    """
    assert full_at_entry(program_from_text(text.format("-1"))) == (False, False, False, True)
    assert full_at_entry(program_from_text(text.format("s[0:1]"))) == (False, False, False, False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s_and_saveexec_b64 s[0:1], vcc", True),
        ("s_and_b64 exec, exec, s[0:1]", True),
        ("s_and_b64 exec, s[0:1], exec", True),
        ("s_andn2_b64 exec, exec, s[0:1]", True),
        ("s_andn2_b64 exec, s[0:1], exec", False),
        ("s_andn2_saveexec_b64 s[0:1], vcc", False),
        ("s_or_b64 exec, exec, s[0:1]", False),
        ("s_mov_b64 exec, s[0:1]", False),
        ("v_cmpx_eq_u32_e32 vcc, v0, v1", True),
    ],
)
def test_which_writes_only_switch_lanes_off(text: str, expected: bool):
    (line, _) = program_from_text(f"{text}\ns_endpgm").lines
    assert narrows_exec(line.instruction) is expected


LANES = 3
LINE = st.sampled_from(
    ["v_mov_b32_e32 v{0}, v{1}", "v_add_u32_e32 v{0}, v{1}, v{2}", "s_mov_b64 exec, s[2:3]", "s_mov_b64 exec, -1",
     "s_and_b64 exec, exec, s[2:3]", "v_readlane_b32 s9, v{1}, 1", "ds_write_b32 v{1}, v{2}"]
)  # fmt: skip
LINES = st.lists(st.tuples(LINE, *(st.integers(0, 3),) * 3).map(lambda t: t[0].format(*t[1:])), min_size=1, max_size=10)


def outputs(lines: list[str], poisoned: tuple[int, int], mask: int) -> list[object]:
    """What stores and lane reads see, on 3 lanes; register `poisoned[1]` is poison before line `poisoned[0]`."""
    everything = (1 << LANES) - 1
    program = program_from_text("\n".join(lines))
    registers: list[list[object]] = [[(r, lane) for lane in range(LANES)] for r in range(4)]
    seen: list[object] = []
    active = mask
    for i, line in enumerate(program.lines):
        if i == poisoned[0]:
            registers[poisoned[1]] = ["poison"] * LANES
        text, operands = line.instruction.text, line.instruction.operands
        if text.startswith("s_"):
            given_mask = mask ^ 0b101
            active = everything if text.endswith("-1") else given_mask & (active if "s_and" in text else everything)
            continue
        sources = [registers[op.first - VGPR_BASE] for op in operands if getattr(op, "first", 0) >= VGPR_BASE]
        if text.startswith("v_readlane"):
            seen.append(sources[0][1])
        for lane in (x for x in range(LANES) if active >> x & 1):
            if text.startswith("ds_write"):
                seen.append((sources[0][lane], sources[1][lane]))
            elif not text.startswith("v_readlane"):
                target = operands[0].first - VGPR_BASE  # type: ignore[union-attr]
                registers[target][lane] = ("op", i, *(s[lane] for s in sources[1:]))
    return seen


@given(LINES, st.integers(0, 7))
def test_a_register_that_is_not_live_may_hold_anything(lines: list[str], mask: int):
    program = program_from_text("\n".join([*lines, "s_endpgm"]))
    found = liveness(program)
    expected = outputs(lines, (-1, 0), mask)
    for i in range(len(lines)):
        for register in range(4):
            if not found.live_in(i) >> (VGPR_BASE + register) & 1:
                assert outputs(lines, (i, register), mask) == expected


def test_effects_are_what_the_model_of_this_test_assumes():
    known = effects(program_from_text("v_readlane_b32 s9, v1, 1\ns_endpgm").lines[0].instruction)
    assert not known.masked

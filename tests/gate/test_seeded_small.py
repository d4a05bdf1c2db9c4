"""Small kernels whose launches cannot show a fault: no edit that changes what they do for other inputs is admitted."""

import pytest
from gate_cases import LAUNCH

from asmevo.codeobject import CodeObject
from asmevo.device import IsolatedDevice
from asmevo.edit import Delete, Insert, Replace, apply_all
from asmevo.gate import Gate
from asmevo.program import rebuild, recover
from asmevo.verdict import Verdict
from small_objects import build

BEGIN = """
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32_e32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
    global_load_dword v2, v1, s[4:5]
    s_waitcnt vmcnt(0)
"""
END = """
    global_store_dword v1, v3, s[6:7]
    s_endpgm
"""
"""The launch gives positive numbers in v2."""

NO_LANES = f"""{BEGIN}
    v_add_u32_e32 v3, 1, v2
    v_cmp_gt_i32_e32 vcc, 0, v2
    s_and_saveexec_b64 s[10:11], vcc
    v_add_u32_e32 v3, 7, v3
    s_mov_b64 exec, s[10:11]
{END}"""
COLD_READER = f"""{BEGIN}
    v_mov_b32_e32 v4, v2
    v_mov_b32_e32 v3, v2
    v_cmp_gt_i32_e32 vcc, 0, v2
    s_nop 4
    s_cbranch_vccz skip
    v_add_u32_e32 v3, 5, v4
    s_nop 0
skip:
{END}"""
SCALAR_CARRY = f"""{BEGIN}
    s_add_u32 s8, s6, 16
    s_addc_u32 s9, s7, 0
    v_mov_b32_e32 v3, v2
    global_store_dword v1, v3, s[8:9] offset:-16
    s_endpgm
"""
VECTOR_CARRY = f"""{BEGIN}
    v_mov_b32_e32 v3, v2
    v_mov_b32_e32 v5, s7
    v_add_co_u32_e32 v4, vcc, s6, v1
    v_addc_co_u32_e32 v5, vcc, 0, v5, vcc
    global_store_dword v[4:5], v3, off
    s_endpgm
"""
EXCHANGE = f"""{BEGIN}
    ds_write_b32 v1, v2
    s_waitcnt lgkmcnt(0)
    s_barrier
    ds_read_b32 v3, v1
    s_waitcnt lgkmcnt(0)
{END}"""
INITIALISED = f"""{BEGIN}
    s_mov_b32 s12, 0
    v_mov_b32_e32 v3, v2
    v_add_u32_e32 v3, s12, v3
{END}"""

BORDER = f"""{BEGIN}
    v_mov_b32_e32 v3, v2
    v_cmp_gt_u32_e32 vcc, 64, v0
    s_and_saveexec_b64 s[10:11], vcc
    v_add_u32_e32 v3, 1, v3
    s_mov_b64 exec, s[10:11]
{END}"""
SELECTED = f"""{BEGIN}
    v_mov_b32_e32 v4, 17
    v_cmp_lt_i32_e32 vcc, 0, v2
    s_nop 1
    v_cndmask_b32_e32 v3, v4, v2, vcc
    s_cmp_lt_u32 s2, 1
    s_cselect_b32 s12, 0, 5
    v_add_u32_e32 v3, s12, v3
{END}"""
SMALL_OFFSETS = f"""{BEGIN}
    v_mov_b32_e32 v3, v2
    v_add_u32_e32 v4, 0, v1
    s_mov_b32 s8, s6
    s_and_b32 s9, s7, 0xffff
    s_mov_b32 s10, 0x1000
    s_mov_b32 s11, 0x27000
    buffer_store_dword v3, v4, s[8:11], 0 offen
    s_endpgm
"""
"""The descriptor's size is larger than the buffer."""
WIDE_ADDRESS = f"""{BEGIN}
    v_mov_b32_e32 v3, v2
    v_mov_b32_e32 v5, 0
    v_mov_b32_e32 v4, v1
    v_lshl_add_u64 v[4:5], s[6:7], 0, v[4:5]
    global_store_dword v[4:5], v3, off
    s_endpgm
"""

FAULTS = {
    "a value from another lane, the same while all are on": (
        BORDER,
        Replace,
        "v_add_u32_e32 v3, 1",
        "v_add_u32_dpp v3, v3, v3 row_shl:1 row_mask:0xf bank_mask:0xf",
    ),
    "the lowest lane's value where lanes agree": (
        SELECTED,
        Insert,
        "v_cndmask",
        ("v_readfirstlane_b32 s13, v4", "v_mov_b32_e32 v4, s13"),
    ),
    "a border that no launch meets": (BORDER, Replace, "v_cmp_gt_u32_e32 vcc, 64", "v_cmp_ge_u32_e32 vcc, 64, v0"),
    "the side of a selection that no lane takes": (SELECTED, Replace, "v_mov_b32_e32 v4", "v_mov_b32_e32 v4, 18"),
    "the mask of a selection": (SELECTED, Replace, "v_cmp_lt_i32", "v_cmp_le_i32_e32 vcc, 0, v2"),
    "the side of a scalar selection": (SELECTED, Replace, "s_cselect_b32", "s_cselect_b32 s12, 0, 6"),
    "the condition of a scalar selection": (SELECTED, Replace, "s_cmp_lt_u32", "s_cmp_eq_u32 s2, 0"),
    "an offset cut off beyond 64 KiB": (SMALL_OFFSETS, Insert, "buffer_store", "v_and_b32_e32 v4, 0xffff, v4"),
    "an offset cut off beyond 16 MiB": (SMALL_OFFSETS, Replace, "v_add_u32_e32 v4", "v_bfe_u32 v4, v1, 0, 24"),
    "an address that loses its high half": (WIDE_ADDRESS, Replace, "v_mov_b32_e32 v5", "v_and_b32_e32 v5, 0, v1"),
    "an offset of another width": (WIDE_ADDRESS, Replace, "v_mov_b32_e32 v4", "v_and_b32_e32 v4, 0xffffff, v1"),
    "a descriptor without bounds": (SMALL_OFFSETS, Replace, "s_mov_b32 s10", "s_mov_b32 s10, -1"),
    "a descriptor of another type": (SMALL_OFFSETS, Replace, "s_mov_b32 s11", "s_mov_b32 s11, 0x20000"),
    "a descriptor of another base": (SMALL_OFFSETS, Replace, "s_and_b32 s9", "s_and_b32 s9, s7, 0xfff"),
    "a size that is not set": (SMALL_OFFSETS, Delete, "s_mov_b32 s10", ""),
    "a load that skips the cache": (SELECTED, Replace, "global_load", "global_load_dword v2, v1, s[4:5] sc0 sc1"),
    "a store that does not stay": (SELECTED, Replace, "global_store", "global_store_dword v1, v3, s[6:7] nt"),
    "another constant under EXEC = 0": (NO_LANES, Replace, "v_add_u32_e32 v3, 7", "v_add_u32_e32 v3, 8, v3"),
    "a line under EXEC = 0 is gone": (NO_LANES, Delete, "v_add_u32_e32 v3, 7", ""),
    "new code under EXEC = 0": (NO_LANES, Insert, "s_mov_b64 exec", "v_mov_b32_e32 v3, 0"),
    "clobbered for a reader that nothing executes": (COLD_READER, Insert, "v_cmp_gt_i32", "v_mov_b32_e32 v4, 0"),
    "gone for a reader that nothing executes": (COLD_READER, Delete, "v_mov_b32_e32 v4", ""),
    "replaced for a reader that nothing executes": (COLD_READER, Replace, "v_mov_b32_e32 v4", "v_mov_b32_e32 v4, 0"),
    "SCC clobbered before a carry": (SCALAR_CARRY, Insert, "s_addc_u32", "s_cmp_lg_u32 0, 0"),
    "SCC made by another instruction": (SCALAR_CARRY, Replace, "s_add_u32", "s_add_i32 s8, s6, 16"),
    "a carry that is ignored": (SCALAR_CARRY, Replace, "s_addc_u32", "s_add_u32 s9, s7, 0"),
    "VCC clobbered before a carry": (VECTOR_CARRY, Insert, "v_addc_co_u32", "s_mov_b64 vcc, 0"),
    "a carry of lanes that is ignored": (VECTOR_CARRY, Replace, "v_addc_co_u32", "v_add_u32_e32 v5, 0, v5"),
    "a read before the barrier": (EXCHANGE, Insert, "s_barrier", ("ds_read_b32 v3, v1", "s_waitcnt lgkmcnt(0)")),
    "a scalar is not set to 0": (INITIALISED, Delete, "s_mov_b32 s12", ""),
}


@pytest.fixture(scope="module")
def device():
    with IsolatedDevice() as one:
        yield one


def edits_of(program, kind, text, new):
    (line_id,) = [x.id for x in program.lines if x.instruction.text.startswith(text)]
    if kind is Delete:
        return (Delete((line_id,)),)
    edits = (kind(line_id, new),)
    if isinstance(new, tuple):  # moved by insertion and deletion
        edits += tuple(Delete((x.id,)) for x in program.lines if x.instruction.text == new[0])
    return edits


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_that_the_launch_does_not_show(device, name):
    code, kind, text, new = FAULTS[name]
    data = build(code)
    program = recover(CodeObject.parse(data))
    gate = Gate(data, [LAUNCH], device)
    assert gate.examine(data, edits=()).verdict.admitted
    edits = edits_of(program, kind, text, new)
    changed = rebuild(apply_all(program, edits))
    for known in (edits, None):
        report = gate.examine(changed, edits=known)
        assert report.verdict in (Verdict.REFUTED, Verdict.UNKNOWN), report.to_json()

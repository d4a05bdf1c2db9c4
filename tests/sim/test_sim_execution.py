"""Loops, barriers, workgroups, limits, counts, traces, edits and threads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from asmevo.edit import Insert, Replace
from asmevo.program import recover
from asmevo.sim import BlockCache, Executable, Limits, execute
from asmevo.sim.objectfiles import ObjectFiles
from asmevo.verdict import InputError, UnsupportedError
from sim_kernels import BASE, Grid, Image, block_cache, kernel, lanes, run

COLLATZ = """
    v_and_b32_e32 v0, 0x3ff, v0
    v_add_u32_e32 v2, 1, v0
    v_mov_b32_e32 v3, 0
    s_mov_b64 s[6:7], exec
1:
    v_cmp_lt_u32_e32 vcc, 1, v2
    s_and_b64 exec, exec, vcc
    s_cbranch_execz 2f
    v_and_b32_e32 v4, 1, v2
    v_cmp_eq_u32_e32 vcc, 1, v4
    v_mul_u32_u24_e32 v5, 3, v2
    v_add_u32_e32 v5, 1, v5
    v_lshrrev_b32_e32 v6, 1, v2
    v_cndmask_b32_e32 v2, v6, v5, vcc
    v_add_u32_e32 v3, 1, v3
    s_branch 1b
2:
    s_mov_b64 exec, s[6:7]
    v_lshlrev_b32_e32 v1, 2, v0
    global_store_dword v1, v3, s[0:1] offset:1024
"""


def collatz(n: int) -> int:
    steps = 0
    while n > 1:
        n = 3 * n + 1 if n & 1 else n // 2
        steps += 1
    return steps


def test_lanes_leave_a_loop_one_by_one() -> None:
    image, execution = run(COLLATZ)
    assert execution.status == "done"
    want = [collatz(n + 1) for n in range(64)]
    np.testing.assert_array_equal(image.words(1024, 64), want)
    loop = max(want) + 1
    assert execution.line_counts[4] == loop and execution.line_counts[7] == loop - 1 and execution.line_counts[0] == 1
    assert execution.instructions == sum(execution.line_counts.values())
    # the first test of the loop sees all lanes, what comes after it does not
    assert 7 in execution.line_partial and 0 not in execution.line_partial


def test_scalar_code() -> None:
    code = """
        s_mov_b32 s10, 0x80000001
        s_add_i32 s11, s10, s10
        s_cselect_b32 s12, 7, 9
        s_add_u32 s13, s10, s10
        s_addc_u32 s14, 0, 0
        s_mul_hi_u32 s15, s10, s10
        s_bfe_i32 s16, s10, 0x40010
        s_lshl_b64 s[18:19], s[10:11], 33
        s_ff1_i32_b64 s20, s[18:19]
        s_cmp_gt_i32 s10, 0
        s_cselect_b64 s[22:23], -1, 0x12345678
        s_movk_i32 s24, 0x8000
        s_not_b32 s25, s24
        s_and_saveexec_b64 s[26:27], 1
        s_mov_b64 s[28:29], exec
        s_mov_b64 exec, s[26:27]
        s_getpc_b64 s[30:31]
        s_sub_u32 s30, s30, s0
        v_lshlrev_b32_e32 v1, 2, v0
    """
    wanted = {
        11: 2, 12: 7, 13: 2, 14: 1, 15: 0x40000001, 16: 0, 19: 2, 20: 33, 22: 0x12345678, 23: 0,
        24: 0xFFFF8000, 25: 0x7FFF, 26: 1, 27: 0, 28: 1, 29: 0, 31: BASE >> 32,
    }  # fmt: skip
    stores = [
        f"v_mov_b32_e32 v2, s{r}\nglobal_store_dword v1, v2, s[0:1] offset:{1024 + 4 * i}"
        for i, r in enumerate([*wanted, 30])
    ]
    image, _ = run(code + "\n".join(stores), grid=Grid(block=(1, 1, 1)))
    got = [int(w) for w in image.words(1024, len(wanted) + 1)]
    assert dict(zip(wanted, got, strict=False)) == wanted
    text = recover(kernel(code + "\n".join(stores))).source.text
    # 18 instructions before it, of which those with a literal have 8 bytes
    assert 0 < got[-1] - text.address < 200 and got[-1] % 4 == 0


PRODUCERS = """
    v_and_b32_e32 v0, 0x3ff, v0
    v_lshlrev_b32_e32 v1, 2, v0
    v_mul_lo_u32 v2, v0, v0
    ds_write_b32 v1, v2
    s_waitcnt lgkmcnt(0)
    s_barrier
    v_xor_b32_e32 v3, {mirror}, v0
    v_lshlrev_b32_e32 v3, 2, v3
    ds_read_b32 v4, v3
    s_waitcnt lgkmcnt(0)
    s_barrier
    v_add_u32_e32 v4, s2, v4
    s_lshl_b32 s6, s2, 10
    s_lshl_b32 s7, s3, 11
    s_add_u32 s6, s6, s7
    v_add_u32_e32 v1, s6, v1
    global_store_dword v1, v4, s[0:1] offset:4092
"""


@pytest.mark.parametrize("threads", [1, 3])
def test_waves_of_a_workgroup_meet_at_barriers(threads: int) -> None:
    code = PRODUCERS.format(mirror=255)
    image, execution = run(code, grid=Grid((2, 3, 1), (256, 1, 1)), lds=1024, threads=threads)
    assert execution.status == "done"
    got = image.words(4092, 6 * 256).reshape(3, 2, 256)
    mirrored = (255 - np.arange(256)) ** 2
    for x in range(2):
        np.testing.assert_array_equal(got[:, x], np.broadcast_to(mirrored + x, (3, 256)))
    assert execution.line_counts[0] == 6 * 4


def test_chosen_workgroups_only() -> None:
    image, execution = run(PRODUCERS.format(mirror=255), grid=Grid((2, 3, 1), (256, 1, 1)), lds=1024, workgroups=[1, 4])
    assert execution.line_counts[0] == 2 * 4
    written = image.words(4092, 6 * 256).reshape(3, 2, 256).any(axis=2)
    np.testing.assert_array_equal(written, [[False, True], [False, False], [True, False]])
    with pytest.raises(InputError, match="counts them in 32 bits"):
        run("s_nop 0", grid=Grid((1 << 16, 1 << 16, 1)), workgroups=[0])
    with pytest.raises(InputError, match="grid of 6"):
        run("s_nop 0", grid=Grid((2, 3, 1)), workgroups=[6])


def test_a_wave_that_ended_does_not_hold_the_barrier() -> None:
    code = """
        v_readfirstlane_b32 s6, v0
        s_cmp_ge_u32 s6, 64
        s_cbranch_scc1 1f
        s_barrier
        v_lshlrev_b32_e32 v1, 2, v0
        global_store_dword v1, v1, s[0:1] offset:1024
        s_endpgm
    1:
    """
    image, execution = run(code, grid=Grid(block=(128, 1, 1)))
    assert execution.status == "done" and image.words(1024, 64)[5] == 20


def test_waves_can_wait_for_each_other_in_memory() -> None:
    """Wave 0 spins on LDS until wave 1 has written."""
    code = """
        v_and_b32_e32 v0, 0x3ff, v0
        v_mov_b32_e32 v2, 0
        v_mov_b32_e32 v3, 1
        v_readfirstlane_b32 s6, v0
        s_cmp_ge_u32 s6, 64
        s_cbranch_scc1 2f
    1:
        ds_read_b32 v4, v2
        s_waitcnt lgkmcnt(0)
        v_readfirstlane_b32 s7, v4
        s_cmp_eq_u32 s7, 1
        s_cbranch_scc0 1b
        v_lshlrev_b32_e32 v1, 2, v0
        global_store_dword v1, v4, s[0:1] offset:1024
        s_endpgm
    2:
        ds_write_b32 v2, v3
    """
    limits = Limits(instructions=100_000, quantum=500)
    image, execution = run(code, grid=Grid(block=(128, 1, 1)), lds=64, limits=limits)
    assert execution.status == "done" and np.all(image.words(1024, 64) == 1)


def test_an_endless_loop_ends_at_the_limit() -> None:
    _, execution = run("1:\n v_add_u32_e32 v2, 1, v2\n s_branch 1b", limits=Limits(instructions=1000))
    assert execution.status == "limit" and execution.fault is None
    assert 1000 < execution.instructions < 1200


def test_vskip_turns_vector_instructions_off() -> None:
    code = """
        v_mov_b32_e32 v40, 1
        s_setvskip 1, 0
        v_mov_b32_e32 v40, 2
        global_store_dword v40, v40, s[0:1]
        s_mov_b32 s20, 3
        s_setvskip 0, 0
        v_mov_b32_e32 v41, s20
    """
    got = lanes(code, outputs=2)
    assert np.all(got[0] == 1) and np.all(got[1] == 3)


def test_traps_are_findings() -> None:
    _, execution = run("s_nop 0\ns_trap 2")
    assert execution.status == "fault" and execution.fault is not None
    assert execution.fault.rule == "sim.trap" and execution.fault.line == 1


def test_registers_and_lds_start_as_poison() -> None:
    image = Image(poison=0xA5)
    code = """
        v_and_b32_e32 v0, 0x3ff, v0
        v_lshlrev_b32_e32 v1, 2, v0
        ds_read_b32 v3, v1
        v_accvgpr_read_b32 v4, a200
        s_waitcnt lgkmcnt(0)
        global_store_dword v1, v2, s[0:1] offset:1024
        global_store_dword v1, v3, s[0:1] offset:1280
        global_store_dword v1, v4, s[0:1] offset:1536
    """
    run(code, image, lds=256)
    assert np.all(image.words(1024, 192) == 0xA5A5A5A5)


def test_work_item_ids_are_packed() -> None:
    code = """
        v_and_b32_e32 v2, 0x3ff, v0
        v_bfe_u32 v3, v0, 10, 10
        v_bfe_u32 v4, v0, 20, 10
        v_lshlrev_b32_e32 v5, 3, v3
        v_lshl_add_u32 v5, v4, 5, v5
        v_add_lshl_u32 v5, v5, v2, 2
        global_store_dword v5, v0, s[0:1] offset:1024
    """
    image, execution = run(code, grid=Grid(block=(8, 4, 3)))
    z, y, x = np.unravel_index(np.arange(96), (3, 4, 8))
    np.testing.assert_array_equal(image.words(1024, 96), x | y << 10 | z << 20)
    assert execution.line_partial  # the second wave is half full
    with pytest.raises(UnsupportedError, match="1024"):
        run("s_nop 0", grid=Grid(block=(32, 32, 2)))


def test_unknown_instructions_are_all_named() -> None:
    code = "s_getreg_b32 s7, hwreg(HW_REG_LDS_ALLOC)\ns_getreg_b32 s6, hwreg(HW_REG_HW_ID)\nv_mov_b32_e32 v1, v2"
    with pytest.raises(UnsupportedError) as caught:
        Executable.build(recover(kernel(code)), block_cache())
    assert "HW_REG_LDS_ALLOC" in str(caught.value) and "HW_REG_HW_ID" in str(caught.value)
    assert "v_mov" not in str(caught.value)


def test_unreachable_code_does_not_count() -> None:
    code = "s_branch 1f\ns_getreg_b32 s6, hwreg(HW_REG_HW_ID)\n1:\nv_mov_b32_e32 v1, v2"
    assert run(code)[1].status == "done"


# --- compiled blocks
LONG = "\n".join(f"v_add_u32_e32 v{2 + i % 30}, {i % 60}, v{3 + i % 29}" for i in range(400))


def compile_all(executable: Executable) -> None:
    for chunk in range(len(executable.chunks)):
        executable.compile(chunk, 0)


@pytest.mark.parametrize("where", [0, 77, 200, 399])
def test_an_edit_recompiles_one_block(where: int, tmp_path: Path) -> None:
    program = recover(kernel(LONG + "\ns_cbranch_scc0 1f\nv_mov_b32_e32 v2, 0\n1:"))
    cache = BlockCache(tmp_path)
    first = Executable.build(program, cache)
    compile_all(first)
    assert len(first.chunks) > 8
    before = cache.compiled
    replaced, _ = Replace(where, "v_xor_b32_e32 v2, v3, v4").apply(program)
    compile_all(Executable.build(replaced, cache))
    assert cache.compiled - before <= 2  # a second one only if the cut itself moved
    before = cache.compiled
    compile_all(Executable.build(program, cache))
    assert cache.compiled == before


def test_edits_of_a_short_program_recompile_exactly_one_block(tmp_path: Path) -> None:
    program = recover(kernel(COLLATZ))
    cache = BlockCache(tmp_path)
    compile_all(Executable.build(program, cache))
    before = cache.compiled
    edited, _ = Insert(9, "v_nop").apply(program)
    compile_all(Executable.build(edited, cache))
    assert cache.compiled - before == 1


def test_blocks_are_kept_on_disk(tmp_path: Path) -> None:
    program = recover(kernel(COLLATZ))
    first = BlockCache(tmp_path)
    compile_all(Executable.build(program, first))
    assert first.compiled > 0
    second = BlockCache(tmp_path)
    executable = Executable.build(program, second)
    compile_all(executable)
    assert second.compiled == 0
    image = Image()
    assert execute(executable, Grid(), image).status == "done"
    assert image.words(1024, 64)[26] == collatz(27)
    for damaged in tmp_path.glob("*.obj"):
        damaged.write_bytes(damaged.read_bytes()[:-7] + b"garbage")
    third = BlockCache(tmp_path)
    compile_all(Executable.build(program, third))
    assert third.compiled == first.compiled


def test_a_folder_that_cannot_be_written_only_costs_time(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    cache = BlockCache(blocked)
    executable = Executable.build(recover(kernel(COLLATZ)), cache)
    image = Image()
    assert execute(executable, Grid(), image).status == "done"
    assert cache.compiled > 0 and image.words(1024, 64)[26] == collatz(27)


def test_object_files_stay_bounded(tmp_path: Path) -> None:
    for n in range(12):
        ObjectFiles(tmp_path, most=8).write(f"key{n}", ["f"], b"code")
    assert len(list(tmp_path.glob("*.obj"))) <= 9
    assert ObjectFiles(tmp_path).read("key11") == (["f"], b"code")


def test_code_that_is_no_longer_used_is_freed() -> None:
    """A cache that holds few blocks still runs a program with many."""
    program = recover(kernel(COLLATZ))
    cache = BlockCache(capacity=1)
    executable = Executable.build(program, cache)
    image = Image()
    assert execute(executable, Grid(), image).status == "done"
    assert image.words(1024, 64)[26] == collatz(27)


# --- traces
def test_traces_are_the_paths_of_the_waves() -> None:
    code = """
        v_readfirstlane_b32 s6, v0
        s_cmp_ge_u32 s6, 64
        s_cbranch_scc1 1f
        s_barrier
        s_branch 2f
    1:
        s_nop 1
        s_barrier
    2:
        s_nop 2
    """
    _, execution = run(code, grid=Grid((2, 1, 1), (128, 1, 1)), trace=True)
    paths = {(t.workgroup, t.wave): t.runs.tolist() for t in execution.traces}
    first, second = [[0, 5], [7, 9]], [[0, 3], [5, 9]]
    assert paths == {(0, 0): first, (0, 1): second, (1, 0): first, (1, 1): second}


def test_long_traces_survive_a_full_buffer() -> None:
    code = """
        s_mov_b32 s6, 0
    1:
        s_add_u32 s6, s6, 1
        s_cmp_lt_u32 s6, 0x1a0000
        s_cbranch_scc1 1b
    """
    _, execution = run(code, trace=True, limits=Limits(instructions=10_000_000))
    assert execution.status == "done"
    (trace,) = execution.traces
    assert len(trace.runs) == 0x1A0000
    assert int((trace.runs[:, 1] - trace.runs[:, 0]).sum()) == execution.instructions
    assert trace.runs[0].tolist() == [0, 4] and trace.runs[-1].tolist() == [1, 5]


def test_runs_are_deterministic() -> None:
    results = []
    for _ in range(2):
        image, execution = run(PRODUCERS.format(mirror=131), grid=Grid((2, 2, 1), (256, 1, 1)), lds=1024, trace=True)
        results.append((image.data.tobytes(), execution.instructions, [t.runs.tobytes() for t in execution.traces]))
    assert results[0] == results[1]

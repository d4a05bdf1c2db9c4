"""Races of small kernels: found, parted by a barrier that all waves pass, or refused with a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from racing import AGAIN, ARMS, BY_WAVE, FOUR, HEAD, LATE, ONE_WRITES, PAIR, RACY, RIGHT, TAIL, UNWAITED

from asmevo.codeobject import CodeObject
from asmevo.device import IsolatedDevice
from asmevo.edit import apply_all
from asmevo.gate import Gate
from asmevo.launch import for_object
from asmevo.program import rebuild, recover
from asmevo.repair import Place, repair
from asmevo.repair.uniform import uniform_blocks
from asmevo.verdict import UnsupportedError, Verdict
from benchmarks.objects import WheelMember, fetch
from programs import program_from_text
from small_objects import build

BARRIER, WAIT = "s_barrier", "s_waitcnt lgkmcnt(0)"


@pytest.fixture(scope="module")
def device():
    with IsolatedDevice() as one:
        yield one


def repaired(code, device, launch=PAIR):
    return repair(CodeObject.parse(build(code)), [launch], device)


def line(code, text, nth=0):
    """Id of a line that begins with this text."""
    return [x.id for x in recover(CodeObject.parse(build(code))).lines if x.instruction.text.startswith(text)][nth]


@pytest.mark.parametrize(
    ("code", "where", "texts", "everywhere"),
    [
        (RACY, [("ds_write_b32", 1)], (BARRIER,), True),
        (UNWAITED, [("ds_write_b32", 1)], (WAIT, BARRIER), True),
        (AGAIN, [("s_sub_u32", 0)], (BARRIER,), True),
        (ARMS, [("ds_write_b32", 1), ("ds_write_b32", 2)], (BARRIER,), False),
    ],
    ids=["straight", "without a wait", "around a loop", "two copies"],
)
def test_a_barrier_goes_between(device, code, where, texts, everywhere):
    launch = FOUR if code is ARMS else PAIR
    found = repaired(code, device, launch)
    assert [p.before for p in found.places] == [line(code, text, nth) for text, nth in where]
    assert all((p.texts, p.everywhere) == (texts, everywhere) for p in found.places)
    assert found.verdict is Verdict.TESTED, [check.to_json() for check in found.checks]
    program = recover(found.k0)
    assert found.data == rebuild(apply_all(program, found.edits))
    (refines,) = [check for check in found.checks if check.name == "refines"]
    assert any(refines.facts["equal"][launch.name].values())
    assert Gate(found.data, [launch], device).examine(found.data, edits=()).verdict.admitted


def test_k0_is_refused_and_its_results_are_those_of_the_repaired_object_where_waves_keep_step(device):
    check = Gate(build(RACY), [PAIR], device).baseline().check()
    assert check.verdict is Verdict.UNKNOWN and "asmevo repair" in check.findings[-1].message
    (refines,) = [check for check in repaired(RACY, device).checks if check.name == "refines"]
    assert refines.facts["equal"]["pair"] == {
        "ascending": False, "descending": False, "turns of 16": False, "turns of 1": True,
    }  # fmt: skip


def test_nops_keep_the_code_behind_aligned_where_that_is_faster(device):
    bare = Place(3, (WAIT, BARRIER), True)
    full = bare.padded(32)
    assert full.texts == (WAIT, BARRIER, *["s_nop 0"] * 6) and full.padded(32) == full
    found = repair(CodeObject.parse(build(AGAIN)), [PAIR], device, fetch_bytes=32)
    times = [device.time(device.load(one.data), [PAIR]).microseconds for one in (found, repaired(AGAIN, device))]
    assert times[0] <= times[1] and found.verdict is Verdict.TESTED


def test_a_barrier_without_a_wait_gets_one(device):
    found = repaired(LATE, device)
    assert [(p.before, p.texts, p.barrier) for p in found.places] == [(line(LATE, BARRIER), (WAIT,), False)]
    assert found.verdict is Verdict.TESTED


def test_without_a_race_nothing_is_made(device):
    found = repaired(RIGHT, device)
    assert not found.races and found.data is None and not found.checks and found.verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (BY_WAVE, "no place between them that all waves of a workgroup pass"),
        (ONE_WRITES, "Nothing tells which"),
        (HEAD + "v_mov_b32_e32 v6, 0\n ds_write_b32 v6, v0\n" + TAIL, "of two waves"),
        (HEAD + "s_trap 2\n" + TAIL, "ends with fault"),
    ],
    ids=["turns by wave", "no order", "one line", "a fault"],
)
def test_what_cannot_be_repaired_is_refused(device, code, said):
    with pytest.raises(UnsupportedError, match=said):
        repaired(code, device)


UNIFORM = """
    s_cmp_eq_u32 s2, 0
    s_cbranch_scc1 join
    s_mov_b32 s8, 1
join:
    v_readfirstlane_b32 s9, v0
    s_cmp_eq_u32 s9, s8
    s_cbranch_scc1 end
    s_mov_b32 s10, 1
    s_cmp_eq_u32 s2, 0
    s_cbranch_scc1 end
    s_nop 0
end:
    s_cmp_eq_u32 s10, 0
    s_cbranch_scc1 last
    s_nop 1
last:
    s_endpgm
"""


def test_branches_on_what_may_differ_from_wave_to_wave_part_them():
    program = program_from_text(UNIFORM, user_sgpr_count=2, workgroup_id_x=1, workgroup_id_y=0, workgroup_id_z=0)
    alike = uniform_blocks(program)
    firsts = {program.lines[b.first].id for b in program.blocks if b.number in alike}
    assert firsts == {0, 2, 3, 10, 13}


@pytest.mark.slow
def test_amds_mixture_of_experts_with_block_scales(device):
    """Two copies of the code for two pairs of waves, each with the race; numpy agrees with the repaired object only."""
    member = WheelMember(
        "aiter_meta/hsa/gfx942/fmoe_fp8_blockscale_g1u1_subGU_256.co",
        "6c6b961401f8a7a96162cffed3dd247e2c064692989bce56a6cafb875fcac2a7",
    )
    obj = CodeObject.parse(Path(fetch(member)).read_bytes())
    found = repair(obj, for_object(obj)[:1], device)
    assert len(found.races) == 32 and [p.before for p in found.places] == [1497, 3384]
    assert all(p.texts == (BARRIER,) for p in found.places) and [p.follows for p in found.places] == [1417, 3304]
    assert found.verdict is Verdict.TESTED and found.checks[-1].name == "reference"

"""What every device must pass. A test module for a new device subclasses `DeviceConformance` and gives it a device.

The kernels below are assembled by the caller, so that this module needs no tools itself.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod

import numpy as np

from asmevo.codeobject import CodeObject
from asmevo.device.contract import Ability, Device, RunLimits, Status
from asmevo.launch import POISONS, Buffer, Field, Integers, Launch, MemoryImage, build_image
from asmevo.verdict import InputError

ADD_ONE = """
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    s_lshl_b32 s6, s2, 8
    v_lshlrev_b32_e32 v1, 2, v0
    v_add_u32_e32 v1, s6, v1
    s_waitcnt lgkmcnt(0)
    global_load_dword v2, v1, s[4:5]
    s_waitcnt vmcnt(0)
    v_add_u32_e32 v2, 1, v2
    global_store_dword v1, v2, s[4:5]
    s_endpgm
"""
"""Each of 64 work-items of each workgroup adds one to its element of p."""
ENDLESS = """
    s_nop 0
again:
    s_branch again
    s_endpgm
"""
WAITS_FOR_NOBODY = """
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    s_waitcnt lgkmcnt(0)
poll:
    s_load_dword s6, s[4:5], 0x0 glc
    s_waitcnt lgkmcnt(0)
    s_cmp_lg_u32 s6, 0x12345678
    s_cbranch_scc1 poll
    s_endpgm
"""
"""Polls for a value that nobody writes."""
NO_LANE = """
    s_mov_b64 exec, 0
    v_mov_b32_e32 v2, 1
    s_endpgm
"""
STRAY = """
    v_mov_b32_e32 v2, 0
    v_mov_b32_e32 v3, 0x100
    global_store_dword v[2:3], v2, off
    s_endpgm
"""
"""Stores far outside of everything."""

UNWRITTEN = """
    s_cselect_b32 s9, 1, 0
    s_mov_b32 s10, vcc_hi
    s_mov_b32 s11, m0
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    s_lshl_b32 s6, s2, 8
    v_lshlrev_b32_e32 v1, 2, v0
    v_mov_b32_e32 v2, s6
    v_accvgpr_read_b32 v6, a3
    ds_read_b32 v7, v1
    scratch_load_dword v8, off, off offset:4
    v_mov_b32_e32 v9, s8
    v_mov_b32_e32 v10, s10
    v_mov_b32_e32 v11, s11
    v_mov_b32_e32 v12, s9
    s_waitcnt vmcnt(0) lgkmcnt(0)
    global_store_dword v2, v5, s[4:5]
    global_store_dword v2, v6, s[4:5] offset:4
    global_store_dword v2, v7, s[4:5] offset:8
    global_store_dword v2, v8, s[4:5] offset:12
    global_store_dword v2, v9, s[4:5] offset:16
    global_store_dword v2, v10, s[4:5] offset:20
    global_store_dword v2, v11, s[4:5] offset:24
    global_store_dword v2, v12, s[4:5] offset:28
    s_waitcnt vmcnt(0)
    s_mov_b32 s8, 1
    s_mov_b64 vcc, 1
    s_mov_b32 m0, 1
    v_mov_b32_e32 v5, 1
    v_accvgpr_write_b32 a3, 1
    ds_write_b32 v1, v5
    scratch_store_dword off, v5, off offset:4
    s_waitcnt vmcnt(0) lgkmcnt(0)
    s_endpgm
"""
"""Each workgroup stores a VGPR, an AGPR, LDS, scratch, an SGPR, VCC, M0 and SCC that nobody wrote, then writes them."""


def launch_of(groups: int = 4) -> Launch:
    """A launch of the kernels above."""
    return Launch(
        name="conformance",
        grid=(groups, 1, 1),
        block=(64, 1, 1),
        kernarg=(Field("p", buffer="p"), Field("n", value=64 * groups)),
        buffers=(Buffer("p", "inout", "int32", (64 * groups,), Integers(7, -1000, 1000)),),
    )


class DeviceConformance(ABC):
    """The suite: each `test_` method is one promise of `Device`."""

    seconds = 20.0
    """Wall time that a run which never ends is given."""

    @abstractmethod
    def device(self) -> Device:
        """The device under test; one may serve all tests."""

    @abstractmethod
    def assemble(self, code: str) -> bytes:
        """An object with one kernel `k0(p: pointer, n: i32)` of this code; workgroup id in s2, kernarg in s[0:1].

        It has at least 16 VGPRs, 8 AGPRs, 12 SGPRs, 256 bytes of LDS and 8 bytes of scratch for each work-item.
        """

    def image(self, code: str, launch: Launch) -> MemoryImage:
        return build_image(launch, CodeObject.parse(self.assemble(code)))

    def test_runs_in_place_and_changes_nothing_else(self) -> None:
        device, launch = self.device(), launch_of()
        module = device.load(self.assemble(ADD_ONE))
        image = self.image(ADD_ONE, launch)
        before = image.copy()
        outcome = device.run(module, launch, image)
        assert outcome.done, outcome
        assert np.array_equal(image.buffer("p"), before.buffer("p") + 1)
        image.buffer("p")[:] = before.buffer("p")
        assert np.array_equal(image.data, before.data)

    def test_counts_what_it_executed(self) -> None:
        device, launch = self.device(), launch_of(3)
        outcome = device.run(device.load(self.assemble(ADD_ONE)), launch, self.image(ADD_ONE, launch))
        if Ability.COUNTS not in device.abilities:
            assert outcome.done and not outcome.lines and not outcome.lines_active and outcome.instructions == 0
            return
        assert [outcome.lines.get(i, 0) for i in range(10)] == [3] * 10
        assert outcome.lines_active >= set(range(10))
        assert outcome.instructions == 30

    def test_a_vector_instruction_without_a_lane_is_no_evidence(self) -> None:
        device, launch = self.device(), launch_of(1)
        outcome = device.run(device.load(self.assemble(NO_LANE)), launch, self.image(NO_LANE, launch))
        counts = Ability.COUNTS in device.abilities
        assert outcome.done and (1 in outcome.lines) is counts
        assert outcome.lines_active & {0, 1, 2} == ({0, 2} if counts else set())

    def test_runs_only_the_workgroups_it_is_given(self) -> None:
        device, launch = self.device(), launch_of()
        image = self.image(ADD_ONE, launch)
        before = image.buffer("p").copy()
        assert device.run(device.load(self.assemble(ADD_ONE)), launch, image, workgroups=(0, 2)).done
        chosen = [1, 0, 1, 0] if Ability.CHOOSES in device.abilities else [1, 1, 1, 1]
        want = before.reshape(4, 64) + np.array(chosen)[:, None]
        assert np.array_equal(image.buffer("p").reshape(4, 64), want)

    def test_equal_runs_give_equal_images(self) -> None:
        device, launch = self.device(), launch_of()
        module = device.load(self.assemble(ADD_ONE))
        images = [self.image(ADD_ONE, launch) for _ in range(2)]
        for image in images:
            assert device.run(module, launch, image).done
        assert np.array_equal(images[0].data, images[1].data)

    def test_what_nobody_wrote_is_poison_in_every_workgroup(self) -> None:
        """An edit that drops the only write of a register must show under one of the two poisons."""
        device, launch = self.device(), launch_of(3)
        data = self.assemble(UNWRITTEN)
        module, obj = device.load(data), CodeObject.parse(data)
        flags: set[int] = set()
        for poison in POISONS:
            image = build_image(launch, obj, poison=poison)
            assert device.run(module, launch, image).done
            if Ability.POISONS not in device.abilities:
                continue
            stored = image.buffer("p").reshape(3, 64)[:, :8].view(np.uint32)
            assert (stored[:, :7] == poison * 0x01010101).all(), stored
            flags.update(stored[:, 7].tolist())
        assert flags == ({0, 1} if Ability.POISONS in device.abilities else set())

    def test_an_endless_loop_ends(self) -> None:
        device, launch = self.device(), launch_of()
        module = device.load(self.assemble(ENDLESS))
        outcome = device.run(module, launch, self.image(ENDLESS, launch), limits=RunLimits(10_000, self.seconds))
        assert outcome.status in (Status.LIMIT, Status.TIMEOUT)
        self.test_runs_in_place_and_changes_nothing_else()

    def test_a_deadlock_ends(self) -> None:
        device, launch = self.device(), launch_of()
        module, image = device.load(self.assemble(WAITS_FOR_NOBODY)), self.image(WAITS_FOR_NOBODY, launch)
        outcome = device.run(module, launch, image, limits=RunLimits(1_000_000, self.seconds))
        assert outcome.status in (Status.DEADLOCK, Status.TIMEOUT)
        assert outcome.fault is not None and outcome.fault.message
        self.test_runs_in_place_and_changes_nothing_else()

    def test_a_stray_store_is_a_fault(self) -> None:
        device, launch = self.device(), launch_of()
        outcome = device.run(device.load(self.assemble(STRAY)), launch, self.image(STRAY, launch))
        assert outcome.status is Status.FAULT and outcome.fault is not None and outcome.fault.message
        self.test_runs_in_place_and_changes_nothing_else()

    def test_what_is_no_code_object_is_refused(self) -> None:
        for data in (b"", b"\x7fELF", self.assemble(ADD_ONE)[:200]):
            try:
                self.device().load(data)
            except InputError:
                continue
            raise AssertionError("the device took bytes that are no code object")

    def test_a_time_has_a_source(self) -> None:
        device, launch = self.device(), launch_of(64)
        timing = device.time(device.load(self.assemble(ADD_ONE)), [launch])
        assert timing.source in ("modelled", "measured")
        assert timing.microseconds > 0 and [t.launch for t in timing.launches] == [launch.name]
        json.dumps(timing.to_json())

    def test_nothing_is_faster_than_itself(self) -> None:
        device, launch = self.device(), launch_of(64)
        module = device.load(self.assemble(ADD_ONE))
        comparison = device.compare(module, module, [launch])
        assert comparison.source in ("modelled", "measured")
        assert comparison.low <= comparison.speedup <= comparison.high
        assert not comparison.faster and comparison.share_faster <= 1.0

    def test_describes_itself(self) -> None:
        facts = self.device().describe()
        assert facts and json.loads(json.dumps(facts)) == facts

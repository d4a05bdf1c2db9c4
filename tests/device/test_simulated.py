"""The simulator against the contract of devices, in this process and in one of its own."""

import pytest

from asmevo.codeobject import CodeObject
from asmevo.device import IsolatedDevice, RunLimits
from asmevo.device.conformance import DeviceConformance
from asmevo.device.simulated import SimDevice
from asmevo.launch import Buffer, Field, File, Launch, build_image
from asmevo.verdict import UnsupportedError
from small_objects import build


class SimulatorSuite(DeviceConformance):
    def assemble(self, code):
        return build(code, vgprs=24, private=64)

    def test_an_opcode_without_a_row_is_named(self):
        data = build(".long 0xfe000000\ns_endpgm")
        with pytest.raises(UnsupportedError, match="no row"):
            self.device().load(data)

    @pytest.mark.parametrize("target", ["gfx950", "gfx90a"])
    def test_an_object_of_another_target_is_named(self, target):
        data = build("s_endpgm", target=target)
        with pytest.raises(UnsupportedError, match=f"mi300x executes gfx942 code and the object is made for {target}"):
            self.device().load(data)


class TestInThisProcess(SimulatorSuite):
    one = SimDevice()

    def device(self):
        return self.one


OUT = Buffer("p", "out", "int32", (128,))
LOOPS = """
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    s_waitcnt lgkmcnt(0)
    s_load_dword s9, s[4:5], 0x0
    s_waitcnt lgkmcnt(0)
    s_mov_b32 s8, 0
top:
    s_add_u32 s8, s8, 1
    s_cmp_lt_u32 s8, s9
    s_cbranch_scc1 top
    s_endpgm
"""
"""As many turns as its first argument points to."""


def test_a_data_file_that_changed_is_read_again(tmp_path):
    place = tmp_path / "n.bin"
    buffer = Buffer("p", "in", "int32", (1,), File("n.bin", folder=str(tmp_path)))
    launch = Launch("file", (1, 1, 1), (64, 1, 1), (Field("p", buffer="p"),), (buffer,))
    device = SimDevice()
    module = device.load(build(LOOPS))
    place.write_bytes((4).to_bytes(4, "little"))
    quick = device.time(module, [launch]).microseconds
    place.write_bytes((40000).to_bytes(4, "little"))
    slow = device.time(module, [launch]).microseconds
    assert slow > 10 * quick
    with SimDevice() as fresh:
        assert fresh.time(fresh.load(build(LOOPS)), [launch]).microseconds == slow


class TestInItsOwnProcess(SimulatorSuite):
    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def worker(cls):
        with IsolatedDevice() as device:
            cls.one = device
            yield

    def device(self):
        return self.one


NEIGHBOURS = """
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    v_lshlrev_b32_e32 v1, 2, v0
    ds_write_b32 v1, v0
    s_branch next
next:
    v_xor_b32_e32 v2, 0x100, v1
    s_waitcnt lgkmcnt(0)
    ds_read_b32 v3, v2
    s_waitcnt lgkmcnt(0)
    global_store_dword v1, v3, s[4:5]
    s_endpgm
"""
"""Each of two waves reads what the other wrote, with no barrier between."""


def test_turns_of_waves():
    launch = Launch("t", (1, 1, 1), (128, 1, 1), (Field("p", buffer="p"), Field("n", value=0)), (OUT,))
    data = build(NEIGHBOURS, vgprs=24)
    device, got = SimDevice(), {}
    for turn in (None, 1):
        image = build_image(launch, CodeObject.parse(data))
        assert device.run(device.load(data), launch, image, limits=RunLimits(turn=turn)).done
        got[turn] = image.buffer("p").tolist()
    assert got[1] == [*range(64, 128), *range(64)]
    assert got[None][64:] == list(range(64)) and got[None][:64] != list(range(64, 128))

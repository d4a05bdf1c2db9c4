"""The simulator against the contract of devices, in this process and in one of its own."""

import pytest

from asmevo.device import IsolatedDevice
from asmevo.device.conformance import DeviceConformance
from asmevo.device.simulated import SimDevice
from asmevo.verdict import UnsupportedError
from small_objects import build


class SimulatorSuite(DeviceConformance):
    def assemble(self, code):
        return build(code, vgprs=24, private=64)

    def test_an_opcode_without_a_row_is_named(self):
        data = build("v_mqsad_pk_u16_u8 v[6:7], v[6:7], v9, v[10:11]\ns_endpgm")
        with pytest.raises(UnsupportedError, match="v_mqsad_pk_u16_u8"):
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


class TestInItsOwnProcess(SimulatorSuite):
    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def worker(cls):
        with IsolatedDevice() as device:
            cls.one = device
            yield

    def device(self):
        return self.one

"""The hip device over a stand-in for the HIP runtime that forwards launches to the simulator."""

import json
import sys
from dataclasses import replace
from math import inf
from types import SimpleNamespace

import numpy as np
import pytest

import hip_standin
from asmevo.codeobject import CodeObject
from asmevo.device import Status
from asmevo.device.conformance import ADD_ONE, STRAY, DeviceConformance, launch_of
from asmevo.device.hip import ChipIdentity, HipDevice, recorded_chip, same_chip
from asmevo.device.hip.binding import find_library, runtime
from asmevo.device.hip.clocks import Clocks, pci_address
from asmevo.device.hip.memory import Part, overlap, runs
from asmevo.device.hip.null import null_object
from asmevo.device.measure import Claim
from asmevo.launch import Buffer, Integers, build_image
from asmevo.program import recover
from asmevo.verdict import EnvironmentError_, InputError, UnsupportedError
from small_objects import build

MI300X = ChipIdentity("gfx942", 304, "AMD Instinct MI300X")


@pytest.fixture(scope="module")
def folder():
    with hip_standin.running() as path:
        yield path


@pytest.fixture
def standin(folder, monkeypatch):
    """The stand-in in the environment of this test; nothing goes wrong in it yet."""
    one = hip_standin.StandIn(folder)
    one.inject()
    for name, value in one.environment.items():
        monkeypatch.setenv(name, value)
    return one


@pytest.fixture(scope="module")
def shared(folder):
    """One device for many tests: starting its process is what takes long."""
    with pytest.MonkeyPatch.context() as patch, HipDevice() as device:
        for name, value in hip_standin.StandIn(folder).environment.items():
            patch.setenv(name, value)
        yield device


def assembled(code):
    return build(code, vgprs=24, private=64)


def run(device, code=ADD_ONE, limits=None, launch=None):
    launch = launch or launch_of()
    data = assembled(code)
    image = build_image(launch, CodeObject.parse(data))
    before = image.buffer("p").copy()
    outcome = device.run(device.load(data), launch, image, limits=limits)
    return outcome, image, before


def works(device):
    outcome, image, before = run(device)
    return outcome.done and np.array_equal(image.buffer("p"), before + 1)


class TestHip(DeviceConformance):
    seconds = 1.0

    @pytest.fixture(autouse=True)
    def given(self, standin, shared):
        self.one = shared

    def device(self):
        return self.one

    def assemble(self, code):
        return assembled(code)

    def test_a_stray_store_is_a_fault(self):
        """It is told from a crash by what the runtime prints before it ends the process."""
        outcome, _, _ = run(self.one, STRAY)
        assert outcome.status is Status.FAULT
        assert outcome.fault.message == (
            "The GPU stopped the kernel: Memory access fault by GPU node-1 on address 0x10000000000. Reason: Page not "
            "present or supervisor privilege."
        )
        assert works(self.one)


def test_the_chip_is_bound_into_what_it_says_of_itself(standin, shared):
    facts = shared.describe()
    assert facts["device"] == "hip" and facts["runtime"] == "6.3.42134" and facts["gpus"] == 1
    assert recorded_chip(facts) == MI300X == shared.chip
    assert str(MI300X) == "AMD Instinct MI300X (gfx942, 304 compute units)"
    assert MI300X.table == "mi300x" and ChipIdentity("gfx942", 64, "a part of one").table == "mi308x"
    assert same_chip(facts, facts) == ""
    other = facts | {"chip": ChipIdentity("gfx942", 80, "AMD Instinct MI308X").to_json()}
    assert "measured on AMD Instinct MI308X (gfx942, 80" in same_chip(other, facts)
    assert "measured on a model" in same_chip({"device": "simulator", "chip": "mi300x"}, facts)


@pytest.mark.parametrize("chip", [{}, {"target": "gfx942", "compute_units": "many", "sku": "x"}])
def test_a_chip_that_is_described_in_part_is_named(chip):
    with pytest.raises(InputError, match="chip of the device"):
        recorded_chip({"device": "hip", "chip": chip})


@pytest.mark.parametrize(
    "fault, status, words",
    [
        ("hipMemCreate 2", Status.MEMORY, "memory"),
        ("hipModuleLaunchKernel 701", Status.REFUSED, "hipErrorLaunchOutOfResources"),
        ("hipModuleLaunchKernel 1", Status.REFUSED, "hipErrorInvalidValue"),
        ("hipEventSynchronize 700", Status.FAULT, "hipErrorIllegalAddress"),
        ("hipEventSynchronize 999", Status.CRASH, "hipErrorUnknown"),
        ("hipModuleLaunchKernel abort", Status.CRASH, "SIGABRT"),
    ],
)
def test_whatever_goes_wrong_is_an_outcome_and_the_run_goes_on(standin, shared, fault, status, words):
    launch = launch_of(500)
    module = shared.load(assembled(ADD_ONE))
    image = build_image(launch, CodeObject.parse(module.data))
    before = image.data.copy()
    standin.inject(fault)
    outcome = shared.run(module, launch, image)
    assert outcome.status is status and words in outcome.fault.message
    assert np.array_equal(image.data, before)
    standin.inject()
    assert works(shared) and shared.unhealthy == ()


def test_an_object_of_another_target_is_no_evidence(standin, shared):
    with pytest.raises(UnsupportedError, match="executes gfx942 code and the object is made for gfx950"):
        shared.load(build("s_endpgm", target="gfx950"))
    standin.inject("hipModuleLoadData 209")
    with pytest.raises(UnsupportedError, match=r"does not take the object for gfx942.*NoBinaryForGpu"):
        shared.load(build("s_nop 1\ns_endpgm"))
    standin.inject()
    assert works(shared)


def test_gpus_that_stop_answering_are_left_for_others_of_their_kind(standin, monkeypatch):
    monkeypatch.setenv("STANDIN_GPUS", "304,304,80")
    standin.inject("hipMemset@0 hang")
    with HipDevice((0, 1, 2), probe_seconds=3.0) as device:
        assert works(device)
        assert device.unhealthy == (0,) and device.describe()["gpu"] == 1
        standin.inject("hipModuleLaunchKernel abort", "hipMemset@1 hang")
        assert run(device)[0].status is Status.CRASH
        with pytest.raises(EnvironmentError_, match=r"GPU 2 is another chip .*80 compute units.* cannot be mixed"):
            run(device)


def test_a_gpu_without_memory_is_left_for_another(standin, monkeypatch):
    monkeypatch.setenv("STANDIN_GPUS", "304,304")
    standin.inject("hipMalloc@0 2")
    with HipDevice((0, 1)) as device:
        assert works(device) and device.unhealthy == (0,)


def test_when_no_gpu_answers_a_sentence_says_so(standin):
    standin.inject("hipMemset hang")
    with HipDevice(probe_seconds=1.0) as device:
        for _ in range(2):
            with pytest.raises(EnvironmentError_, match=r"No GPU answers any more \(tried: 0\); reset it"):
                run(device)


def test_clocks_are_those_of_the_gpu_at_that_address(monkeypatch):
    """amdsmi counts in another order, and tells "N/A" for what it does not know."""

    class Failed(Exception):
        pass

    def at_address(address):
        if address not in ("0000:c1:00.0", "0000:c2:00.0"):
            raise Failed
        return address

    clock = {"0000:c1:00.0": 2100, "0000:c2:00.0": 1300}
    smi = SimpleNamespace(
        AmdSmiException=Failed,
        AmdSmiClkType=SimpleNamespace(GFX=0),
        AmdSmiTemperatureType=SimpleNamespace(HOTSPOT=1),
        AmdSmiTemperatureMetric=SimpleNamespace(CURRENT=0),
        amdsmi_init=lambda: None,
        amdsmi_get_processor_handle_from_bdf=at_address,
        amdsmi_get_clock_info=lambda handle, kind: {"clk": clock[handle]},
        amdsmi_get_temp_metric=lambda handle, kind, metric: 61 if handle == "0000:c1:00.0" else "N/A",
    )
    monkeypatch.setitem(sys.modules, "amdsmi", smi)
    assert Clocks("0000:c1:00.0").read() == (2100.0, 61.0)
    assert Clocks("0000:c2:00.0").read() == (1300.0, None)
    for address in ("0000:05:00.0", ""):
        assert not Clocks(address).known and Clocks(address).read() == (None, None)


def test_a_gpu_has_its_address(standin, fresh_runtime):
    assert [pci_address(runtime(), gpu) for gpu in (0, 1)] == ["0000:c1:00.0", "0000:c2:00.0"]
    standin.inject("hipDeviceGetPCIBusId 1")
    assert pci_address(runtime(), 0) == ""


def test_two_gpus_side_by_side(standin, shared, monkeypatch):
    """The second one cannot reserve addresses, so that pointers are moved."""
    monkeypatch.setenv("STANDIN_GPUS", "304,304")
    monkeypatch.setenv("STANDIN_NO_VMM", "1")
    with HipDevice((1,)) as second:
        assert works(shared) and works(second) and works(shared)
        assert (shared.describe()["gpu"], second.describe()["gpu"]) == (0, 1)
        outcome = run(second, launch=at(0x7E00_8000_1000))[0]
        assert outcome.status is Status.REFUSED and "relocate the capture" in outcome.fault.message


SLOWER = ADD_ONE.replace("    s_endpgm", "    s_waitcnt vmcnt(0)\n" + "    s_sleep 1\n" * 40 + "    s_endpgm")
"""The same results; what makes it slower comes after the last store."""


def test_g15_work_after_the_last_store_counts(standin, shared):
    launch = launch_of(64)
    quick, slow = (shared.time(shared.load(assembled(code)), [launch]) for code in (ADD_ONE, SLOWER))
    assert slow.source == "measured" and slow.microseconds > 1.2 * quick.microseconds
    facts = slow.launches[0].facts
    assert facts["floor_us"] < quick.microseconds and facts["samples"] == 20
    json.dumps(slow.to_json())


def test_a_faster_object_is_claimed_on_the_device(standin, shared):
    launch = launch_of(64)
    slow, quick = shared.load(assembled(SLOWER)), shared.load(assembled(ADD_ONE))
    found = shared.compare(slow, quick, [launch])
    assert found.claim is Claim.FASTER and found.faster and found.source == "measured"
    assert found.low <= found.speedup <= found.high and found.speedup > 1.2
    assert found.level > 0 and [r.cache.value for r in found.results] == ["rotating", "cold"]
    again = shared.compare(slow, quick, [launch])
    assert 0 < again.level < found.level
    assert shared.compare(quick, slow, [launch]).claim is Claim.NOT_SHOWN
    json.dumps(again.to_json(), allow_nan=False)


def test_what_cannot_be_run_is_not_timed(standin, shared):
    good, stray = shared.load(assembled(ADD_ONE)), shared.load(assembled(STRAY))
    with pytest.raises(UnsupportedError, match=r"lost over `compare`|cannot be timed"):
        shared.compare(good, stray, [launch_of()])
    assert works(shared)


def test_g38_what_is_expected_is_never_where_the_candidate_runs(standin, shared):
    """The process that runs it is another one and holds the image as it was before the launch."""
    launch = launch_of()
    data = assembled(ADD_ONE)
    outcome, image, before = run(shared)
    fresh = build_image(launch, CodeObject.parse(data))
    assert outcome.done and np.array_equal(fresh.buffer("p"), before)
    assert shared.run(shared.load(data), launch, fresh).done
    assert np.array_equal(fresh.data, image.data)
    assert shared.describe()["isolated"]


def test_a_null_kernel_ends_at_once():
    data = assembled(ADD_ONE)
    made = null_object(CodeObject.parse(data), None)
    assert sum(a != b for a, b in zip(data, made, strict=True)) <= 4
    assert recover(CodeObject.parse(made)).lines[0].instruction.text == "s_endpgm"


@pytest.fixture
def fresh_runtime():
    """The runtime of this process, as if none had been looked for."""
    runtime.cache_clear()
    yield runtime
    runtime.cache_clear()


def test_a_runtime_is_found_where_it_is(tmp_path, monkeypatch, fresh_runtime):
    monkeypatch.setenv("ROCM_PATH", str(tmp_path))
    with pytest.raises(EnvironmentError_, match=r"There is no HIP runtime .*; install ROCm"):
        fresh_runtime()
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libamdhip64.so.5").touch()
    assert find_library().name == "libamdhip64.so.5"
    (tmp_path / "lib" / "libamdhip64.so").touch()
    assert find_library().name == "libamdhip64.so"
    with pytest.raises(EnvironmentError_, match=r"cannot be loaded .*; repair ROCm"):
        fresh_runtime()


def at(address):
    """One buffer where a captured program had it."""
    buffer = Buffer("p", "inout", "int32", (256,), Integers(7, -1000, 1000), red_zone=0, address=address)
    return replace(launch_of(), buffers=(buffer,))


def test_buffers_of_a_capture_are_where_they_were(standin, shared):
    outcome, image, before = run(shared, launch=at(0x7E00_8000_1000))
    assert outcome.done and np.array_equal(image.buffer("p"), before + 1)
    refused = run(shared, launch=at(0x7000_0000_0000))[0]
    assert refused.status is Status.REFUSED and "cannot have memory at 0x700000000000" in refused.fault.message
    with pytest.raises(UnsupportedError, match=r"cannot be timed|relocate the capture"):
        shared.time(shared.load(assembled(ADD_ONE)), [at(0x7000_0000_0000)])
    assert shared.time(shared.load(assembled(ADD_ONE)), [at(0x7E00_8000_1000)]).microseconds > 0


def test_captures_that_share_addresses_run_in_turn(standin, shared):
    """As those of one program do; more of them than are kept, each not quite where the one before was."""
    for shift in (0, 0x200, 0, *range(0x400, 0xC00, 256)):
        outcome, image, before = run(shared, launch=at(0x7E00_8000_1000 + shift))
        assert outcome.done and np.array_equal(image.buffer("p"), before + 1)


def test_captures_that_share_addresses_are_timed_as_a_set(standin, shared):
    launches = [replace(at(0x7E00_8000_1000 + 512 * n), name=str(n), weight=1.0 + n) for n in range(6)]
    slow, quick = shared.load(assembled(SLOWER)), shared.load(assembled(ADD_ONE))
    assert [one.launch for one in shared.time(quick, launches).launches] == [one.name for one in launches]
    found = shared.compare(slow, quick, launches)
    assert found.claim is Claim.FASTER and found.speedup > 1.01
    assert 1.0 <= found.low <= found.speedup <= found.high < inf


def test_parts_that_share_a_byte():
    assert overlap([Part(0x2000, 0, 16), Part(0x1000, 16, 0x1001)])
    assert not overlap([Part(0x2000, 0, 16), Part(0x1000, 16, 0x1000), Part(0x2008, 16, 0)])


def test_granules_that_meet_are_mapped_at_once():
    parts = [Part(0x1000, 0, 0x800), Part(0x5000, 0x1000, 0x3001), Part(0x2FFF, 0x800, 1)]
    assert runs(parts, 0x1000) == [(0x1000, 0x3000), (0x5000, 0x9000)]
    assert runs(parts, 0x4000) == [(0x0, 0xC000)]

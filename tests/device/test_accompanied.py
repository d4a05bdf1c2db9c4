"""Hardware beside the simulator, and what a timer makes of measured comparisons; the hardware is played."""

from dataclasses import replace

import pytest

from asmevo.codeobject import CodeObject
from asmevo.device import LaunchTime, Module, ObjectiveTimer, Outcome, Status, Timing, open_device
from asmevo.device.accompanied import AccompaniedDevice
from asmevo.device.conformance import ADD_ONE, DeviceConformance, launch_of
from asmevo.device.hip import ChipIdentity
from asmevo.device.measure import Claim, ClockLog, LeastTime, MeasuredComparison
from asmevo.device.simulated import SimDevice
from asmevo.launch import build_image
from asmevo.program import recover
from asmevo.search.bound import bind_to_chip
from asmevo.store import Attempt, Event
from asmevo.verdict import Finding, UnsupportedError, UsageError
from small_objects import build


def assembled(code):
    return build(code, vgprs=24, private=64)


class Hardware(SimDevice):
    """Runs all workgroups and says nothing of lines."""

    abilities = frozenset()
    source = "measured"

    def run(self, module, launch, image, *, limits=None, workgroups=None, wave_order=None):
        outcome = super().run(module, launch, image, limits=limits)
        return replace(outcome, lines={}, lines_active=frozenset(), instructions=0)


class TestAccompanied(DeviceConformance):
    one = AccompaniedDevice(Hardware(), SimDevice())

    def device(self):
        return self.one

    def assemble(self, code):
        return assembled(code)


def test_faults_of_hardware_count_and_so_do_those_of_the_simulator():
    class Broken(Hardware):
        def run(self, *arguments, **more):
            return Outcome(Status.FAULT, Finding("hip.fault", "It fell over."))

    launch, data = launch_of(), assembled(ADD_ONE)
    for device in (AccompaniedDevice(Broken(), SimDevice()), AccompaniedDevice(SimDevice(), Broken())):
        outcome = device.run(device.load(data), launch, build_image(launch, CodeObject.parse(data)))
        assert outcome.status is Status.FAULT


def comparison(claim, speedup, reason=""):
    plain = ("measured", speedup, speedup - 0.001, speedup + 0.001, 1.0, 40)
    return MeasuredComparison(*plain, claim, reason, (), 0.001, 160, 8.0, ClockLog(), LeastTime())


class Lucky(Hardware):
    """Single times say what one likes to hear; `answers` are those of the comparisons, in turn."""

    def __init__(self, *answers):
        super().__init__()
        self.answers, self.asked = list(answers), []

    def load(self, data, kernel=None):
        return Module(data, kernel)

    def time(self, module, launches, *, limits=None):
        return Timing("measured", (LaunchTime("x", 1.0, 100.0 - 5 * len(self.asked)),))

    def compare(self, base, candidate, launches, *, limits=None):
        self.asked.append((base.data, candidate.data))
        return self.answers.pop(0)


def test_only_a_claim_makes_a_candidate_faster():
    same = comparison(Claim.NOT_SHOWN, 1.0)
    device = Lucky(
        same, comparison(Claim.NOT_SHOWN, 1.02), comparison(Claim.FASTER, 1.25), comparison(Claim.NOT_SHOWN, 0.8)
    )
    timer, program = ObjectiveTimer(device, [launch_of()]), recover(CodeObject.parse(assembled(ADD_ONE)))
    times = [timer.time(data, program).microseconds for data in (b"k0", b"a", b"b", b"c")]
    assert times == pytest.approx([100.0, 100.0, 80.0, 100.0])
    assert device.asked == [(b"k0", b"k0"), (b"k0", b"a"), (b"k0", b"b"), (b"b", b"c")]


def test_what_cannot_be_believed_stays_untimed():
    timer = ObjectiveTimer(Lucky(comparison(Claim.VOID, 100.0, "The time is impossible.")), [launch_of()])
    with pytest.raises(UnsupportedError, match=r"cannot be believed. The time is impossible\."):
        timer.time(b"k0", recover(CodeObject.parse(assembled(ADD_ONE))))


def test_a_resumed_run_goes_on_from_its_best():
    """Nothing is timed before the machine finds that one as fast as itself."""
    device = Lucky(comparison(Claim.NOT_SHOWN, 1.0), comparison(Claim.NOT_SHOWN, 0.75))
    timer, program = ObjectiveTimer(device, [launch_of()]), recover(CodeObject.parse(assembled(ADD_ONE)))
    timer.anchor(b"b", 60.0)
    assert device.asked == [(b"b", b"b")]
    assert timer.time(b"k0", program).microseconds == pytest.approx(80.0)
    assert device.asked[1:] == [(b"b", b"k0")]
    untrue = ObjectiveTimer(Lucky(comparison(Claim.VOID, 1.0, "The clock never rests.")), [launch_of()])
    with pytest.raises(UnsupportedError, match="The clock never rests"):
        untrue.anchor(b"b", 60.0)


@pytest.mark.parametrize("ends", ["kill", "no gain", "looks like one"])
def test_a_run_that_is_killed_gets_no_fresh_chance(ends):
    """What may become a confirmation is written down before the device is asked."""
    kept = []

    class Asked(Lucky):
        def compare(self, base, candidate, launches, *, limits=None):
            assert kept[-1] == limits.confirmations + 1 == 8
            if ends == "kill":
                raise KeyboardInterrupt
            found = comparison(Claim.NOT_SHOWN, 1.01)
            return found if ends == "looks like one" else replace(found, level=0.0)

    timer = ObjectiveTimer(Asked(), [launch_of()])
    timer.remember(7, kept.append)
    if ends == "kill":
        with pytest.raises(KeyboardInterrupt):
            timer.compare(b"a", b"b")
    else:
        timer.compare(b"a", b"b")
    assert kept[-1] == (7 if ends == "no gain" else 8)


class Events:
    """As much of a store as is looked at."""

    def __init__(self, *sources):
        self.kept, self.sources = [], sources

    def attempts(self):
        return [Attempt(n, None, "k0", "", (), "", source=source) for n, source in enumerate(self.sources)]

    def events(self):
        return self.kept

    def event(self, kind, ordinal, facts):
        self.kept.append(Event(len(self.kept), kind, ordinal, 0.0, facts))


def test_a_measured_run_is_bound_to_its_chip():
    class On(Hardware):
        units = 304

        def describe(self):
            return {"device": "hip", "chip": ChipIdentity("gfx942", self.units, "AMD Instinct MI300X").to_json()}

    class OnAnother(On):
        units = 228

    modelled = Events("", "modelled")
    bind_to_chip(modelled, SimDevice())
    with pytest.raises(UsageError, match="times of the run are modelled and those of this device measured"):
        bind_to_chip(modelled, On())
    assert modelled.kept == []
    with pytest.raises(UsageError, match="times of the run are measured"):
        bind_to_chip(Events("measured"), SimDevice())
    store = Events()
    bind_to_chip(store, On())
    bind_to_chip(store, On())
    assert len(store.kept) == 1
    for device, words in ((OnAnother(), "228 compute units"), (SimDevice(), "this is a model")):
        with pytest.raises(UsageError, match=words):
            bind_to_chip(store, device)


def test_a_device_has_a_name():
    with pytest.raises(UsageError, match="the devices are sim and hip"):
        open_device("cuda", "mi300x")
    device, table = open_device("sim", "mi308x")
    device.close()
    assert table == "mi308x"

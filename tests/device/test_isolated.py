"""The process border: whatever happens behind it is an outcome, and the next run works."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from asmevo.device import IsolatedDevice, RunLimits, Status
from asmevo.launch import Buffer, Constant, Field, Launch, build_image
from asmevo.verdict import UnsupportedError
from small_objects import loop_object

QUICK = RunLimits(1000, 30.0)


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


@pytest.fixture
def device():
    with IsolatedDevice("misbehaving_devices:serve", memory=8 << 30) as one:
        yield one


def launch(name):
    fields = (Field("p", buffer="x"), Field("n", value=1))
    return Launch(name, (1, 1, 1), (64, 1, 1), fields, (Buffer("x", "inout", "int32", (1000,), Constant(5)),))


def run(device, name, image=None, limits=QUICK):
    image = image or build_image(launch(name), loop_object())
    return device.run(device.load(b"fine"), launch(name), image, limits=limits), image


def test_the_worker_writes_into_the_parents_image(device):
    outcome, image = run(device, "fine")
    assert outcome.done and outcome.lines == {0: 1}
    assert np.all(image.buffer("x") == 6)
    run(device, "fine", image)
    assert np.all(image.buffer("x") == 7)


def test_the_worker_stays_warm(device):
    assert [run(device, "fine")[0].instructions for _ in range(3)] == [1, 2, 3]


@pytest.mark.parametrize(
    "name, status, words",
    [
        ("crash", Status.CRASH, "SIGSEGV"),
        ("exit", Status.CRASH, "exit code 3"),
        ("bug", Status.CRASH, "exit code 1: ZeroDivisionError: integer division"),
        ("memory", Status.MEMORY, "memory"),
        ("hog", Status.MEMORY, "memory"),
        ("nonsense", Status.GARBAGE, "no outcome"),
    ],
)
def test_misbehaviour_is_an_outcome_and_the_next_run_works(device, capfd, name, status, words):
    outcome, image = run(device, name)
    assert capfd.readouterr() == ("", "")
    assert outcome.status is status and words in outcome.fault.message
    assert np.all(image.buffer("x") == 5)
    again, _ = run(device, "fine", image)
    assert again.done and np.all(image.buffer("x") == 6)


def test_a_hang_is_ended(device):
    run(device, "fine")
    pid = device.describe()["pid"]
    began = time.monotonic()
    outcome, _ = run(device, "hang", limits=RunLimits(1000, 0.5))
    assert outcome.status is Status.TIMEOUT and time.monotonic() - began < 20
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert run(device, "fine")[0].done


def test_a_loop_is_ended_by_its_cpu_time(device):
    run(device, "fine")
    outcome, _ = run(device, "spin", limits=RunLimits(1000, 0.5))
    assert outcome.status is Status.TIMEOUT and "0.5 seconds" in outcome.fault.message


def test_a_process_that_gets_no_core_is_waited_for(device):
    """An answer after twice the limit in wall time, of which the process used none."""
    run(device, "fine")
    assert run(device, "slow", limits=RunLimits(1000, 0.5))[0].done
    with IsolatedDevice("misbehaving_devices:serve", memory=8 << 30, patience=1.0) as on_wall_time:
        run(on_wall_time, "fine")
        assert run(on_wall_time, "slow", limits=RunLimits(1000, 0.5))[0].status is Status.TIMEOUT


@pytest.mark.parametrize("target", ["serve_garbage", "serve_wrong_form"])
def test_answers_that_make_no_sense(target):
    with IsolatedDevice(f"misbehaving_devices:{target}") as device, pytest.raises(UnsupportedError, match="answer"):
        device.load(b"fine")


def test_errors_of_the_library_cross_the_border(device):
    with pytest.raises(UnsupportedError, match="v_strange"):
        device.load(b"strange")
    with pytest.raises(UnsupportedError, match="v_strange"):
        run(device, "unsupported")
    with pytest.raises(UnsupportedError, match="exit code 9"):
        device.load(b"deadly")
    assert run(device, "fine")[0].done


def test_images_that_are_gone_are_forgotten(device):
    """More images than a worker keeps, each used once, and the first one used again."""
    first = build_image(launch("fine"), loop_object())
    run(device, "fine", first)
    for _ in range(40):
        assert run(device, "fine")[0].done
    assert run(device, "fine", first)[0].done
    assert np.all(first.buffer("x") == 7)


def test_the_worker_dies_with_its_parent():
    script = (
        "from asmevo.device import IsolatedDevice\n"
        "device = IsolatedDevice('misbehaving_devices:serve')\n"
        "print(device.describe()['pid'], flush=True)\n"
        "import time; time.sleep(3600)\n"
    )
    source = str(Path(__file__).resolve().parents[2] / "src")
    path = os.pathsep.join([source, str(Path(__file__).parent)])
    environment = os.environ | {"PYTHONPATH": path}
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=environment)
    pid = int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    for _ in range(100):
        if not Path(f"/proc/{pid}/stat").exists() or Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
            return
        time.sleep(0.05)
    raise AssertionError("the worker outlived its parent")

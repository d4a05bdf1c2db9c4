"""Captured dispatches on the simulator: pointers in memory, missing memory, the gate, and memory with large holes."""

from __future__ import annotations

import gc
import json
import resource
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import small_objects
from asmevo.device import Device, IsolatedDevice, Outcome, RunLimits, Status, trimmed
from asmevo.device.footprint import CLUSTER
from asmevo.device.simulated import SimDevice
from asmevo.gate import Gate
from asmevo.launch import build_image, load_launches
from asmevo.launch.capture import write_capture
from asmevo.verdict import Finding, UnsupportedError, Verdict
from chasing import FOLLOW, GROUPS, INPUTS, TABLE, chasing, follow

LARGE = 4 << 30


@pytest.fixture(scope="module")
def isolated():
    with IsolatedDevice() as device:
        yield device


@pytest.mark.parametrize("kind", ["here", "isolated"])
def test_pointers_in_memory_are_followed(kind: str, isolated: Device) -> None:
    device, k0, launch = isolated if kind == "isolated" else SimDevice(), follow(), chasing()
    image = build_image(launch, k0)
    assert device.run(device.load(k0.data), launch, image).done
    assert np.array_equal(image.buffer("outputs").view(np.int32), np.arange(64 * GROUPS) + 5)
    assert np.array_equal(image.buffer("inputs").view(np.int32), np.arange(64 * GROUPS))
    checked = device.run(device.load(k0.data), launch, image, limits=RunLimits(checked=True))
    assert checked.done and checked.findings == ()
    assert device.time(device.load(k0.data), [launch]).microseconds > 0


def test_memory_that_was_not_captured_is_a_fault(isolated: Device) -> None:
    k0, whole = follow(), chasing()
    launch = replace(whole, buffers=tuple(b for b in whole.buffers if b.name != "inputs"))
    module = isolated.load(k0.data)
    outcome = isolated.run(module, launch, build_image(launch, k0))
    assert outcome.status is Status.FAULT and outcome.fault is not None
    assert outcome.fault.facts["address"] == INPUTS and hex(INPUTS) in outcome.fault.message
    with pytest.raises(UnsupportedError, match="cannot be timed: it ends with fault"):
        isolated.time(module, [launch])


def test_the_gate_judges_on_a_capture(isolated: Device) -> None:
    k0 = follow()
    gate = Gate(k0.data, [chasing()], isolated)
    assert gate.examine(k0.data).verdict.admitted
    other = FOLLOW.replace("v_add_u32_e32 v2, s7, v2", "v_sub_u32_e32 v2, s7, v2")
    report = gate.examine(small_objects.build(other))
    assert report.verdict is Verdict.REFUTED
    (finding,) = report.checks[-1].findings
    assert finding.rule == "diff.bytes" and finding.facts["place"].startswith("outputs[")


def large(folder: Path) -> Path:
    """A capture with one region of 4 GiB that holds pointers, inputs and outputs, and is empty else."""
    write_capture(folder, chasing(), follow())
    for file in (folder / "memory").iterdir():
        file.unlink()
    pairs = [(TABLE + LARGE // 2 + 256 * i, TABLE + LARGE - 4096 + 256 * i) for i in range(GROUPS)]
    with (folder / "memory" / f"region_{TABLE:x}.bin").open("wb") as file:
        file.write(b"".join(struct.pack("<QQ", *pair) for pair in pairs))
        file.seek(LARGE // 2)
        file.write(np.arange(64 * GROUPS, dtype=np.int32).tobytes())
        file.truncate(LARGE)
    (folder / "memory_regions.json").write_text(json.dumps({"regions": [{"base": TABLE, "size": LARGE}]}))
    (folder / "asmevo.json").unlink()
    return folder


def test_only_what_is_touched_is_kept(tmp_path: Path, isolated: Device) -> None:
    (launch,) = load_launches(large(tmp_path / "c"))
    small = trimmed(launch, follow(), isolated)
    assert trimmed(launch, follow(), isolated) == small
    assert trimmed(small, follow(), isolated) is small
    assert [b.address - TABLE for b in small.buffers if b.address] == [0, LARGE // 2 - CLUSTER, LARGE - 2 * CLUSTER]
    image = build_image(small, follow())
    assert isolated.run(isolated.load(follow().data), small, image).done
    outputs = image.buffer(small.buffers[-1].name)[-4096:].view(np.int32)[: 64 * GROUPS]
    assert np.array_equal(outputs, np.arange(64 * GROUPS) + 5)


class Ending(SimDevice):
    """Every run ends like this."""

    def __init__(self, status: Status) -> None:
        super().__init__()
        self.status = status

    def run(self, *_: object, **__: object) -> Outcome:
        return Outcome(self.status, Finding("device.lost", "It is gone."))


@pytest.mark.parametrize("status", [Status.TIMEOUT, Status.CRASH, Status.LIMIT, Status.FAULT])
def test_a_run_that_did_not_end_says_nothing_of_what_is_touched(tmp_path: Path, status: Status) -> None:
    (launch,) = load_launches(large(tmp_path / "c"))
    with pytest.raises(UnsupportedError, match=rf"K0 ends with {status}.*It is gone"):
        trimmed(launch, follow(), Ending(status))


@pytest.mark.parametrize("hard", [0, 1 << 30])
def test_the_limit_of_addresses_is_what_it_was(monkeypatch: pytest.MonkeyPatch, hard: int) -> None:
    """Also where the hard limit left less room than two windows want."""
    limits = [1 << 40, resource.RLIM_INFINITY if hard == 0 else (1 << 40) + hard]
    monkeypatch.setattr(resource, "getrlimit", lambda _: tuple(limits))
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: limits.__setitem__(slice(None), pair))
    first, second = build_image(chasing(), follow()), build_image(chasing(), follow())
    for image in (first, second):
        assert len(image.on_device.data) > 1 << 32
    assert limits[0] == ((1 << 40) + hard if hard else limits[0]) > 1 << 40
    del first, second, image
    gc.collect()
    assert limits[0] == 1 << 40


def memory_of(key: str) -> int:
    """MiB of this process: `VmRSS` now, `VmHWM` at most since `forget_peak`."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) >> 10


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def test_a_region_of_4_gib_takes_little_memory(tmp_path: Path) -> None:
    k0, device = follow(), SimDevice()
    folder = large(tmp_path / "c")
    forget_peak()
    before = memory_of("VmRSS")
    (launch,) = load_launches(folder, k0)
    small = trimmed(launch, k0, device)
    module = device.load(k0.data)
    for limits in (RunLimits(), RunLimits(checked=True)):
        assert device.run(module, small, build_image(small, k0), limits=limits).done
    assert device.time(module, [small]).microseconds > 0
    assert memory_of("VmHWM") - before < 500

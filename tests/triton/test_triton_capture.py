"""Recording Triton launches: kinds, counts, contents, addresses; the verb, in a process of its own."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("triton")

import triton
import triton_kernels as kernels

from asmevo.cli.main import run
from asmevo.codeobject import CodeObject
from asmevo.device.simulated import SimDevice
from asmevo.launch import build_image, load_launches
from asmevo.launch.capture import launch_of, override_path, read_capture
from asmevo.triton import Array, upstream
from asmevo.triton.host import Storage, merged
from asmevo.triton.recorder import Recorder
from asmevo.verdict import InputError


@pytest.fixture
def fails(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command that must fail with a code; gives its one sentence."""

    def check(code: int, *arguments: object) -> str:
        assert run([str(a) for a in arguments]) == code
        (line,) = capsys.readouterr().err.splitlines()
        return line

    return check


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A recorder on the driver, for this test only."""
    driver = upstream.driver.active
    monkeypatch.setattr(driver, "launcher_cls", driver.launcher_cls)
    monkeypatch.setattr(driver.utils, "load_binary", driver.utils.load_binary)

    def make(out: Path, *names: str, limit: int = 16) -> Recorder:
        recorder = Recorder(out, frozenset(names), limit)
        recorder.attach(driver)
        return recorder

    return make


def fresh() -> Any:
    """The kernel as if it had not run: one that ran has its launcher already."""
    return triton.jit(kernels.add.fn)


def add(n: int, seed: int = 1, kernel: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    kernel = kernel or fresh()
    x, y = (np.random.default_rng(seed + i).standard_normal(n).astype(np.float32) for i in range(2))
    out = np.zeros(n, np.float32)
    kernel[(triton.cdiv(n, 256),)](Array(x), Array(y), Array(out), n, BLOCK=256, num_warps=1)
    return x, y, out


def test_each_kind_is_kept_once_and_counted(record, tmp_path):
    recorder = record(tmp_path, "add", limit=2)
    kernel = fresh()
    x, y, out = add(1000, kernel=kernel)
    assert np.array_equal(out, x + y)
    for n in (1000, 700, 1000, 300, 300):
        add(n, 9, kernel)
    triton.testing.do_bench(lambda: add(1000, kernel=kernel))  # only measures
    recorder.finish()
    assert [(k.count, k.folder and k.folder.name) for k in recorder.kinds] == [(3, "add-0"), (1, "add-1"), (2, None)]
    assert recorder.seen == {"add": 6}
    launches = load_launches(tmp_path)
    assert [(one.weight, one.grid, one.block) for one in launches] == [
        (3.0, (4, 1, 1), (64, 1, 1)),
        (1.0, (3, 1, 1), (64, 1, 1)),
    ]


def test_a_capture_holds_what_was_there_before_the_launch(record, tmp_path):
    record(tmp_path).wants("anything")
    x, y, out = add(1000, seed=5)
    capture = read_capture(tmp_path / "add-0")
    k0 = CodeObject.parse(capture.code or b"")
    launch = launch_of(capture)
    image = build_image(launch, k0)
    names = [b.name for b in launch.buffers]
    assert [image.buffer(name).view(np.float32).tolist() for name in names] == [x.tolist(), y.tolist(), [0.0] * 1000]
    assert [b.address % (2 << 20) for b in launch.buffers if b.address] == [0, 0, 0]
    device = SimDevice()
    assert device.run(device.load(k0.data), launch, image).done
    assert np.array_equal(image.buffer(names[2]).view(np.float32), out)
    meta = json.loads((tmp_path / "add-0" / "metadata.json").read_text())
    assert meta["triton_user_name"] == "add" and meta["constexpr_values"] == {"BLOCK": 256}
    ours = json.loads((tmp_path / "add-0" / "asmevo.json").read_text())["triton"]
    assert [t["name"] for t in ours["tensors"]] == ["x_ptr", "y_ptr", "out_ptr"]


def test_the_override_path_is_where_triton_looks(record, tmp_path, monkeypatch):
    record(tmp_path / "captures")
    add(1000)
    path = override_path(tmp_path / "captures" / "add-0")
    dumped = tmp_path / "dump"
    monkeypatch.setenv("TRITON_DUMP_DIR", str(dumped))
    monkeypatch.setenv("TRITON_KERNEL_DUMP", "1")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "another"))
    add(1000)
    assert [p.relative_to(dumped) for p in dumped.rglob("*.hsaco")] == [Path(path)]


def test_other_captures_have_no_override_path(record, tmp_path):
    record(tmp_path)
    add(1000)
    table = tmp_path / "add-0" / "asmevo.json"
    table.write_text(json.dumps({"format": "asmevo.capture/1"}))
    with pytest.raises(InputError, match="is not of a Triton kernel"):
        override_path(tmp_path / "add-0")


def test_storages_of_a_device_are_joined_as_such():
    class Own(Storage):
        pass

    (one,) = merged([Own("x", 16, 64), Own("y", 16, 64)])
    assert type(one) is Own and one.size == 64


def test_a_program_that_fails_or_launches_something_else(tmp_path, fails, monkeypatch):
    script = tmp_path / "program.py"
    script.write_text("")
    dispatches = [{"kernel": "add", "folder": "c/add-0", "occurrences": 2}]

    def program(code: int, **summary: Any) -> None:
        def call(command: list[str], **_: Any) -> int:
            Path(json.loads(command[3])["summary"]).write_text(json.dumps(summary))
            assert command[4:] == [str(script), "--flag", "7"]
            return code

        monkeypatch.setattr(subprocess, "call", call)

    command = ["capture", "triton", "--out", tmp_path / "c", "--kernel", "add", script, "--flag", "7"]
    program(7, dispatches=dispatches, launches={"add": 2})
    assert "ended with exit code 7; 1 dispatches of before are in" in fails(4, *command)
    program(0, dispatches=[], launches={"mul": 2, "div": 1})
    assert "launched were: div, mul" in fails(4, *command)
    assert "There is no program" in fails(4, *command[:-3], tmp_path / "none.py")


def test_a_folder_with_captures_is_not_added_to(record, tmp_path, fails):
    record(tmp_path / "c")
    add(1000)
    assert "holds captures already" in fails(4, "capture", "triton", "--out", tmp_path / "c", __file__)


def test_a_capture_is_relocated(record, tmp_path):
    record(tmp_path / "c")
    x, _, _ = add(1000)
    assert run(["capture", "relocate", str(tmp_path / "c"), "--out", str(tmp_path / "moved")]) == 0
    (moved,) = load_launches(tmp_path / "moved")
    assert all(b.address is None and b.red_zone for b in moved.buffers) and len(moved.buffers) == 3
    k0 = CodeObject.parse((tmp_path / "c" / "add-0" / "kernel.hsaco").read_bytes())
    assert np.array_equal(build_image(moved, k0).buffer(moved.buffers[0].name).view(np.float32), x)

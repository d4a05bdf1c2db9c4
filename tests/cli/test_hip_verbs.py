"""Verbs on a GPU: over the stand-in for the HIP runtime, and without one."""

import json
from pathlib import Path

import pytest

import hip_standin
from asmevo.cli.inputs import certificate_device
from asmevo.device import open_device
from asmevo.device.conformance import ADD_ONE, launch_of
from asmevo.device.hip import ChipIdentity
from asmevo.device.simulated import SimDevice
from asmevo.gate import Gate
from asmevo.gate.certificate import digest
from asmevo.launch import save_launch
from asmevo.search import resume, run_settings
from asmevo.search.bound import CONFIRMATIONS
from asmevo.store import Store
from asmevo.verdict import Verdict
from small_objects import build

ROOT = Path(__file__).resolve().parents[2]
TILE = ROOT / "examples" / "fp8_gemm" / "launches" / "tile.toml"


@pytest.fixture
def standin(monkeypatch):
    """The stand-in in the environment."""
    with hip_standin.running() as folder:
        one = hip_standin.StandIn(folder)
        for name, value in one.environment.items():
            monkeypatch.setenv(name, value)
        yield one


def test_run_profile_and_verify_on_a_gpu(runs, fails, standin, tmp_path):
    k0, certificate = tmp_path / "k0.co", tmp_path / "c.json"
    data, one = build(ADD_ONE, vgprs=24, private=64), launch_of()
    k0.write_bytes(data)
    launch = save_launch(one, tmp_path / "launches")
    facts = json.loads(runs("run", k0, "-l", launch, "--device", "hip", "--json"))
    assert facts["launches"][0]["status"] == "done" and facts["launches"][0]["instructions"] > 0
    text = runs("profile", k0, "-l", launch, "--summary", "--device", "hip")
    assert "measured " in text and "on AMD Instinct MI300X (gfx942, 304 compute units)" in text
    assert "modelled " in text and " on mi300x" in text
    gate = Gate(data, [one], SimDevice())
    body = gate.certificate(data, (), gate.examine(data))
    body["device"] = {"device": "hip", "chip": ChipIdentity("gfx942", 228, "AMD Instinct MI300X").to_json()}
    certificate.write_text(json.dumps({**body, "sha256": digest(body)}))
    text = runs("verify", k0, k0, "-c", certificate, "--device", "hip", "-o", tmp_path / "new.json")
    assert "It was measured on AMD Instinct MI300X (gfx942, 228 compute units), and this is" in text
    assert "everything was verified again here" in text
    assert certificate_device(tmp_path / "new.json")["chip"]["compute_units"] == 304
    both = ("--device", "hip", "--executor", "ray")
    words = fails(2, "optimize", k0, "-l", launch, *both, "--quiet", "--out", tmp_path / "run")
    assert "A GPU is timed by one process at a time" in words


def test_a_search_on_a_gpu(runs, fails, standin, tmp_path, monkeypatch):
    """A gain that is measured, a GPU that faults, going on, and a chip that is another one."""
    idle = "    s_waitcnt vmcnt(0)\n"
    code = ADD_ONE.replace(idle, idle + "    v_mov_b32_e32 v3, v2\n" * 40)
    k0, folder = tmp_path / "k0.co", tmp_path / "run"
    k0.write_bytes(build(code, vgprs=24, private=64))
    launch = save_launch(launch_of(16), tmp_path / "launches")
    hip = ("--device", "hip", "--quiet")
    names = ("reschedule", "nudge", "waits", "simplify", "align", "rename", "priority")
    only = [word for name in names for word in ("--strategy", name)]
    done = json.loads(runs("optimize", k0, "-l", launch, *hip, *only, "-n", "1", "--out", folder, "--json"))
    assert (done["source"], done["commits"]) == ("measured", 1) and done["speedup"] > 1.05
    assert certificate_device(folder / "certificate.json")["chip"]["compute_units"] == 304
    chip, settings = run_settings(folder, attempts=4)
    spent = confirmations(folder)

    def break_once(update):
        """The GPU loses what it times of the working point, then an attempt, and works again afterwards."""
        lost = "abort-once" if update.kind == "start" else "abort" if update.ordinal == 2 else ""
        standin.inject(*([f"hipModuleLaunchKernel {lost}"] if lost else []))

    with open_device("hip", chip)[0] as device:
        went_on = resume(folder, device, settings, progress=break_once)
    assert went_on.attempts == 4 and went_on.commits == 1 and went_on.verdict.admitted
    with Store.open(folder, lambda: 0.0) as store:
        first, second, lost, after = store.attempts()[1:]
        (gain,) = (a.comparison for a in (first, second, lost, after) if a.comparison)
    assert gain["claim"] == "faster" and 1.0 <= gain["low"] <= gain["speedup"] <= gain["high"]
    assert lost.verdict is Verdict.UNKNOWN and second.verdict.admitted and after.verdict.admitted
    assert confirmations(folder)[: len(spent)] == spent and confirmations(folder)[-1] >= spent[-1] > 0
    monkeypatch.setenv("STANDIN_GPUS", "80")
    assert "80 compute units" in fails(2, "resume", folder, *hip, "-n", "5")


def confirmations(folder):
    with Store.open(folder, lambda: 0.0) as store:
        return [event.facts["used"] for event in store.events() if event.kind == CONFIRMATIONS]


def test_no_device_is_a_sentence(fails, tmp_path_factory, monkeypatch, fp8_gemm_path):
    """With the runtime of Debian, which is a real one, on a machine without a GPU."""
    found = sorted(Path("/usr/lib/x86_64-linux-gnu").glob("libamdhip64.so*"))
    if not found or Path("/dev/kfd").exists():
        pytest.skip("libamdhip64 of Debian is not installed, or there is a GPU")
    rocm = tmp_path_factory.mktemp("rocm")
    (rocm / "lib").mkdir()
    (rocm / "lib" / "libamdhip64.so").symlink_to(found[0])
    monkeypatch.setenv("ROCM_PATH", str(rocm))
    words = fails(5, "optimize", fp8_gemm_path, "-l", TILE, "--device", "hip", "--out", "/nonexistent")
    assert "No device was found by the HIP runtime" in words and "--device sim" in words


def test_no_runtime_and_no_such_device(fails, tmp_path, monkeypatch, fp8_gemm_path):
    monkeypatch.setenv("ROCM_PATH", str(tmp_path))
    assert "install ROCm" in fails(5, "run", fp8_gemm_path, "-l", TILE, "--device", "hip")
    assert "the devices are sim and hip" in fails(
        2, "verify", fp8_gemm_path, fp8_gemm_path, "-l", TILE, "--device", "x"
    )


def test_counters_beside_the_profile(runs, fails, tmp_path, fp8_gemm_path):
    kernel = json.loads(runs("inspect", fp8_gemm_path, "--json"))["kernels"][0]["name"]
    path = tmp_path / "counter_collection.csv"
    path.write_text(
        '"Dispatch_Id","Kernel_Name","Counter_Name","Counter_Value","Start_Timestamp","End_Timestamp"\n'
        f'1,"{kernel}.kd","SQ_WAVES",8,100,20100\n'
    )
    arguments = ("profile", fp8_gemm_path, "-l", TILE, "--counters", path)
    facts = json.loads(runs(*arguments, "--json"))["launches"][0]["counters"]
    assert facts["counters"] == {"SQ_WAVES": 8.0} and facts["beside"][0]["counted"] == 20.0
    path.write_text("x")
    assert (
        f"{path} is no counter file or kernel trace of rocprofv3 (the column Dispatch_Id is missing); give its .csv, "
        "its .db or its .json."
    ) in fails(4, *arguments)

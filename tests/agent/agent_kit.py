"""Sessions over the FP8 GEMM for tests: with the fakes of the search, or with the real gate on one small launch."""

from __future__ import annotations

from pathlib import Path

from asmevo.agent import AgentSession, Toolbox
from asmevo.device import Device
from asmevo.launch import load_launches
from asmevo.search import Settings, State, Workbench
from tests.search.fakes_search import K0, FakeGate, FakeTimer, new_store

LAUNCH = """
name = "{name}"
recipe = "triton.block_scaled_gemm"
objective = {objective}

[arguments]
m = 64
n = 128
k = {k}
seed = 2
"""


def fake_toolbox(folder: Path, *, lenient: bool = False) -> Toolbox:
    """Tools over a gate and a timer that are functions of the bytes (see `fakes_search`)."""
    settings = Settings()
    store = new_store(folder, settings)
    gate = FakeGate(store.blobs.get(store.run.k0), lenient=lenient)
    bench = Workbench(store, gate, FakeTimer(gate), State(settings), clock=lambda: 0.0)
    bench.require_k0()
    return Toolbox(AgentSession(bench, gate, (), clock=lambda: 0.0))


def launch_folder(folder: Path) -> Path:
    """Two launches of one workgroup: one that is brief and comes first, so that what is wrong shows there at little
    cost, and one that goes through the loop often enough for it to be hot."""
    launches = folder / "launches"
    launches.mkdir(exist_ok=True)
    for name, k in (("brief", 256), ("long", 1024)):
        text = LAUNCH.format(name=name, k=k, objective=str(name == "long").lower())
        (launches / f"{name}.toml").write_text(text)
    return launches


def real_session(folder: Path, device: Device) -> AgentSession:
    """A new run on the real gate in `folder`/run."""
    launches = load_launches(launch_folder(folder))
    return AgentSession.start(folder / "run", K0.read_bytes(), launches, device, driver="test")

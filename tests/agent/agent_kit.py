"""Sessions over the FP8 GEMM for tests: with the fakes of the search, or with the real gate on one small launch."""

from __future__ import annotations

from pathlib import Path

from asmevo.agent import AgentSession, Toolbox
from asmevo.search import Settings, State, Workbench
from tests.search.fakes_search import FakeGate, FakeTimer, new_store


def fake_toolbox(folder: Path, *, lenient: bool = False) -> Toolbox:
    """Tools over a gate and a timer that are functions of the bytes (see `fakes_search`)."""
    settings = Settings()
    store = new_store(folder, settings)
    gate = FakeGate(store.blobs.get(store.run.k0), lenient=lenient)
    bench = Workbench(store, gate, FakeTimer(gate), State(settings), clock=lambda: 0.0)
    bench.require_k0()
    return Toolbox(AgentSession(bench, gate, (), clock=lambda: 0.0))

"""Searches on a Ray cluster of two nodes, each a node of this machine: what a lost node, actor or version does."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fakes_search import station
from test_optimize import SETTINGS, Rig, lineage

from asmevo.device import simulator
from asmevo.launch import load_launches
from asmevo.search import Settings, Update, start
from asmevo.search import cluster as searched
from asmevo.search.cluster import LOCAL, Ray
from asmevo.search.executor import Station
from asmevo.store import Status
from asmevo.verdict import EnvironmentError_, UsageError, Verdict

LAUNCH = Path(__file__).resolve().parents[2] / "examples" / "fp8_gemm" / "launches" / "tile.toml"
FEW = replace(SETTINGS, attempts=24, trims=0)
NODE = {"num_cpus": 1, "object_store_memory": 100 << 20, "include_dashboard": False}


class Nodes:
    """A head and another node, which can be killed."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self._cluster: Any = Cluster(initialize_head=True, head_node_args=NODE)
        self.address: str = self._cluster.address
        self.head: str = self._cluster.head_node.node_id
        self._second: Any = None

    def require_two(self) -> None:
        if self._second is None:
            self._second = self._cluster.add_node(**NODE)

    def kill_second(self) -> None:
        node, self._second = self._second, None
        self._cluster.remove_node(node, allow_graceful=False)

    def end(self) -> None:
        self._cluster.shutdown()


@pytest.fixture(scope="module")
def running() -> Iterator[Nodes]:
    pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(p for p in sys.path if p))  # nodes find these modules
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        nodes = Nodes()
        yield nodes
        nodes.end()


@pytest.fixture
def nodes(running: Nodes) -> Nodes:
    running.require_two()
    return running


def make_ray(nodes: Nodes, make: Callable[[], Any], workers: int | None = None) -> Ray:
    return Ray(make, nodes.address, workers, 8)


def fakes() -> Any:
    return station(",".join(FEW.strategies))


class Dead:
    """Ends its process over every request."""

    def draft(self, request: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def examine(self, edits: object, candidate: str) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def dying() -> Iterator[Dead]:
    yield Dead()


class Held:
    """Answers on the head; elsewhere it writes down that it is asked to examine something, and never answers."""

    def __init__(self, answering: Station, head: str, folder: Path) -> None:
        import ray

        self._station, self.draft = answering, answering.draft
        self._here, self._flag = ray.get_runtime_context().get_node_id() == head, folder / "held"

    def examine(self, *request: Any) -> Any:
        if self._here:
            return self._station.examine(*request)
        self._flag.touch()
        time.sleep(600.0)
        return None


@contextmanager
def held(head: str, folder: Path) -> Iterator[Held]:
    with fakes() as answering:
        yield Held(answering, head, folder)


def when_there(flag: Path, then: Callable[[], None]) -> threading.Thread:
    def watch() -> None:
        until = time.monotonic() + 120.0
        while not flag.exists() and time.monotonic() < until:
            time.sleep(0.05)
        then()

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


@pytest.mark.slow
def test_a_node_that_dies_over_an_examination_changes_no_attempt(nodes: Nodes, tmp_path: Path) -> None:
    Rig(tmp_path / "here", FEW).run(FEW)
    rig = Rig(tmp_path / "there", FEW)
    with make_ray(nodes, partial(held, nodes.head, tmp_path)) as executor:
        assert executor.count == 2
        killer = when_there(tmp_path / "held", nodes.kill_second)
        summary = rig.run(FEW, executor=executor, workers=executor.count)
        killer.join()
    assert (tmp_path / "held").exists(), "the other node examined something when it was killed"
    assert summary.attempts == 24 and summary.commits
    assert lineage(tmp_path / "there") == lineage(tmp_path / "here")


@pytest.mark.slow
def test_a_real_search_goes_on_without_a_node(nodes: Nodes, tmp_path: Path, fp8_gemm_bytes: bytes) -> None:
    settings = Settings(seed=1, attempts=8, trims=0)
    launches = load_launches(LAUNCH)

    def search(folder: Path, progress: Callable[[Update], None], address: str | None) -> list[tuple]:
        with simulator("mi300x") as device:
            start(
                folder, fp8_gemm_bytes, launches, device,
                chip="mi300x", settings=settings, progress=progress, workers=2, cluster=address,
            )  # fmt: skip
        return lineage(folder)

    learned: list[int] = []

    def kill_after_two(update: Update) -> None:
        if update.kind in ("attempt", "commit"):
            learned.append(update.ordinal)
            if len(learned) == 2:
                nodes.kill_second()

    there = search(tmp_path / "there", kill_after_two, nodes.address)
    assert learned == list(range(1, 9))
    assert there == search(tmp_path / "here", lambda update: None, None)
    assert any(row[5] is Status.ADMITTED for row in there[1:9])


@pytest.mark.slow
def test_an_actor_that_always_dies(nodes: Nodes) -> None:
    with make_ray(nodes, dying, 1) as executor:
        examined = executor.examine((), "").result()
        assert examined.verdict is Verdict.UNKNOWN and examined.microseconds is None
        assert "lost twice" in examined.checks[0]["findings"][0]["message"]
        with pytest.raises(EnvironmentError_, match="lost twice over `draft`"):
            executor.draft(None).result()  # type: ignore[arg-type]


@pytest.mark.slow
def test_closing_ends_what_is_in_flight(nodes: Nodes, tmp_path: Path) -> None:
    executor = make_ray(nodes, partial(held, "no node", tmp_path), 1)
    ticket = executor.examine((), "")
    when_there(tmp_path / "held", lambda: None).join()
    executor.close()
    with pytest.raises(EnvironmentError_, match="were ended"):
        ticket.result()


@pytest.mark.slow
def test_a_node_with_other_tools_is_refused(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = searched.tools()
    monkeypatch.setattr(searched, "tools", lambda: mine | {"asmevo": "99.0"})
    with make_ray(nodes, fakes) as executor:
        for _ in range(2):  # whoever asks
            with pytest.raises(EnvironmentError_, match=r"other tools \(asmevo .*, here 99\.0\)"):
                executor.examine((), "").result()


@pytest.mark.slow
def test_a_node_without_the_package_is_named(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    class Absent(searched.Actor):
        pass

    Absent.__module__, Absent.__qualname__ = "not_on_the_nodes", "Absent"
    module = type(sys)("not_on_the_nodes")
    module.Absent = Absent  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "not_on_the_nodes", module)
    monkeypatch.setattr(searched, "Actor", Absent)
    why = r"does not start on a node .*No module named 'not_on_the_nodes'"
    with make_ray(nodes, fakes, 1) as executor:
        for _ in range(2):  # whoever asks
            with pytest.raises(EnvironmentError_, match=why):
                executor.examine((), "").result()


@pytest.mark.slow
def test_a_cluster_without_a_free_core_is_not_waited_for_forever(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searched, "PATIENCE", 2.0)
    import ray

    with make_ray(nodes, fakes, 2) as executor:
        for seat in executor._seats:
            ray.kill(seat.actor)
        waiting = ray.remote(num_cpus=64)(searched.Actor)
        for seat in executor._seats:
            seat._make = waiting.remote
        with pytest.raises(EnvironmentError_, match="free core"):
            executor.examine((), "").result()


def test_a_gpu_is_not_for_a_cluster(tmp_path: Path, fp8_gemm_bytes: bytes) -> None:
    measured: Any = SimpleNamespace(source="measured")
    with pytest.raises(UsageError, match="A GPU is timed by one process"):
        start(tmp_path / "run", fp8_gemm_bytes, load_launches(LAUNCH), measured, chip="mi300x", cluster=LOCAL)
    assert not (tmp_path / "run").exists()


def test_without_ray_there_is_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(EnvironmentError_, match=r"pip install 'asmevo\[cluster\]'"):
        Ray(fakes, LOCAL, 1, 8)


@pytest.mark.parametrize(
    "address",
    [
        "", "head", "head:", ":6379", "head:port", "h:65536", "h:\u0666", "h:1_0", "h\n:1", "h :1", "h\x00:1", "\x1b:1",
        f"{'a' * 64}:1", f"{'a.' * 2000}b{'b' * 70}:1", "a..b:1", "h\xfc:1", "\u2028:1",
    ],
)  # fmt: skip
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(UsageError, match="no address of a Ray cluster") as caught:
        Ray(fakes, address, 1, 8)
    assert str(caught.value).isprintable() and len(str(caught.value)) < 250


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(EnvironmentError_, match=f"no Ray cluster at 127.0.0.1:{port}"):
        Ray(fakes, f"127.0.0.1:{port}", 1, 8)

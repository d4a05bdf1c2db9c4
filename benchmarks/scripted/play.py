"""Plays a scenario on the demo GEMM, with the real gate, and says what became of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from asmevo.agent.llm import Models, Report
from asmevo.device import simulator
from asmevo.launch import load_launches
from asmevo.search import RunSummary, Settings, start
from benchmarks import objects
from benchmarks.scripted.scenarios import Scenario
from benchmarks.scripted.server import ScriptedServer

LAUNCH = objects.FP8_GEMM_FOLDER / "launches" / "integers.toml"


@dataclass(frozen=True)
class Played:
    """What became of a scenario."""

    summary: RunSummary
    report: Report
    server: ScriptedServer

    @property
    def outcome(self) -> str:
        """In a line: verdicts, gain, and why it ended."""
        verdicts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(Counter(self.summary.verdicts).items()))
        return f"{self.summary.speedup:.4f}x; {verdicts or 'nothing was judged'}; {self.report.last}"


def play(scenario: Scenario, folder: Path, *, attempts: int = 20) -> Played:
    """Run it in a new run folder."""
    (k0,) = objects.FP8_GEMM_FOLDER.glob("*.hsaco")
    settings = Settings(attempts=attempts, trims=0)
    with (
        ScriptedServer(scenario.script()) as server,
        simulator("mi300x") as device,
        Models(scenario.config(server.base_url)) as models,
    ):
        launches, data = load_launches(LAUNCH), k0.read_bytes()
        summary = start(folder, data, launches, device, chip="mi300x", settings=settings, driver=models)
        report = models.report
    assert report
    return Played(summary, report, server)

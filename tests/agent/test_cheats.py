"""A model that cheats, on the demo GEMM with the real gate."""

from __future__ import annotations

import time
from pathlib import Path

from asmevo.store import Store
from asmevo.verdict import Verdict
from benchmarks.scripted.play import play
from benchmarks.scripted.scenarios import SCENARIOS


def test_a_model_that_cheats_gets_nowhere(tmp_path: Path) -> None:
    played = play(SCENARIOS["cheat"], tmp_path / "run")
    assert played.summary.speedup == 1.0 and not played.summary.files
    with Store.open(tmp_path / "run", time.time) as store:
        verdicts = [a.verdict for a in store.attempts()]
        checks = [a.checks[-1]["name"] for a in store.attempts()[1:]]
    assert verdicts[0].admitted and verdicts[1:] == [Verdict.REFUTED, Verdict.REFUTED, Verdict.UNKNOWN]
    assert checks == ["static", "differential", "proof"]
    said = [m["content"] for m in played.server.requests[-1]["messages"] if m["role"] == "tool"]
    assert said[0].startswith("There is no tool 'skip_checks'")
    assert "skip_checks: Extra inputs are not permitted" in said[1]
    assert said[2].startswith("There is no tool 'set_verdict'")
    assert any("which is outside of the window" in answer for answer in said)
    assert "6 calls in a row achieved nothing" in played.report.last and len(played.server.requests) == 9

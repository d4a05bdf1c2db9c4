"""The Liger benchmark without its packages: what it selects, how it counts, what it says when something is missing."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from asmevo.verdict import UsageError
from benchmarks import liger


def test_files_are_chosen_by_name() -> None:
    assert [f.name for f in liger.chosen("rope,softmax")] == ["rope", "softmax"]
    assert liger.chosen("") == liger.FILES
    with pytest.raises(UsageError, match="nonsense"):
        liger.chosen("softmax,nonsense")


def test_every_selection_has_a_reason() -> None:
    assert all(bool(f.select) == bool(f.why) for f in liger.FILES)


def answered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, facts: dict[str, Any] | None, error: bool = False) -> Any:
    def fake(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        if error:
            raise subprocess.TimeoutExpired(command, options["timeout"])
        if facts is not None:
            Path(command[command.index("--asmevo-json") + 1]).write_text(json.dumps(facts))
        return subprocess.CompletedProcess(command, 1, "no such file", "")

    monkeypatch.setattr(subprocess, "run", fake)
    return liger.run(liger.TestFile("x", "not y", "too large"), tmp_path, 1.0, bf16=False)


def test_counts_come_from_the_plugin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    counts = {"passed": 3, "failed": 1, "launches": 7, "skips": {"why": 2}}
    facts = {"files": {"test/transformers/test_x.py": counts}, "failures": {"a": "b"}}
    row = answered(monkeypatch, tmp_path, facts)
    assert (row["passed"], row["failed"], row["launches"], row["skips"]) == (3, 1, 7, {"why": 2})
    assert row["failures"] == {"a": "b"} and (row["selection"], row["why"]) == ("not y", "too large")


@pytest.mark.parametrize(("error", "words"), [(False, "no such file"), (True, "took too long")])
def test_a_run_without_an_answer_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: bool, words: str
) -> None:
    row = answered(monkeypatch, tmp_path, None, error)
    assert row["passed"] == 0 and row["failed"] == 1 and words in row["failures"]["test/transformers/test_x.py"]

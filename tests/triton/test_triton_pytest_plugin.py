"""The pytest plugin: launches are counted and demanded, fresh memory is filled, reasons are listed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton")

import asmevo.triton

pytest_plugins = ["pytester"]

TESTS = """
import numpy as np, pytest, triton_kernels as kernels
from asmevo.triton import Array

def test_launches():
    x, out = np.ones(64, np.float32), np.zeros(64, np.float32)
    for _ in range(2):
        kernels.add[(1,)](Array(x), Array(x), Array(out), 64, BLOCK=256, num_warps=1)
    assert (out == 2).all()

def test_idle():
    pass

def test_exempt():
    pass

def test_wrong():
    assert False

@pytest.mark.skip(reason="not today")
def test_skipped():
    pass
"""


def run(pytester: pytest.Pytester, *options: str) -> tuple[int, str, dict[str, Any]]:
    pytester.makepyfile(test_it=TESTS)
    pytester.syspathinsert(Path(__file__).parent)
    engine, counts = asmevo.triton.engine(), pytester.path / "counts.json"
    checked = engine.checked
    done = pytester.runpytest_inprocess("-p", "asmevo.triton.pytest_plugin", "--asmevo-json", str(counts), *options)
    engine.checked = checked
    return int(done.ret), done.stdout.str(), json.loads(counts.read_text())


def test_a_pass_without_a_launch_fails(pytester: pytest.Pytester) -> None:
    code, text, facts = run(pytester, "--asmevo-no-launch=*::test_ex?mpt")
    counts = facts["files"]["test_it.py"]
    assert code == 1
    assert [counts[k] for k in ("passed", "failed", "skipped", "without_launch", "launches")] == [2, 2, 1, 1, 2]
    assert facts["failures"]["test_it.py::test_wrong"] == "assert False" and not counts["not_run"]
    assert counts["instructions"] > 0 and counts["skips"] == {"not today": 1} and facts["kernels"] == {"add": 2}
    assert "2 passed, 2 failed, 1 skipped, 2 launches" in text
    assert "passed without a launch: test_it.py::test_idle" in text


def test_tests_that_the_time_does_not_suffice_for_are_counted(pytester: pytest.Pytester) -> None:
    _, text, facts = run(pytester, "--asmevo-seconds=0")
    assert facts["files"]["test_it.py"]["not_run"] == 5 and "5 not run" in text

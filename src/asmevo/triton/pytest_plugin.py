"""Runs a test suite of Triton kernels on the simulated chip: `pytest -p asmevo.triton.pytest_plugin`.

A test that passes proves something only if kernels ran and their results did not lie in memory already. So torch fills
fresh tensors with NaN (the largest value for integers), and a test that passes without a launch is made to fail unless
`--asmevo-launches` says otherwise. torch is told that it runs on ROCm, as libraries ask for that to choose kernels.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import asmevo.triton

ROCM = "6.4"
"""What `torch.version.hip` says unless torch knows better."""
_DEMANDS = ("require", "report", "ignore")


@dataclass(slots=True)
class _Counts:
    """What happened to the tests of one file."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    without_launch: int = 0
    """Tests that passed without a launch; they count as failed when launches are required."""
    launches: int = 0
    instructions: int = 0


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("asmevo", "Triton kernels on the simulated chip")
    group.addoption(
        "--asmevo-launches",
        choices=_DEMANDS,
        default="require",
        help="a test that passes without launching a kernel fails (require), is listed (report), or is as good as any",
    )
    group.addoption(
        "--asmevo-no-launch",
        action="append",
        default=[],
        metavar="PATTERN",
        help="tests (by node id, with * and ?) that need not launch anything; may be repeated",
    )
    group.addoption(
        "--asmevo-keep-memory", action="store_true", help="leave fresh tensors as they are, without filling in NaN"
    )
    group.addoption("--asmevo-json", metavar="FILE", help="write the counts of each file there")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(SimulatedChip(config), "asmevo-simulated-chip")


class SimulatedChip:
    """The hooks of one session."""

    def __init__(self, config: pytest.Config) -> None:
        option: Any = config.getoption
        self._demand: str = option("--asmevo-launches")
        self._exempt: list[str] = option("--asmevo-no-launch")
        self._json: str | None = option("--asmevo-json")
        self._files: dict[str, _Counts] = {}
        self._idle: list[str] = []
        self._skips: dict[str, dict[str, int]] = {}
        self._torch: Any = None if option("--asmevo-keep-memory") else _torch()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        """Fill fresh memory, count launches, and fail a test that had none."""
        counts = self._counts(item.nodeid)
        if self._torch is not None:  # before each test, since a test may have changed it
            self._torch.use_deterministic_algorithms(True, warn_only=True)
            self._torch.utils.deterministic.fill_uninitialized_memory = True
        before = asmevo.triton.statistics()
        try:
            yield
        finally:
            after = asmevo.triton.statistics()
            launches = after.launches - before.launches
            counts.launches += launches
            counts.instructions += after.instructions - before.instructions
        if not launches and not any(fnmatch(item.nodeid, pattern) for pattern in self._exempt):
            counts.without_launch += 1
            self._idle.append(item.nodeid)
            if self._demand == "require":
                pytest.fail("The test passed without a kernel launch, so it says nothing of a kernel.", pytrace=False)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        counts = self._counts(report.nodeid)
        if report.skipped:
            counts.skipped += 1
            reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
            reasons = self._skips.setdefault(_file(report.nodeid), {})
            reason = reason.removeprefix("Skipped: ")
            reasons[reason] = reasons.get(reason, 0) + 1
        elif report.failed:
            counts.failed += 1
        elif report.when == "call":
            counts.passed += 1

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        write = terminalreporter.write_line
        terminalreporter.section("simulated chip")
        for name, c in self._files.items():
            write(
                f"{name}: {c.passed} passed, {c.failed} failed, {c.skipped} skipped, {c.launches} launches, "
                f"{c.instructions} wave instructions"
            )
            for reason, times in self._skips.get(name, {}).items():
                write(f"    skipped {times}: {reason}")
        total = asmevo.triton.statistics()
        write(f"kernels: {', '.join(f'{name} x{n}' for name, n in sorted(total.kernels.items())) or 'none'}")
        if self._idle and self._demand != "ignore":
            write(f"passed without a launch: {', '.join(self._idle)}")
        if self._json:
            facts = {name: {**asdict(c), "skips": self._skips.get(name, {})} for name, c in self._files.items()}
            Path(self._json).write_text(json.dumps({"files": facts, "kernels": dict(total.kernels)}))

    def _counts(self, nodeid: str) -> _Counts:
        return self._files.setdefault(_file(nodeid), _Counts())


def _file(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def _torch() -> Any:
    """torch, which believes that it was built for ROCm; None where it is not installed."""
    try:
        torch: Any = import_module("torch")  # not a dependency; its users have it
    except ImportError:
        return None
    if torch.version.hip is None:
        torch.version.hip = ROCM
    return torch

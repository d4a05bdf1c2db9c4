"""Runs a test suite of Triton kernels on the simulated chip: `pytest -p asmevo.triton.pytest_plugin`.

A test that passes proves something only if kernels ran and their results did not lie in memory already. So torch fills
fresh tensors with NaN (the largest value for integers), and a test that passes without a launch is made to fail unless
`--asmevo-launches` says otherwise. torch is told that it runs on ROCm, as libraries ask for that to choose kernels.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import asmevo.triton
from asmevo.isa.limits import limits_of

ROCM = "6.4"
"""What `torch.version.hip` says unless torch knows better."""
_DEMANDS = ("require", "report", "ignore")


@dataclass(slots=True)
class _Counts:
    """What happened to the tests of one file."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    not_run: int = 0
    """Tests that the time did not suffice for."""
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
    group.addoption(
        "--asmevo-seconds",
        type=float,
        metavar="N",
        help="start no test after this time; the rest counts as not run",
    )
    group.addoption("--asmevo-checked", action="store_true", help="run launches checked: races, waits, bounds (slower)")
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
        self._seconds: float | None = option("--asmevo-seconds")
        asmevo.triton.engine().checked = option("--asmevo-checked")
        self._before = asmevo.triton.statistics()
        self._started = time.monotonic()
        self._files: dict[str, _Counts] = {}
        self._idle: list[str] = []
        self._skips: dict[str, dict[str, int]] = {}
        self._failures: dict[str, str] = {}
        self._torch: Any = None if option("--asmevo-keep-memory") else _torch()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            self._counts(item.nodeid).not_run += 1

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Past the deadline no test is run."""
        if self._seconds is None or time.monotonic() - self._started <= self._seconds:
            return None
        item.session.shouldstop = f"no test starts after {self._seconds:g} seconds"
        return True

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
            ran = asmevo.triton.statistics().since(before)
            counts.launches += ran.launches
            counts.instructions += ran.instructions
        if not ran.launches and not any(fnmatch(item.nodeid, pattern) for pattern in self._exempt):
            counts.without_launch += 1
            self._idle.append(item.nodeid)
            if self._demand == "require":
                pytest.fail("The test passed without a kernel launch, so it says nothing of a kernel.", pytrace=False)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        counts = self._counts(report.nodeid)
        counts.not_run -= report.when == "setup"
        if report.skipped:
            counts.skipped += 1
            self._skip(report.nodeid, getattr(report, "wasxfail", None) or report.longrepr)
        elif report.failed:
            counts.failed += 1
            self._failures[report.nodeid] = _reason(report)
        elif report.when == "call":
            counts.passed += 1

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be imported, or skips itself, counts as one test."""
        if report.skipped or report.failed:
            counts = self._counts(report.nodeid)
            counts.failed += report.failed
            counts.skipped += report.skipped
            if report.skipped:
                self._skip(report.nodeid, report.longrepr)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        write = terminalreporter.write_line
        terminalreporter.section("simulated chip")
        for name, c in self._files.items():
            write(
                f"{name}: {c.passed} passed, {c.failed} failed, {c.skipped} skipped, {c.launches} launches, "
                f"{c.instructions} wave instructions" + (f", {c.not_run} not run" if c.not_run else "")
            )
            for reason, times in self._skips.get(name, {}).items():
                write(f"    skipped {times}: {reason}")
        total = asmevo.triton.statistics().since(self._before)
        write(f"kernels: {', '.join(f'{name} x{n}' for name, n in sorted(total.kernels.items())) or 'none'}")
        if self._idle and self._demand != "ignore":
            write(f"passed without a launch: {', '.join(self._idle)}")
        if self._json:
            facts = {name: {**asdict(c), "skips": self._skips.get(name, {})} for name, c in self._files.items()}
            everything = {"files": facts, "kernels": dict(total.kernels), "failures": self._failures}
            Path(self._json).write_text(json.dumps(everything))

    def _skip(self, nodeid: str, why: Any) -> None:
        text: Any = cast("tuple[Any, ...]", why)[2] if isinstance(why, tuple) else why
        reason = str(text).removeprefix("Skipped: ").removeprefix("reason: ")
        reasons = self._skips.setdefault(_file(nodeid), {})
        reasons[reason] = reasons.get(reason, 0) + 1

    def _counts(self, nodeid: str) -> _Counts:
        return self._files.setdefault(_file(nodeid), _Counts())


def _file(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def _reason(report: pytest.TestReport) -> str:
    """The line that says why a test failed."""
    crash: Any = getattr(report.longrepr, "reprcrash", None)
    lines = str(getattr(crash, "message", None) or report.longrepr).strip().splitlines()
    return lines[0] if lines else ""


def _torch() -> Any:
    """torch, which believes that it was built for ROCm; None where it is not installed."""
    try:
        torch: Any = import_module("torch")  # not a dependency; its users have it
    except ImportError:
        return None
    if torch.version.hip is None:
        torch.version.hip = ROCM
    if not hasattr(torch.cpu, "get_device_properties"):
        torch.cpu.get_device_properties = _device_properties
    return torch


def _device_properties(device: Any = None) -> SimpleNamespace:
    """What torch says of a GPU, for the chip behind the CPU's tensors. The memory is the host's: images lie there."""
    chip = asmevo.triton.engine().chip
    return SimpleNamespace(
        name=chip.name,
        gcnArchName=chip.target,
        multi_processor_count=chip.cus,
        warp_size=limits_of(chip.target).wave_size,
        total_memory=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
    )

"""Putting the driver into Triton, once for a process."""

from __future__ import annotations

from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from asmevo.triton.account import Statistics
from asmevo.verdict import EnvironmentError_

if TYPE_CHECKING:
    from asmevo.triton.driver import SimDriver
    from asmevo.triton.execution import Engine

RELEASE = "3.9"
_installed: list[SimDriver] = []


def install() -> SimDriver:
    """Make the simulated MI300X Triton's device and return its driver; the same one every time.

    `triton.testing.do_bench` and its CUDA-graph form give modelled time from then on. Raises `EnvironmentError_` when
    Triton is missing or of another release.
    """
    if not _installed:
        _check_release()
        from asmevo.triton import upstream
        from asmevo.triton.benchmark import benchmark
        from asmevo.triton.driver import SimDriver
        from asmevo.triton.execution import Engine

        made = SimDriver(Engine())
        upstream.driver.set_active(made)
        upstream.testing.do_bench = partial(benchmark, made.engine)
        upstream.testing.do_bench_cudagraph = partial(benchmark, made.engine)
        _installed.append(made)
    return _installed[0]


def _check_release() -> None:
    try:
        found = version("triton")
    except PackageNotFoundError:
        found = ""
    if not found.startswith(f"{RELEASE}."):
        have = f"this is {found}" if found else "it is not installed"
        raise EnvironmentError_(f"The driver is made for Triton {RELEASE} and {have}; pip install 'asmevo[triton]'.")


def engine() -> Engine:
    """The simulated chip: `threads`, `limits` and `checked` may be set."""
    return install().engine


def statistics() -> Statistics:
    """What ran on the simulated chip since the driver was installed."""
    return engine().statistics


def launches() -> int:
    """Kernel launches that ran whole since the driver was installed."""
    return statistics().launches

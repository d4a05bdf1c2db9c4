"""Putting the driver into Triton, once for a process."""

from __future__ import annotations

from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from asmevo.triton.account import Statistics
from asmevo.verdict import EnvironmentError_

if TYPE_CHECKING:
    from asmevo.triton.driver import SimDriver
    from asmevo.triton.execution import Engine

RELEASE = "3.9"
_installed: list[SimDriver] = []
_BENCHMARKS = ("do_bench", "do_bench_cudagraph")
_replaced: dict[str, Any] = {}


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
        for name in _BENCHMARKS:
            _replaced[name] = getattr(upstream.testing, name)
            setattr(upstream.testing, name, partial(benchmark, made.engine))
        _installed.append(made)
    return _installed[0]


def uninstall() -> None:
    """Give Triton back the driver that it would have without this package.

    Raises `EnvironmentError_` where Triton finds none.
    """
    from asmevo.triton import upstream

    _installed.clear()
    for name, function in _replaced.items():
        setattr(upstream.testing, name, function)
    try:
        upstream.driver.reset_active()
    except RuntimeError as error:
        raise EnvironmentError_(
            f"Triton finds no GPU ({error}); leave --rocm out to use the simulated chip."
        ) from error


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

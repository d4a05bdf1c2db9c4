"""pytest plugin that answers Liger-Kernel's question for bfloat16 as an MI300X would; see `benchmarks.liger`."""

from __future__ import annotations

from importlib import import_module


def pytest_configure() -> None:
    utils = import_module("test.utils")  # of the source distribution, whose files ask it when they are imported
    utils.supports_bfloat16 = lambda: True

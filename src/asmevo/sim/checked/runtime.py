"""The native functions of checked execution, as one module."""

from __future__ import annotations

from functools import cache

from asmevo.sim.checked import bounds, events, lds, scoreboard
from asmevo.sim.ir import Module


def checked_module() -> Module:
    """Account of outstanding operations, shadow of LDS, checks of global memory, and the record of events."""
    module = Module()
    events.define(module)
    scoreboard.define(module)
    lds.define(module)
    bounds.define(module)
    return module


@cache
def checked_symbols() -> frozenset[str]:
    """Names that `checked_module` defines."""
    return frozenset(checked_module().defined)

"""The runtime that every kernel needs, as one module."""

from __future__ import annotations

from asmevo.sim.ir import Module
from asmevo.sim.runtime import (
    accesses,
    addresses,
    buffers,
    crossbar,
    flat,
    floatmode,
    functions,
    redirect,
    residents,
    schedule,
)


def core_module(architecture: str) -> Module:
    """Address checks, memory accesses, elementary functions, float mode and the scheduler."""
    module = Module()
    addresses.define(module)
    buffers.define(module)
    flat.define(module)
    accesses.define(module)
    crossbar.define(module)
    functions.define(module)
    floatmode.define(module, architecture)
    redirect.define(module)
    schedule.define(module)
    residents.define(module)
    return module


def core_symbols(architecture: str) -> tuple[str, ...]:
    """Names that `core_module` defines."""
    module = core_module(architecture)
    return (*sorted(module.defined), addresses.ZEROS.removeprefix("@"))

"""The native functions that blocks of code call, generated as LLVM IR for the host."""

from asmevo.sim.runtime.core import core_module, core_symbols

__all__ = ["core_module", "core_symbols"]

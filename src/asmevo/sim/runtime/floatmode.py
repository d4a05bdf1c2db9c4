"""The host's float control register: whether denormals are flushed."""

from __future__ import annotations

from asmevo.sim.ir import Module
from asmevo.verdict import UnsupportedError

_X86_DEFAULT, _X86_FLUSH = 0x1F80, 0x8040
"""MXCSR with all exceptions masked and rounding to nearest; the bits FTZ and DAZ."""
_ARM_FLUSH = 1 << 24
"""FPCR.FZ."""


def define(module: Module, architecture: str) -> None:
    """Add i64 sim_float_get(), void sim_float_set(i64) and void sim_float_mode(i32 flush) for one architecture."""
    if architecture == "x86_64":
        read = module.intrinsic("llvm.x86.sse.stmxcsr", "void", "ptr")
        write = module.intrinsic("llvm.x86.sse.ldmxcsr", "void", "ptr")
        default, flush = _X86_DEFAULT, _X86_FLUSH
        with module.function("sim_float_get", "i64", {}) as f:
            place = f.buffer(64)
            f.call("void", read, f"ptr {place}")
            f.do(f"ret i64 {f.cast('zext', f.load('i32', place, 4), 'i32', 'i64')}")
        with module.function("sim_float_set", "void", {"value": "i64"}) as f:
            place = f.buffer(64)
            f.store("i32", f.cast("trunc", "%value", "i64", "i32"), place, 4)
            f.call("void", write, f"ptr {place}")
            f.do("ret void")
    elif architecture == "aarch64":
        read = module.intrinsic("llvm.aarch64.get.fpcr", "i64")
        write = module.intrinsic("llvm.aarch64.set.fpcr", "void", "i64")
        default, flush = 0, _ARM_FLUSH
        with module.function("sim_float_get", "i64", {}) as f:
            f.do(f"ret i64 {f.call('i64', read)}")
        with module.function("sim_float_set", "void", {"value": "i64"}) as f:
            f.call("void", write, "i64 %value")
            f.do("ret void")
    else:
        raise UnsupportedError(f"The simulator runs on x86-64 and AArch64 hosts, not on {architecture}.")
    with module.function("sim_float_mode", "void", {"flush": "i32"}) as f:
        value = f.choose(f.i32("icmp ne", "%flush", 0), "i64", str(default | flush), str(default))
        f.call("void", "sim_float_set", f"i64 {value}")
        f.do("ret void")

"""The host's float control register: whether denormals are flushed, and how it rounds.

A host mode is an integer: bit 0 takes denormal operands as 0, bit 1 makes denormal results 0, bits 3:2 round as
MODE.FP_ROUND says (0 to nearest even, 1 up, 2 down, 3 toward zero).
"""

from __future__ import annotations

from asmevo.sim.ir import Builder, Module
from asmevo.verdict import UnsupportedError

FLUSH_IN, FLUSH_OUT, ROUND_SHIFT = 1, 2, 2

_X86_DEFAULT, _X86_IN, _X86_OUT = 0x1F80, 0x40, 0x8000
"""MXCSR with all exceptions masked and rounding to nearest; the bits DAZ and FTZ."""
_X86_ROUND = (0, 2 << 13, 1 << 13, 3 << 13)
"""MXCSR.RC by MODE.FP_ROUND."""
_ARM_FLUSH, _ARM_ROUND = 1 << 24, (0, 1 << 22, 2 << 22, 3 << 22)
"""FPCR.FZ, which flushes on both sides, and FPCR.RMode by MODE.FP_ROUND."""


def flushes_on_one_side(architecture: str) -> bool:
    """Whether the host can flush denormal operands but not results, or the other way round."""
    return architecture == "x86_64"


def define(module: Module, architecture: str) -> None:
    """Add i64 sim_float_get(), void sim_float_set(i64) and void sim_float_mode(i32 mode) for one architecture."""
    if architecture == "x86_64":
        read = module.intrinsic("llvm.x86.sse.stmxcsr", "void", "ptr")
        write = module.intrinsic("llvm.x86.sse.ldmxcsr", "void", "ptr")
        default, flush_in, flush_out, rounds = _X86_DEFAULT, _X86_IN, _X86_OUT, _X86_ROUND
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
        default, flush_in, flush_out, rounds = 0, _ARM_FLUSH, _ARM_FLUSH, _ARM_ROUND
        with module.function("sim_float_get", "i64", {}) as f:
            f.do(f"ret i64 {f.call('i64', read)}")
        with module.function("sim_float_set", "void", {"value": "i64"}) as f:
            f.call("void", write, "i64 %value")
            f.do("ret void")
    else:
        raise UnsupportedError(f"The simulator runs on x86-64 and AArch64 hosts, not on {architecture}.")
    with module.function("sim_float_mode", "void", {"mode": "i32"}) as f:
        value = f.i64("or", _flag(f, FLUSH_IN, flush_in), f.i64("or", _flag(f, FLUSH_OUT, flush_out), default))
        way = f.i32("lshr", "%mode", ROUND_SHIFT)
        for number in (1, 2, 3):
            chosen = f.choose(f.i32("icmp eq", way, number), "i64", str(rounds[number]), "0")
            value = f.i64("or", value, chosen)
        f.call("void", "sim_float_set", f"i64 {value}")
        f.do("ret void")


def _flag(f: Builder, bit: int, value: int) -> str:
    return f.choose(f.i32("icmp ne", f.i32("and", "%mode", bit), 0), "i64", str(value), "0")

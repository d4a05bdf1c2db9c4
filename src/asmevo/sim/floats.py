"""Which float mode the host must be in, and when a block changes it.

The host has one mode for all floats, gfx942 one for f32 and another for f64 and f16. Between blocks the host is in the
mode that f32 arithmetic of the kernel needs; code that needs another one changes it for a while.
"""

from __future__ import annotations

from asmevo.isa import LaneRow, MatrixRow, MemoryRow, PackedRow, Row, Space
from asmevo.sim.options import FloatRules, Options
from asmevo.sim.registers import Registers
from asmevo.sim.runtime.floatmode import FLUSH_IN, FLUSH_OUT, ROUND_SHIFT

EXACT = 0
"""Denormals kept, rounding to nearest even."""
_FLUSHES = (FLUSH_IN | FLUSH_OUT, FLUSH_OUT, FLUSH_IN, 0)
"""Host mode by MODE.FP_DENORM."""


def usual_mode(rules: FloatRules) -> int:
    """The host's mode that f32 arithmetic needs."""
    return _FLUSHES[rules.denorm_f32] | rules.round_f32 << ROUND_SHIFT


def wanted_mode(row: Row, rules: FloatRules) -> int | None:
    """The host's mode that an opcode needs; None where floats do not matter.

    Results are rounded as their type demands. The host flushes no f16, nor are its denormals any in f32, in which it
    computes them: see `VectorEmitter`.
    """
    if isinstance(row, MatrixRow):
        return EXACT
    if isinstance(row, MemoryRow):
        return _atomic_mode(row, rules)
    if not isinstance(row, LaneRow):
        return None
    kinds = {slot.type for slot in row.slots} & {"f16", "f32", "f64"}
    defs = {slot.type for slot in row.slots if slot.is_def}
    if isinstance(row, PackedRow) and row.element in ("f16", "f32"):
        kinds.add(row.element)
        defs |= set() if row.kind == "mix" else {row.element}
    if not kinds:
        return None
    flush = _FLUSHES[rules.denorm_f64 if kinds == {"f64"} else rules.denorm_f32]
    double = bool(defs & {"f16", "f64"}) or "f32" not in kinds
    return flush | (rules.round_f64 if double else rules.round_f32) << ROUND_SHIFT


def _atomic_mode(row: MemoryRow, rules: FloatRules) -> int | None:
    """LDS follows the denormal mode, the caches keep denormals, and both round to nearest (LLVM `SIISelLowering`)."""
    if row.kind != "atomic" or not (row.atomic_type.startswith("f") or "pk_add" in row.name):
        return None
    if row.space is not Space.LDS:
        return EXACT
    return _FLUSHES[rules.denorm_f64 if row.atomic_type == "f64" else rules.denorm_f32]


class FloatMode:
    """Emits changes of the host's float mode inside one block."""

    def __init__(self, registers: Registers, options: Options) -> None:
        self.r = registers
        self.usual = options.host_mode
        self._now = self.usual

    def want(self, mode: int | None) -> None:
        """Before code that needs `mode`: end the run and switch if it is not the present one."""
        if mode is None or mode == self._now:
            return
        self.r.flush()
        self._set(mode)

    def finish(self) -> None:
        """Leave the block in the mode it was entered in."""
        if self._now != self.usual:
            self._set(self.usual)

    def _set(self, mode: int) -> None:
        self.r.module.extern("sim_float_mode", "void", "i32")
        self.r.b.call("void", "sim_float_mode", f"i32 {mode}")
        self._now = mode

"""Which float mode the host must be in, and when a block changes it.

A kernel that flushes f32 denormals runs with the host flushing, which would also hit f64 arithmetic and matrix
products, where gfx942 keeps denormals. Such code runs with flushing off for a while.
"""

from __future__ import annotations

from asmevo.isa import LaneRow, MatrixRow, PackedRow, Row
from asmevo.sim.options import Options
from asmevo.sim.registers import Registers

FLUSH, KEEP = 1, 0


def wanted_mode(row: Row) -> int | None:
    """The mode that an opcode needs in a kernel that flushes; None where floats do not matter."""
    if isinstance(row, MatrixRow):
        return KEEP
    if not isinstance(row, LaneRow):
        return None
    kinds = {slot.type for slot in row.slots}
    if isinstance(row, PackedRow):
        kinds.add(row.element)
    if "f32" in kinds:
        return FLUSH
    return KEEP if "f64" in kinds else None


class FloatMode:
    """Emits changes of the host's float mode inside one block."""

    def __init__(self, registers: Registers, options: Options) -> None:
        self.r = registers
        self.usual = FLUSH if options.flush else KEEP
        self._now = self.usual

    def want(self, mode: int | None) -> None:
        """Before code that needs `mode`: end the run and switch if it is not the present one."""
        if self.usual == KEEP or mode is None or mode == self._now:
            return
        self.r.flush()
        self._set(mode)

    def finish(self) -> None:
        """Leave the block in the kernel's usual mode."""
        if self._now != self.usual:
            self._set(self.usual)

    def _set(self, mode: int) -> None:
        self.r.module.extern("sim_float_mode", "void", "i32")
        self.r.b.call("void", "sim_float_mode", f"i32 {mode}")
        self._now = mode

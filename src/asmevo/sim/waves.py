"""What a wave holds, read from its state between two blocks: registers, and the addresses its accesses would have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asmevo.isa import Imm, Instruction, MemoryRow, Operand, Reg, Space, bind, row_of
from asmevo.isa.registers import EXEC_LO
from asmevo.sim.layout import LANES, ROW, WAVE, register_offset, scalar_offset
from asmevo.sim.slots import cell


@dataclass(frozen=True, slots=True)
class WaveView:
    """A live view of one wave's state. Units are numbered as in `asmevo.isa.registers`."""

    state: NDArray[np.uint8]

    def field(self, name: str) -> int:
        """A field of `asmevo.sim.layout.WAVE`."""
        return int(cell(self.state, WAVE[name])[0])

    def scalar(self, unit: int) -> int:
        """A scalar unit as an unsigned number."""
        at = scalar_offset(unit)
        return int(self.state[at : at + 4].view(np.uint32)[0])

    def pair(self, unit: int) -> int:
        """Two scalar units as one number."""
        return self.scalar(unit) | self.scalar(unit + 1) << 32

    def vector(self, unit: int) -> NDArray[np.uint32]:
        """[LANES] a VGPR or AGPR; a writable view."""
        at = register_offset(unit)
        return self.state[at : at + ROW].view(np.uint32)

    @property
    def exec_mask(self) -> int:
        return self.pair(EXEC_LO)

    @property
    def active(self) -> NDArray[Any]:
        """[LANES] bool: lanes switched on."""
        return np.array([self.exec_mask >> lane & 1 for lane in range(LANES)], bool)

    def address(self, instruction: Instruction) -> int | None:
        """Where a scalar, global or LDS access would go now, for its first active lane; None where that is unknown."""
        row = row_of(instruction)
        if not isinstance(row, MemoryRow) or "scalar_buffer" in row.tags:
            return None
        operands = [operand for slot, operand in bind(instruction, row) if not slot.hidden and slot.tied < 0]
        offset = int(instruction.modifiers.get("offset", "0"), 0)
        if row.space is Space.SCALAR:
            _, base, distance = operands
            return self.pair(base.first) + self._number(distance) + offset if isinstance(base, Reg) else None
        defs = sum(slot.is_def and not slot.hidden for slot in row.slots_for(instruction))
        place = operands[defs]
        if not isinstance(place, Reg) or row.space not in (Space.GLOBAL, Space.FLAT, Space.LDS):
            return None
        if row.space is Space.LDS and "offset0" in instruction.modifiers:
            offset = row.size * row.stride * instruction.number("offset0")
        lane = (self.exec_mask & -self.exec_mask).bit_length() - 1
        if lane < 0:
            return None
        low = int(self.vector(place.first)[lane])
        high = int(self.vector(place.first + 1)[lane]) if place.count == 2 else 0
        base = operands[-1] if row.space is Space.GLOBAL else None
        return (low | high << 32) + offset + (self.pair(base.first) if isinstance(base, Reg) else 0)

    def _number(self, operand: Operand | None) -> int:
        if isinstance(operand, Imm):
            return operand.signed
        return self.scalar(operand.first) if isinstance(operand, Reg) else 0

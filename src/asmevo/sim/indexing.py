"""Registers addressed by M0 (`s_set_gpr_idx_on`): such operands pass through the engine's temporaries."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from asmevo.isa import Instruction, Operand, Reg, Row, Word
from asmevo.isa.registers import AGPR_BASE, M0, VGPR_BASE
from asmevo.sim.ir import Value
from asmevo.sim.layout import ROW, VECTORS
from asmevo.sim.registers import GROUP, Registers
from asmevo.sim.scalars import read_scalar
from asmevo.verdict import UnsupportedError

_MODE = re.compile(r"gpr_idx\(([A-Z0-9, ]*)\)$")
_FIRST_TEMPORARY, _TEMPORARIES = 1, 6
"""Temporaries of this module: the others serve cross-lane reads and matrix constants."""
EVERY_VGPR = ((1 << 256) - 1) << VGPR_BASE
"""What an instruction with an indexed destination may write."""


@dataclass(frozen=True, slots=True)
class _Moved:
    """An operand that was replaced by temporaries."""

    target: str
    """Host address of the first register it stands for."""
    temporary: int
    count: int


class Indexing:
    """Knows whether register indexing is on, and rewrites instructions while it is."""

    def __init__(self, registers: Registers) -> None:
        self.r = registers
        self._roles: frozenset[str] = frozenset()
        """`DST`, `SRC0`, ... while on."""

    @property
    def is_on(self) -> bool:
        return bool(self._roles)

    def on(self, instruction: Instruction) -> None:
        """Begin: M0[7:0] becomes the index, M0[15:12] the mode."""
        source, mode = instruction.operands
        m = _MODE.match(mode.text) if isinstance(mode, Word) else None
        if m is None:
            raise UnsupportedError(f"`{instruction}` has an indexing mode that the simulator does not model.")
        names = [name.strip() for name in m[1].split(",") if name.strip()]
        self._roles = frozenset(names)
        bits = sum(1 << ("SRC0", "SRC1", "SRC2", "DST").index(name) for name in names)
        o = self.r.scalar
        index = o.and_(read_scalar(self.r, source, "u32", instruction), o.const(0xFF))
        kept = o.and_(self.r.word(M0), o.const(0xFFFF0F00))
        self.r.set_word(M0, o.or_(o.or_(kept, index), o.const(bits << 12)))

    def off(self) -> None:
        self._roles = frozenset()

    def emit(self, instruction: Instruction, row: Row, dispatch: Callable[[Instruction], None]) -> None:
        """An instruction while indexing is on: copy indexed operands in, run it on the copies, copy the result out."""
        defs = sum(slot.is_def and not slot.hidden for slot in row.slots_for(instruction))
        operands = list(instruction.operands)
        results: list[_Moved] = []
        temporary = _FIRST_TEMPORARY
        self.r.flush()
        for i, operand in enumerate(operands):
            role = "DST" if i < defs else f"SRC{i - defs}"
            if role not in self._roles or not _is_vgpr(operand):
                continue
            assert isinstance(operand, Reg)
            if temporary + operand.count > _FIRST_TEMPORARY + _TEMPORARIES:
                raise UnsupportedError(f"`{instruction}` indexes more registers than the simulator can.")
            moved = _Moved(self._place(operand), VGPR_BASE + VECTORS + temporary, operand.count)
            self._copy(moved.target, self.r.vector_pointer(moved.temporary), operand.count)
            operands[i] = replace(operand, first=moved.temporary)
            temporary += operand.count
            if role == "DST":
                results.append(moved)
        dispatch(replace(instruction, operands=tuple(operands)))
        self.r.flush()
        for moved in results:
            self._copy(self.r.vector_pointer(moved.temporary), moved.target, moved.count)

    def _place(self, operand: Reg) -> str:
        """Address of the register `operand` plus the index; past the last VGPR it is the last."""
        o, b = self.r.scalar, self.r.b
        index = o.and_(self.r.word(M0), o.const(0xFF))
        last = o.const(AGPR_BASE - VGPR_BASE - operand.count)
        number: Value = o.umin(o.add(index, o.const(operand.first - VGPR_BASE)), last)
        return b.at(self.r.vector_pointer(VGPR_BASE), o.zext(number, 64).text, ROW)

    def _copy(self, source: str, target: str, count: int) -> None:
        b, kind = self.r.b, f"<{GROUP} x i32>"
        for offset in range(0, count * ROW, 4 * GROUP):
            b.store(kind, b.load(kind, b.at(source, offset), 64), b.at(target, offset), 64)


def _is_vgpr(operand: Operand) -> bool:
    return isinstance(operand, Reg) and not operand.is_scalar and not operand.is_agpr

"""Emission of SALU rows."""

from __future__ import annotations

from asmevo.isa import Imm, Instruction, Operand, Reg, ScalarRow, Slot, Word, bind
from asmevo.isa.registers import SCC
from asmevo.isa.row import HIDDEN, TYPE_UNITS
from asmevo.sim.forms import immediate_bits
from asmevo.sim.ir import Value, constant, results_of
from asmevo.sim.layout import PRIVATE_APERTURE, SHARED_APERTURE
from asmevo.sim.registers import Registers
from asmevo.verdict import UnsupportedError

_APERTURES = {
    "src_shared_base": SHARED_APERTURE,
    "src_shared_limit": SHARED_APERTURE | 0xFFFFFFFF,
    "src_private_base": PRIVATE_APERTURE,
    "src_private_limit": PRIVATE_APERTURE | 0xFFFFFFFF,
}
"""Constants of 64 bits; as an operand of 32 bits they are broken on hardware (LLVM `SIISelLowering.cpp`)."""


def read_scalar(registers: Registers, operand: Operand | None, kind: str, instruction: Instruction) -> Value:
    """A printed scalar operand as an integer of 32 or 64 bits (1 bit for `scc`)."""
    if isinstance(operand, Imm):
        bits = immediate_bits(operand, kind)
        return constant(bits, 64 if TYPE_UNITS[kind] == 2 else 32)
    if isinstance(operand, Reg) and operand.is_scalar:
        return read_units(registers, operand.first, kind)
    if isinstance(operand, Word) and operand.text in _APERTURES and TYPE_UNITS[kind] == 2:
        return constant(_APERTURES[operand.text], 64)
    raise UnsupportedError(f"`{instruction}` has the scalar operand {operand}, which the simulator does not model.")


def read_units(registers: Registers, unit: int, kind: str) -> Value:
    """Scalar units from `unit` as an operand of type `kind`."""
    if kind == "scc":
        return registers.scc()
    return registers.pair(unit) if TYPE_UNITS[kind] == 2 else registers.word(unit)


def write_units(registers: Registers, unit: int, value: Value) -> None:
    """Set scalar units from a value of 1 (SCC), 32 or 64 bits."""
    if unit == SCC:
        registers.set_scc(value)
    elif value.bits == 64:
        registers.set_pair(unit, value)
    else:
        registers.set_word(unit, value)


def emit_scalar(registers: Registers, instruction: Instruction, row: ScalarRow) -> None:
    """One SALU instruction, ahead of the pending vector run."""
    bound = list(bind(instruction, row))
    uses = [_use(registers, slot, operand, instruction) for slot, operand in bound if slot.is_use]
    results = results_of(row.meaning(registers.scalar, *uses))
    defs = [(slot, operand) for slot, operand in bound if slot.is_def]
    for (slot, operand), value in zip(defs, results, strict=True):
        if slot.hidden:
            write_units(registers, HIDDEN[slot.hidden][0], value)
        elif isinstance(operand, Reg) and operand.is_scalar:
            write_units(registers, operand.first, registers.scalar.as_int(value))
        else:
            raise UnsupportedError(f"`{instruction}` has a result that is not a scalar register.")


def _use(registers: Registers, slot: Slot, operand: Operand | None, instruction: Instruction) -> Value:
    if slot.hidden:
        return read_units(registers, HIDDEN[slot.hidden][0], slot.type)
    return read_scalar(registers, operand, slot.type, instruction)

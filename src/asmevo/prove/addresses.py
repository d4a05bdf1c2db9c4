"""Where an access goes: a base and a constant, wherever the program adds the constant.

A register made of a base and a constant, and the same base beside a constant in the instruction's offset field, are the
same place where hardware adds exactly:

* 64-bit addresses of global memory are sums modulo 2**64.
* Offsets of 32 bits (of LDS, of buffers, of global memory behind a scalar base) count as numbers that do not wrap: a
  constant is told from its base only where a bound of the base shows that their sum stays below 2**32, so that nothing
  depends on how hardware would wrap. A buffer's range check looks at the sum of the register and the field.

A scalar offset of a buffer is none of these: its range check treats it in another way (CDNA3 ISA, "Range checking").
Accesses of two elements in LDS are two accesses of one element at their places, each with its own alignment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from asmevo.isa import Instruction, MemoryRow, Off, Operand, Reg, Slot, Space
from asmevo.prove.ranges import LARGEST
from asmevo.prove.sums import Sum

Place: TypeAlias = tuple[object, ...]
"""Equal places are the same address in every lane, on every input."""
OFFSETS = frozenset({"offset", "offset0", "offset1"})
"""Modifiers that are part of a place."""
_REFUSED = frozenset({"gds", "lds", "idxen"})
_TAGS = frozenset({"addtid", "wave_count", "lds_dma"})


@dataclass(frozen=True, slots=True)
class Address:
    """The register operand of an access that its places are made of."""

    slot: int
    """Which of the bound operands it is."""
    operand: Reg
    places: tuple[Place, ...]
    """One for each element."""


def address_of(
    instruction: Instruction,
    row: MemoryRow,
    bound: Sequence[tuple[Slot, Operand | None]],
    sum_of: Callable[[Reg], Sum],
    number_of: Callable[[int], int],
    tops: Mapping[int, int],
) -> Address | None:
    """The places of an access; None where its address is not a sum of a vector register and the offset field.

    `sum_of` gives the sum in one or two units, `number_of` the number of a unit, `tops` by number an upper bound of a
    value of 32 bits.
    """
    slot = address_slot(instruction, row, bound)
    operand = bound[slot][1] if slot >= 0 else None
    if not isinstance(operand, Reg):
        return None
    if "_d16" in instruction.mnemonic and any(slot.is_def and _meets(given, operand) for slot, given in bound):
        return None  # half of the address stays in the result
    if row.elements == 2:
        unit = row.size * row.stride
        offsets = [unit * instruction.number("offset0"), unit * instruction.number("offset1")]
    else:
        offsets = [instruction.number("offset")]
    value = sum_of(operand)
    if operand.count == 2:
        return Address(slot, operand, tuple((64, value.terms, (value.constant + n) % (1 << 64)) for n in offsets))
    if not _exact(value, tops):
        value = Sum(32, 0, ((number_of(operand.first), 1),))
    return Address(slot, operand, tuple((32, value.terms, value.constant + n) for n in offsets))


def address_slot(instruction: Instruction, row: MemoryRow, bound: Sequence[tuple[Slot, Operand | None]]) -> int:
    """Which operand, by its index in `bind()`, is the vector register, or pair, to which the offset field is added; -1
    where none is."""
    if _REFUSED & instruction.modifiers.keys() or set(row.tags) & _TAGS:
        return -1
    printed = [i for i, (slot, _) in enumerate(bound) if not slot.hidden and slot.tied < 0]
    uses = [i for i in printed if bound[i][0].is_use]
    chosen, count = -1, 1
    if row.space is Space.LDS and uses:
        chosen = uses[0]
    elif row.space is Space.BUFFER and "offen" in instruction.modifiers and len(printed) >= 3:
        chosen = printed[-3]
    elif row.space is Space.GLOBAL and uses:
        chosen, count = uses[0], 2 if isinstance(bound[printed[-1]][1], Off) else 1
    operand = bound[chosen][1] if chosen >= 0 else None
    if not isinstance(operand, Reg) or operand.count != count:
        return -1
    return -1 if operand.is_scalar or operand.neg or operand.absolute or operand.sext else chosen


def _meets(given: Operand | None, register: Reg) -> bool:
    return isinstance(given, Reg) and bool(given.units & register.units)


def _exact(value: Sum, tops: Mapping[int, int]) -> bool:
    """Whether the sum in a register of 32 bits cannot have wrapped around."""
    return value.constant + sum(factor * tops.get(number, LARGEST) for number, factor in value.terms) <= LARGEST


def is_plain_lds_load(row: MemoryRow) -> bool:
    """Whether it loads whole registers from LDS, each element to registers of its own."""
    words = row.elements * row.size // 4
    defs = [slot.type for slot in row.slots if slot.is_def]
    return row.space is Space.LDS and row.kind == "load" and not row.extend and defs == [f"b{32 * words}"]

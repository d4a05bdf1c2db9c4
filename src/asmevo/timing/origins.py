"""Which buffer a memory instruction reads: the kernel argument that its address is made of.

Traces have no addresses, and how often a buffer is read decides which level of memory serves it. Pointers are followed
through registers from the loads of kernel arguments on, on all ways through the code. A way of counting, not a proof:
what it does not see it leaves open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np

from asmevo.isa import Imm, Instruction, MemoryRow, Reg, effects, span, units
from asmevo.isa.registers import EXEC, M0, SCC, VCC_LO
from asmevo.isa.row import Space
from asmevo.launch import Launch, pointer_offsets
from asmevo.program import Program
from asmevo.sim.entry import entry_state

State: TypeAlias = dict[int, int]
"""Register unit to the set of what its value is made of, as bits: `KERNARG`, and `1 << 1 + n` for pointer field n."""
KERNARG: Final = 1
_COPIES: Final = frozenset({"s_mov_b32", "s_mov_b64", "s_and_b32", "s_and_b64", "s_bfe_u64"})
"""What leaves an address of kernel arguments as it is: AMD's kernels mask it to 48 bits."""
_FLAGS: Final = EXEC | span(SCC, 1) | span(VCC_LO, 2) | span(M0, 1)
"""Where a pointer is compared, and never kept."""
_BUFFERS: Final = (Space.BUFFER, Space.GLOBAL, Space.FLAT)
_PROBE: Final = 0x5BAD0000_5AFE0000


def origins(program: Program, launch: Launch) -> dict[int, str]:
    """Position of each vector load or atomic whose address is made of one pointer argument, to the buffer's name."""
    fields = [f.buffer for f in launch.kernarg if f.buffer is not None]
    if not fields:
        return {}
    offsets = {offset: 1 << 1 + n for n, offset in enumerate(pointer_offsets(launch, program.kernel))}
    names = {1 << 1 + n: name for n, name in enumerate(fields)}
    found: dict[int, int] = {}
    for number, state in enumerate(_begins(program, launch, offsets)):
        block = program.blocks[number]
        for position in range(block.first, block.last):
            instruction = program.lines[position].instruction
            if address := _address(instruction):
                found[position] = _made_of(state, address) & ~KERNARG
            _step(state, instruction, offsets)
    return {position: names[mask] for position, mask in found.items() if mask in names}


def _begins(program: Program, launch: Launch, offsets: Mapping[int, int]) -> Sequence[State]:
    """State at the begin of each block: the union over all ways to it."""
    blocks = program.blocks
    begins: list[State] = [{} for _ in blocks]
    entry = program.block_of[program.entry]
    scalars = entry_state(program.kernel.descriptor, _PROBE, launch.block, 0).scalars
    for half in (_PROBE & 0xFFFFFFFF, _PROBE >> 32):
        begins[entry].update(dict.fromkeys(np.flatnonzero(scalars == half).tolist(), KERNARG))
    work, waiting, seen = [entry], {entry}, {entry}
    while work:
        number = work.pop()
        waiting.discard(number)
        state = dict(begins[number])
        for line in program.lines[blocks[number].first : blocks[number].last]:
            _step(state, line.instruction, offsets)
        for successor in blocks[number].successors:
            if (_join(begins[successor], state) or successor not in seen) and successor not in waiting:
                work.append(successor)
                waiting.add(successor)
            seen.add(successor)
    return begins


def _join(into: State, other: State) -> bool:
    """Whether the union changed anything."""
    changed = False
    for unit, mask in other.items():
        if (joined := into.get(unit, 0) | mask) != into.get(unit, 0):
            into[unit], changed = joined, True
    return changed


def _step(state: State, instruction: Instruction, offsets: Mapping[int, int]) -> None:
    known = effects(instruction)
    writes = known.writes & ~_FLAGS
    if not writes:
        return
    if isinstance(known.row, MemoryRow):
        scalar = known.row.space is Space.SCALAR
        loaded = dict(_arguments(state, instruction, offsets)) if scalar else {}
        for unit in units(writes):
            _put(state, unit, loaded.get(unit, 0))
        return
    made = _made_of(state, known.reads & ~_FLAGS) if state else 0
    if made & KERNARG and instruction.base not in _COPIES:
        made &= ~KERNARG  # an address of arguments with something added is not followed
    for unit in units(writes):
        _put(state, unit, made)


def _put(state: State, unit: int, made: int) -> None:
    if made:
        state[unit] = made
    else:
        state.pop(unit, None)


def _made_of(state: State, registers: int) -> int:
    made = 0
    for unit in units(registers):
        made |= state.get(unit, 0)
    return made


def _arguments(state: State, instruction: Instruction, offsets: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """(unit, pointer) of a scalar load of kernel arguments at a constant offset."""
    into, base, offset = (*instruction.operands, None, None, None)[:3]
    if not (isinstance(into, Reg) and isinstance(base, Reg) and isinstance(offset, Imm)):
        return
    if _made_of(state, base.units) == KERNARG:
        for n, unit in enumerate(units(into.units)):
            at = offset.signed + 4 * n
            yield unit, offsets.get(at, 0) | offsets.get(at - 4, 0)


def _address(instruction: Instruction) -> int:
    """Registers that hold the pointer of a vector load or atomic; 0 for anything else."""
    row = effects(instruction).row
    if not isinstance(row, MemoryRow) or row.space not in _BUFFERS or row.kind == "store":
        return 0
    operands = instruction.operands
    if row.space is Space.BUFFER:  # data, voffset, descriptor, soffset; no data when it goes to LDS
        operands = operands[1 if "lds" in instruction.modifiers else 2 :][:1]
    elif row.kind == "load":
        operands = operands[1:]
    used = 0
    for operand in operands:
        used |= operand.units if isinstance(operand, Reg) else 0
    return used

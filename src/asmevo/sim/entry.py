"""The registers of a wave when a kernel starts (LLVM `AMDGPUUsage`, "Initial Kernel Execution State", gfx942)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from asmevo.codeobject import Descriptor
from asmevo.isa.registers import EXEC, EXEC_LO, MODE, SCC, UNIT_COUNT, VGPR_BASE, RegSet, span
from asmevo.sim.layout import LANES, UNITS
from asmevo.sim.options import mode_of
from asmevo.verdict import UnsupportedError


@dataclass(frozen=True, slots=True)
class EntryState:
    """What differs from wave to wave is the workgroup id, the work-item ids and which lanes exist."""

    scalars: NDArray[np.uint32]
    """[UNITS] initial scalar units, without workgroup ids. What the ABI leaves open is poison."""
    id_units: tuple[int, int, int]
    """Scalar units of the workgroup ids x, y and z; -1 where the kernel does not want it."""
    info_unit: int
    """Scalar unit of the workgroup info; -1 where the kernel does not want it."""
    items: NDArray[np.uint32]
    """[waves, LANES] packed work-item ids for v0."""
    lanes: NDArray[np.uint64]
    """[waves] EXEC."""
    undefined: RegSet
    """Registers that hold poison: all that the ABI does not define."""


def entry_state(descriptor: Descriptor, kernarg: int, block: tuple[int, int, int], poison: int) -> EntryState:
    """State at the entry for a workgroup of `block` work-items whose arguments are at device address `kernarg`.

    `poison` is the byte in every scalar register that the ABI does not define: SGPRs that are no argument, VCC, M0,
    FLAT_SCRATCH and the addresses of runtime structures, which do not exist here. SCC is its lowest bit. The kernel
    starts at its entry also when it declares preloaded arguments: there it finds code that loads them.
    """
    scalars = np.full(UNITS, poison * 0x01010101, np.uint32)
    scalars[SCC] = poison & 1
    scalars[EXEC_LO : EXEC_LO + 2] = 0  # set for each wave
    scalars[MODE] = mode_of(descriptor)
    unit = 0
    for wanted, count, values in (
        (descriptor.private_segment_buffer, 4, ()),
        (descriptor.dispatch_ptr, 2, ()),
        (descriptor.queue_ptr, 2, ()),
        (descriptor.kernarg_segment_ptr, 2, (kernarg & 0xFFFFFFFF, kernarg >> 32)),
        (descriptor.dispatch_id, 2, ()),
        (descriptor.flat_scratch_init, 2, ()),
        (descriptor.private_segment_size, 1, (descriptor.private_size,)),
    ):
        if wanted:
            scalars[unit : unit + len(values)] = values
            unit += count
    unit = max(unit, descriptor.user_sgpr_count)
    ids: list[int] = []
    for wanted in (descriptor.workgroup_id_x, descriptor.workgroup_id_y, descriptor.workgroup_id_z):
        ids.append(unit if wanted else -1)
        unit += wanted
    info = unit if descriptor.workgroup_info else -1
    given = span(0, unit + descriptor.workgroup_info) | span(VGPR_BASE, 1) | EXEC | span(MODE, 1)
    undefined = span(0, UNIT_COUNT) & ~given
    return EntryState(scalars, (ids[0], ids[1], ids[2]), info, _items(block, poison), _lanes(block), undefined)


def _items(block: tuple[int, int, int], poison: int) -> NDArray[np.uint32]:
    """x in bits 0-9, y in 10-19, z in 20-29; work-items are numbered x fastest. Lanes without one have poison."""
    x, y, z = block
    if max(block) > 1024 or x * y * z > 1024:
        raise UnsupportedError(f"A workgroup of {x} x {y} x {z} work-items is larger than the hardware's 1024.")
    waves = -(-x * y * z // LANES)
    n = np.arange(waves * LANES, dtype=np.uint32)
    packed = n % x | (n // x % y) << 10 | (n // (x * y)) << 20
    packed[x * y * z :] = poison * 0x01010101
    return packed.reshape(waves, LANES).astype(np.uint32)


def _lanes(block: tuple[int, int, int]) -> NDArray[np.uint64]:
    total = block[0] * block[1] * block[2]
    waves = -(-total // LANES)
    lanes = np.full(waves, (1 << LANES) - 1, np.uint64)
    if rest := total % LANES:
        lanes[-1] = (1 << rest) - 1
    return lanes

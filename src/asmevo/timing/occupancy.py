"""How many workgroups a compute unit holds at once, and what limits that."""

from __future__ import annotations

from dataclasses import dataclass

from asmevo.isa.limits import limits_of
from asmevo.launch import Launch, lds_bytes
from asmevo.program import Program
from asmevo.timing.chips import Chip
from asmevo.verdict import InputError


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Residency on one compute unit."""

    workgroups: int
    """Workgroups at once."""
    waves_per_workgroup: int
    waves_per_simd: float
    """Waves of each SIMD when full; up to 8."""
    limiter: str
    """`registers`, `lds`, `waves` or `workgroups`: the first resource to run out."""


def occupancy(program: Program, launch: Launch, chip: Chip) -> Occupancy:
    """Occupancy of a launch. Raises `InputError` when not even one workgroup fits."""
    limits = limits_of(chip.target)
    waves = -(-launch.threads // limits.wave_size)
    by_registers = limits.waves_by_registers(program.kernel.descriptor.vgpr_alloc)
    lds = lds_bytes(launch, program.kernel)
    room = {
        "waves": limits.waves_per_simd * limits.simds // waves,
        "registers": by_registers * limits.simds // waves,
        "lds": limits.workgroups_by_lds(lds),
        "workgroups": chip.workgroups_per_cu if waves > 1 else limits.waves_per_simd * limits.simds,
    }
    limiter = min(room, key=lambda name: room[name])
    count = room[limiter]
    if count < 1:
        raise InputError(
            f"Not one workgroup of launch {launch.name!r} fits a compute unit of {chip.name}: its {waves} waves want "
            f"{program.kernel.descriptor.vgpr_alloc} vector registers each and {lds} bytes of LDS; make it smaller."
        )
    return Occupancy(count, waves, count * waves / limits.simds, limiter)

"""Changing what a kernel asks for, within what the target has."""

from __future__ import annotations

from dataclasses import replace

from asmevo.codeobject import Descriptor, Resources
from asmevo.isa.limits import TargetLimits, has_limits, limits_of
from asmevo.program.program import Program
from asmevo.verdict import InputError


class ResourceError(InputError):
    """An edit asks for more than the target has."""


def with_resources(program: Program, resources: Resources) -> Program:
    """The program whose kernel asks for these resources; those that are None stay.

    Raises `ResourceError` when the target does not have them.
    """
    merged = program.resources.then(resources)
    kernel = next(k for k in program.source.kernels if k.name == program.kernel.name)
    limits = limits_of(program.source.target)
    _check(merged, limits, kernel.descriptor)
    descriptor = merged.descriptor(kernel.descriptor)
    _check_workgroup(kernel.max_workgroup, kernel.descriptor, descriptor, limits)
    return replace(program, resources=merged, kernel=replace(program.kernel, descriptor=descriptor))


def resource_values(program: Program) -> dict[str, int]:
    """What the kernel asks for: what an edit set, else what the descriptor of K0 grants.

    Empty where the target's limits are not known, so that nothing can be set.
    """
    if not has_limits(program.source.target):
        return {}
    before = next(k for k in program.source.kernels if k.name == program.kernel.name).descriptor
    vgprs, agprs = Resources().vector_registers(before)
    granted = {
        "vgprs": vgprs,
        "agprs": agprs,
        "sgprs": before.sgpr_alloc,
        "lds": before.lds_size,
        "scratch": before.private_size,
    }
    return granted | program.resources.given()


def _check(resources: Resources, limits: TargetLimits, descriptor: Descriptor) -> None:
    most = {
        "vgprs": (limits.vgprs, "VGPRs a wave"),
        "agprs": (limits.vgprs, "AGPRs a wave"),
        "sgprs": (limits.sgprs_granted, "scalar registers a wave"),
        "lds": (limits.lds, "bytes of LDS a workgroup"),
        "scratch": (limits.scratch, "bytes of scratch a work-item"),
    }
    for name, value in resources.given().items():
        limit, what = most[name]
        if not 0 <= value <= limit:
            raise ResourceError(f"{limits.target} has 0 to {limit} {what}, and {value} are asked for; use less.")
    total = resources.total_registers(descriptor)
    if total > limits.registers:
        raise ResourceError(
            f"{limits.target} has {limits.registers} vector registers a wave, VGPRs and AGPRs together, and {total} "
            "are asked for; use less."
        )


def _check_workgroup(work_items: int, before: Descriptor, after: Descriptor, limits: TargetLimits) -> None:
    """Refuse registers with which the largest workgroup no longer fits on a compute unit, where it did."""
    waves = -(-work_items // limits.wave_size)
    fits = [limits.waves_by_registers(d.vgpr_alloc) * limits.simds >= waves for d in (before, after)]
    if fits == [True, False]:
        raise ResourceError(
            f"A workgroup of {work_items} work-items has {waves} waves, which a compute unit of {limits.target} cannot "
            f"hold with {after.vgpr_alloc} vector registers each; use less."
        )

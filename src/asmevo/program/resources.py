"""Changing what a kernel asks for, within what the target has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from asmevo.codeobject import CodeObject, Descriptor, Kernel, Resources
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
    counted = _counted_agprs(program.source, kernel)
    if merged.vgprs is not None and merged.agprs is None and counted is not None:
        merged = replace(merged, agprs=counted)
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
    kernel = next(k for k in program.source.kernels if k.name == program.kernel.name)
    before, counted = kernel.descriptor, _counted_agprs(program.source, kernel)
    vgprs, agprs = Resources().vector_registers(before)
    granted = {
        "vgprs": vgprs,
        "agprs": agprs if counted is None else counted,
        "sgprs": before.sgpr_alloc,
        "lds": before.lds_size,
        "scratch": before.private_size,
    }
    return granted | program.resources.given()


def changed_resources(k0: Program, other: Program) -> Resources:
    """What the kernel of another object asks for where it is not what K0's does.

    Granted registers are whole granules, so counts come from the metadata where those differ.
    """
    before, after = resource_values(k0), resource_values(other)
    entries = [_metadata_entry(program.source, program.kernel) for program in (k0, other)]
    for name, key in (("vgprs", ".vgpr_count"), ("sgprs", ".sgpr_count")):
        old, new = (entry.get(key) for entry in entries)
        if isinstance(new, int) and new != old and (name == "sgprs" or not after["agprs"]):
            after[name] = new
    return Resources(**{name: value for name, value in after.items() if value != before[name]})


def _metadata_entry(source: CodeObject, kernel: Kernel) -> Mapping[str, Any]:
    return next(e for e in source.metadata["amdhsa.kernels"] if e.get(".symbol") == kernel.symbol)


def _counted_agprs(source: CodeObject, kernel: Kernel) -> int | None:
    """AGPRs as the metadata count them; None where they do not, or not what the descriptor grants.

    The descriptor grants whole granules, whose rest belongs to no kind of register.
    """
    counted = _metadata_entry(source, kernel).get(".agpr_count")
    granted = Resources().vector_registers(kernel.descriptor)[1]
    fits = isinstance(counted, int) and 0 <= granted - counted < limits_of(source.target).register_granule
    return counted if fits else None


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
